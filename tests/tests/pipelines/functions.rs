//! Functions on the CPU in the order of a stream: `host`, `then`, and the routines that `call` calls.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys;
use thalweg::__private::Detail;
use thalweg::Error;
use thalweg::kernel::{DeviceSlice, DeviceSliceOut};
use thalweg::prelude::*;
use thalweg::routine::Enqueue;
use thalweg_tests::kernels::{double_all, plus_one};
use thalweg_tests::{built, numbers, on_every_device, read, written};

// ANCHOR: reverse
/// Reverses a chunk, and notes its extremes.
fn reverse(x: &[f32], factor: f32, y: &mut [f32], extremes: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x.iter().rev()) {
        *y = x * factor;
    }
    extremes[0] = x.iter().copied().fold(f32::INFINITY, f32::min);
    extremes[1] = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
}

fn negate(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = -*x);
}

stream_pipeline! {
    /// The CPU works in the middle: results are reversed, and negated twice on the way.
    pipeline Reverse {
        param factor: f32;
        input x: [f32];
        output y: [f32];
        output e: mapped [f32; 2] per chunk;
        host h: [f32];
        host r: [f32];
        chunk c = 10;
        stage load { copy x -> dx; plus_one<<<blocks(c.len, 32), 32>>>(c.len as u32, &dx, out dy); }
        stage down { copy dy -> h; }
        stage cpu { host negate(&mut h); host negate(&mut h); host reverse(&h, factor * 2.0, out r, out e); }
        stage up { copy r -> dr; }
        stage store { copy dr -> y; }
        device dy: [f32];
    }
}
// ANCHOR_END: reverse

on_every_device! {
    fn the_cpu_has_its_turn_in_the_middle(device, case) {
        let mut pipeline = built!(Reverse, device, case);
        let x = numbers(case.len);
        let expected: Vec<f32> =
            x.chunks(case.chunk).flat_map(|c| c.iter().rev().map(|x| 3.0 * (x + 1.0))).collect();
        for _ in 0..2 {
            let mut e = PinnedBuf::zeroed(device, 2 * case.chunks().len())?;
            let (report, y) = written!(device, case.pinned_out, vec![f32::NAN; case.len], |y| {
                read!(device, case.pinned_in, x.clone(), |x| pipeline.run(1.5, x, y, &mut e))
            });
            report?;
            assert_eq!(y, expected, "{case:?}");
            for (e, chunk) in e.chunks(2).zip(x.chunks(case.chunk)) {
                let fold = |f: fn(f32, f32) -> f32| chunk.iter().map(|x| x + 1.0).reduce(f).unwrap();
                assert_eq!(e, [fold(f32::min), fold(f32::max)]);
            }
        }
    }
}

/// Fails on one of the chunks, in one of the ways.
fn check(x: &[i32], fails: u32) -> Result<(), String> {
    match (x[0], fails) {
        (30, 1) => Err("30 is no good".to_owned()),
        (30, 2) => panic!("30 is worse"),
        (30, 3) => std::panic::panic_any(7),
        _ => Ok(()),
    }
}

stream_pipeline! {
    pipeline Checked {
        param fails: u32;
        input x: [i32];
        output y: [i32];
        carry _last: [i32; 1];
        host h: [i32];
        chunk c = 10;
        stage load { copy x -> dx; }
        stage check {
            copy dx -> h;
            host check(&h, fails);
        }
        stage store { copy dx -> y; }
    }
}

on_every_device! {
    fn a_function_that_fails_ends_the_run(device, case) on one {
        let options = Checked::options(device).depth(case.depth);
        let options = if case.in_graphs() { options.graph() } else { options };
        let mut pipeline = options.build()?;
        let x: Vec<i32> = (0..55).collect();
        let (mut y, mut last) = (vec![-1; 55], [5]);
        let messages = ["30 is no good", "30 is worse", "it panicked"];
        for (fails, expected) in (1..).zip(messages) {
            let error = pipeline.run(fails, &x, &mut y, &mut last).unwrap_err();
            let Detail::HostFunction { function: "check", message } = error.detail() else {
                panic!("{error}")
            };
            assert_eq!((&**message, last), (expected, [5]));
            let place = error.place();
            assert_eq!((place.stage, place.operation, place.chunk), (Some("check"), Some("host check"), Some(3)));
            assert!(place.site.is_some_and(|site| site.file.ends_with("functions.rs")));
        }
        y.fill(-1);
        pipeline.run(0, &x, &mut y, &mut last)?;
        assert_eq!(y, x);
    }
}

