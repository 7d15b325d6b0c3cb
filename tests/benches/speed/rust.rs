//! Hand-written Rust: cudarc as its users write it.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};

use crate::bare::kernel;
use crate::measure::{Contender, Output, Sample};

/// A ring of slots with a stream each, over cudarc's safe interface.
pub fn cudarc<'a>(tracked: bool, chunk: usize, depth: usize, iterations: u32) -> Contender<'a> {
    let context = CudaContext::new(0).expect("a context");
    if !tracked {
        // SAFETY: each slice is used on one stream only.
        unsafe { context.disable_event_tracking() };
    }
    let kernel = kernel(&context);
    let streams: Vec<_> = (0..depth).map(|_| context.new_stream().expect("a stream")).collect();
    let slots = |stream: &Arc<CudaStream>| stream.alloc_zeros::<f32>(chunk).expect("device memory");
    let mut x: Vec<CudaSlice<f32>> = streams.iter().map(slots).collect();
    let mut z: Vec<CudaSlice<f32>> = streams.iter().map(slots).collect();
    for stream in &streams {
        stream.synchronize().expect("the slots");
    }
    if !tracked {
        // SAFETY: the slices that were made meanwhile are used on one stream only.
        unsafe { context.enable_event_tracking() };
    }
    let name = if tracked { "cudarc" } else { "cudarc, no event tracking" };
    Contender::new(name, Output::Pinned, move |data| {
        let start = Instant::now();
        for (c, (from, to)) in data.x.chunks(chunk).zip(data.z.chunks_mut(chunk)).enumerate() {
            let k = c % depth;
            let (stream, n) = (&streams[k], from.len() as u32);
            stream.memcpy_htod(from, &mut x[k].slice_mut(..from.len())).expect("a copy in");
            let mut launch = stream.launch_builder(&kernel);
            launch.arg(&n).arg(&iterations).arg(&x[k]).arg(&mut z[k]);
            // SAFETY: the arguments are the kernel's, and the slots have room for `n`.
            unsafe {
                launch.launch(LaunchConfig {
                    grid_dim: (n.div_ceil(256), 1, 1),
                    block_dim: (256, 1, 1),
                    shared_mem_bytes: 0,
                })
            }
            .expect("a launch");
            stream.memcpy_dtoh(&z[k].slice(..to.len()), to).expect("a copy out");
        }
        let enqueue = start.elapsed().as_secs_f64() / data.x.len().div_ceil(chunk) as f64;
        for stream in &streams {
            stream.synchronize().expect("the chunks");
        }
        Ok(Sample { wall: start.elapsed().as_secs_f64(), enqueue: Some(enqueue) })
    })
}
