//! Attacks on runs that repeat the one before: programs whose runs are not what they seem to be, memory that
//! comes and goes in between, and runs that fail. A stub of CUDA's libraries stands in for the GPU.

use std::ops::{Add, Deref};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use thalweg::__private::{Build, ChunkSize, Detail, HostPlan, Pipelines, Purpose, Settings, Size};
use thalweg::plan::{BufferKind, BufferPlan, OperationKind};
use thalweg::prelude::*;
use thalweg_kernels::add_f32;
use thalweg_tests::plans::{operation, stream};
use thalweg_tests::stubs::Stubs;

const STUBS: Stubs = Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/attacked-stubs"));

/// The same for streams that can write words.
const WRITES: Stubs = Stubs {
    module: module_path!(),
    folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/attacked-stubs-that-write"),
    flags: &["-DWRITE_VALUE"],
    ..STUBS
};

/// Returns another value each time.
fn tick() -> u32 {
    static TICKS: AtomicU32 = AtomicU32::new(1);
    TICKS.fetch_add(1, Ordering::Relaxed)
}

/// The function that the program calls `blocks`.
fn blocks(_items: usize, _block: u32) -> u32 {
    tick()
}

/// Its number, another one each time, is behind a pointer, and behind an operator.
struct Ticking;

impl Deref for Ticking {
    type Target = f32;

    fn deref(&self) -> &f32 {
        Box::leak(Box::new(tick() as f32))
    }
}

impl Add<Ticking> for f32 {
    type Output = f32;

    fn add(self, _: Ticking) -> f32 {
        self + tick() as f32
    }
}

impl Ticking {
    fn max(&self, least: f32) -> f32 {
        least + tick() as f32
    }
}

/// Its field is behind a pointer.
struct Fields;

struct Inner {
    value: f32,
}

impl Deref for Fields {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        Box::leak(Box::new(Inner { value: tick() as f32 }))
    }
}

/// An associated function of a number's type.
trait Now {
    fn now() -> f32;
}

impl Now for f32 {
    fn now() -> f32 {
        tick() as f32
    }
}

/// It is moved into each sum.
const TICKS: Ticking = Ticking;
static TICKING: Ticking = Ticking;
static FIELDS: Fields = Fields;
const HALF: f32 = 0.5;

macro_rules! filled {
    ($($name:ident($base:ident, $c:ident): $value:expr;)*) => {$(
        stream_pipeline! {
            pub(crate) pipeline $name {
                param $base: f32;
                output floats: [f32];
                chunk $c = 100;
                mode = graph;
                stage all { fill d_floats = $value; copy d_floats -> floats; }
                device d_floats: [f32];
            }
        }
    )*};
}

filled! {
    Shadowed(base, c): blocks(c.len, 256) as f32 + base;
    Dereferenced(base, c): *TICKING + base;
    Added(base, c): base + TICKS;
    Method(base, c): TICKING.max(base);
    Field(base, c): FIELDS.value + base;
    OfTheType(base, c): f32::now() + base;
    Constant(base, c): base + HALF * f32::sqrt(c.len as f32) - f32::MAX.min(0.0);
}

/// Runs the pipeline three times, and returns the values in its argument.
macro_rules! three_runs {
    ($device:expr, $($name:ident),*) => {
        [$({
            let mut pipeline = $name::new($device).expect("the pipeline");
            let mut floats = PinnedBuf::<f32>::zeroed($device, 100).expect("pinned memory");
            let values = [(); 3].map(|()| {
                pipeline.run(1.0, &mut floats).expect("a run");
                assert!(floats.iter().all(|value| *value == floats[0]));
                floats[0]
            });
            (stringify!($name), values)
        }),*]
    };
}

#[test]
fn what_only_looks_like_a_constant_is_asked_in_every_run() {
    STUBS.record("what_only_looks_like_a_constant_is_asked_in_every_run", &[], |device| {
        let runs = three_runs!(device, Shadowed, Dereferenced, Added, Method, Field, OfTheType);
        for (name, [first, second, third]) in runs {
            assert!(first < second && second < third, "{name}: {first}, {second}, {third}");
        }
    });
}

#[test]
fn constants_are_asked_once() {
    let record = STUBS.record("constants_are_asked_once", &[], |device| {
        let [(_, values)] = three_runs!(device, Constant);
        assert_eq!(values, [6.0; 3]);
    });
    let Some(record) = record else { return };
    assert_eq!(record.lines().filter(|line| line.starts_with("cuGraphExec")).count(), 1, "{record}");
}

