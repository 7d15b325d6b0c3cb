//! The driver without anything around it: what bounds everyone on these GPUs.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::compile_ptx;

use crate::measure::{Contender, Output, Sample};

/// Whole parts of the data on each of several GPUs, and a stream each way.
pub struct Bare {
    devices: Vec<One>,
    /// Elements of each device.
    items: usize,
}

struct One {
    context: Arc<CudaContext>,
    memory: [u64; 2],
    streams: [sys::CUstream; 2],
    kernel: CudaFunction,
    stream: Arc<CudaStream>,
}

impl One {
    fn new(number: usize, items: usize) -> Self {
        let context = CudaContext::new(number).expect("a context");
        let kernel = kernel(&context);
        // SAFETY: the context is current.
        let alloc = || unsafe { result::malloc_sync(items * 4) }.expect("device memory");
        let stream = || result::stream::create(result::stream::StreamKind::NonBlocking).expect("a stream");
        Self {
            memory: [alloc(), alloc()],
            streams: [stream(), stream()],
            kernel,
            stream: context.new_stream().expect("a stream"),
            context,
        }
    }

    fn enter(&self) {
        self.context.bind_to_thread().expect("the context");
    }
}

impl Bare {
    /// GPUs by their numbers, with so many elements on each.
    pub fn new(devices: Range<usize>, items: usize) -> Self {
        Self { devices: devices.map(|number| One::new(number, items)).collect(), items }
    }

    /// Copies alone, as many bytes in as out on each GPU, in pieces of so many elements that only their stream orders.
    /// `x` and `z` are page-locked, with the elements of each GPU one after another.
    pub fn copy(&self, x: &[f32], z: &mut [f32], piece: usize) -> Sample {
        assert!(x.len() == self.items * self.devices.len() && z.len() == x.len());
        let start = Instant::now();
        let parts = x.chunks(self.items).zip(z.chunks_mut(self.items));
        for (one, (x, z)) in self.devices.iter().zip(parts) {
            one.enter();
            for (index, (x, z)) in x.chunks(piece).zip(z.chunks_mut(piece)).enumerate() {
                let at = (index * piece * size_of::<f32>()) as u64;
                // SAFETY: the host's memory is page-locked, the device's is as large as its part, in which the pieces
                // lie as they do on the host, and the end waits for both streams.
                unsafe {
                    result::memcpy_htod_async(one.memory[0] + at, x, one.streams[0]).expect("a copy in");
                    result::memcpy_dtoh_async(z, one.memory[1] + at, one.streams[1]).expect("a copy out");
                }
            }
        }
        for one in &self.devices {
            one.enter();
            for stream in one.streams {
                // SAFETY: it is live.
                unsafe { result::stream::synchronize(stream) }.expect("the copies");
            }
        }
        Sample { wall: start.elapsed().as_secs_f64(), enqueue: None }
    }

    /// Copies alone, all of a GPU's elements at once.
    pub fn copies(&self, name: &'static str) -> Contender<'_> {
        self.cut_copies(name, self.items)
    }

    /// Copies alone, in pieces of so many elements.
    pub fn cut_copies(&self, name: impl Into<String>, piece: usize) -> Contender<'_> {
        Contender::new(name, Output::None, move |data| Ok(self.copy(&data.x, &mut data.z, piece)))
    }

    /// The kernel alone, on what the last copies have left on the GPUs.
    pub fn kernel(&self, name: &'static str, iterations: u32) -> Contender<'_> {
        Contender::new(name, Output::None, move |_| {
            let n = self.items as u32;
            let start = Instant::now();
            for one in &self.devices {
                one.enter();
                let mut launch = one.stream.launch_builder(&one.kernel);
                launch.arg(&n).arg(&iterations).arg(&one.memory[0]).arg(&one.memory[1]);
                // SAFETY: the arguments are the kernel's, and the arrays have `n` elements.
                unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }.expect("a launch");
            }
            for one in &self.devices {
                one.stream.synchronize().expect("the kernel");
            }
            Ok(Sample { wall: start.elapsed().as_secs_f64(), enqueue: None })
        })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        for one in &self.devices {
            one.enter();
            for memory in one.memory {
                // SAFETY: allocated by `new`, freed here only, and everything was waited for.
                let _ = unsafe { result::free_sync(memory) };
            }
            for stream in one.streams {
                // SAFETY: as above.
                let _ = unsafe { result::stream::destroy(stream) };
            }
        }
    }
}

/// The kernel of the workloads, loaded.
pub fn kernel(context: &Arc<CudaContext>) -> CudaFunction {
    let ptx = compile_ptx(include_str!("../../cu/step.cu")).expect("NVRTC");
    context.load_module(ptx).and_then(|module| module.load_function("step")).expect("the kernel")
}
