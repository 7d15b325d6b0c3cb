//! Attacks on what a run touches and claims, by code without `unsafe`: chunks, arguments and views that are not its own,
//! functions that fail in odd ways.
//!
//! Run it under AddressSanitizer: `.ci/asan`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg::__private::{
    Build, Call, ChunkSize, Edge, HostPlan, Operation, Pipeline, Priority, Run, Settings, StreamPlan, ViewMut,
};
use thalweg::prelude::*;
use thalweg::{BufferKind, BufferPlan, Chunk, OperationKind, OperationPlan, Options};
use thalweg_tests::kernels::axpy_each;
use thalweg_tests::{leaves_nothing, numbers, pinned, small};

const fn operation(text: &'static str, kind: OperationKind) -> OperationPlan {
    OperationPlan { stage: 0, stream: 0, text, kind, conditional: false, line: 1, column: 1 }
}

const fn host(name: &'static str, writes: bool) -> HostPlan {
    HostPlan { name, reads: true, writes, line: 1, column: 1 }
}

const fn buffer(name: &'static str, kind: BufferKind) -> BufferPlan {
    BufferPlan { name, kind, line: 1, column: 1 }
}

const fn plan(
    hosts: &'static [HostPlan],
    buffers: &'static [BufferPlan],
    operations: &'static [OperationPlan],
) -> Plan {
    Plan {
        pipeline: "Raw",
        file: "attacks_runtime.rs",
        line: 1,
        column: 1,
        streams: &[StreamPlan { name: "s", priority: Priority::Default, per_slot: false, null: false }],
        stages: &["all"],
        hosts,
        buffers,
        operations,
        events: &[],
        waits: &[],
    }
}

/// The bare resources of a pipeline with one of the plans below.
macro_rules! raw {
    ($device:expr, $plan:expr) => {{
        struct Raw(Pipeline);
        impl Build for Raw {
            fn build(settings: Settings<'_>) -> Result<Self> {
                Pipeline::new(settings, &$plan, 2).map(Self)
            }
        }
        Options::<Raw>::new($device).build().unwrap().0
    }};
}

const CHUNK: ChunkSize = ChunkSize::Items(4);

/// A chunk of a run of many.
fn foreign_chunk(device: &Device, index: usize) -> Chunk {
    static PLAN: Plan = plan(&[host("x", false)], &[], &[]);
    let (mut pipeline, x, mut chunk) = (raw!(device, PLAN), numbers(4000), None);
    let mut call = pipeline.call();
    call.input::<f32>(1, &x).unwrap();
    call.run(CHUNK, |run| {
        chunk = run.chunks().nth(index);
        Ok(())
    })
    .unwrap();
    chunk.unwrap()
}

/// What a chunk has of an output that has elements for each chunk is cut by the chunk's index: one beyond the last
/// would be behind the argument.
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
    let device = small(Spec::default());
    let beyond = foreign_chunk(&device, 2);
    let (x, mut y) = (numbers(8), vec![5.0_f32; 100]);
    let mut pipeline = raw!(&device, PLAN);
    let mut call = pipeline.call();
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
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Skipped));
    assert_eq!(y[4..], [5.0; 96], "memory behind the argument was written");
}