/// Functions of the user's called `blocks`, whose types follow from how they are called.
mod generic {
    use thalweg::prelude::stream_pipeline;

    use super::tick;

    fn blocks<T: TryInto<u64>>(items: T, _: impl Into<f64>) -> u32 {
        assert!(items.try_into().is_ok());
        tick()
    }

    filled! {
        Inferred(base, c): blocks(c.len, 256) as f32 + base;
        Fallback(base, c): blocks(100, 0.5) as f32 + base;
        Nested(base, c): blocks(blocks(c.len as u32, base), 1_u8) as f32;
        Written(base, c): blocks::<i8>(1, base) as f32;
    }
}

/// The same, through a pointer.
mod pointed_to {
    use std::sync::LazyLock;

    use thalweg::prelude::stream_pipeline;

    use super::tick;

    #[allow(non_upper_case_globals, reason = "it is called like a function")]
    static blocks: LazyLock<fn(&str, u32) -> u32> = LazyLock::new(|| |_, _| tick());

    filled! {
        Pointed(base, c): blocks("", 256) as f32 + base;
    }
}

#[test]
fn a_function_of_the_users_called_blocks_may_be_generic() {
    use generic::{Fallback, Inferred, Nested, Written};
    use pointed_to::Pointed;
    STUBS.record("a_function_of_the_users_called_blocks_may_be_generic", &[], |device| {
        let runs = three_runs!(device, Inferred, Fallback, Nested, Written, Pointed);
        for (name, [first, second, third]) in runs {
            assert!(first < second && second < third, "{name}: {first}, {second}, {third}");
        }
    });
}

/// Whether the kernel may be launched: its condition.
static MAY: AtomicBool = AtomicBool::new(true);

#[kernels("../../cu/by_hand/saxpy.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len().min(y.len()))]
    #[requires(MAY.load(Ordering::Relaxed))]
    safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
}

stream_pipeline! {
    pipeline Asking {
        param a: f32;
        input x: device [f32];
        inout y: device [f32];
        chunk c = 100;
        mode = graph;
        stage all { saxpy<<<1, 128>>>(c.len as u32, a, &x, &mut y); }
    }
}

#[test]
fn what_a_kernel_requires_is_asked_in_every_run() {
    STUBS.record("what_a_kernel_requires_is_asked_in_every_run", &[], |device| {
        let mut asking = Asking::new(device).expect("the pipeline");
        let x = DeviceBuf::from_slice(device, &[1.0; 100]).expect("device memory");
        let mut y = DeviceBuf::from_slice(device, &[2.0; 100]).expect("device memory");
        for _ in 0..2 {
            asking.run(3.0, &x, &mut y).expect("a run");
        }
        MAY.store(false, Ordering::Relaxed);
        let error = asking.run(3.0, &x, &mut y).expect_err("it may not");
        assert!(error.to_string().contains("MAY.load"), "{error}");
        MAY.store(true, Ordering::Relaxed);
        asking.run(3.0, &x, &mut y).expect("a run");
    });
}

/// `y[i] += a * x[i]`, if the kernel may be launched.
#[kernel]
#[requires(y.len() <= x.len())]
#[requires(MAY.load(Ordering::Relaxed))]
fn axpy_if(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    if let Some(y) = y.get_mut(i) {
        *y += a * x[i];
    }
}

macro_rules! in_rust {
    ($($name:ident: $kernel:path;)*) => {$(
        stream_pipeline! {
            pipeline $name {
                param a: f32;
                input x: device [f32];
                inout y: device [f32];
                chunk c = 100;
                mode = graph;
                stage all { $kernel<<<1, 128>>>(a, &x, &mut y); }
            }
        }
    )*};
}

in_rust! {
    OfLengths: thalweg_kernels::saxpy;
    AskingInRust: axpy_if;
}

/// It is equal to a number if the kernel may be launched.
#[device]
#[derive(Debug, Clone, Copy, thalweg::bytemuck::Pod, thalweg::bytemuck::Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
struct Wrapped {
    n: u32,
}

impl PartialEq<u32> for Wrapped {
    fn eq(&self, _: &u32) -> bool {
        MAY.load(Ordering::Relaxed)
    }
}

const WRAPPED: Wrapped = Wrapped { n: 3 };

/// Two parameters have one name, of which the condition names the caller's.
macro_rules! of_two {
    ($name:ident, $k:ident) => {
        #[kernel]
        #[requires($k == 3_u32)]
        fn $name(i: Index, k: u32, $k: Wrapped, x: &[f32], y: &mut Own<[f32]>) {
            if let Some(y) = y.get_mut(i) {
                *y += x[i] + k as f32 + $k.n as f32;
            }
        }
    };
}

