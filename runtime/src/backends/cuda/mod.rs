//! CUDA GPUs, over cudarc's bindings of the driver and of NVRTC.
//!
//! Nothing is linked. [`probe`] looks for the libraries when the first device is asked for, [`table`] looks their
//! functions up, and a machine without them gets an error that names what was looked for. [`driver`] is the device;
//! [`context`], [`info`], [`pinned`], [`ends`], [`host`], [`launch`], [`attributes`] and [`module`] each do one thing for it. For modules, [`compile`]
//! asks the [`cache`] and [`nvrtc`], which finds what a source includes by [`headers`] and [`toolkit`]; [`image`] reads what is
//! compiled already.

mod api;
mod attributes;
mod cache;
mod compile;
mod context;
mod driver;
mod ends;
mod fill;
mod freed;
mod graph;
mod graph_functions;
mod headers;
mod host;
mod image;
mod info;
mod language;
mod launch;
mod module;
mod nvrtc;
mod owned;
mod page;
mod pinned;
pub(crate) mod probe;
mod rows;
pub(crate) mod table;
mod toolkit;
mod words;

#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

pub(crate) use cache::own_folder as cache_folder;
#[doc(hidden)]
pub use compile::{Compiled, compilations, compile_for};
pub(crate) use context::{Context, Keep};
pub(crate) use driver::{Cuda, LEGACY_STREAM, PER_THREAD_STREAM};
use host::HostFunctions;
#[doc(hidden)]
pub use image::{held_by, kernels_in};

use crate::base::error::{ErrorKind, Result};
use crate::driver::Driver;

/// How many CUDA GPUs this machine has. It is found out once and stays so until the process ends.
///
/// # Errors
/// There is no CUDA driver, it is too old, or it does not work. A driver without a GPU is no error.
pub(crate) fn device_count() -> Result<usize> {
    static COUNT: OnceLock<Result<usize>> = OnceLock::new();
    HostFunctions::may_call("cuDeviceGetCount")?;
    COUNT.get_or_init(count_devices).clone()
}

fn count_devices() -> Result<usize> {
    let api = match api::Api::get() {
        Ok(api) => api,
        Err(error) => {
            return match error.kind() {
                ErrorKind::Driver(driver) if driver.code == api::NO_DEVICE => Ok(0),
                _ => Err(error),
            };
        }
    };
    let mut count = 0;
    // SAFETY: `count` is a place for the result.
    unsafe { api.cuDeviceGetCount(&mut count) }?;
    Ok(usize::try_from(count).unwrap_or(0))
}

impl Cuda {
    /// Refuses to open a GPU on a thread that runs a function of a stream. To be asked before anything is locked: whoever has
    /// the lock may wait, in the driver, for the function.
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
    /// It is another one.
    Other(Context),
}

impl OfContext {
    /// Finds out which context it is.
    ///
    /// # Errors
    /// There is no CUDA driver; it is no context, or the driver refuses it.
    ///
    /// # Safety
    /// `context` is null or a context, and stays one as long as `keep` is not dropped.
    pub(crate) unsafe fn find(context: *mut c_void, keep: Keep) -> Result<Self> {
        HostFunctions::may_call("cuCtxSetCurrent")?;
        let api = api::Api::get()?;
        // SAFETY: the caller's promise.
        let context = unsafe { Context::lent(api, context.cast(), keep) }?;
        Ok(match context.is_primary() {
            true => Self::Primary(usize::try_from(context.device()).unwrap_or(0)),
            false => Self::Other(context),
        })
    }
}
