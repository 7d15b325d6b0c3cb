//! cuBLAS-Xt: cuBLAS on matrices in host memory.

use std::ffi::{c_int, c_void};

use crate::bare::Bare;

/// Side of the blocks that cuBLAS-Xt cuts matrices into.
pub const BLOCKS: [usize; 3] = [2048, 4096, 8192];

type Sgemm = unsafe extern "C" fn(
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

/// A handle of cuBLAS-Xt, whose devices cannot be changed.
pub struct Xt<'d> {
    devices: &'d [Bare],
    handle: *mut c_void,
    sgemm: Sgemm,
    set_block: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
}

impl<'d> Xt<'d> {
    /// On these devices, which are the first ones of the driver's list.
    pub fn new(devices: &'d [Bare]) -> Self {
        let names = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];
        // SAFETY: cuBLAS's initialisers have no preconditions.
        let library = names.iter().find_map(|name| unsafe { libloading::Library::new(*name) }.ok());
        let library: &'static _ = Box::leak(Box::new(library.expect("cuBLAS")));
        let numbers: Vec<c_int> = (0..devices.len() as c_int).collect();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the types are those of cublasXt.h, and the arguments are live.
        unsafe {
            let create = library.get::<unsafe extern "C" fn(*mut *mut c_void) -> c_int>("cublasXtCreate");
            assert_eq!(create.expect("cublasXtCreate")(&mut handle), 0, "cublasXtCreate");
            let select = library.get::<unsafe extern "C" fn(*mut c_void, c_int, *const c_int) -> c_int>(
                "cublasXtDeviceSelect",
            );
            let select = select.expect("cublasXtDeviceSelect");
            let status = select(handle, numbers.len() as c_int, numbers.as_ptr());
            assert_eq!(status, 0, "cublasXtDeviceSelect of {numbers:?}");
            Self {
                devices,
                handle,
                sgemm: *library.get("cublasXtSgemm").expect("cublasXtSgemm"),
                set_block: *library.get("cublasXtSetBlockDim").expect("cublasXtSetBlockDim"),
            }
        }
    }

    /// Cuts the matrices of later products into blocks of this side.
    pub fn set_block(&self, block: usize) {
        // SAFETY: the handle is live.
        assert_eq!(unsafe { (self.set_block)(self.handle, block as c_int) }, 0, "cublasXtSetBlockDim");
    }

    /// C = A x B, with `n` rows and columns each.
    pub fn product(&self, n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
        // SAFETY: the matrices are as large as the dimensions say; the call returns when the result is in
        // place. Column by column this is B x A, which is row by row A x B.
        let status = unsafe {
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            (self.sgemm)(self.handle, 0, 0, n, n, n, &1.0, b, n, a, n, &0.0, c, n)
        };
        assert_eq!(status, 0, "cublasXtSgemm");
        self.devices.iter().for_each(Bare::synchronize);
    }
}
