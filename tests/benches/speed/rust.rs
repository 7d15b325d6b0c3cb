//! Hand-written Rust: the bare driver for the limits, and cudarc as its users write it.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg, result, sys,
};
use cudarc::nvrtc::compile_ptx;

use crate::measure::{Contender, Output, Sample};

/// Whole arrays on the device and a stream each way: what bounds everyone.
pub struct Bare {
    device: [u64; 2],
    streams: [sys::CUstream; 2],
    kernel: CudaFunction,
    stream: Arc<CudaStream>,
}

impl Bare {
    /// For so many elements.
    pub fn new(len: usize) -> Self {
        let context = CudaContext::new(0).expect("a context");
        // SAFETY: the context is current.
        let alloc = || unsafe { result::malloc_sync(len * 4) }.expect("device memory");
        let stream = || result::stream::create(result::stream::StreamKind::NonBlocking).expect("a stream");
        let kernel = kernel(&context);
        Self {
            device: [alloc(), alloc()],
            streams: [stream(), stream()],
            kernel,
            stream: context.new_stream().expect("a stream"),
        }
    }

    /// Copies alone, as many bytes in as out.
    pub fn copies(&self) -> Contender<'_> {
        Contender::new("limit: both copies at once", Output::None, |data| {
            let start = Instant::now();
            // SAFETY: all host memory is pinned, all device memory is as large, and the end waits for both
            // streams.
            unsafe {
                result::memcpy_htod_async(self.device[0], &data.x, self.streams[0]).expect("a copy in");
                result::memcpy_dtoh_async(&mut data.z, self.device[1], self.streams[1]).expect("a copy out");
                for stream in self.streams {
                    result::stream::synchronize(stream).expect("the copies");
                }
            }
            Ok(Sample { wall: start.elapsed().as_secs_f64(), enqueue: None })
        })
    }

    /// Copies alone, as [`Self::copies`], in pieces of so many elements that only their stream orders.
    pub fn cut_copies(&self, chunk: usize) -> Contender<'_> {
        let name = format!("both copies in pieces of {} MiB", chunk >> 18);
        Contender::new(name, Output::None, move |data| {
            let start = Instant::now();
            for (index, (x, z)) in data.x.chunks(chunk).zip(data.z.chunks_mut(chunk)).enumerate() {
                let at = (index * chunk * 4) as u64;
                // SAFETY: as in `copies`; the pieces lie where they do on the host.
                unsafe {
                    result::memcpy_htod_async(self.device[0] + at, x, self.streams[0]).expect("a copy in");
                    result::memcpy_dtoh_async(z, self.device[1] + at, self.streams[1]).expect("a copy out");
                }
            }
            for stream in self.streams {
                // SAFETY: it is live.
                unsafe { result::stream::synchronize(stream) }.expect("the copies");
            }
            Ok(Sample { wall: start.elapsed().as_secs_f64(), enqueue: None })
        })
    }

    /// The kernel alone, on what the last copy has left on the device.
    pub fn kernel(&self, iterations: u32) -> Contender<'_> {
        Contender::new("limit: the kernel alone", Output::None, move |data| {
            let n = data.x.len() as u32;
            let start = Instant::now();
            let mut launch = self.stream.launch_builder(&self.kernel);
            launch.arg(&n).arg(&iterations).arg(&self.device[0]).arg(&self.device[1]);
            // SAFETY: the arguments are the kernel's, and the arrays have `n` elements.
            unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }.expect("a launch");
            self.stream.synchronize().expect("the kernel");
            Ok(Sample { wall: start.elapsed().as_secs_f64(), enqueue: None })
        })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        for device in self.device {
            // SAFETY: allocated by `new`, freed here only, and everything was waited for.
            let _ = unsafe { result::free_sync(device) };
        }
        for stream in self.streams {
            // SAFETY: as above.
            let _ = unsafe { result::stream::destroy(stream) };
        }
    }
}

fn kernel(context: &Arc<CudaContext>) -> CudaFunction {
    let ptx = compile_ptx(include_str!("../../cu/step.cu")).expect("NVRTC");
    context.load_module(ptx).and_then(|module| module.load_function("step")).expect("the kernel")
}

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
