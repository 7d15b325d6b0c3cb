//! Hand-written CUDA C++ (`peers.cu`) for several GPUs and for ranks.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::time::Instant;

use thalweg::prelude::*;

use crate::measure::Sample;
use crate::nvcc;

type Made = *mut *mut c_void;
type RingsNew =
    unsafe extern "C" fn(*const f32, *mut f32, usize, usize, c_int, c_int, c_int, c_int, Made) -> c_int;
type PlateNew = unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, c_int, f32, *const f32, Made) -> c_int;
type Run = unsafe extern "C" fn(*mut c_void) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void);

/// The loaded library.
#[derive(Clone, Copy)]
pub struct Cpp {
    error: unsafe extern "C" fn(c_int) -> *const c_char,
    rings_new: RingsNew,
    rings_run: Run,
    rings_free: Free,
    staged: unsafe extern "C" fn(*const f32, *mut f32, usize, usize, c_int, c_int, c_int) -> c_int,
    id: unsafe extern "C" fn(*mut u8) -> c_int,
    join: unsafe extern "C" fn(*const u8, c_int, c_int, c_int, Made) -> c_int,
    leave: Free,
    all_reduce: unsafe extern "C" fn(*mut c_void, u64, usize, c_int) -> c_int,
    plate_new: PlateNew,
    plate_run: unsafe extern "C" fn(*mut c_void, c_int, *mut f32, *mut f64) -> c_int,
    plate_free: Free,
    node: unsafe extern "C" fn(c_int) -> c_int,
    bind: unsafe extern "C" fn(c_int) -> c_int,
}

impl Cpp {
    /// The library in a file.
    pub fn load(path: &Path) -> Self {
        let library = nvcc::load(path);
        // SAFETY: the types are those of `peers.cu`.
        unsafe {
            Self {
                error: *library.get("scale_error").expect("scale_error"),
                rings_new: *library.get("scale_rings_new").expect("scale_rings_new"),
                rings_run: *library.get("scale_rings_run").expect("scale_rings_run"),
                rings_free: *library.get("scale_rings_free").expect("scale_rings_free"),
                staged: *library.get("scale_staged").expect("scale_staged"),
                id: *library.get("scale_id").expect("scale_id"),
                join: *library.get("scale_join").expect("scale_join"),
                leave: *library.get("scale_leave").expect("scale_leave"),
                all_reduce: *library.get("scale_all_reduce").expect("scale_all_reduce"),
                plate_new: *library.get("scale_plate_new").expect("scale_plate_new"),
                plate_run: *library.get("scale_plate_run").expect("scale_plate_run"),
                plate_free: *library.get("scale_plate_free").expect("scale_plate_free"),
                node: *library.get("scale_node").expect("scale_node"),
                bind: *library.get("scale_bind").expect("scale_bind"),
            }
        }
    }

    fn check(&self, status: c_int) {
        if status != 0 {
            // SAFETY: the text is a constant of CUDA's runtime, or of NCCL.
            let name = unsafe { CStr::from_ptr((self.error)(status)) };
            panic!("peers.cu: {}", name.to_string_lossy());
        }
    }

    /// A thread with a ring for each part of page-locked data, which stay where they are.
    pub fn rings(
        &self,
        (x, z): (&[f32], &mut [f32]),
        (chunk, depth, iterations): (usize, usize, u32),
        (devices, threads): (usize, usize),
    ) -> Rings {
        assert_eq!(x.len(), z.len());
        let mut raw = std::ptr::null_mut();
        let [depth, devices, threads] = [depth, devices, threads].map(|number| number as c_int);
        // SAFETY: the data are page-locked and stay, which `Rings::run` asserts.
        self.check(unsafe {
            let (from, to) = (x.as_ptr(), z.as_mut_ptr());
            (self.rings_new)(from, to, x.len(), chunk, depth, iterations as c_int, devices, threads, &mut raw)
        });
        Rings { cpp: *self, raw, x: x.as_ptr(), z: z.as_ptr() }
    }

    /// Ordinary memory through page-locked pieces, by so many threads for each device.
    pub fn staged(
        &self,
        (x, z): (&[f32], &mut [f32]),
        piece: usize,
        threads: usize,
        devices: usize,
    ) -> Sample {
        assert_eq!(x.len(), z.len());
        let (threads, devices) = (threads as c_int, devices as c_int);
        let start = Instant::now();
        // SAFETY: both are as long as `x`; it is done when this returns.
        self.check(unsafe { (self.staged)(x.as_ptr(), z.as_mut_ptr(), x.len(), piece, threads, 1, devices) });
        Sample { wall: start.elapsed().as_secs_f64(), enqueue: None }
    }

