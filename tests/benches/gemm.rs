//! C = A x B on host matrices of 16384 rows and columns in f32, compared in one run with the product alone,
//! the copies alone, and cuBLAS-Xt.
//!
//! ```text
//! cargo bench --bench gemm [-- --size N --json FILE]
//! ```
//!
//! Needs a CUDA device and cuBLAS. Every timed run uses random data, and its result is checked. The figures
//! are medians of alternating runs.

use std::ffi::{c_int, c_void};
use std::time::Instant;

use cudarc::cublas::{result as cublas, sys as cublas_sys};
use cudarc::driver::{result, sys};
use thalweg::prelude::*;

#[path = "../../examples/examples/out_of_core_gemm/matrices.rs"]
mod matrices;
#[path = "../../examples/examples/out_of_core_gemm/product.rs"]
mod product;
use matrices::{Shape, check, random};
use product::OutOfCore;

const WARM_UP: usize = 1;
const RUNS: usize = 7;
/// Entries of each result that are compared with their definition.
const ENTRIES: usize = 200;
/// Side of the blocks that cuBLAS-Xt cuts matrices into.
const BLOCKS: [usize; 3] = [2048, 4096, 8192];

/// The matrices on the device, whole, and what the limits are measured with.
struct Bare {
    size: usize,
    device: [u64; 3],
    streams: [sys::CUstream; 2],
    handle: cublas_sys::cublasHandle_t,
}

impl Bare {
    fn new(size: usize) -> Self {
        // SAFETY: the primary context is current: the caller's device made it so.
        let alloc = || unsafe { result::malloc_sync(size * size * 4) }.expect("device memory for a matrix");
        let stream = || result::stream::create(result::stream::StreamKind::NonBlocking).expect("a stream");
        let handle = cublas::create_handle().expect("a handle of cuBLAS");
        let bare = Self { size, device: [alloc(), alloc(), alloc()], streams: [stream(), stream()], handle };
        // SAFETY: handle and stream are live; the driver's and the runtime's streams are the same.
        unsafe { cublas::set_stream(handle, bare.streams[0].cast()) }.expect("cuBLAS on the stream");
        bare
    }

    /// Seconds for both matrices in and one out at the same time.
    fn copies(&self, a: &[f32], b: &[f32], c: &mut [f32]) -> f64 {
        let start = Instant::now();
        // SAFETY: the host memory is pinned, the device memory is as large, and both streams are waited for.
        unsafe {
            result::memcpy_htod_async(self.device[0], a, self.streams[0]).expect("a copy in");
            result::memcpy_htod_async(self.device[1], b, self.streams[0]).expect("a copy in");
            result::memcpy_dtoh_async(c, self.device[2], self.streams[1]).expect("a copy out");
        }
        self.wait();
        start.elapsed().as_secs_f64()
    }

    /// Seconds for the product alone, of the matrices on the device.
    fn product(&self) -> f64 {
        let n = self.size as c_int;
        let [a, b, c] = self.device.map(|address| address as *mut f32);
        let no = cublas_sys::cublasOperation_t::CUBLAS_OP_N;
        let start = Instant::now();
        // SAFETY: the handle is live and the matrices are as large as the dimensions say. Column by column
        // this is B x A, which is row by row A x B.
        let status =
            unsafe { cublas_sys::cublasSgemm_v2(self.handle, no, no, n, n, n, &1.0, b, n, a, n, &0.0, c, n) };
        status.result().expect("cublasSgemm");
        self.wait();
        start.elapsed().as_secs_f64()
    }

    fn wait(&self) {
        for stream in self.streams {
            // SAFETY: the stream is live.
            unsafe { result::stream::synchronize(stream) }.expect("the work");
        }
    }

    /// What `product` has made.
    fn result(&self, c: &mut [f32]) {
        // SAFETY: the device memory is as large, and the copy is done when this returns.
        unsafe { result::memcpy_dtoh_sync(c, self.device[2]) }.expect("a copy out");
    }
}

type XtSgemm = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    usize,
    usize,
    usize,
    *const f32,
    *const f32,
    usize,
    *const f32,
    usize,
    *const f32,
    *mut f32,
    usize,
) -> c_int;

/// cuBLAS-Xt: cuBLAS on matrices in host memory.
struct Xt {
    handle: *mut c_void,
    sgemm: XtSgemm,
    set_block: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
}