of_two!(of_two, k);

stream_pipeline! {
    pipeline OfTwo {
        param a: u32;
        input x: device [f32];
        inout y: device [f32];
        chunk c = 100;
        mode = graph;
        stage all { of_two<<<1, 128>>>(a, WRAPPED, &x, &mut y); }
    }
}

/// Runs of the same arguments, of which the third is not to be launched.
macro_rules! repeated {
    ($name:ident, $device:expr, $a:expr) => {{
        let mut pipeline = $name::new($device).expect("the pipeline");
        let x = DeviceBuf::from_slice($device, &[1.0; 100]).expect("device memory");
        let mut y = DeviceBuf::from_slice($device, &[2.0; 100]).expect("device memory");
        let [first, second] = [(); 2].map(|()| pipeline.run($a, &x, &mut y).expect("a run"));
        assert!(!first.repeated);
        MAY.store(false, Ordering::Relaxed);
        let third = pipeline.run($a, &x, &mut y);
        MAY.store(true, Ordering::Relaxed);
        (second.repeated, third)
    }};
}

/// The conditions of a kernel in Rust too: lengths are those of the arguments, and anything else may change.
#[test]
fn what_a_kernel_in_rust_requires_is_asked_unless_it_follows_from_the_arguments() {
    let name = "what_a_kernel_in_rust_requires_is_asked_unless_it_follows_from_the_arguments";
    STUBS.record(name, &[], |device| {
        let (second, third) = repeated!(OfLengths, device, 3.0);
        assert!(second && third.expect("a run").repeated);
        let (second, third) = repeated!(AskingInRust, device, 3.0);
        let error = third.expect_err("it may not");
        assert!(!second && error.to_string().contains("MAY.load"), "{error}");
        let (second, third) = repeated!(OfTwo, device, 3);
        let error = third.expect_err("it may not");
        assert!(!second && error.to_string().contains("k == 3_u32"), "{error}");
    });
}

stream_pipeline! {
    /// The ring is touched by kernels alone.
    pipeline Scratch {
        input x: device [f32];
        output y: device [f32];
        device first: [f32];
        device second: [f32];
        chunk c = 10000;
        mode = graph;
        stage all {
            add_f32<<<blocks(c.len, 256), 256>>>(&x, &x, out first);
            add_f32<<<blocks(c.len, 256), 256>>>(&x, &first, out second);
            add_f32<<<blocks(c.len, 256), 256>>>(&first, &second, out y);
        }
    }
}

/// A run that does not come about has given the ring other memory, or none.
#[test]
fn kernels_are_not_launched_on_a_ring_that_is_gone() {
    // The arguments have four allocations, the ring has two, and the second of a larger ring is refused.
    let refused = [("THALWEG_FAIL", "cuMemAlloc_v2:2:8")];
    let record = STUBS.record("kernels_are_not_launched_on_a_ring_that_is_gone", &refused, |device| {
        let mut scratch = Scratch::options(device).chunk(usize::MAX).build().expect("the pipeline");
        let [x, long] = [100, 200].map(|len| DeviceBuf::<f32>::zeroed(device, len).expect("device memory"));
        let [mut y, mut long_y] =
            [100, 200].map(|len| DeviceBuf::<f32>::zeroed(device, len).expect("device memory"));
        for _ in 0..2 {
            scratch.run(&x, &mut y).expect("a run");
        }
        scratch.run(&long, &mut long_y).expect_err("there is no memory");
        scratch.run(&x, &mut y).expect("a run");
    });
    let Some(record) = record else { return };
    let since = record.lines().skip_while(|line| !line.ends_with("-> 2"));
    let launches = since.take_while(|line| !line.starts_with("cuGraphExecDestroy")).filter_map(|line| {
        let call = line.split(' ').next().filter(|call| call.starts_with("cuGraph"))?;
        Some(if call == "cuGraphExecKernelNodeSetParams" { "set" } else { call })
    });
    assert_eq!(launches.collect::<Vec<_>>(), ["set", "set", "set", "cuGraphLaunch"], "{record}");
}

stream_pipeline! {
    pipeline Copied {
        input x: [f32];
        output y: [f32];
        chunk c = 1;
        mode = graph;
        stage all { copy x -> d; copy d -> y; }
        device d: [f32];
    }
}