    /// The NUMA node of a device, if the machine tells.
    pub fn node(&self, device: usize) -> Option<usize> {
        // SAFETY: it takes any number.
        usize::try_from(unsafe { (self.node)(device as c_int) }).ok()
    }

    /// Keeps the calling thread on the processors of a node, and says whether there is such a node.
    pub fn bind(&self, node: usize) -> bool {
        // SAFETY: it takes any number.
        unsafe { (self.bind)(node as c_int) != 0 }
    }

    /// Joins a rank to all others by NCCL alone. All ranks call it.
    pub fn join(&self, world: &World) -> thalweg::Result<Rank> {
        let mut id = [0_u8; 128];
        if world.rank() == 0 && world.size() > 1 {
            // SAFETY: there is room for an identity.
            self.check(unsafe { (self.id)(id.as_mut_ptr()) });
        }
        let id = world.all_gather(id)?[0];
        let [size, rank, device] = [world.size(), world.rank(), world.local_rank()].map(|it| it as c_int);
        let mut raw = std::ptr::null_mut();
        // SAFETY: the identity is that of rank 0.
        self.check(unsafe { (self.join)(id.as_ptr(), size, rank, device, &mut raw) });
        Ok(Rank { cpp: *self, raw })
    }
}

/// Threads with rings.
pub struct Rings {
    cpp: Cpp,
    raw: *mut c_void,
    x: *const f32,
    z: *const f32,
}

impl Rings {
    /// Runs on the data that these rings were made for.
    pub fn run(&self, (x, z): (&[f32], &mut [f32])) -> Sample {
        assert!(self.x == x.as_ptr() && self.z == z.as_ptr());
        let start = Instant::now();
        // SAFETY: the rings are live and their data are those that were asserted; it is done when this returns.
        self.cpp.check(unsafe { (self.cpp.rings_run)(self.raw) });
        Sample { wall: start.elapsed().as_secs_f64(), enqueue: None }
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        // SAFETY: made by `rings_new`, freed here only, and nothing of it is under way.
        unsafe { (self.cpp.rings_free)(self.raw) };
    }
}

/// A rank with NCCL alone.
pub struct Rank {
    cpp: Cpp,
    raw: *mut c_void,
}

impl Rank {
    /// So many means over all ranks, in place, one after another; the seconds of all.
    pub fn all_reduce(&self, data: &mut DeviceBuf<f32>, times: usize) -> f64 {
        let start = Instant::now();
        // SAFETY: the memory is the device's, nothing else uses it, and this returns when all is done.
        self.cpp
            .check(unsafe { (self.cpp.all_reduce)(self.raw, data.address(), data.len(), times as c_int) });
        start.elapsed().as_secs_f64()
    }

    /// This rank's rows of a heat plate, and one more above and below.
    pub fn plate(&self, rows: usize, columns: usize, first: usize, number: f32, u: &[f32]) -> Plate<'_> {
        assert_eq!(u.len(), (rows + 2) * columns);
        let mut raw = std::ptr::null_mut();
        let [rows, columns] = [rows, columns].map(|number| number as c_int);
        let (height, first) = (columns, first as c_int);
        // SAFETY: the array has as many elements as the C++ reads.
        self.cpp.check(unsafe {
            (self.cpp.plate_new)(self.raw, rows, columns, first, height, number, u.as_ptr(), &mut raw)
        });
        Plate { rank: self, raw, len: u.len() }
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        // SAFETY: made by `join`, freed here only, and nothing of it is under way.
        unsafe { (self.cpp.leave)(self.raw) };
    }
}

/// A rank's part of a square heat plate.
pub struct Plate<'r> {
    rank: &'r Rank,
    raw: *mut c_void,
    len: usize,
}

impl Plate<'_> {
    /// An even number of steps from `u`, which has the plate after them; the seconds without the copies.
    pub fn run(&self, steps: usize, u: &mut [f32]) -> f64 {
        assert!(u.len() == self.len && steps.is_multiple_of(2));
        let (mut seconds, cpp) = (0.0, &self.rank.cpp);
        // SAFETY: the array has as many elements as the plate; it is done when this returns.
        cpp.check(unsafe { (cpp.plate_run)(self.raw, steps as c_int, u.as_mut_ptr(), &mut seconds) });
        seconds
    }
}

impl Drop for Plate<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `plate_new`, freed here only, and nothing of it is under way.
        unsafe { (self.rank.cpp.plate_free)(self.raw) };
    }
}
