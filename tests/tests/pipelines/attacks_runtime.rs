//! Attacks on what a run touches, by code without `unsafe`: chunks, arguments and views that are not its own.
//!
//! Run it under AddressSanitizer: `.ci/asan`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use thalweg::__private::{
    Build, Call, ChunkSize, Detail, Edge, HostPlan, Operation, Pipelines, Purpose, Run, Settings, ViewMut,
};
use thalweg::Options;
use thalweg::plan::{BufferKind, BufferPlan, Chunk, OperationKind, OperationPlan};
use thalweg::prelude::*;
use thalweg_tests::plans::{operation, stream};
use thalweg_tests::{numbers, pinned, small};

const fn host(name: &'static str, writes: bool) -> HostPlan {
    HostPlan::new(name, true, writes, false, 1, 1)
}

const fn buffer(name: &'static str, kind: BufferKind) -> BufferPlan {
    BufferPlan::new(name, kind, 1, 1)
}

const fn plan(
    hosts: &'static [HostPlan],
    buffers: &'static [BufferPlan],
    operations: &'static [OperationPlan],
) -> Plan {
    let streams = const { &[stream("s")] };
    Plan::new("Raw", "attacks_runtime.rs", 1, 1, streams, &["all"], hosts, buffers, operations, &[], &[])
}

/// The bare resources of a pipeline with one of the plans below.
macro_rules! raw {
    ($device:expr, $plan:expr) => {{
        struct Raw(Pipelines);
        impl Build for Raw {
            fn build(settings: Settings<'_>) -> thalweg::Result<Self> {
                Pipelines::new(settings, &$plan, 2).map(Self)
            }
        }
        Options::<Raw>::new($device).build().unwrap().0
    }};
}

const CHUNK: ChunkSize = ChunkSize::Items(4);

/// A chunk of another run, which has many.
fn foreign_chunk(device: &Device, index: usize) -> Chunk {
    static PLAN: Plan = plan(&[host("x", false)], &[], &[]);
    let (mut pipeline, x, chunk) = (raw!(device, PLAN), numbers(4000), Mutex::new(None));
    let mut call = pipeline.call(Purpose::Run);
    call.input::<f32>(1, &x).unwrap();
    call.run(CHUNK, |run| {
        *chunk.lock().unwrap() = run.chunks().nth(index);
        Ok(())
    })
    .unwrap();
    chunk.into_inner().unwrap().unwrap()
}

/// A chunk's part of an output with elements for each chunk is found by the chunk's index: an index beyond
/// the last chunk would be behind the argument.
#[test]
fn a_chunk_after_the_last() {
    static PLAN: Plan = plan(
        &[host("x", false), host("y", true)],
        &[buffer("dx", BufferKind::Ring), buffer("dy", BufferKind::Ring)],
        &[
            operation("copy x -> dx", OperationKind::Upload { host: 0, buffer: 0 }),
            operation("copy dy -> y", OperationKind::Download { host: 1, buffer: 1 }),
        ],
    );
    let device = small(Simulation::default());
    let beyond = foreign_chunk(&device, 2);
    let (x, mut y) = (numbers(8), vec![5.0_f32; 100]);
    let mut pipeline = raw!(&device, PLAN);
    let mut call = pipeline.call(Purpose::Run);
    let hx = call.input::<f32>(1, &x).unwrap();
    let hy = call.per_chunk().output::<f32>(2, &mut y[..4]).unwrap();
    let (dx, dy) = (call.device::<f32>(1).unwrap(), call.per_chunk().device::<f32>(2).unwrap());
    let result = call.run(CHUNK, |run| {
        let [stream] = run.streams();
        for c in run.chunks().chain([beyond]) {
            run.on(stream, 0, c).upload(hx, dx)?;
            let store = run.on(stream, 1, c);
            store.fill(dy, 1.0)?;
            store.download(dy, hy)?;
        }
        Ok(())
    });
    assert!(matches!(result.unwrap_err().detail(), Detail::Skipped));
    assert_eq!(y[4..], [5.0; 96], "memory behind the argument was written");
}