// ANCHOR: told
stream_pipeline! {
    /// Reports stored results, chunk by chunk.
    pipeline Told {
        param told: mpsc::Sender<(usize, usize, usize)>;
        input x: [i32];
        output y: [i32];
        chunk c = 10;
        stream up;
        stream down;
        stage load on up { copy x -> dx; }
        stage store on down { copy dx -> y; then |c| told.send((c.index, c.start, c.len)); }
    }
}
// ANCHOR_END: told

on_every_device! {
    fn callbacks_come_in_order_and_all_before_the_run_is_over(device, case) on one {
        let mut told = built!(Told, device, case);
        let x: Vec<i32> = (0..case.len as i32).collect();
        let (sender, receiver) = mpsc::channel();
        let (report, y) = written!(device, case.pinned_out, vec![0; case.len], |y| {
            read!(device, case.pinned_in, x.clone(), |x| told.run(sender.clone(), x, y))
        });
        report?;
        assert_eq!(y, x);
        let chunks = case.chunks().into_iter().enumerate();
        let expected: Vec<_> = chunks.map(|(index, len)| (index, index * case.chunk, len)).collect();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), expected, "{case:?}");
    }
}

#[test]
fn a_callback_that_fails_is_the_runs_error() {
    let device = Device::simulated(Simulation::default());
    let mut told = Told::new(&device).unwrap();
    let (sender, receiver) = mpsc::channel();
    drop(receiver);
    let (x, mut y) = (vec![1; 25], vec![0; 25]);
    let error = told.run(sender, &x, &mut y).unwrap_err();
    assert_eq!(error.to_string().lines().next(), Some("a callback failed: sending on a closed channel"));
    assert_eq!((error.place().operation, error.place().chunk), (Some("then"), Some(0)));
    assert_eq!(y, x, "the data has arrived all the same");
}

// ANCHOR: trigger
stream_pipeline! {
    /// The tutorials' "trigger the next batch": each chunk's callback runs a pipeline on the same device.
    pipeline Trigger {
        param next: Arc<Mutex<Told>>;
        param done: Arc<AtomicUsize>;
        input x: [i32];
        output y: [i32];
        chunk c = 10;
        stage over { copy x -> dx; copy dx -> y; then |chunk| trigger(&next, &done, chunk.len); }
    }
}

fn trigger(next: &Mutex<Told>, done: &AtomicUsize, items: usize) -> thalweg::Result<()> {
    let (x, mut y) = (vec![9; items], vec![0; items]);
    let (sender, receiver) = mpsc::channel();
    next.lock().unwrap().run(sender, &x, &mut y)?;
    assert_eq!((x, receiver.iter().count()), (y, items.div_ceil(10)));
    done.fetch_add(items, Ordering::Relaxed);
    Ok(())
}
// ANCHOR_END: trigger

#[test]
fn a_callback_may_run_another_pipeline() {
    for seed in 0..20 {
        let spec = if seed == 0 { Simulation::default() } else { Simulation::default().adversarial(seed) };
        let device = Device::simulated(spec);
        let next = Arc::new(Mutex::new(Told::new(&device).unwrap()));
        let done = Arc::new(AtomicUsize::new(0));
        let (x, mut y) = (vec![3; 95], vec![0; 95]);
        let mut trigger = Trigger::new(&device).unwrap();
        trigger.run(Arc::clone(&next), Arc::clone(&done), &x, &mut y).unwrap();
        assert_eq!((y, done.load(Ordering::Relaxed)), (x, 95));
    }
}

// ANCHOR: copied
/// `y <- x`, as a library would do it.
fn copied(
    queue: &Enqueue<'_>,
    fails: bool,
    x: DeviceSlice<'_, f32>,
    y: DeviceSliceOut<'_, f32>,
) -> thalweg::Result<()> {
    if fails {
        return Err(Error::routine("copied", "NOT_TODAY"));
    }
    assert_eq!((x.len(), y.len()), (queue.chunk().len, queue.chunk().len));
    match queue.cuda_stream() {
        Some(stream) => on_cuda(stream, &x, &y),
        None => queue.simulate((x, y), |(x, y)| y.copy_from_slice(x)),
    }
}

