//! [`Handle`]: a cuBLAS handle with its workspace.

use std::ffi::c_void;
use std::ptr;

use thalweg::Result;
use thalweg::routine::{Enqueue, State, Workspace};

use super::api::Functions;
use super::sys::{cublasHandle_t, cublasMath_t};
use crate::pointer;

/// A handle of one ring slot and stream, which is destroyed on drop.
pub(super) struct Handle {
    pub(super) functions: &'static Functions,
    /// A `cublasHandle_t`, kept as a number because pipelines go to other threads.
    handle: usize,
    // This is freed after `drop` has destroyed the handle.
    _workspace: Workspace,
}

/// Bytes of workspace that cuBLAS's manual recommends for a device, rounded up.
pub(super) fn workspace_bytes((major, _): (u32, u32)) -> usize {
    if major >= 9 { 32 << 20 } else { 8 << 20 }
}

impl Handle {
    /// The handle of the routine's slot and stream, which is `stream`.
    pub(super) fn of<'q>(queue: &'q Enqueue<'_>, stream: *mut c_void) -> Result<State<'q, Self>> {
        queue.state(|| Self::new(queue, stream))
    }

    fn new(queue: &Enqueue<'_>, stream: *mut c_void) -> Result<Self> {
        let functions = Functions::get()?;
        let bytes = workspace_bytes(queue.device().compute_capability());
        let mut workspace = Workspace::new("workspace of cuBLAS");
        let address = pointer(workspace.get(queue, bytes)?);
        let mut handle: cublasHandle_t = ptr::null_mut();
        // SAFETY: `handle` is a place for the result, and the device's context is current.
        unsafe { functions.cublasCreate_v2(&mut handle) }?;
        // From here on, the handle is destroyed if something fails.
        let new = Self { functions, handle: handle.expose_provenance(), _workspace: workspace };
        // Sums for 16-bit matrices are taken in 32 bits to the end, even if several blocks take them
        // together.
        let mode = cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
        // SAFETY: the handle is live. The stream lives as long as the pipeline, which drops this first. The
        // workspace has these bytes, is aligned to 256, and is freed after the handle. Setting a stream
        // resets the workspace, so the workspace is set afterwards.
        unsafe {
            functions.cublasSetStream_v2(handle, stream.cast())?;
            functions.cublasSetWorkspace_v2(handle, address, bytes)?;
            functions.cublasSetMathMode(handle, mode)?;
        }
        Ok(new)
    }

    pub(super) fn raw(&self) -> cublasHandle_t {
        ptr::with_exposed_provenance_mut(self.handle)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is live and destroyed nowhere else. The pipeline drops it with the context
        // current, when all its work has completed.
        let _ = unsafe { self.functions.cublasDestroy_v2(self.raw()) };
    }
}
