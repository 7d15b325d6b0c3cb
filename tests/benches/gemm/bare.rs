//! What devices could do at best: the product alone, and the copies alone.

use std::ffi::c_int;
use std::ops::Range;
use std::time::Instant;

use cudarc::cublas::{result as cublas, sys as cublas_sys};
use cudarc::driver::{result, sys};
use thalweg::prelude::*;

use crate::matrices::Shape;
use crate::measure::Matrices;

/// The matrices on a device, whole, and what the limits are measured with.
pub struct Bare {
    size: usize,
    context: sys::CUcontext,
    matrices: [u64; 3],
    streams: [sys::CUstream; 2],
    handle: cublas_sys::cublasHandle_t,
}

impl Bare {
    /// The device with this number in the driver's list, to which A and B are copied.
    pub fn new(number: usize, matrices: &Matrices) -> Self {
        let Matrices { shape: Shape { n: size, .. }, a, b, .. } = matrices;
        let size = *size;
        let device = result::device::get(number as c_int).expect("a device");
        // SAFETY: the device came from the driver. The context stays one, since nobody gives it back.
        let context = unsafe {
            let context = result::primary_ctx::retain(device).expect("its context");
            result::ctx::set_current(context).expect("its context");
            context
        };
        // SAFETY: the context is current.
        let alloc = || unsafe { result::malloc_sync(size * size * 4) }.expect("device memory for a matrix");
        let stream = || result::stream::create(result::stream::StreamKind::NonBlocking).expect("a stream");
        let handle = cublas::create_handle().expect("a handle of cuBLAS");
        let (matrices, streams) = ([alloc(), alloc(), alloc()], [stream(), stream()]);
        // SAFETY: handle and stream are live; the driver's and the runtime's streams are the same. The matrices
        // on the device are as large as those in the host's memory.
        unsafe {
            cublas::set_stream(handle, streams[0].cast()).expect("cuBLAS on the stream");
            result::memcpy_htod_sync(matrices[0], a).expect("a copy in");
            result::memcpy_htod_sync(matrices[1], b).expect("a copy in");
        }
        Self { size, context, matrices, streams, handle }
    }

    /// Waits for all work of the device, whoever has enqueued it.
    pub fn synchronize(&self) {
        self.enter();
        result::ctx::synchronize().expect("the device");
    }

    fn enter(&self) {
        // SAFETY: the context is live.
        unsafe { result::ctx::set_current(self.context) }.expect("the context");
    }

    fn wait(&self) {
        self.enter();
        for stream in self.streams {
            // SAFETY: the stream is live.
            unsafe { result::stream::synchronize(stream) }.expect("the work");
        }
    }

    /// Makes every entry of C on the device a NaN.
    fn clear(&self) {
        self.enter();
        // SAFETY: the memory is as large, and the stream is waited for.
        unsafe {
            result::memset_d8_async(self.matrices[2], 0xff, self.size * self.size * 4, self.streams[0])
        }
        .expect("a fill");
        self.wait();
    }

    /// Enqueues the copies of some rows of A and B in, and of C out, at the same time.
    ///
    /// # Safety
    /// The matrices stay borrowed until the device has been waited for.
    unsafe fn copy(&self, rows: Range<usize>, [a, b]: [&PinnedBuf<f32>; 2], c: &mut PinnedBuf<f32>) {
        self.enter();
        let entries = rows.start * self.size..rows.end * self.size;
        let [to_a, to_b, from_c] = self.matrices.map(|matrix| matrix + entries.start as u64 * 4);
        // SAFETY: the matrices on the device are as large as those in the host's memory, which is pinned. The caller
        // promises the rest.
        unsafe {
            result::memcpy_htod_async(to_a, &a[entries.clone()], self.streams[0]).expect("a copy in");
            result::memcpy_htod_async(to_b, &b[entries.clone()], self.streams[0]).expect("a copy in");
            result::memcpy_dtoh_async(&mut c[entries], from_c, self.streams[1]).expect("a copy out");
        }
    }

    /// Enqueues the product of some rows of A and all of B.
    fn multiply(&self, rows: Range<usize>) {
        self.enter();
        let (n, m) = (self.size as c_int, rows.len() as c_int);
        let first = (rows.start * self.size * 4) as u64;
        let [a, b, c] = self.matrices;
        let (a, b, c) = ((a + first) as *const f32, b as *const f32, (c + first) as *mut f32);
        let no = cublas_sys::cublasOperation_t::CUBLAS_OP_N;
        // SAFETY: the handle is live and the matrices are as large as the dimensions say. Column by column
        // this is B x A, which is row by row A x B.
        let status =
            unsafe { cublas_sys::cublasSgemm_v2(self.handle, no, no, n, m, n, &1.0, b, n, a, n, &0.0, c, n) };
        status.result().expect("cublasSgemm");
    }
}

/// Each device with its share of the rows of a matrix.
fn shares(devices: &[Bare]) -> impl Iterator<Item = (&Bare, Range<usize>)> {
    let count = devices.len();
    let rows = move |(i, device): (usize, &Bare)| i * device.size / count..(i + 1) * device.size / count;
    devices.iter().enumerate().map(move |numbered| (numbered.1, rows(numbered)))
}

/// Seconds for the product alone, of the matrices on the devices: each of them has some rows of A and C, and all
/// of B.
pub fn product(devices: &[Bare]) -> f64 {
    devices.iter().for_each(Bare::clear);
    let start = Instant::now();
    shares(devices).for_each(|(device, rows)| device.multiply(rows));
    devices.iter().for_each(Bare::wait);
    start.elapsed().as_secs_f64()
}

/// Copies both matrices in and the last product out at the same time: each device its rows, all devices at once.
pub fn copies(devices: &[Bare], a: &PinnedBuf<f32>, b: &PinnedBuf<f32>, c: &mut PinnedBuf<f32>) {
    for (device, rows) in shares(devices) {
        // SAFETY: all devices are waited for below.
        unsafe { device.copy(rows, [a, b], c) };
    }
    devices.iter().for_each(Bare::wait);
}
