//! Hand-written CUDA C++ (`peers.cu`): built by nvcc where there is one, and loaded.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::measure::{Contender, Output, Sample};
use crate::nvcc;

/// How a ring of slots is streamed.
#[derive(Clone, Copy)]
#[repr(i32)]
pub enum Way {
    BySlot = 0,
    ByStage = 1,
    GraphBySlot = 2,
    GraphByStage = 3,
    Mapped = 4,
    GraphMapped = 5,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::BySlot => "C++, a stream for each slot",
            Self::ByStage => "C++, a stream for each stage, events",
            Self::GraphBySlot => "C++, a stream for each slot, a graph",
            Self::GraphByStage => "C++, a stream for each stage, a graph",
            Self::Mapped => "C++, mapped memory",
            Self::GraphMapped => "C++, mapped memory, a graph",
        }
    }
}

/// How a frame is handled.
#[derive(Clone, Copy)]
#[repr(i32)]
pub enum Frame {
    Streams = 0,
    Graph = 1,
    MappedGraph = 2,
    Polled = 3,
    Mapped = 4,
    OtherThread = 5,
}

type RingNew =
    unsafe extern "C" fn(*const f32, *mut f32, usize, usize, c_int, c_int, c_int, *mut *mut c_void) -> c_int;
type Serial = unsafe extern "C" fn(*const f32, *mut f32, usize, c_int, *mut f64) -> c_int;
type Staged = unsafe extern "C" fn(*const f32, *mut f32, usize, usize, c_int, c_int, *mut f64) -> c_int;
type Frames =
    unsafe extern "C" fn(*mut f32, *mut f32, *const f32, *mut f32, usize, c_int, c_int, *mut f64) -> c_int;

/// The loaded library.
pub struct Cpp {
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    ring_new: RingNew,
    ring_run: unsafe extern "C" fn(*mut c_void, c_int, *mut f64) -> c_int,
    ring_free: unsafe extern "C" fn(*mut c_void),
    serial: Serial,
    staged: Staged,
    uploads: unsafe extern "C" fn(*const f32, usize, usize, c_int) -> c_int,
    frames: Frames,
}

impl Cpp {
    /// `None` where there is neither a library, `PEERS=libpeers.so`, nor nvcc to build one.
    pub fn load() -> Option<Self> {
        let library = nvcc::load(&nvcc::file("speed")?);
        // SAFETY: the types are those of `peers.cu`.
        unsafe {
            Some(Self {
                error: *library.get("peers_error").expect("peers_error"),
                ring_new: *library.get("peers_ring_new").expect("peers_ring_new"),
                ring_run: *library.get("peers_ring_run").expect("peers_ring_run"),
                ring_free: *library.get("peers_ring_free").expect("peers_ring_free"),
                serial: *library.get("peers_serial").expect("peers_serial"),
                staged: *library.get("peers_staged").expect("peers_staged"),
                uploads: *library.get("peers_uploads").expect("peers_uploads"),
                frames: *library.get("peers_frames").expect("peers_frames"),
            })
        }
    }

    fn check(&self, status: c_int) {
        if status != 0 {
            // SAFETY: the text is a constant of CUDA's runtime.
            let name = unsafe { CStr::from_ptr((self.error)(status)) };
            panic!("peers.cu: {}", name.to_string_lossy());
        }
    }

