//! A GPU as a driver: by its index, or of another library's context.

use std::ffi::c_void;
use std::sync::Arc;

use super::api::Api;
use super::context::{Context, Keep};
use super::driver::Cuda;
use super::host::HostFunctions;
use crate::base::error::Result;
use crate::driver::Driver;

impl Cuda {
    /// Refuses to open a GPU on a thread that runs a function of a stream. This is asked before anything is
    /// locked: whoever has the lock may be waiting, in the driver, for that function.
    pub(crate) fn may_open() -> Result<()> {
        Ok(HostFunctions::may_call("cuDevicePrimaryCtxRetain")?)
    }

    /// The GPU of this index, from 0, with its primary context.
    ///
    /// # Errors
    /// There is no CUDA driver, no such GPU, or the driver refuses it.
    pub(crate) fn open(index: usize) -> Result<Arc<dyn Driver>> {
        Ok(Arc::new(Self::new(index)?))
    }

    /// The GPU of a context.
    ///
    /// # Errors
    /// The driver refuses it.
    pub(crate) fn of_context(context: Context) -> Result<Arc<dyn Driver>> {
        Ok(Arc::new(Self::with(context)?))
    }
}

/// The GPU of another library's context.
pub(crate) enum OfContext {
    /// The context is the primary one of the GPU with this index.
    Primary(usize),
    /// The context is not a primary one.
    Other(Context),
}

impl OfContext {
    /// Finds out whether the context is a primary one.
    ///
    /// # Errors
    /// There is no CUDA driver, `context` is not a context, or the driver refuses it.
    ///
    /// # Safety
    /// `context` is null or a context, and stays one as long as `keep` is not dropped.
    pub(crate) unsafe fn find(context: *mut c_void, keep: Keep) -> Result<Self> {
        HostFunctions::may_call("cuCtxSetCurrent")?;
        let api = Api::get()?;
        // SAFETY: the caller's promise.
        let context = unsafe { Context::lent(api, context.cast(), keep) }?;
        Ok(match context.is_primary() {
            true => Self::Primary(usize::try_from(context.device()).unwrap_or(0)),
            false => Self::Other(context),
        })
    }
}