fn on_cuda(
    stream: *mut c_void,
    x: &DeviceSlice<'_, f32>,
    y: &DeviceSliceOut<'_, f32>,
) -> thalweg::Result<()> {
    // SAFETY: both slices are of the same length, and the run's until the stream has got past this.
    let code = unsafe { sys::cuMemcpyDtoDAsync_v2(y.address(), x.address(), 4 * x.len(), stream.cast()) };
    match code {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(Error::routine("cuMemcpyDtoDAsync", format!("{other:?}"))),
    }
}
// ANCHOR_END: copied

stream_pipeline! {
    pipeline Copied {
        param fails: bool;
        input x: [f32];
        output y: [f32];
        device t: [f32];
        device dy: [f32];
        chunk c = 10;
        stage load { copy x -> dx; }
        stage first { call copied(false, &dx, out t); }
        stage second {
            double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut t);
            call copied(fails, &t, out dy);
            double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut dy);
        }
        stage store { copy dy -> y; }
    }
}

on_every_device! {
    fn routines_are_called_in_the_order_of_their_streams(device, case) {
        let mut pipeline = built!(Copied, device, case);
        let x = numbers(case.len);
        let expected: Vec<f32> = x.iter().map(|x| 4.0 * x).collect();
        for _ in 0..2 {
            let (report, y) = written!(device, case.pinned_out, vec![1.0; case.len], |y| {
                read!(device, case.pinned_in, x.clone(), |x| pipeline.run(false, x, y))
            });
            report?;
            assert_eq!(y, expected, "{case:?}");
        }
    }
}

#[test]
fn a_routine_that_fails_says_where() {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Copied::new(&device).unwrap();
    let (x, mut y) = (vec![1.0; 20], vec![2.0; 20]);
    let error = pipeline.run(true, &x, &mut y).unwrap_err();
    assert!(matches!(error.detail(), Detail::Routine { .. }));
    let text = error.to_string();
    let expected = "`copied` failed: NOT_TODAY\n  in pipeline `Copied`, stage `second`, operation `call copied`, chunk 0\n";
    assert!(text.starts_with(expected), "{text}");
    pipeline.run(false, &x, &mut y).unwrap();
    assert_eq!(y, [4.0; 20]);
}

// ANCHOR: kept
/// Stands for a library's handle, which is made for a stream.
struct Handle {
    stream: Option<*mut c_void>,
    calls: u32,
}

// SAFETY: streams may be used from any thread.
unsafe impl Send for Handle {}

/// Fills `x` with the number of times that its handle has been used.
fn numbered(queue: &Enqueue<'_>, x: DeviceSliceOut<'_, u32>) -> thalweg::Result<()> {
    let mut handle = queue.state(|| Ok(Handle { stream: queue.cuda_stream(), calls: 0 }))?;
    handle.calls += 1;
    match handle.stream {
        Some(stream) => fill_on_cuda(stream, handle.calls, &x),
        None => {
            let calls = handle.calls;
            queue.simulate((x,), move |(x,)| x.fill(calls))
        }
    }
}
// ANCHOR_END: kept

fn fill_on_cuda(stream: *mut c_void, value: u32, x: &DeviceSliceOut<'_, u32>) -> thalweg::Result<()> {
    // SAFETY: the slice is the run's until the stream has got past this.
    let code = unsafe { sys::cuMemsetD32Async(x.address(), value, x.len(), stream.cast()) };
    match code {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(Error::routine("cuMemsetD32Async", format!("{other:?}"))),
    }
}

stream_pipeline! {
    pipeline Numbered {
        output x: [u32];
        output y: [u32];
        device dx: [u32];
        device dy: [u32];
        chunk c = 10;
        stage first { call numbered(out dx); copy dx -> x; }
        stage second { call numbered(out dy); copy dy -> y; }
    }
}

on_every_device! {
    fn each_slot_and_stream_has_its_own_state(device, case) on one {
        let mut numbered = built!(Numbered, device, case);
        let (mut x, mut y) = (vec![0; case.len], vec![0; case.len]);
        numbered.run(&mut x, &mut y)?;
        let rounds = case.chunks().into_iter().enumerate();
        let expected = |calls: fn(u32) -> u32| -> Vec<u32> {
            let rounds = rounds.clone();
            rounds.flat_map(|(chunk, len)| vec![calls((chunk / case.depth) as u32); len]).collect()
        };
        if case.in_graphs() {
            // Both stages are on the stream of the slot.
            assert_eq!((x, y), (expected(|round| 2 * round + 1), expected(|round| 2 * round + 2)), "{case:?}");
        } else {
            assert_eq!((&x, &y), (&expected(|round| round + 1), &x), "{case:?}");
        }
    }
}