/// A run of nothing has no chunk, and no item for a halo to repeat.
#[test]
fn a_chunk_of_nothing() {
    static PLAN: Plan = plan(
        &[host("x", false)],
        &[buffer("dx", BufferKind::Ring)],
        &[operation("copy x -> dx", OperationKind::Upload { host: 0, buffer: 0 })],
    );
    let device = small(Spec::default());
    let mut pipeline = raw!(&device, PLAN);
    for edge in [Edge::Clamp, Edge::Wrap, Edge::Zero] {
        for (len, foreign) in [(8, None), (0, Some(foreign_chunk(&device, 0)))] {
            let x = numbers(len);
            let mut call = pipeline.call();
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

/// What has elements for each chunk has nothing around a chunk.
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
    let device = small(Spec::default());
    let n = numbers(8);
    let mut pipeline = raw!(&device, PLAN);
    // The first run leaves slots behind that are larger than the second asks for.
    for (halo, per_chunk) in [(0, 64), (2, 1)] {
        let x = numbers(2 * per_chunk);
        let mut y = vec![0.0_f32; 2 * per_chunk];
        let mut call = pipeline.call();
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

/// A host function with what `memory` makes of a `mapped` input, borrowed shared.
fn on_a_shared_buffer(
    device: &Device,
    x: &PinnedBuf<f32>,
    memory: impl Fn(&Operation<'_>, thalweg::__private::Buffer<f32>) -> ViewMut<f32>,
) -> Result<Report> {
    let mut pipeline = raw!(device, WRITTEN_IN_PLACE);
    let mut call: Call<'_, '_> = pipeline.call();
    let x = call.mapped_input::<f32>(1, x).unwrap();
    call.run(CHUNK, |run: &Run<'_>| {
        let [stream] = run.streams();
        for c in run.chunks() {
            let operation = run.on(stream, 0, c);
            operation.host((memory(&operation, x),), |(x,)| x.fill(7.0))?;
        }
        Ok(())
    })
}

/// `&PinnedBuf` may be read by another thread meanwhile: no run writes what it borrows shared.
#[test]
fn a_shared_buffer_written_in_place() {
    let device = small(Spec::default());
    let x = pinned(&device, &[1.0; 8]);
    let seen = &x[..];
    let result = on_a_shared_buffer(&device, &x, |operation, x| operation.host_read_write(x));
    assert_eq!(seen, [1.0; 8], "a shared borrow was written");
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Skipped));
}

/// Nor with a view that an earlier run got when it had borrowed the buffer mutably.
#[test]
fn a_shared_buffer_written_with_an_old_view() {
    static PLAN: Plan = plan(
        &[],
        &[buffer("x", BufferKind::InPlace { mapped: true, reads: true, writes: true })],
        &[operation("host f", OperationKind::Host { function: "f" })],
    );
    let device = small(Spec::default());
    let mut x = pinned(&device, &[1.0; 4]);
    let (mut pipeline, mut stolen) = (raw!(&device, PLAN), None);
    let mut call = pipeline.call();
    let dx = call.mapped_inout::<f32>(1, &mut x).unwrap();
    call.run(CHUNK, |run| {
        let ([stream], c) = (run.streams(), run.chunks().next().unwrap());
        let operation = run.on(stream, 0, c);
        let view = operation.host_read_write(dx);
        stolen = Some(view);
        operation.host((view,), |(x,)| x.fill(2.0))
    })
    .unwrap();
    let seen = &x[..];
    let result = on_a_shared_buffer(&device, &x, |_, _| stolen.unwrap());
    assert_eq!(seen, [2.0; 4], "a shared borrow was written");
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Skipped));
}

/// Nor by a copy or a fill on the device.
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
    let device = small(Spec::default());
    let x = DeviceBuf::from_slice(&device, &[1.0_f32; 8]).unwrap();
    for copies in [false, true] {
        let mut pipeline = raw!(&device, PLAN);
        let mut call = pipeline.call();
        let dx = call.device_input::<f32>(1, &x).unwrap();
        let t = call.device::<f32>(1).unwrap();
        let result = call.run(CHUNK, |run| {
            let [stream] = run.streams();
            run.chunks().try_for_each(|c| {
                let operation = run.on(stream, 0, c);
                if copies { operation.copy(t, dx) } else { operation.fill(dx, 7.0) }
            })
        });
        assert!(matches!(result.unwrap_err().kind(), ErrorKind::Skipped), "copies: {copies}");
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

    let device = small(Spec::default());
    let mut other = raw!(&device, OTHER);
    let mut call = other.call();
    let wide = call.device::<Wide>(1).unwrap();
    drop(call);
    // Of so many allocations some are not aligned to 256 bytes.
    let mut pipelines: Vec<_> = (0..64).map(|_| raw!(&device, PLAN)).collect();
    for pipeline in &mut pipelines {
        let x = numbers(4);
        let mut call = pipeline.call();
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
            assert!(matches!(error.kind(), ErrorKind::Skipped), "{error}");
        }
    }
}

/// Nothing orders the functions of two chunks, and a GPU calls them at the same time: none gets what is another's.
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
    let device = small(Spec::default());
    for in_place in [false, true] {
        let (x, mut m, mut stolen, mut chunks) = (numbers(12), pinned(&device, &numbers(12)), None, 0);
        let mut pipeline = raw!(&device, PLAN);
        let mut call = pipeline.call();
        call.input::<f32>(1, &x).unwrap();
        let buffers = [call.host_scratch::<f32>(1).unwrap(), call.mapped_inout::<f32>(1, &mut m).unwrap()];
        let result = call.run(CHUNK, |run| {
            let [stream] = run.streams();
            run.chunks().try_for_each(|c| {
                let operation = run.on(stream, 0, c);
                let own = operation.host_read_write(buffers[usize::from(in_place)]);
                operation.host((*stolen.get_or_insert(own),), |(h,)| h.fill(1.0))?;
                chunks += 1;
                Ok(())
            })
        });
        assert!(matches!(result.unwrap_err().kind(), ErrorKind::Skipped));
        assert_eq!(chunks, 1);
    }
}

