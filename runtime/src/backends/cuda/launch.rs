//! Launches of kernels.

use std::ffi::c_int;
use std::ptr;

use super::api::{self, Api};
use super::sys::{CUfunction, CUstream};
use crate::base::error::{Detail, DriverError};
use crate::base::threads::Grid;
use crate::base::threads::volume;
use crate::driver::{DriverResult, RawFunction, RawLaunch};

pub(super) fn function_handle(function: RawFunction) -> CUfunction {
    ptr::with_exposed_provenance_mut(function.handle as usize)
}

/// Whether the kernel's launches need attributes, for which `cuLaunchKernel` has no place.
pub(super) fn has_attributes(function: &RawFunction) -> bool {
    function.cooperative || function.cluster.is_some_and(|cluster| !cluster.in_source)
}

/// The error that loading the kernel would have given: a driver that lacks a function loads no kernel that
/// needs it.
#[cold]
pub(super) fn too_old(detail: Detail) -> Box<DriverError> {
    DriverError::new("cuLaunchKernelEx", api::NOT_FOUND, "CUDA_ERROR_NOT_FOUND", detail.to_string())
}

/// Enqueues a kernel, and returns the name of the driver's function that did it.
///
/// # Safety
/// As [`Driver::enqueue`](crate::driver::Driver::enqueue); the context is current.
pub(super) unsafe fn enqueue(
    api: &Api,
    launch: &RawLaunch<'_>,
    stream: CUstream,
) -> DriverResult<&'static str> {
    let &RawLaunch { function, grid, block, shared, params, .. } = launch;
    if has_attributes(&function) {
        let attributed = api.attributed().map_err(too_old)?;
        // SAFETY: the caller's promise. The driver reads the parameters before it returns.
        unsafe { attributed.launch(&function, launch.configuration(), stream, params)? };
        return Ok("cuLaunchKernelEx");
    }
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (grid, block);
    // SAFETY: as above. The driver writes nothing to the list of parameters.
    unsafe {
        api.cuLaunchKernel(
            function_handle(function),
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            shared,
            stream,
            params.as_ptr().cast_mut(),
            ptr::null_mut(),
        )?;
    }
    Ok("cuLaunchKernel")
}

/// The number of blocks of such a launch that can be on the device at once.
///
/// # Safety
/// The function is live and its context current.
pub(super) unsafe fn resident_blocks(
    api: &Api,
    function: &RawFunction,
    launch: Grid,
    multiprocessors: u32,
) -> DriverResult<u64> {
    if let Some(cluster) = function.cluster {
        let attributed = api.attributed().map_err(too_old)?;
        // SAFETY: the caller's promise.
        let clusters = unsafe { attributed.resident_clusters(function, launch)? };
        return Ok(clusters * volume(cluster.blocks));
    }
    let mut blocks = 0;
    // A block has at most 1024 threads, since its limits were checked before.
    let (threads, shared) = (volume(launch.block_dim) as c_int, launch.shared as usize);
    let handle = function_handle(*function);
    // SAFETY: `blocks` is a place for the result; the rest is the caller's promise.
    unsafe { api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, handle, threads, shared)? };
    Ok(u64::try_from(blocks).unwrap_or(0) * u64::from(multiprocessors))
}