/// Nothing has arrived from graphs that were not launched.
#[test]
fn what_a_repeated_run_has_not_launched_is_not_complete() {
    // In each run the first graph has 768 chunks, the second one the rest.
    let refused = [("THALWEG_FAIL", "cuGraphLaunch:700:4")];
    STUBS.record("what_a_repeated_run_has_not_launched_is_not_complete", &refused, |device| {
        let mut copied = Copied::new(device).expect("the pipeline");
        let x = PinnedBuf::from_slice(device, &[1.0; 2000]).expect("pinned memory");
        let mut y = PinnedBuf::<f32>::zeroed(device, 2000).expect("pinned memory");
        copied.run(&x, &mut y).expect("a run");
        y.fill(0.0);
        let error = copied.run(&x, &mut y).expect_err("the launch failed");
        let arrived = y.iter().take_while(|value| **value == 1.0).count();
        assert_eq!(arrived, 768);
        let [complete] = error.complete() else { panic!("{error:?}") };
        assert_eq!((complete.host, complete.chunks, complete.items), ("y", 768, 768));
    });
}

stream_pipeline! {
    /// One stream, which waits for the host.
    pipeline Waiting {
        input x: mapped [f32];
        chunk c = 100;
        stage all { host look(&x); }
    }
}

fn look(_: &[f32]) {}

/// While a stream waits for a function, an allocation may wait for the stream, and hold the lock that the
/// function needs.
#[test]
fn nothing_is_allocated_while_a_stream_waits_for_a_function() {
    let record = WRITES.record("nothing_is_allocated_while_a_stream_waits_for_a_function", &[], |device| {
        let x = PinnedBuf::from_slice(device, &[1.0; 100]).expect("pinned memory");
        let mut waiting = Waiting::new(device).expect("the pipeline");
        waiting.run(&x).expect("a run");
    });
    let Some(record) = record else { return };
    let waits = record.lines().skip_while(|line| !line.starts_with("cuStreamWaitValue32"));
    let until = waits.take_while(|line| !line.starts_with("cuStreamSynchronize"));
    let calls: Vec<_> = until.collect();
    assert!(!calls.is_empty() && !calls.iter().any(|call| call.starts_with("cuMemHostAlloc")), "{calls:#?}");
}

stream_pipeline! {
    pipeline Divided {
        param divisor: u32;
        output y: [u32];
        chunk c = 100;
        mode = graph;
        stage all { fill d = 10 / divisor; copy d -> y; }
        device d: [u32];
    }
}

/// Different things happen between two runs with the same arguments.
#[test]
fn a_run_is_itself_whatever_comes_between() {
    STUBS.record("a_run_is_itself_whatever_comes_between", &[], |device| {
        let mut divided = Divided::new(device).expect("the pipeline");
        let mut y = PinnedBuf::<u32>::zeroed(device, 150).expect("pinned memory");
        let check = |divided: &mut Divided, y: &mut PinnedBuf<u32>, what: &str| {
            for _ in 0..2 {
                y.fill(0);
                divided.run(2, &mut *y).expect("a run");
                assert!(y.iter().all(|value| *value == 5), "after {what}");
            }
        };
        check(&mut divided, &mut y, "nothing");
        let panics = std::panic::AssertUnwindSafe(|| divided.run(0, &mut y));
        assert!(std::panic::catch_unwind(panics).is_err());
        check(&mut divided, &mut y, "a panic");
        divided.run(2, y.slice_mut(..0).expect("nothing")).expect("a run of nothing");
        check(&mut divided, &mut y, "a run of nothing");
        let mut pageable = [0; 150];
        divided.run(2, &mut pageable).expect("a staged run");
        assert_eq!(pageable, [5; 150]);
        check(&mut divided, &mut y, "a staged run");
        Divided::new(device).expect("the pipeline").run(1, &mut y).expect("another pipeline's run");
        check(&mut divided, &mut y, "another pipeline");
        std::thread::scope(|scope| {
            scope.spawn(|| check(&mut divided, &mut y, "going")).join().expect("a thread")
        });
        check(&mut divided, &mut y, "coming back");
        for _ in 0..3 {
            // This is most likely at the address of the one before.
            drop(y);
            y = PinnedBuf::zeroed(device, 150).expect("pinned memory");
            check(&mut divided, &mut y, "other memory");
        }
    });
}

const fn host(name: &'static str, writes: bool) -> HostPlan {
    HostPlan::new(name, !writes, writes, false, 1, 1)
}

