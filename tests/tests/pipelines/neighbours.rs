//! Streams and memory that are shared with another library, cudarc.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, DevicePtr, DevicePtrMut, sys};
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::kernels::{add_to, double_all};

const N: usize = 1 << 20;

stream_pipeline! {
    pipeline Add {
        param a: f32;
        inout y: device [f32];
        chunk c = 100_000;
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut y); }
    }
}

stream_pipeline! {
    pipeline AddCopied {
        param a: f32;
        inout y: [f32];
        chunk c = 100_000;
        stage load { copy y -> dy; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// cudarc's buffer as a `DeviceBuf`: kernels by hand and a pipeline work on it where it is.
#[test]
#[ignore = "needs a CUDA device"]
fn memory_of_anothers() -> thalweg::Result<()> {
    let device = Device::cuda(0)?;
    let context = CudaContext::new(0).expect("the same context");
    let theirs = context.new_stream().expect("a stream");
    let data: Vec<f32> = (0..N).map(|i| (i % 100) as f32).collect();
    let double = double_all::load(&device)?;
    {
        let slice = theirs.clone_htod(&data).expect("a copy");
        let address = slice.device_ptr(&theirs).0;
        // SAFETY: the stream is of the primary context and is kept, and so is the slice, which is that long.
        let (borrowed, mut x) = unsafe {
            let stream = Stream::from_raw(&device, theirs.cu_stream().cast(), Arc::clone(&theirs))?;
            (stream, DeviceBuf::<f32>::from_raw(&device, address, N, slice)?)
        };
        borrowed.note_write(&mut x)?;
        let own = Stream::new(&device)?;
        let race = double.launch(own.config(blocks(N, 256), 256, 0), N as u32, &mut x).unwrap_err();
        assert!(matches!(race.detail(), Detail::Race { .. }), "{race}");
    }
    // ANCHOR: borrowed
    let slice: CudaSlice<f32> = theirs.clone_htod(&data).expect("a copy");
    let address = slice.device_ptr(&theirs).0;
    // SAFETY: the stream is of the primary context and is kept, and so is the slice, which is that long.
    // cudarc does nothing with it meanwhile.
    let (borrowed, mut x) = unsafe {
        let stream = Stream::from_raw(&device, theirs.cu_stream().cast(), Arc::clone(&theirs))?;
        (stream, DeviceBuf::<f32>::from_raw(&device, address, N, slice)?)
    };
    // The work that cudarc's stream has been given so far writes the slice.
    borrowed.note_write(&mut x)?;
    let own = Stream::new(&device)?;
    own.wait_stream(&borrowed)?;
    double.launch(own.config(blocks(N, 256), 256, 0), N as u32, &mut x)?;
    // A run waits for what is pending on its arguments.
    Add::new(&device)?.run(1.0, &mut x)?;
    let result = x.to_vec()?;
    // ANCHOR_END: borrowed
    assert!(result.iter().zip(&data).all(|(y, x)| *y == 2.0 * x + 1.0));
    Ok(())
}

/// cudarc's stream writes a `DeviceBuf`, and the buffer waits for that.
#[test]
#[ignore = "needs a CUDA device"]
fn memory_for_another() {
    let device = Device::cuda(0).expect("a GPU");
    let context = CudaContext::new(0).expect("the same context");
    let theirs = context.new_stream().expect("a stream");
    // SAFETY: it is a stream of the primary context, which the `Arc` keeps.
    let borrowed = unsafe { Stream::from_raw(&device, theirs.cu_stream().cast(), Arc::clone(&theirs)) };
    let borrowed = borrowed.expect("a stream");
    for turn in 1..5 {
        let own = Stream::new(&device).expect("a stream");
        let mut x = DeviceBuf::<f32>::zeroed(&device, N).expect("memory");
        own.fill(&mut x, turn as f32).expect("a fill");
        borrowed.wait_stream(&own).expect("a wait");
        // SAFETY: the buffer has as many elements, and lives longer than the view, which gives it back below.
        let mut view = unsafe { theirs.upgrade_device_ptr::<f32>(x.address(), N) };
        theirs.memcpy_htod(&vec![7.0_f32; N / 2], &mut view.slice_mut(..N / 2)).expect("a copy");
        let _ = view.device_ptr_mut(&theirs);
        let _: u64 = view.leak();
        borrowed.note_write(&mut x).expect("what cudarc has enqueued");
        let mut y = PinnedBuf::<f32>::zeroed(&device, N).expect("memory");
        borrowed.download(&x, &mut y).expect("a copy");
        drop(x);
        assert_eq!([y[0], y[N / 2 - 1], y[N / 2], y[N - 1]], [7.0, 7.0, turn as f32, turn as f32]);
    }
}

/// A device of cudarc's context is the GPU itself: cudarc uses the primary one.
#[test]
#[ignore = "needs a CUDA device"]
fn the_context_of_another() {
    let context = CudaContext::new(0).expect("the primary context");
    // SAFETY: it is a context, and the `Arc` keeps it.
    let device = unsafe { Device::from_raw(context.cu_ctx().cast(), Arc::clone(&context)) };
    assert!(device.expect("a device").same(&Device::cuda(0).expect("a GPU")));
}

/// A context that is not the primary one is a device of its own.
#[test]
#[ignore = "needs a CUDA device"]
fn a_context_of_its_own() {
    struct Own(usize);
    impl Drop for Own {
        fn drop(&mut self) {
            // SAFETY: it was made below, and is destroyed once.
            unsafe { sys::cuCtxDestroy_v2(std::ptr::with_exposed_provenance_mut(self.0)) }
                .result()
                .expect("it is destroyed");
        }
    }
    let primary = Device::cuda(0).expect("a GPU");
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is a place for the result.
    unsafe { sys::cuCtxCreate_v4(&mut context, std::ptr::null_mut(), 0, 0) }.result().expect("a context");
    let own = Arc::new(Own(context.expose_provenance()));
    let kept = Arc::downgrade(&own);
    // SAFETY: it is a context until `own` is dropped.
    let device = unsafe { Device::from_raw(context.cast(), Arc::clone(&own)) }.expect("a device");
    // SAFETY: as above.
    let same = unsafe { Device::from_raw(context.cast(), own) }.expect("a device");
    assert!(device.same(&same) && !device.same(&primary));
    let mut y = PinnedBuf::from_slice(&device, &[1.0; 250_000]).expect("memory");
    let mut add = AddCopied::new(&device).expect("a pipeline");
    add.run(2.0, &mut y).expect("a run");
    assert!(y.iter().all(|y| *y == 3.0));
    // Page-locked memory belongs to every context.
    AddCopied::new(&primary).expect("a pipeline").run(2.0, &mut y).expect("a run");
    assert!(y.iter().all(|y| *y == 5.0));
    drop((device, same, add, y));
    assert!(kept.upgrade().is_none(), "nobody uses the context any more");
    // The thread has the primary context again when it is needed.
    let mut y = vec![1.0; 100];
    AddCopied::new(&primary).expect("a pipeline").run(2.0, &mut y).expect("a run");
    assert_eq!(y, [3.0; 100]);
}

/// cudarc uses a stream of Thalweg's.
#[test]
#[ignore = "needs a CUDA device"]
fn streams_have_handles() {
    let device = Device::cuda(0).expect("a GPU");
    let stream = Stream::new(&device).expect("a stream");
    let raw = stream.raw().expect("a handle");
    // SAFETY: the stream is live.
    unsafe { cudarc::driver::result::stream::synchronize(raw.cast()) }.expect("it is a stream");
    let null = Stream::null(&device).expect("a stream").raw();
    assert_eq!(null.map(|raw| raw.addr()), Some(1));
}

#[test]
fn nothing_of_anothers_on_the_simulated_device() {
    let device = Device::simulated(Simulation::default());
    let raw = std::ptr::null_mut();
    // SAFETY: nothing is done with it.
    let stream = unsafe { Stream::from_raw(&device, raw, ()) };
    assert!(matches!(stream.unwrap_err().detail(), Detail::NotAGpu));
    // SAFETY: as above.
    let buffer = unsafe { DeviceBuf::<f32>::from_raw(&device, 4096, 4, ()) };
    assert!(matches!(buffer.unwrap_err().detail(), Detail::NotAGpu));
    assert!(Stream::new(&device).expect("a stream").raw().is_none());
}

/// The work of others is under way, even if it is a race: the buffer waits for it.
#[test]
fn a_race_of_others_is_noted_all_the_same() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let (a, b, c) = (Stream::new(&device)?, Stream::new(&device)?, Stream::new(&device)?);
    let mut x = DeviceBuf::<f32>::zeroed(&device, 8)?;
    a.fill(&mut x, 1.0)?;
    assert!(matches!(b.note_read(&x).unwrap_err().detail(), Detail::Race { .. }));
    // It comes after the work that `a` has enqueued, but not after the read of `b`.
    c.wait_stream(&a)?;
    assert!(matches!(c.fill(&mut x, 2.0).unwrap_err().detail(), Detail::Race { .. }));
    c.wait_stream(&b)?;
    c.fill(&mut x, 2.0)?;
    Ok(())
}

/// The null stream's order counts for them too.
#[test]
fn others_on_blocking_streams_come_after_the_null_stream() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let (null, blocking) = (Stream::null(&device)?, Stream::blocking(&device)?);
    let mut x = DeviceBuf::<f32>::zeroed(&device, 8)?;
    null.fill(&mut x, 1.0)?;
    blocking.note_read(&x)?;
    null.fill(&mut x, 2.0)?;
    Ok(())
}

/// The handles of default streams.
#[test]
#[ignore = "needs a CUDA device"]
fn handles_of_default_streams() -> thalweg::Result<()> {
    let device = Device::cuda(0)?;
    for handle in [0, 1] {
        // SAFETY: it stands for the null stream.
        let stream = unsafe { Stream::from_raw(&device, std::ptr::without_provenance_mut(handle), ()) }?;
        assert_eq!(stream.raw(), Stream::null(&device)?.raw());
    }
    // SAFETY: it stands for the calling thread's stream.
    let stream = unsafe { Stream::from_raw(&device, std::ptr::without_provenance_mut(2), ()) }?;
    let other = std::thread::spawn(move || stream.synchronize()).join().expect("no panic");
    assert!(matches!(other.unwrap_err().detail(), Detail::StreamOfAnotherThread));
    Ok(())
}
