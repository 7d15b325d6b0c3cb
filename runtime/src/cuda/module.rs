//! Kernel sources, compiled and loaded onto a device.

use std::collections::BTreeMap;
use std::ffi::{CString, c_int};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cudarc::driver::sys::{CUfunction, CUfunction_attribute as Attribute, CUmodule};

use super::api::{self, Api};
use super::context::Context;
use super::{compile_for, nvrtc};
use crate::driver::{DriverResult, Info, RawFunction};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{KernelInfo, KernelModule};

/// Dynamic shared memory that a launch may ask for without the kernel having opted in, in bytes.
const SHARED_WITHOUT_OPT_IN: u32 = 48 << 10;

/// The modules loaded on one device, by the address of their source.
///
/// Drop it with the device's context current.
pub(super) struct Modules {
    loaded: Mutex<BTreeMap<usize, Module>>,
}

impl Modules {
    pub(super) fn new() -> Self {
        Self { loaded: Mutex::new(BTreeMap::new()) }
    }

    /// The kernel, ready to be launched. Its module is compiled and loaded if this is its first kernel.
    ///
    /// A second thread that asks meanwhile waits, rather than compile the same source again.
    pub(super) fn load(
        &self,
        context: &Context,
        info: &Info,
        kernel: &'static KernelInfo,
    ) -> Result<RawFunction> {
        // A panic cannot leave the map half-changed, so that a poisoned lock is as good as any.
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        // The source is a static: nothing else will ever have its address.
        let key = ptr::from_ref(kernel.module).addr();
        let module = match loaded.get(&key) {
            Some(module) => module,
            None => {
                let module = Module::load(context, info, kernel.module)?;
                loaded.entry(key).or_insert(module)
            }
        };
        module.function(context, info, kernel)
    }
}

/// A loaded module; unloaded on drop.
struct Module {
    api: &'static Api,
    /// A `CUmodule`, as a number because threads share it.
    handle: usize,
}

impl Module {
    fn load(context: &Context, info: &Info, module: &'static KernelModule) -> Result<Self> {
        let architecture = nvrtc::architecture_for(info.compute_capability, module.file)?;
        let image = compile_for(module.source, module.file, &architecture)?;
        let api = context.enter()?;
        let mut handle: CUmodule = ptr::null_mut();
        // SAFETY: `handle` is a place for the result, the image is a whole cubin or NUL-terminated PTX, and the
        // context is current. The driver copies the image.
        unsafe { api.cuModuleLoadData(&mut handle, image.as_ptr().cast()) }?;
        Ok(Self { api, handle: handle.expose_provenance() })
    }

    /// Finds a kernel and puts it onto the device whole. CUDA loads modules lazily by default: the first launch would
    /// wait until the GPU has drained.
    fn function(&self, context: &Context, info: &Info, kernel: &KernelInfo) -> Result<RawFunction> {
        let missing =
            || Error::from(ErrorKind::NoSuchKernel { kernel: kernel.name, file: kernel.module.file });
        let name = CString::new(kernel.name).map_err(|_| missing())?;
        let api = context.enter()?;
        let mut function: CUfunction = ptr::null_mut();
        // SAFETY: `function` is a place for the result, the module is live, the name is NUL-terminated, and the
        // context is current.
        let found = unsafe {
            let module = ptr::with_exposed_provenance_mut(self.handle);
            api.cuModuleGetFunction(&mut function, module, name.as_ptr())
        };
        found.map_err(|error| match error.code {
            api::NOT_FOUND => missing(),
            _ => error.into(),
        })?;
        // SAFETY: the module's function is live as long as the module, and its context is current.
        unsafe { api.load_function(function) }?;

        let attribute = |attribute: Attribute| -> DriverResult<u32> {
            let mut value: c_int = 0;
            // SAFETY: `value` is a place for the result; the function is live.
            unsafe { api.cuFuncGetAttribute(&mut value, attribute, function) }?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        // Before `cuFuncLoad` came, asking for an attribute was what made the driver load a kernel.
        let max_threads_per_block = attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        let static_shared = attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;

        let dynamic = info.max_shared.saturating_sub(static_shared);
        if dynamic > SHARED_WITHOUT_OPT_IN {
            let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is live, and its context is current.
            unsafe { api.cuFuncSetAttribute(function, attribute, dynamic as c_int) }?;
        }
        Ok(RawFunction { handle: function.expose_provenance() as u64, max_threads_per_block, static_shared })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // An error is of no use to anyone here: the context is lost already, or the process is ending.
        // SAFETY: the module is live, and its device is going, so that no launch can follow.
        let _ = unsafe { self.api.cuModuleUnload(ptr::with_exposed_provenance_mut(self.handle)) };
    }
}