const RAW: Plan = Plan::new(
    "Raw",
    "attacks_repeated.rs",
    1,
    1,
    &[stream("s")],
    &["all"],
    &[host("x", false), host("y", true)],
    &[BufferPlan::new("d", BufferKind::Ring, 1, 1)],
    &[
        operation("copy x -> d", OperationKind::Upload { host: 0, buffer: 0 }),
        operation("copy d -> y", OperationKind::Download { host: 1, buffer: 0 }),
    ],
    &[],
    &[],
);

struct Raw(Pipelines);

impl Build for Raw {
    fn build(settings: Settings<'_>) -> thalweg::Result<Self> {
        Ok(Self(Pipelines::new(settings, &RAW, 2)?.with_graph()))
    }
}

impl Raw {
    /// Runs the pipeline with this word, and returns whether the body was called, which enqueues everything
    /// or nothing.
    fn run(
        &mut self,
        word: u64,
        x: &PinnedBuf<f32>,
        y: &mut PinnedBuf<f32>,
        all: bool,
    ) -> (bool, thalweg::Result<()>) {
        let mut call = self.0.call(Purpose::Run);
        let x = call.input::<f32>(1, x).expect("an argument");
        let y = call.output::<f32>(1, y).expect("an argument");
        let d = call.device::<f32>(1).expect("a buffer");
        call.repeats([Some(word)]);
        let asked = AtomicBool::new(false);
        let report = call.run(ChunkSize::Items(100), |run| {
            asked.store(true, Ordering::Relaxed);
            let [s] = run.streams();
            for c in run.chunks().filter(|_| all) {
                run.on(s, 0, c).upload(x, d)?;
                run.on(s, 1, c).download(d, y)?;
            }
            Ok(())
        });
        (asked.load(Ordering::Relaxed), report.map(drop))
    }
}

/// Code that is written by hand may claim anything. Then a run does what the one before has done, on the same
/// memory.
#[test]
fn a_body_that_is_not_asked_does_no_harm() {
    STUBS.record("a_body_that_is_not_asked_does_no_harm", &[], |device| {
        let mut raw = thalweg::Options::<Raw>::new(device).build().expect("the pipeline");
        let mut x = PinnedBuf::from_slice(device, &[1.0; 100]).expect("pinned memory");
        let mut y = PinnedBuf::<f32>::zeroed(device, 100).expect("pinned memory");
        assert!(matches!(raw.run(7, &x, &mut y, true), (true, Ok(()))));
        x.fill(2.0);
        assert!(matches!(raw.run(7, &x, &mut y, false), (false, Ok(()))));
        assert!(y.iter().all(|value| *value == 2.0));

        // Now the memory that was written is read, and nobody may write it.
        let mut call = raw.0.call(Purpose::Run);
        let (input, output) = (call.input::<f32>(1, &x).expect("it"), call.input::<f32>(1, &y).expect("it"));
        let d = call.device::<f32>(1).expect("a buffer");
        call.repeats([Some(7)]);
        is_refused(call.run(ChunkSize::Items(100), |run| {
            let [s] = run.streams();
            for c in run.chunks() {
                run.on(s, 0, c).upload(input, d)?;
                run.on(s, 1, c).download(d, output)?;
            }
            Ok(())
        }));
        assert!(y.iter().all(|value| *value == 2.0));

        // These runs come after a failed run, with other words, and without the ring that it had. The last
        // call is given words twice.
        assert!(matches!(raw.run(7, &x, &mut y, false), (true, Err(_))));
        assert!(matches!(raw.run(7, &x, &mut y, true), (true, Ok(()))));
        assert!(matches!(raw.run(8, &x, &mut y, false), (true, Err(_))));
        assert!(matches!(raw.run(7, &x, &mut y, true), (true, Ok(()))));
        let size = Size::of::<f32>(1);
        raw.0.reserve(ChunkSize::Items(10_000), &[size; 2], &[size]).expect("a larger ring");
        assert!(matches!(raw.run(7, &x, &mut y, false), (true, Err(_))));
        assert!(matches!(raw.run(7, &x, &mut y, true), (true, Ok(()))));
        assert!(matches!(raw.run(7, &x, &mut y, false), (false, Ok(()))));
        let mut call = raw.0.call(Purpose::Run);
        call.repeats([Some(7)]);
        call.repeats([None]);
        drop(call);
        // A call that came to nothing has left nothing.
        assert!(matches!(raw.run(7, &x, &mut y, false), (false, Ok(()))));
    });
}

fn is_refused<T: std::fmt::Debug>(outcome: thalweg::Result<T>) {
    let error = outcome.expect_err("it was lent to be read");
    assert!(matches!(error.detail(), Detail::Skipped), "{error}");
}