fn halve(x: &[i32], y: &mut [i32], fails: i32) -> std::result::Result<(), String> {
    if x[0] == fails {
        return Err(format!("{fails} is no good"));
    }
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x / 2);
    Ok(())
}

fn twice(y: &[i32], z: &mut [i32]) {
    z.iter_mut().zip(y).for_each(|(z, y)| *z = 2 * y);
}

stream_pipeline! {
    /// The second function may come to a chunk after the first one has failed on a later one.
    pipeline Halved {
        param fails: i32;
        input x: [i32];
        output z: [i32];
        host hx: [i32];
        host hy: [i32];
        host hz: [i32];
        chunk c = 10;
        depth = 3;
        stage load { copy x -> dx; copy dx -> hx; }
        stage first { host halve(&hx, out hy, fails); }
        stage second { host twice(&hy, out hz); }
        stage store { copy hz -> dz; copy dz -> z; }
    }
}

/// What a failed run says has arrived is what a run that went well would have written.
#[test]
fn claims_of_a_run_whose_function_failed() {
    let x: Vec<i32> = (0..200).map(|x| 2 * x).collect();
    let specs = (0..20).map(|seed| Spec::default().adversarial(seed)).chain([Spec::default()]);
    for (number, spec) in specs.enumerate() {
        for graph in [false, true] {
            let device = small(spec.clone());
            let options = Halved::options(&device);
            let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
            let mut z = vec![-1; x.len()];
            let mut in_pinned = pinned(&device, &z);
            let error = if number % 2 == 0 {
                let error = pipeline.run(200, &x, &mut in_pinned).unwrap_err();
                z.copy_from_slice(&in_pinned);
                error
            } else {
                pipeline.run(200, &x, &mut z).unwrap_err()
            };
            assert!(matches!(error.kind(), ErrorKind::HostFunction { function: "halve", .. }), "{error}");
            let [complete] = error.complete() else { panic!("{error}") };
            assert_eq!(complete.items, complete.chunks as usize * 10);
            assert!(complete.chunks <= 10, "{error}");
            assert_eq!(z[..complete.items], x[..complete.items], "{error}");
        }
    }
}

/// Its clones panic when they are dropped, the parameter itself does not.
struct Bomb {
    is_clone: bool,
    dropped: Arc<AtomicUsize>,
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        Self { is_clone: true, dropped: Arc::clone(&self.dropped) }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        assert!(!self.is_clone, "on purpose");
    }
}

stream_pipeline! {
    pipeline Bombs {
        param bomb: Bomb;
        input x: [i32];
        output y: [i32];
        chunk c = 1;
        stage all { copy x -> dx; copy dx -> y; then |_c| { let _bomb = &bomb; }; }
    }
}

/// What a callback holds may panic when it is dropped, also where the callback is not called any more.
#[test]
fn callbacks_that_panic_when_they_are_dropped() {
    let device = small(Spec::default());
    let dropped = Arc::new(AtomicUsize::new(0));
    let bomb = Bomb { is_clone: false, dropped: Arc::clone(&dropped) };
    let x: Vec<i32> = (0..20).collect();
    let mut y = vec![0; 20];
    let outcome =
        catch_unwind(AssertUnwindSafe(|| Bombs::new(&device).unwrap().run(bomb, &x, &mut y).map(drop)));
    let error = outcome.unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Callback { .. }), "{error}");
    assert_eq!(dropped.load(Ordering::Relaxed), 21, "each is dropped once");
}

/// `value`, unless it is this chunk's turn to panic.
fn unless(panics: Option<usize>, chunk: usize, value: u32) -> u32 {
    assert!(panics != Some(chunk), "on purpose");
    value
}

fn add_one(y: &mut [f32]) {
    y.iter_mut().for_each(|y| *y += 1.0);
}

stream_pipeline! {
    pipeline Odd {
        param panics: Option<usize>;
        param told: Arc<AtomicUsize>;
        input x: [f32];
        input w: mapped [f32];
        inout y: [f32];
        host h: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage work {
            axpy_each<<<unless(panics, c.index, 1), 4>>>(c.len as u32, 2.0, &dx, &mut dy);
            axpy_each<<<1, 4>>>(c.len as u32, 1.0, &w, &mut dy);
        }
        stage cpu { copy dy -> h; host add_one(&mut h); copy h -> dz; }
        stage store { copy dz -> y; then |_c| { told.fetch_add(1, Ordering::Relaxed); }; }
    }
}