/// A run of nothing has no chunk, and no item that a halo could repeat.
#[test]
fn a_chunk_of_nothing() {
    static PLAN: Plan = plan(
        &[host("x", false)],
        &[buffer("dx", BufferKind::Ring)],
        &[operation("copy x -> dx", OperationKind::Upload { host: 0, buffer: 0 })],
    );
    let device = small(Simulation::default());
    let mut pipeline = raw!(&device, PLAN);
    for edge in [Edge::Clamp, Edge::Wrap, Edge::Zero] {
        for (len, foreign) in [(8, None), (0, Some(foreign_chunk(&device, 0)))] {
            let x = numbers(len);
            let mut call = pipeline.call(Purpose::Run);
            let hx = call.halo(1, edge).input::<f32>(1, &x).unwrap();
            let dx = call.halo(1, edge).device::<f32>(1).unwrap();
            let result = call.run(CHUNK, |run| {
                let [stream] = run.streams();
                run.chunks().chain(foreign).try_for_each(|c| run.on(stream, 0, c).upload(hx, dx))
            });
            assert_eq!(result.is_err(), foreign.is_some(), "{edge:?}");
        }
    }
}

/// An argument with elements for each chunk has nothing around a chunk.
#[test]
fn a_halo_around_what_is_per_chunk() {
    static PLAN: Plan = plan(
        &[host("n", false), host("x", false), host("y", true)],
        &[buffer("d", BufferKind::Ring)],
        &[
            operation("copy x -> d", OperationKind::Upload { host: 1, buffer: 0 }),
            operation("copy d -> y", OperationKind::Download { host: 2, buffer: 0 }),
        ],
    );
    let device = small(Simulation::default());
    let n = numbers(8);
    let mut pipeline = raw!(&device, PLAN);
    // The first run leaves slots behind that are larger than those that the second needs.
    for (halo, per_chunk) in [(0, 64), (2, 1)] {
        let x = numbers(2 * per_chunk);
        let mut y = vec![0.0_f32; 2 * per_chunk];
        let mut call = pipeline.call(Purpose::Run);
        call.input::<f32>(1, &n).unwrap();
        let hx = call.halo(halo, Edge::Clamp).per_chunk().input::<f32>(per_chunk, &x).unwrap();
        let hy = call.per_chunk().output::<f32>(per_chunk, &mut y).unwrap();
        let d = call.per_chunk().device::<f32>(per_chunk).unwrap();
        let result = call.run(CHUNK, |run| {
            let [stream] = run.streams();
            for c in run.chunks() {
                run.on(stream, 0, c).upload(hx, d)?;
                run.on(stream, 1, c).download(d, hy)?;
            }
            Ok(())
        });
        if result.is_ok() {
            assert_eq!(y, x, "halo {halo}");
        } else {
            assert_eq!(halo, 2);
        }
    }
}

static WRITTEN_IN_PLACE: Plan = plan(
    &[],
    &[buffer("x", BufferKind::InPlace { mapped: true, reads: true, writes: false })],
    &[operation("host f", OperationKind::Host { function: "f" })],
);

/// A host function with a view that `memory` makes of a `mapped` input, borrowed shared.
fn on_a_shared_buffer(
    device: &Device,
    x: &PinnedBuf<f32>,
    memory: impl Fn(&Operation<'_>, thalweg::__private::Buffer<f32>) -> ViewMut<f32> + Sync,
) -> thalweg::Result<Report> {
    let mut pipeline = raw!(device, WRITTEN_IN_PLACE);
    let mut call: Call<'_, '_> = pipeline.call(Purpose::Run);
    let x = call.mapped_input::<f32>(1, x).unwrap();
    let done = call.run(CHUNK, |run: &Run<'_>| {
        let [stream] = run.streams();
        for c in run.chunks() {
            let operation = run.on(stream, 0, c);
            operation.host((memory(&operation, x),), |(x,)| x.fill(7.0))?;
        }
        Ok(())
    });
    done.map(|timeline| timeline.report)
}

