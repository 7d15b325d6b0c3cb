//! Misuse of the names that generated code uses, by code without `unsafe`. It may fail in any way that
//! touches no wrong memory.
//!
//! Run it under AddressSanitizer: `.ci/asan`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use thalweg::__private::Detail;
use thalweg::__private::{
    BufferKind, BufferPlan, Build, ChunkSize, HostPlan, OperationKind, Pipelines, Purpose, Run, Settings,
};
use thalweg::Options;
use thalweg::prelude::*;
use thalweg_tests::kernels::axpy_each;
use thalweg_tests::plans::{operation, stream};
use thalweg_tests::{leaves_nothing, numbers, pinned, small};

const fn host(name: &'static str, writes: bool) -> HostPlan {
    HostPlan::new(name, true, writes, false, 1, 1)
}

const fn ring(name: &'static str) -> BufferPlan {
    BufferPlan::new(name, BufferKind::Ring, 1, 1)
}

/// `copy x -> dx; copy y -> dy; axpy_each(…); copy dy -> y;` in one stream, with another stream unused.
static PLAN: Plan = Plan::new(
    "Raw",
    "generated_code.rs",
    1,
    1,
    &[stream("used"), stream("unused")],
    &["all"],
    &[host("x", false), host("y", true)],
    &[ring("dx"), ring("dy")],
    &[
        operation("copy x -> dx", OperationKind::Upload { host: 0, buffer: 0 }),
        operation("copy y -> dy", OperationKind::Upload { host: 1, buffer: 1 }),
        operation("axpy_each<<<..>>>", OperationKind::Launch { kernel: "axpy_each" }),
        operation("copy dy -> y", OperationKind::Download { host: 1, buffer: 1 }),
    ],
    &[],
    &[],
);

/// The bare resources of a pipeline, as generated code gets them.
struct Raw(Pipelines);

impl Build for Raw {
    fn build(settings: Settings<'_>) -> thalweg::Result<Self> {
        Pipelines::new(settings, &PLAN, 2).map(Self)
    }
}

fn raw(device: &Device) -> Pipelines {
    Options::<Raw>::new(device).build().unwrap().0
}

const CHUNK: ChunkSize = ChunkSize::Items(4);

/// An `input` was borrowed shared, so nothing may write it.
#[test]
fn a_download_to_an_input() {
    let device = small(Simulation::default());
    let (x, mut y) = (vec![1.0_f32; 4], vec![2.0_f32; 4]);
    let x_pinned = pinned(&device, &x);
    macro_rules! check {
        ($x:expr) => {
            let mut pipeline = raw(&device);
            let mut call = pipeline.call(Purpose::Run);
            let (hx, hy) = (call.input::<f32>(1, $x).unwrap(), call.inout::<f32>(1, &mut y).unwrap());
            let (dx, dy) = (call.device::<f32>(1).unwrap(), call.device::<f32>(1).unwrap());
            let result = call.run(CHUNK, |run| {
                let [stream] = run.streams();
                for c in run.chunks() {
                    run.on(stream, 0, c).upload(hx, dx)?;
                    run.on(stream, 1, c).upload(hy, dy)?;
                    run.on(stream, 2, c).download(dy, hx)?;
                    run.on(stream, 3, c).download(dy, hx)?;
                }
                Ok(())
            });
            assert!(matches!(result.unwrap_err().detail(), Detail::Skipped));
        };
    }
    check!(&x);
    check!(&x_pinned);
    assert_eq!((&x[..], &x_pinned[..]), (&[1.0; 4][..], &[1.0; 4][..]));
}

/// The shape of an argument that was refused must not become that of the next one.
#[test]
fn an_argument_after_a_refused_one() {
    let device = small(Simulation::default());
    let (ragged, short) = (vec![0_u8; 1001], vec![1_u8; 4]);
    let mut pipeline = raw(&device);
    let mut call = pipeline.call(Purpose::Run);
    call.input::<u8>(1000, &ragged).unwrap_err();
    let hx = call.input::<u8>(1, &short).unwrap();
    let (dx, _dy) = (call.device::<u8>(1000).unwrap(), call.device::<u8>(1).unwrap());
    let copied = AtomicBool::new(false);
    let result = call.run(CHUNK, |run| {
        let ([stream], c) = (run.streams(), run.chunks().next().unwrap());
        copied.store(run.on(stream, 0, c).upload(hx, dx).is_ok(), Ordering::Relaxed);
        Ok(())
    });
    assert!(result.is_err() && !copied.into_inner(), "4 bytes were copied as 4000");
}