/// Arguments that are gone when the next run comes, at whose addresses others lie then; other lengths, and panics halfway.
fn odd_runs(device: &Device, graph: bool, runs: usize) {
    let options = Odd::options(device);
    let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
    for run in 0..runs {
        let len = [18, 18, 5, 40, 0, 1, 18][run % 7];
        let panics = (run % 3 == 1).then_some(run % 5);
        let told = Arc::new(AtomicUsize::new(0));
        let (x, w) = (numbers(len), pinned(device, &numbers(len)));
        let mut y = vec![1.0; len];
        let (pinned_x, mut pinned_y) = (pinned(device, &x), pinned(device, &y));
        let result = catch_unwind(AssertUnwindSafe(|| {
            if run % 2 == 0 {
                pipeline.run(panics, Arc::clone(&told), &x, &w, &mut y)
            } else {
                let report = pipeline.run(panics, Arc::clone(&told), &pinned_x, &w, &mut pinned_y);
                y.copy_from_slice(&pinned_y);
                report
            }
        }));
        assert_eq!(Arc::strong_count(&told), 1, "a callback is left");
        let chunks = len.div_ceil(4);
        if panics.is_some_and(|chunk| chunk < chunks) {
            assert!(result.is_err());
        } else {
            result.unwrap().unwrap();
            assert_eq!(told.load(Ordering::Relaxed), chunks);
            assert_eq!(y, x.iter().map(|x| 2.0 + 3.0 * x).collect::<Vec<_>>());
        }
    }
}

#[test]
fn arguments_that_are_gone() {
    for (number, graph) in [false, true].into_iter().cycle().take(20).enumerate() {
        let spec = Spec::default();
        let device = small(if number < 2 { spec } else { spec.adversarial(number as u64) });
        leaves_nothing(&device, || odd_runs(&device, graph, 42));
    }
}

#[test]
fn many_threads_with_functions() {
    let device = Device::simulated(Spec::default());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let device = &device;
            scope.spawn(move || odd_runs(device, thread % 2 == 0, 84));
        }
    });
}

stream_pipeline! {
    /// A callback runs a pipeline of its own on the same device, whose callbacks do so again.
    pipeline Nested {
        param device: Device;
        param depths: usize;
        param told: Arc<AtomicUsize>;
        input x: [f32];
        output y: [f32];
        chunk c = 4;
        stage all {
            copy x -> dx;
            copy dx -> y;
            then |c| nested(device, depths - usize::from(depths > 0), c.index, depths > 0, told);
        }
    }
}

fn nested(device: Device, depths: usize, chunk: usize, goes_on: bool, told: Arc<AtomicUsize>) -> Result<()> {
    told.fetch_add(1, Ordering::Relaxed);
    if !goes_on {
        return Ok(());
    }
    let x = numbers(8);
    let mut y = vec![0.0; 8];
    // Another thread waits for the device meanwhile.
    let other = device.clone();
    let thread = std::thread::spawn(move || odd_runs(&other, chunk.is_multiple_of(2), 3));
    Nested::new(&device)?.run(device.clone(), depths, told, &x, &mut y)?;
    thread.join().unwrap();
    assert_eq!(x, y);
    Ok(())
}

#[test]
fn callbacks_that_run_pipelines_and_wait_for_threads() {
    let (told, x, mut y) = (Arc::new(AtomicUsize::new(0)), numbers(8), vec![0.0; 8]);
    let device = Device::simulated(Spec::default());
    Nested::new(&device).unwrap().run(device.clone(), 3, Arc::clone(&told), &x, &mut y).unwrap();
    assert_eq!((told.load(Ordering::Relaxed), y), (2 + 4 + 8 + 16, x));
}

fn asks_the_device(y: &mut [f32], told: &'static AtomicUsize) {
    let device = Device::simulated(Spec::default());
    let (x, mut z) = (numbers(8), vec![0.0; 8]);
    let refused = Nested::new(&device).unwrap().run(device.clone(), 0, Arc::default(), &x, &mut z).is_err();
    told.fetch_add(usize::from(refused), Ordering::Relaxed);
    y.fill(1.0);
}

stream_pipeline! {
    pipeline Asks {
        param told: &'static AtomicUsize;
        output y: [f32];
        chunk c = 4;
        host h: [f32];
        stage all { host asks_the_device(out h, told); copy h -> d; copy d -> y; }
    }
}

/// It is refused, and waits for nothing.
#[test]
fn a_host_function_that_runs_a_pipeline() {
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    let device = Device::simulated(Spec::default());
    let mut y = vec![0.0; 8];
    Asks::new(&device).unwrap().run(&REFUSED, &mut y).unwrap();
    assert_eq!((REFUSED.load(Ordering::Relaxed), y), (2, vec![1.0; 8]));
}