/// Another thread may read a `&PinnedBuf` at the same time: no run writes memory that it borrows shared.
#[test]
fn a_shared_buffer_written_in_place() {
    let device = small(Simulation::default());
    let x = pinned(&device, &[1.0; 8]);
    let seen = &x[..];
    let result = on_a_shared_buffer(&device, &x, |operation, x| operation.host_read_write(x));
    assert_eq!(seen, [1.0; 8], "a shared borrow was written");
    assert!(matches!(result.unwrap_err().detail(), Detail::Skipped));
}

/// No run writes it with a view that an earlier run got when it had borrowed the buffer mutably.
#[test]
fn a_shared_buffer_written_with_an_old_view() {
    static PLAN: Plan = plan(
        &[],
        &[buffer("x", BufferKind::InPlace { mapped: true, reads: true, writes: true })],
        &[operation("host f", OperationKind::Host { function: "f" })],
    );
    let device = small(Simulation::default());
    let mut x = pinned(&device, &[1.0; 4]);
    let (mut pipeline, stolen) = (raw!(&device, PLAN), Mutex::new(None));
    let mut call = pipeline.call(Purpose::Run);
    let dx = call.mapped_inout::<f32>(1, &mut x).unwrap();
    call.run(CHUNK, |run| {
        let ([stream], c) = (run.streams(), run.chunks().next().unwrap());
        let operation = run.on(stream, 0, c);
        let view = operation.host_read_write(dx);
        *stolen.lock().unwrap() = Some(view);
        operation.host((view,), |(x,)| x.fill(2.0))
    })
    .unwrap();
    let (seen, stolen) = (&x[..], stolen.into_inner().unwrap().unwrap());
    let result = on_a_shared_buffer(&device, &x, |_, _| stolen);
    assert_eq!(seen, [2.0; 4], "a shared borrow was written");
    assert!(matches!(result.unwrap_err().detail(), Detail::Skipped));
}

/// No copy or fill on the device writes it.
#[test]
fn a_shared_device_buffer_written_in_place() {
    static PLAN: Plan = plan(
        &[],
        &[
            buffer("x", BufferKind::InPlace { mapped: false, reads: true, writes: false }),
            buffer("t", BufferKind::Ring),
        ],
        &[operation("fill x", OperationKind::Fill { buffer: 0 })],
    );
    let device = small(Simulation::default());
    let x = DeviceBuf::from_slice(&device, &[1.0_f32; 8]).unwrap();
    for copies in [false, true] {
        let mut pipeline = raw!(&device, PLAN);
        let mut call = pipeline.call(Purpose::Run);
        let dx = call.device_input::<f32>(1, &x).unwrap();
        let t = call.device::<f32>(1).unwrap();
        let result = call.run(CHUNK, |run| {
            let [stream] = run.streams();
            run.chunks().try_for_each(|c| {
                let operation = run.on(stream, 0, c);
                if copies { operation.copy(t, dx) } else { operation.fill(dx, 7.0) }
            })
        });
        assert!(matches!(result.unwrap_err().detail(), Detail::Skipped), "copies: {copies}");
        assert_eq!(x.to_vec().unwrap(), [1.0; 8]);
    }
}