/// After a failed call nothing more is enqueued, whatever calls follow.
#[test]
fn going_on_after_an_error() {
    let device = small(Simulation::default());
    let (x, mut y) = (numbers(16), numbers(16));
    let mut pipeline = raw(&device);
    let mut call = pipeline.call(Purpose::Run);
    let (hx, hy) = (call.input(1, &x).unwrap(), call.inout(1, &mut y).unwrap());
    let (dx, dy) = (call.device(1).unwrap(), call.device(1).unwrap());
    let kernel = axpy_each::load(&device).unwrap();
    let result = call.run(CHUNK, |run| {
        let [stream] = run.streams();
        let c = run.chunks().next().unwrap();
        run.on(stream, 0, c).upload(hx, dx)?;
        run.on(stream, 1, c).upload(hy, dy)?;
        let launch = run.on(stream, 2, c);
        let empty = launch.config(0, 0, 0);
        assert!(kernel.launch(empty, 4, 1.0, launch.read(dx), launch.read_write(dy)).is_err());
        let late = run.on(stream, 3, c).download(dy, hy);
        assert!(matches!(late.unwrap_err().detail(), Detail::Skipped));
        Ok(())
    });
    assert!(matches!(result.unwrap_err().detail(), Detail::Skipped));
    assert_eq!(y, numbers(16));
}

/// Handles of another call, operations out of order, more chunks than there are, streams that do not exist.
#[test]
fn handles_from_elsewhere() {
    let device = small(Simulation::default());
    let mut larger = raw(&device);
    let (large, mut large_y) = (numbers(4000), numbers(4000));
    let mut call = larger.call(Purpose::Run);
    let large_hosts = (call.input(1000, &large).unwrap(), call.inout(1000, &mut large_y).unwrap());
    let large_buffers = (call.device::<f32>(1000).unwrap(), call.device::<f32>(1000).unwrap());

    type Attack<'t> = &'t (dyn Fn(&Run<'_>) -> thalweg::Result<()> + Sync);
    let attack = |attack: Attack<'_>| {
        let (x, mut y) = (numbers(4), numbers(4));
        let mut pipeline = raw(&device);
        let mut call = pipeline.call(Purpose::Run);
        call.input::<f32>(1, &x).unwrap();
        call.inout::<f32>(1, &mut y).unwrap();
        call.device::<f32>(1).unwrap();
        call.device::<f32>(1).unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| call.run(CHUNK, attack).is_err()));
        assert!(outcome.unwrap_or(true), "the run left its plan and did not fail");
        assert_eq!((x, y), (numbers(4), numbers(4)));
    };
    leaves_nothing(&device, || {
        attack(&|run| {
            // The handle has the same index, so this is this run's own argument, and nothing beyond it.
            let ([stream], c) = (run.streams(), run.chunks().next().unwrap());
            run.on(stream, 0, c).upload(large_hosts.0, large_buffers.0)
        });
        attack(&|run| {
            let ([stream], c) = (run.streams(), run.chunks().next().unwrap());
            run.on(stream, 3, c).download(large_buffers.1, large_hosts.1)
        });
        attack(&|run| {
            let ([stream], mut c) = (run.streams(), run.chunks().next().unwrap());
            (c.index, c.start, c.len) = (1000, 4_000_000, 1 << 40);
            run.on(stream, 0, c).upload(large_hosts.0, large_buffers.0)
        });
        attack(&|run| {
            let ([stream], c) = (run.streams(), run.chunks().next().unwrap());
            (0..10)
                .try_for_each(|operation| run.on(stream, operation, c).upload(large_hosts.0, large_buffers.0))
        });
        attack(&|run| {
            let ([_, _, missing], c) = (run.streams(), run.chunks().next().unwrap());
            run.on(missing, 0, c).upload(large_hosts.0, large_buffers.0)
        });
        attack(&|run| {
            let ([stream], [missing], c) = (run.streams(), run.events(), run.chunks().next().unwrap());
            run.on(stream, 0, c).record(missing)
        });
    });
}

/// A kernel of another device would reach this one's addresses there.
#[test]
fn a_kernel_of_another_device() {
    let device = small(Simulation::default());
    let kernel = axpy_each::load(&Device::simulated(Simulation::default())).unwrap();
    let (x, mut y) = (numbers(4), numbers(4));
    let mut pipeline = raw(&device);
    let mut call = pipeline.call(Purpose::Run);
    let (hx, hy) = (call.input(1, &x).unwrap(), call.inout(1, &mut y).unwrap());
    let (dx, dy) = (call.device(1).unwrap(), call.device(1).unwrap());
    let result = call.run(CHUNK, |run| {
        let ([stream], c) = (run.streams(), run.chunks().next().unwrap());
        run.on(stream, 0, c).upload(hx, dx)?;
        run.on(stream, 1, c).upload(hy, dy)?;
        let launch = run.on(stream, 2, c);
        kernel.launch(launch.config(1, 4, 0), 4, 1.0, launch.read(dx), launch.read_write(dy))
    });
    let error = result.unwrap_err();
    assert!(matches!(error.detail(), Detail::OtherDevice { host: "axpy_each", .. }), "{error}");
}
