//! What the macro generates, beside the same by hand.

// ANCHOR: uses
use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PinnedHostSlice, PushKernelArg};
use cudarc::nvrtc::compile_ptx;
// ANCHOR_END: uses

use super::kernel::{GAIN, OFFSET};
use super::{LEN, assert_adjusted, samples};

// ANCHOR: cudarc
const DEPTH: usize = 3;

/// A ring of slots with a stream each, over cudarc's safe interface.
fn with_cudarc(
    x: &PinnedHostSlice<f32>,
    z: &mut PinnedHostSlice<f32>,
    chunk: usize,
) -> Result<(), DriverError> {
    let context = CudaContext::new(0)?;
    let ptx = compile_ptx(include_str!("adjust.cu")).expect("NVRTC");
    let adjust = context.load_module(ptx)?.load_function("adjust")?;
    let streams = (0..DEPTH).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let slots = streams.iter().map(|stream| stream.alloc_zeros::<f32>(chunk));
    let mut slots = slots.collect::<Result<Vec<_>, _>>()?;

    let (x, z) = (x.as_slice()?, z.as_mut_slice()?);
    for (c, (from, to)) in x.chunks(chunk).zip(z.chunks_mut(chunk)).enumerate() {
        let (stream, v, n) = (&streams[c % DEPTH], &mut slots[c % DEPTH], from.len());
        stream.memcpy_htod(from, &mut v.slice_mut(..n))?;
        let n_of_kernel = n as u32;
        let mut launch = stream.launch_builder(&adjust);
        launch.arg(&n_of_kernel).arg(&GAIN).arg(&OFFSET).arg(&mut *v);
        // SAFETY: the arguments are the kernel's, and the slot has room for `n`.
        unsafe { launch.launch(LaunchConfig::for_num_elems(n_of_kernel)) }?;
        stream.memcpy_dtoh(&v.slice(..n), to)?;
    }
    for stream in &streams {
        stream.synchronize()?;
    }
    Ok(())
}
// ANCHOR_END: cudarc

#[test]
#[ignore = "needs a CUDA device"]
fn on_a_gpu_cudarc_does_the_same() -> Result<(), DriverError> {
    let context = CudaContext::new(0)?;
    // SAFETY: any bits are an f32, and both are written before they are read.
    let mut buffers = unsafe { [context.alloc_pinned::<f32>(LEN)?, context.alloc_pinned::<f32>(LEN)?] };
    let [x, z] = &mut buffers;
    x.as_mut_slice()?.copy_from_slice(&samples(LEN));
    with_cudarc(x, z, LEN / 8)?;
    assert_adjusted(z.as_slice()?);
    Ok(())
}