/// Elements of the same size may have another alignment, and host memory has less than the device's.
#[test]
fn a_handle_of_elements_with_more_alignment() {
    #[repr(C, align(256))]
    #[derive(Clone, Copy, Pod, Zeroable)]
    #[bytemuck(crate = "thalweg::bytemuck")]
    struct Wide([u8; 256]);

    static PLAN: Plan = plan(
        &[host("x", false)],
        &[buffer("h", BufferKind::HostScratch)],
        &[operation("host f", OperationKind::Host { function: "f" })],
    );
    static OTHER: Plan = plan(&[], &[buffer("d", BufferKind::Ring)], &[]);

    let device = small(Simulation::default());
    let mut other = raw!(&device, OTHER);
    let mut call = other.call(Purpose::Run);
    let wide = call.device::<Wide>(1).unwrap();
    drop(call);
    // There are so many allocations that some are not aligned to 256 bytes.
    let mut pipelines: Vec<_> = (0..64).map(|_| raw!(&device, PLAN)).collect();
    for pipeline in &mut pipelines {
        let x = numbers(4);
        let mut call = pipeline.call(Purpose::Run);
        call.input::<f32>(1, &x).unwrap();
        call.host_scratch::<[u8; 256]>(1).unwrap();
        let result = call.run(CHUNK, |run| {
            let [stream] = run.streams();
            run.chunks().try_for_each(|c| {
                let operation = run.on(stream, 0, c);
                operation.host((operation.host_read(wide),), |(x,)| {
                    assert!(x.as_ptr().addr().is_multiple_of(256), "misaligned");
                })
            })
        });
        if let Err(error) = result {
            assert!(matches!(error.detail(), Detail::Skipped), "{error}");
        }
    }
}

/// Nothing orders the functions of two chunks, and a GPU calls them at the same time: none gets another's
/// memory.
#[test]
fn a_host_function_with_the_memory_of_another_chunk() {
    static PLAN: Plan = plan(
        &[host("x", false)],
        &[
            buffer("h", BufferKind::HostScratch),
            buffer("m", BufferKind::InPlace { mapped: true, reads: true, writes: true }),
        ],
        &[operation("host f", OperationKind::Host { function: "f" })],
    );
    let device = small(Simulation::default());
    for in_place in [false, true] {
        let (x, mut m) = (numbers(12), pinned(&device, &numbers(12)));
        let (stolen, chunks) = (OnceLock::new(), AtomicUsize::new(0));
        let mut pipeline = raw!(&device, PLAN);
        let mut call = pipeline.call(Purpose::Run);
        call.input::<f32>(1, &x).unwrap();
        let buffers = [call.host_scratch::<f32>(1).unwrap(), call.mapped_inout::<f32>(1, &mut m).unwrap()];
        let result = call.run(CHUNK, |run| {
            let [stream] = run.streams();
            run.chunks().try_for_each(|c| {
                let operation = run.on(stream, 0, c);
                let own = operation.host_read_write(buffers[usize::from(in_place)]);
                operation.host((*stolen.get_or_init(|| own),), |(h,)| h.fill(1.0))?;
                chunks.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        });
        assert!(matches!(result.unwrap_err().detail(), Detail::Skipped));
        assert_eq!(chunks.into_inner(), 1);
    }
}

const CALLED: Plan = plan(
    &[],
    &[buffer("y", BufferKind::InPlace { mapped: true, reads: true, writes: true })],
    &[operation("call f", OperationKind::Call { routine: "f" })],
);

/// A prediction waits for nothing at its end, so nothing may be enqueued.
#[test]
fn a_prediction_that_enqueues() {
    let device = small(Simulation::default());
    let mut y = pinned(&device, &[1.0_f32; 8]);
    let mut pipeline = raw!(&device, CALLED);
    let mut call = pipeline.call(Purpose::Predict);
    let buffer = call.mapped_inout::<f32>(1, &mut y).unwrap();
    let result = call.run(CHUNK, |run: &Run<'_>| {
        let [stream] = run.streams();
        for c in run.chunks() {
            let operation = run.on(stream, 0, c);
            let memory = (operation.read_write(buffer),);
            operation.call(operation.enqueue().simulate(memory, |(y,)| y.fill(7.0)))?;
        }
        Ok(())
    });
    assert!(matches!(result.unwrap_err().detail(), Detail::Skipped));
    // Everything under way is over when a run has waited.
    let mut call = pipeline.call(Purpose::Run);
    call.mapped_inout::<f32>(1, &mut y).unwrap();
    assert!(call.run(CHUNK, |_: &Run<'_>| Ok(())).is_err());
    assert_eq!(y[..], [1.0; 8]);
}