    /// A loop over chunks on page-locked data, which stay where they are.
    pub fn ring<'a>(
        &'a self,
        way: Way,
        (x, z): (&[f32], &mut [f32]),
        chunk: usize,
        depth: usize,
        iterations: u32,
    ) -> Contender<'a> {
        let mut ring = std::ptr::null_mut();
        let (depth, iterations) = (depth as c_int, iterations as c_int);
        // SAFETY: the data are page-locked and stay; see `Contender`'s turn.
        self.check(unsafe {
            (self.ring_new)(
                x.as_ptr(),
                z.as_mut_ptr(),
                x.len(),
                chunk,
                depth,
                iterations,
                way as c_int,
                &mut ring,
            )
        });
        let ring = Ring { cpp: self, raw: ring, x: x.as_ptr(), chunk };
        // A method of the whole ring, so that the closure owns all of it.
        Contender::new(way.name(), Output::Pinned, move |data| Ok(ring.run(way, &data.x)))
    }

    /// Copy, compute, copy.
    pub fn serial(&self, x: &[f32], z: &mut [f32], iterations: u32) -> Sample {
        let mut seconds = 0.0;
        // SAFETY: both are as long as `x`; it is done when this returns.
        let status =
            unsafe { (self.serial)(x.as_ptr(), z.as_mut_ptr(), x.len(), iterations as c_int, &mut seconds) };
        self.check(status);
        Sample { wall: seconds, enqueue: None }
    }

    /// Ordinary memory through page-locked pieces, by so many threads.
    pub fn staged(&self, x: &[f32], z: &mut [f32], piece: usize, threads: usize, iterations: u32) -> Sample {
        let mut seconds = 0.0;
        let (threads, iterations) = (threads as c_int, iterations as c_int);
        // SAFETY: as in `serial`.
        let status = unsafe {
            (self.staged)(x.as_ptr(), z.as_mut_ptr(), x.len(), piece, threads, iterations, &mut seconds)
        };
        self.check(status);
        Sample { wall: seconds, enqueue: None }
    }

    /// All chunks to the device, one by one or in one call; whether the driver has that.
    pub fn uploads(&self, x: &[f32], chunk: usize, batched: bool) -> bool {
        // SAFETY: page-locked or not, CUDA reads the memory, and is done when this returns.
        let status = unsafe { (self.uploads)(x.as_ptr(), x.len(), chunk, c_int::from(batched)) };
        const NOT_SUPPORTED: c_int = 801;
        if status != NOT_SUPPORTED {
            self.check(status);
        }
        status == 0
    }

    /// Seconds of each of so many frames. The data are page-locked.
    pub fn frames(&self, way: Frame, x: &mut [f32], z: &mut [f32], frames: usize) -> Vec<f64> {
        self.frames_between(way, (x, z), None, frames)
    }

    /// The same, each with a copy from ordinary memory to `x` first, and one from `z` to ordinary memory at its end.
    pub fn frames_between(
        &self,
        way: Frame,
        (x, z): (&mut [f32], &mut [f32]),
        ordinary: Option<(&[f32], &mut [f32])>,
        frames: usize,
    ) -> Vec<f64> {
        let mut latencies = vec![0.0; frames];
        let (from, to) = ordinary.map_or((std::ptr::null(), std::ptr::null_mut()), |(from, to)| {
            assert!(from.len() == x.len() && to.len() == z.len());
            (from.as_ptr(), to.as_mut_ptr())
        });
        // SAFETY: as in `serial`; ordinary memory is as long, and there is room for as many times.
        let status = unsafe {
            let (x, z, n) = (x.as_mut_ptr(), z.as_mut_ptr(), x.len());
            (self.frames)(x, z, from, to, n, way as c_int, frames as c_int, latencies.as_mut_ptr())
        };
        self.check(status);
        latencies
    }
}

struct Ring<'a> {
    cpp: &'a Cpp,
    raw: *mut c_void,
    x: *const f32,
    chunk: usize,
}

impl Ring<'_> {
    fn run(&self, way: Way, x: &[f32]) -> Sample {
        assert_eq!(self.x, x.as_ptr());
        let mut enqueue = 0.0;
        let start = std::time::Instant::now();
        // SAFETY: the ring is live and its data are those that were asserted; it is done when this returns.
        self.cpp.check(unsafe { (self.cpp.ring_run)(self.raw, way as c_int, &mut enqueue) });
        Sample {
            wall: start.elapsed().as_secs_f64(),
            enqueue: Some(enqueue / x.len().div_ceil(self.chunk) as f64),
        }
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `ring_new`, freed here only, and nothing of it is under way.
        unsafe { (self.cpp.ring_free)(self.raw) };
    }
}
