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
mod pinned;
pub(crate) mod probe;
mod rows;
pub(crate) mod table;
mod toolkit;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

pub(crate) use cache::own_folder as cache_folder;
#[doc(hidden)]
pub use compile::{Compiled, compilations, compile_for};
use context::{Context, Keep};
pub(crate) use driver::{Cuda, LEGACY_STREAM, PER_THREAD_STREAM};
use host::HostFunctions;
#[doc(hidden)]
pub use image::{held_by, kernels_in};

use crate::driver::Driver;
use crate::error::{ErrorKind, Result};

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
    /// The GPU of this index, from 0: the same device as long as anyone holds it.
    ///
    /// # Errors
    /// There is no CUDA driver, no such GPU, or the driver refuses it.
    pub(crate) fn open(index: usize) -> Result<Arc<dyn Driver>> {
        HostFunctions::may_call("cuDevicePrimaryCtxRetain")?;
        // Held while the device is made, so that two threads do not make two of it.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = open.get(&index).and_then(Weak::upgrade) {
            return Ok(device);
        }
        let device = Arc::new(Self::new(index)?);
        open.insert(index, Arc::downgrade(&device));
        Ok(device)
    }

    /// The GPU of another library's context, as long as `keep` is there: the same device as long as anyone holds it, and the GPU's
    /// own if the context is its primary one.
    ///
    /// # Errors
    /// There is no CUDA driver; it is no context, or the driver refuses it.
    ///
    /// # Safety
    /// `context` is null or a context, and stays one as long as `keep` is not dropped.
    pub(crate) unsafe fn of_context(context: *mut c_void, keep: Keep) -> Result<Arc<dyn Driver>> {
        static LENT: Mutex<BTreeMap<usize, Weak<Cuda>>> = Mutex::new(BTreeMap::new());
        HostFunctions::may_call("cuCtxSetCurrent")?;
        let api = api::Api::get()?;
        // SAFETY: the caller's promise.
        let context = unsafe { Context::lent(api, context.cast(), keep) }?;
        if context.is_primary() {
            return Self::open(usize::try_from(context.device()).unwrap_or(0));
        }
        let locked = || LENT.lock().unwrap_or_else(PoisonError::into_inner);
        // An address may be that of another context by now: what is kept by nobody is gone.
        let address = context.handle().addr();
        let known = |lent: &BTreeMap<usize, Weak<Cuda>>| lent.get(&address).and_then(Weak::upgrade);
        if let Some(device) = known(&locked()) {
            return Ok(device);
        }
        // Not under the lock: what keeps the context is dropped where that fails, and may do anything.
        let device = Arc::new(Self::with(context)?);
        let mut lent = locked();
        if let Some(first) = known(&lent) {
            drop(lent);
            return Ok(first);
        }
        lent.insert(address, Arc::downgrade(&device));
        Ok(device)
    }
}

/// The GPUs that are in use, by their index.
static OPEN: Mutex<BTreeMap<usize, Weak<Cuda>>> = Mutex::new(BTreeMap::new());