impl Xt {
    fn new() -> Self {
        let names = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];
        // SAFETY: cuBLAS's initialisers have no preconditions.
        let library = names.iter().find_map(|name| unsafe { libloading::Library::new(*name) }.ok());
        let library: &'static _ = Box::leak(Box::new(library.expect("cuBLAS")));
        let mut handle = std::ptr::null_mut();
        // SAFETY: the types are those of cublasXt.h, and the arguments are live.
        unsafe {
            let create = library.get::<unsafe extern "C" fn(*mut *mut c_void) -> c_int>("cublasXtCreate");
            assert_eq!(create.expect("cublasXtCreate")(&mut handle), 0);
            let select = library.get::<unsafe extern "C" fn(*mut c_void, c_int, *const c_int) -> c_int>(
                "cublasXtDeviceSelect",
            );
            assert_eq!(select.expect("cublasXtDeviceSelect")(handle, 1, &0), 0);
            Self {
                handle,
                sgemm: *library.get("cublasXtSgemm").expect("cublasXtSgemm"),
                set_block: *library.get("cublasXtSetBlockDim").expect("cublasXtSetBlockDim"),
            }
        }
    }

    fn product(&self, block: usize, n: usize, a: &[f32], b: &[f32], c: &mut [f32]) -> f64 {
        // SAFETY: the handle is live.
        assert_eq!(unsafe { (self.set_block)(self.handle, block as c_int) }, 0);
        let start = Instant::now();
        // SAFETY: the matrices are as large as the dimensions say; the call returns when the result is in
        // place. Column by column this is B x A, which is row by row A x B.
        let status = unsafe {
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            (self.sgemm)(self.handle, 0, 0, n, n, n, &1.0, b, n, a, n, &0.0, c, n)
        };
        assert_eq!(status, 0, "cublasXtSgemm");
        result::ctx::synchronize().expect("the product");
        start.elapsed().as_secs_f64()
    }
}

fn main() -> thalweg::Result<()> {
    let option = |name: &str| std::env::args().skip_while(|argument| argument != name).nth(1);
    let size = option("--size").map_or(16384, |size| size.parse().expect("a number of rows"));
    let device = Device::cuda(0)?;
    println!("{device}");
    let shape = Shape { m: size, n: size, k: size };
    let (a, b) = (random(&device, size * size, 1)?, random(&device, size * size, 2)?);
    let mut c = PinnedBuf::<f32>::zeroed(&device, size * size)?;
    let bare = Bare::new(size);
    let xt = Xt::new();
    let mut whole = OutOfCore::new(&device, usize::MAX)?;
    let matrix = size * size * 4;
    let mut small = OutOfCore::new(&device, matrix / 2)?;

    let mut names = vec![
        "the product alone",
        "the copies alone",
        "out_of_core_gemm",
        "out_of_core_gemm, in half a matrix",
    ];
    names.extend(["cuBLAS-Xt, blocks of 2048", "cuBLAS-Xt, blocks of 4096", "cuBLAS-Xt, blocks of 8192"]);
    let mut seconds = vec![Vec::new(); names.len()];
    for round in 0..WARM_UP + RUNS {
        let mut times = Vec::new();
        // The copies first: they leave the matrices where the product alone finds them.
        let copies = bare.copies(&a, &b, &mut c);
        times.push(bare.product());
        times.push(copies);
        bare.result(&mut c);
        checked("the product alone", shape, &a, &b, &c);
        for product in [&mut whole, &mut small] {
            c.fill(f32::NAN);
            let start = Instant::now();
            product.multiply(shape, &a, &b, &mut c)?;
            times.push(start.elapsed().as_secs_f64());
            checked("out_of_core_gemm", shape, &a, &b, &c);
        }
        for block in BLOCKS {
            c.fill(f32::NAN);
            times.push(xt.product(block, size, &a, &b, &mut c));
            checked("cuBLAS-Xt", shape, &a, &b, &c);
        }
        if round >= WARM_UP {
            seconds.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
        }
    }

    let limit = median(&seconds[0]).max(median(&seconds[1]));
    println!("{:<30} {:>9} {:>9} {:>9} {:>15}", "", "median ms", "min ms", "max ms", "times the limit");
    for (name, seconds) in names.iter().zip(&seconds) {
        let [least, most] =
            [f64::min, f64::max].map(|pick| seconds.iter().copied().reduce(pick).unwrap_or(0.0));
        let (median, times) = (median(seconds), median(seconds) / limit);
        println!("{name:<30} {:>9.2} {:>9.2} {:>9.2} {times:>15.3}", median * 1e3, least * 1e3, most * 1e3);
    }
    if let Some(path) = option("--json") {
        let rows = names.iter().zip(&seconds).map(|(name, seconds)| {
            let (median, times) = (median(seconds), median(seconds) / limit);
            serde_json::json!({ "name": name, "seconds": seconds, "median_seconds": median, "times_the_limit": times })
        });
        let json = serde_json::json!({
            "device": device.to_string(), "size": size, "limit_seconds": limit, "rows": rows.collect::<Vec<_>>(),
        });
        std::fs::write(&path, format!("{json:#}\n")).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    Ok(())
}

fn checked(what: &str, shape: Shape, a: &[f32], b: &[f32], c: &[f32]) {
    assert_eq!(check(shape, a, b, c, ENTRIES), "all right", "{what}");
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
