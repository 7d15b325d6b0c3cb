//! The exact driver calls of kernels in Rust, and what a run reports when a thread has failed; without a GPU: a
//! stub of CUDA's libraries writes the calls down.
#![cfg(target_os = "linux")]

use thalweg::prelude::*;
use thalweg::streams::{Event, Stream};
use thalweg_tests::stubs::Stubs;

/// The driver and the compiler.
const STUBS: Stubs =
    Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-rust-kernels"));

/// `y[i] = x[at[i]]`.
#[kernel]
fn gathered(i: Index, x: &[f32], at: &[u32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = element(x, at[i]);
}

#[device]
pub(crate) fn element(x: &[f32], at: u32) -> f32 {
    x[at as usize]
}

/// The line of `element`, which indexes `x`.
pub(crate) const ELEMENT: u32 = line!() - 4;
pub(crate) const FILE: &str = file!();

/// The line of `gathered` that indexes `at`, and that of `element`.
const LINES: [u32; 2] = [ELEMENT - 5, ELEMENT];

stream_pipeline! {
    pipeline Gathered {
        resident x: [f32];
        input at: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = 64;
        stage all {
            copy at -> places;
            gathered<<<blocks(c.len, 32), 32>>>(&x, &places, out dy);
            copy dy -> y;
        }
    }
}

/// The record's lines about the module, the kernel and the word.
fn of_the_kernel(record: &str) -> String {
    let is = |line: &&str| {
        ["cuModule", "cuLaunchKernel", "cuMemcpyHtoD "].iter().any(|call| line.starts_with(call))
    };
    record.lines().filter(is).map(|line| format!("{line}\n")).collect()
}

/// Each pipeline has a module of its own, which is told where its word is. A run costs no further call.
#[test]
fn a_module_is_told_where_its_word_is() {
    let calls = STUBS.record("a_module_is_told_where_its_word_is", &[], |device| {
        let mut gathered = Gathered::new(device).unwrap();
        let (at, mut y) =
            (PinnedBuf::<u32>::zeroed(device, 100).unwrap(), PinnedBuf::<f32>::zeroed(device, 100).unwrap());
        for _ in 0..2 {
            gathered.run(&[1.0, 2.0], &at, &mut y).unwrap();
        }
    });
    let Some(calls) = calls else { return };
    let launches = "\
cuLaunchKernel gathered <<<(2, 1, 1), (32, 1, 1), 0, s1>>>
cuLaunchKernel gathered <<<(2, 1, 1), (32, 1, 1), 0, s1>>>
";
    let expected = format!(
        "\
cuModuleLoadDataEx m1
cuModuleGetFunction m1 gathered
cuModuleGetGlobal m1 thalweg_fault d1 8
cuMemcpyHtoD d1 8
{launches}{launches}cuModuleUnload m1
"
    );
    assert_eq!(of_the_kernel(&calls), expected, "{calls}");
}

/// The error of a run of which a thread fails at this place.
fn failed(test: &str, place: u32, line: u32) {
    let place = place.to_string();
    let line_variable = line.to_string();
    STUBS.record(test, &[("THALWEG_FAULT", &place), ("THALWEG_LINE", &line_variable)], |device| {
        let line = std::env::var("THALWEG_LINE").unwrap();
        let mut gathered = Gathered::new(device).unwrap();
        let (at, mut y) = ([0; 100], [7.0; 100]);
        for _ in 0..2 {
            let error = gathered.run(&[1.0, 2.0], &at, &mut y).unwrap_err();
            let said = error.to_string();
            let at = format!("kernel `gathered` failed at {}:{line}: an index out of bounds", file!());
            assert!(said.contains(&at), "{said}");
            assert!(said.contains("stage `all`") && !said.contains("chunk"), "{said}");
            let ErrorKind::Function(function) = error.kind() else { panic!("{error:?}") };
            assert!(function.message().contains("overflow"), "{}", function.message());
            // The thread may have worked on any chunk.
            assert!(error.complete().iter().all(|complete| complete.items == 0), "{error:?}");
        }
    });
}

#[test]
fn a_thread_that_fails_names_its_line() {
    failed("a_thread_that_fails_names_its_line", LINES[0], LINES[0]);
}

/// The functions that a kernel calls count from the kernel on, backwards.
#[test]
fn a_thread_that_fails_in_a_function_names_its_line() {
    failed("a_thread_that_fails_in_a_function_names_its_line", 1 << 20 | LINES[1], LINES[1]);
}

/// Nobody knows when a launch by hand is over, so that the module stays until the device goes.
#[test]
fn a_kernel_launched_by_hand_stays_loaded() {
    let calls = STUBS.record("a_kernel_launched_by_hand_stays_loaded", &[], |device| {
        let stream = Stream::new(device).unwrap();
        let x = DeviceBuf::from_slice(device, &[1.0_f32; 32]).unwrap();
        let at = DeviceBuf::from_slice(device, &[0_u32; 32]).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(device, 32).unwrap();
        drop(gathered::load(device).unwrap());
        let gathered = gathered::load(device).unwrap();
        gathered.launch(stream.config(1, 32, 0), &x, &at, &mut y).unwrap();
        drop(gathered);
        stream.synchronize().unwrap();
    });
    let Some(calls) = calls else { return };
    assert_eq!(calls.matches("cuModuleLoadDataEx").count(), 2, "{calls}");
    assert_eq!(calls.matches("cuModuleUnload").count(), 1, "{calls}");
    assert!(calls.contains("cuModuleUnload m1"), "{calls}");
}

/// The next wait for a stream of the device reports the fault, once.
#[test]
fn a_thread_that_fails_in_a_launch_by_hand_is_reported_by_the_next_wait() {
    let place = LINES[0].to_string();
    STUBS.record(
        "a_thread_that_fails_in_a_launch_by_hand_is_reported_by_the_next_wait",
        &[("THALWEG_FAULT", &place)],
        |device| {
            let stream = Stream::new(device).unwrap();
            let x = DeviceBuf::from_slice(device, &[1.0_f32; 32]).unwrap();
            let at = DeviceBuf::from_slice(device, &[0_u32; 32]).unwrap();
            let mut y = DeviceBuf::<f32>::zeroed(device, 32).unwrap();
            let gathered = gathered::load(device).unwrap();
            gathered.launch(stream.config(1, 32, 0), &x, &at, &mut y).unwrap();
            drop(gathered);
            let said = stream.synchronize().unwrap_err().to_string();
            let at = format!("kernel `gathered` failed at {}:{}: an index out of bounds", file!(), LINES[0]);
            assert!(said.starts_with(&at), "{said}");
            stream.synchronize().unwrap();
        },
    );
}

/// Whatever says that the launch is over also says that a thread of it has failed, and nobody takes what it has left
/// unwritten for a result: an event, a question, and a stream that waited and is gone, of the same GPU or of another one.
#[test]
fn a_thread_that_fails_is_told_by_whatever_says_that_its_launch_is_over() {
    let place = LINES[0].to_string();
    STUBS.record(
        "a_thread_that_fails_is_told_by_whatever_says_that_its_launch_is_over",
        &[("THALWEG_FAULT", &place), ("THALWEG_GPUS", "2"), ("THALWEG_DEVICE", "cuda:all")],
        |device| {
            let others = Device::all().unwrap();
            let elsewhere = others.iter().find(|other| !other.same(device)).unwrap();
            let x = DeviceBuf::from_slice(device, &[1.0_f32; 32]).unwrap();
            let at = DeviceBuf::from_slice(device, &[0_u32; 32]).unwrap();
            let tells = |error: Error| {
                let said = error.to_string();
                assert!(said.starts_with("kernel `gathered` failed at"), "{said}");
            };
            let ways: [fn(&Stream, &Device) -> thalweg::Result<()>; 6] = [
                |stream, device| {
                    let event = Event::new(device)?;
                    stream.record(&event)?;
                    event.synchronize()
                },
                |stream, device| {
                    let event = Event::new(device)?;
                    stream.record(&event)?;
                    event.query().map(drop)
                },
                |stream, _| stream.query().map(drop),
                |stream, device| {
                    let beside = Stream::new(device)?;
                    beside.wait_stream(stream)?;
                    beside.synchronize()
                },
                |stream, device| {
                    let beside = Stream::new(device)?;
                    beside.wait_stream(stream)?;
                    let event = Event::new(device)?;
                    beside.record(&event)?;
                    event.synchronize()
                },
                |stream, device| {
                    let beside = Stream::new(device)?;
                    beside.wait_stream(stream)?;
                    beside.query().map(drop)
                },
            ];
            for of_waiting in [device, elsewhere] {
                for (way, wait) in ways.into_iter().enumerate() {
                    if way < 3 && !of_waiting.same(device) {
                        continue;
                    }
                    let stream = Stream::new(device).unwrap();
                    let mut y = DeviceBuf::<f32>::zeroed(device, 32).unwrap();
                    let gathered = gathered::load(device).unwrap();
                    gathered.launch(stream.config(1, 32, 0), &x, &at, &mut y).unwrap();
                    tells(wait(&stream, of_waiting).expect_err("it has failed"));
                    tells(y.to_vec().expect_err("it was not written"));
                }
                // A stream that waited goes, and nobody has asked.
                let stream = Stream::new(device).unwrap();
                let mut y = DeviceBuf::<f32>::zeroed(device, 32).unwrap();
                let gathered = gathered::load(device).unwrap();
                gathered.launch(stream.config(1, 32, 0), &x, &at, &mut y).unwrap();
                let beside = Stream::new(of_waiting).unwrap();
                beside.wait_stream(&stream).unwrap();
                drop(beside);
                tells(y.to_vec().expect_err("it was not written"));
            }
        },
    );
}
