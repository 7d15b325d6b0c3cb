//! A GPU's context: usually the primary one, which CUDA's runtime, cudarc and other libraries share.

use std::any::Any;
use std::ptr;

use super::api::Api;
use super::sys::{CUcontext, CUdevice};
use crate::base::unwind::contain;
use crate::driver::DriverResult;

/// Keeps another library's context.
pub(crate) type Keep = Box<dyn Any + Send + Sync>;

/// A context. It holds a reference to the primary context, released on drop, or whatever keeps another
/// context.
pub(crate) struct Context {
    api: &'static Api,
    device: CUdevice,
    /// A `CUcontext`, as a number because threads share it.
    handle: usize,
    /// Keeps the context if it is another library's.
    lent: Option<Keep>,
}

impl Context {
    pub(super) fn retain(api: &'static Api, device: CUdevice) -> DriverResult<Self> {
        let mut handle: CUcontext = ptr::null_mut();
        // SAFETY: `device` came from `cuDeviceGet`, and `handle` is a place for the result.
        unsafe { api.cuDevicePrimaryCtxRetain(&mut handle, device) }?;
        Ok(Self { api, device, handle: handle.expose_provenance(), lent: None })
    }

    /// Another library's context, which `keep` keeps. If it is the primary one of its GPU, the result is that
    /// one.
    ///
    /// # Safety
    /// It is a context, and stays one as long as `keep` is not dropped.
    pub(super) unsafe fn lent(api: &'static Api, context: CUcontext, keep: Keep) -> DriverResult<Self> {
        let mut device = 0;
        // SAFETY: the caller's promise; `device` is a place for the result.
        unsafe {
            api.cuCtxSetCurrent(context)?;
            api.cuCtxGetDevice(&mut device)?;
        }
        let primary = Self::retain(api, device)?;
        if primary.handle() == context {
            return Ok(primary);
        }
        Ok(Self { api, device, handle: context.expose_provenance(), lent: Some(keep) })
    }

    /// Whether it is the primary context of its GPU.
    pub(super) fn is_primary(&self) -> bool {
        self.lent.is_none()
    }

    pub(super) fn device(&self) -> CUdevice {
        self.device
    }

    /// Its address, which tells it from others.
    pub(crate) fn address(&self) -> usize {
        self.handle
    }

    /// The context itself, for calls that take it.
    pub(super) fn handle(&self) -> CUcontext {
        ptr::with_exposed_provenance_mut(self.handle)
    }

    /// Makes this context current on the calling thread and returns the functions that work in it.
    ///
    /// The current context is thread state that other libraries change too, so it cannot be remembered: it is
    /// asked for before every call, and set unless it is this one. Asking takes 8 ns with an H200's driver, and
    /// setting it 20, even if it is set already. The context stays current afterwards, as with `cudaSetDevice`.
    #[inline]
    pub(super) fn enter(&self) -> DriverResult<&'static Api> {
        let mut current = ptr::null_mut();
        // SAFETY: `current` is a place for the result.
        unsafe { self.api.cuCtxGetCurrent(&mut current) }?;
        if current != self.handle() {
            self.make_current()?;
        }
        Ok(self.api)
    }

    #[cold]
    fn make_current(&self) -> DriverResult<()> {
        // SAFETY: the context is live, since `self` holds a reference to it.
        unsafe { self.api.cuCtxSetCurrent(self.handle()) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(keep) = self.lent.take() {
            return contain(|| drop(keep));
        }
        // Nobody here could use an error: the context is lost already, or the process is ending.
        // SAFETY: `retain` took the reference that this gives back.
        let _ = unsafe { self.api.cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}
