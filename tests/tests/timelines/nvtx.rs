//! NVTX ranges, as a tool gets them: a stub of a tool writes them down.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg::prelude::*;
use thalweg::sim::{Effect, Fault};
use thalweg_kernels::saxpy;
use thalweg_tests::stubs::{self, Stubs};

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        param panics_at: usize;
        input x: [f32];
        inout y: [f32];
        chunk c = 1000;
        depth = 2;
        stream up;
        stream math;
        stream down;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math {
            if c.index != 9 {
                saxpy<<<blocks(c.len, 256), 256>>>(factor(a, c.index == panics_at), &dx, &mut dy);
            }
        }
        stage store on down { copy dy -> y; }
    }
}

fn factor(factor: f32, panics: bool) -> f32 {
    assert!(!panics, "the user's");
    factor
}

const STUBS: Stubs = Stubs {
    module: module_path!(),
    folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/nvtx"),
    libraries: &["libnvtx"],
    flags: &[],
    broken: &["libbroken.so"],
};

const TOOL: (&str, &str) =
    ("NVTX_INJECTION64_PATH", concat!(env!("CARGO_TARGET_TMPDIR"), "/nvtx/libnvtx.so"));
const SIMULATED: (&str, &str) = ("THALWEG_DEVICE", "sim");

/// The record of a tool while `body` runs.
fn recorded(test: &str, body: fn(&Device)) -> Option<String> {
    STUBS.record(test, &[TOOL, SIMULATED], body)
}

fn run(device: &Device, items: usize, panics_at: usize) -> thalweg::Result<Report> {
    Saxpy::new(device)?.run(3.0, panics_at, &vec![1.0; items], &mut vec![2.0; items])
}

const NOWHERE: usize = usize::MAX;

#[test]
fn ranges_carry_pipeline_stage_and_chunk() {
    let body = |device: &Device| drop(run(device, 1500, NOWHERE).unwrap());
    let Some(record) = recorded("ranges_carry_pipeline_stage_and_chunk", body) else { return };
    let expected = "\
domain thalweg
Saxpy
  Saxpy load 0: copy x -> dx (0)
  pop
  Saxpy load 0: copy y -> dy (0)
  pop
  Saxpy axpy 0: saxpy<<<..>>> (0)
  pop
  Saxpy store 0: copy dy -> y (0)
  pop
  Saxpy load 1: copy x -> dx (1)
  pop
  Saxpy load 1: copy y -> dy (1)
  pop
  Saxpy axpy 1: saxpy<<<..>>> (1)
  pop
  Saxpy store 1: copy dy -> y (1)
  pop
pop
";
    assert_eq!(record, expected);
}

/// The stub aborts at a pop of nothing, and indents by the number of pushed ranges.
fn all_popped(record: &str) {
    let pushed = record.lines().filter(|line| line.trim_start().starts_with("Saxpy")).count();
    let popped = record.lines().filter(|line| line.trim_start() == "pop").count();
    assert!(pushed == popped && pushed > 1 && record.ends_with("\npop\n"), "{record}");
}

#[test]
fn they_pair_up_where_a_run_fails() {
    let body = |device: &Device| {
        device.inject(Fault::at(&Saxpy::PLAN, "axpy", 1, Effect::Fails).unwrap()).unwrap();
        run(device, 5000, NOWHERE).unwrap_err();
        // Arguments whose lengths do not fit start no run.
        let mut saxpy = Saxpy::new(device).unwrap();
        saxpy.run(3.0, NOWHERE, &[1.0; 3], &mut [2.0; 2]).unwrap_err();
        run(device, 0, NOWHERE).unwrap();
    };
    let Some(record) = recorded("they_pair_up_where_a_run_fails", body) else { return };
    all_popped(&record);
    assert!(record.contains("\n  Saxpy axpy 1: saxpy<<<..>>> (1)\n  pop\n"), "{record}");
    assert!(record.ends_with("\nSaxpy\npop\n"), "{record}");
}

#[test]
fn they_pair_up_where_an_expression_panics() {
    let body = |device: &Device| {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(device, 5000, 2)));
        outcome.expect_err("it panics");
    };
    let Some(record) = recorded("they_pair_up_where_an_expression_panics", body) else { return };
    all_popped(&record);
    assert!(record.ends_with("\n  Saxpy load 2: copy y -> dy (2)\n  pop\npop\n"), "{record}");
}

/// Operations that an `if` leaves out are not shown, and a prediction enqueues nothing.
#[test]
fn what_is_not_enqueued_has_no_range() {
    let body = |device: &Device| {
        let mut saxpy = Saxpy::new(device).unwrap();
        let (x, mut y) = (vec![1.0; 10_000], vec![2.0; 10_000]);
        saxpy.predict(3.0, NOWHERE, &x, &mut y).unwrap();
        saxpy.profile(3.0, NOWHERE, &x, &mut y).unwrap();
    };
    let Some(record) = recorded("what_is_not_enqueued_has_no_range", body) else { return };
    all_popped(&record);
    let ranges = |text: &str| record.matches(text).count();
    assert_eq!((ranges("\nSaxpy\n"), ranges(" load "), ranges(" axpy "), ranges(" store ")), (1, 20, 9, 10));
}

/// Without a tool, or with one that cannot be used, a run is as always.
#[test]
fn without_a_tool_there_are_no_ranges() {
    if stubs::is_child() {
        run(&Device::open().unwrap(), 1500, NOWHERE).unwrap();
        // The record exists, as for a tool that has received nothing.
        std::fs::File::options()
            .create(true)
            .append(true)
            .open(std::env::var_os("THALWEG_RECORD").unwrap())
            .unwrap();
        return;
    }
    let folder = STUBS.folder;
    for (variable, path) in [
        ("NVTX_INJECTION64_PATH", String::new()),
        ("NVTX_INJECTION64_PATH", format!("{folder}/nowhere.so")),
        ("NVTX_INJECTION64_PATH", format!("{folder}/libbroken.so")),
        // This is a library, but not a tool.
        ("NVTX_INJECTION64_PATH", "libc.so.6".to_owned()),
    ] {
        let record = STUBS.run_again("without_a_tool_there_are_no_ranges", &[(variable, &path), SIMULATED]);
        assert_eq!(record, "", "{path}");
    }
    for wish in ["InitializeInjectionNvtx2:1", "nvtxDomainRangePop:1"] {
        let variables = [("THALWEG_FAIL", wish), TOOL, SIMULATED];
        let record = STUBS.run_again("without_a_tool_there_are_no_ranges", &variables);
        assert_eq!(record, "", "{wish}");
    }
}
