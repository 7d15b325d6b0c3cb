//! Kernel sources, compiled and loaded onto a device.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::api::{self, Api};
use super::compile::compile_for;
use super::compiled::Compiled;
use super::context::Context;
use super::faults::Faults;
use super::image::Image;
use super::nvrtc;
use super::sys::{CUfunction, CUfunction_attribute as Attribute, CUjit_option as Jit, CUmodule};
use crate::base::error::{Detail, DriverError, Error, Result};
use crate::base::in_rust::FAULT_VARIABLE;
use crate::base::kernel::{KernelInfo, KernelModule, KernelSource};
use crate::base::threads::volume;
use crate::driver::{
    CLUSTERS, Cluster, DevicePtr, DriverResult, FaultWord, Info, Loaded, RawFunction, RawModule, RawSymbol,
};

/// Dynamic shared memory that a launch may ask for if the kernel has not opted in, in bytes.
const SHARED_WITHOUT_OPT_IN: u32 = 48 << 10;

/// The blocks of a cluster that every device with clusters supports. A kernel opts in to more.
const PORTABLE_CLUSTER: u64 = 8;

/// The size of the buffer for the driver's messages about a PTX file, in bytes.
const LOG_BYTES: usize = 16 << 10;

/// The sources compiled and loaded on one device, by their address.
///
/// Drop it with the device's context current.
pub(super) struct Modules {
    sources: Mutex<BTreeMap<usize, Source>>,
    faults: Faults,
}

/// A source, compiled for the device.
struct Source {
    code: Compiled,
    /// The module of all kernels without symbols.
    shared: Option<Module>,
    /// The kernels of that module that are ready to be launched, by the address of their declaration.
    functions: BTreeMap<usize, RawFunction>,
}

impl Modules {
    pub(super) fn new() -> Self {
        Self { sources: Mutex::new(BTreeMap::new()), faults: Faults::new() }
    }

    /// Frees what the modules share, before they go.
    pub(super) fn close(&self, api: Option<&Api>) {
        self.faults.close(api);
    }

    /// Gives back what an unloaded module had.
    pub(super) fn unloaded(&self, module: &RawModule) {
        if let Some(word) = &module.fault {
            self.faults.give_back(word);
        }
    }

    /// The kernel, ready to be launched. Its source is compiled if this is its first kernel, and loaded if
    /// this is the first kernel or has symbols. If another pipeline has loaded the kernel, the driver is not
    /// asked again.
    ///
    /// Another thread that asks meanwhile waits, rather than compile the same source again.
    pub(super) fn load(&self, context: &Context, info: &Info, kernel: &'static KernelInfo) -> Result<Loaded> {
        // A panic cannot leave the map half-changed, so a poisoned lock is as good as any.
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        // The source and the declaration are statics, so nothing else will ever have their addresses.
        let (of_source, of_kernel) = (ptr::from_ref(kernel.module).addr(), ptr::from_ref(kernel).addr());
        if let Some(&function) = sources.get(&of_source).and_then(|source| source.functions.get(&of_kernel)) {
            return Ok(Loaded { function, own: None });
        }
        info.check_kernel(kernel)?;
        if kernel.cluster.is_some() || kernel.cooperative {
            context.enter()?.attributed()?;
        }
        let source = match sources.entry(of_source) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let code = code(info, kernel.module)?;
                entry.insert(Source { code, shared: None, functions: BTreeMap::new() })
            }
        };
        let faults = matches!(kernel.module.source, KernelSource::Rust(_));
        if kernel.symbols.is_empty() && !faults {
            let module = match &mut source.shared {
                Some(module) => module,
                none => none.insert(Module::load(context, info, kernel.module, &source.code)?),
            };
            let function = module.function(context, info, kernel, &source.code)?;
            source.functions.insert(of_kernel, function);
            return Ok(Loaded { function, own: None });
        }
        let module = Module::load(context, info, kernel.module, &source.code)?;
        let function = module.function(context, info, kernel, &source.code)?;
        let symbols = kernel.symbols.iter().map(|symbol| module.symbol(context, kernel, symbol));
        let symbols = symbols.collect::<Result<_>>()?;
        let fault = if faults { Some(self.fault_word(context, kernel, &module)?) } else { None };
        Ok(Loaded { function, own: Some(RawModule { handle: module.into_handle(), symbols, fault }) })
    }
}

impl Modules {
    /// A word for the faults of a kernel in Rust, which its module knows from now on.
    fn fault_word(&self, context: &Context, kernel: &KernelInfo, module: &Module) -> Result<FaultWord> {
        let variable = module.symbol(context, kernel, FAULT_VARIABLE)?;
        let api = context.enter()?;
        let word = self.faults.take(api)?;
        match Faults::tell(api, variable.ptr.0, &word) {
            Ok(()) => Ok(word),
            Err(error) => {
                self.faults.give_back(&word);
                Err(error.into())
            }
        }
    }
}

/// The code of a source, as the driver loads it.
fn code(info: &Info, module: &'static KernelModule) -> Result<Compiled> {
    match module.source {
        KernelSource::Cuda(_) | KernelSource::Rust(_) => {
            let architecture = nvrtc::architecture_for(info.compute_capability, module.file)?;
            compile_for(module, &architecture)
        }
        KernelSource::Image(image) => {
            Image::read(image).map_err(|reason| Detail::InvalidImage {
                file: module.file,
                reason: reason.to_owned(),
                log: String::new(),
            })?;
            // PTX must end with a NUL.
            Ok(Compiled { image: [image, &[0]].concat(), names: Vec::new() })
        }
    }
}

/// A loaded module; unloaded on drop.
struct Module {
    api: &'static Api,
    /// A `CUmodule`, as a number because threads share it.
    handle: usize,
}

impl Module {
    fn load(context: &Context, info: &Info, module: &'static KernelModule, code: &Compiled) -> Result<Self> {
        let api = context.enter()?;
        let mut handle: CUmodule = ptr::null_mut();
        let mut log = vec![0_u8; LOG_BYTES];
        let mut options = [Jit::CU_JIT_ERROR_LOG_BUFFER, Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The second value is a number in a pointer's place.
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
        // SAFETY: `handle` is a place for the result. The image is what NVRTC has made, or a file whose
        // headers stay within its bytes, or NUL-terminated PTX; the driver copies it. Both lists have two
        // elements, and the buffer has the length given. The context is current.
        let loaded = unsafe {
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            api.cuModuleLoadDataEx(&mut handle, code.image.as_ptr().cast(), 2, options, values)
        };
        match loaded {
            Ok(()) => Ok(Self { api, handle: handle.expose_provenance() }),
            Err(error) => {
                log.truncate(log.iter().position(|&byte| byte == 0).unwrap_or(log.len()));
                let log = String::from_utf8_lossy(&log).into_owned();
                Err(refused(api, info, module.file, &code.image, error, log))
            }
        }
    }

    fn handle(&self) -> CUmodule {
        ptr::with_exposed_provenance_mut(self.handle)
    }

    /// Leaves the module loaded.
    fn into_handle(self) -> u64 {
        let handle = self.handle as u64;
        std::mem::forget(self);
        handle
    }

    /// Finds a kernel and loads it onto the device completely. CUDA loads modules lazily by default: the
    /// first launch would wait until the GPU has drained.
    fn function(
        &self,
        context: &Context,
        info: &Info,
        kernel: &KernelInfo,
        code: &Compiled,
    ) -> Result<RawFunction> {
        let missing = || Error::from(Detail::NoSuchKernel { kernel: kernel.name, file: kernel.module.file });
        let name = match kernel.instance {
            Some(instance) => Cow::Borrowed(code.lowered(instance).ok_or_else(missing)?),
            None => Cow::Borrowed(kernel.symbol),
        };
        let name = CString::new(&*name).map_err(|_| missing())?;
        let api = context.enter()?;
        let mut function: CUfunction = ptr::null_mut();
        // SAFETY: `function` is a place for the result, the module is live, the name is NUL-terminated, and
        // the context is current.
        let found = unsafe { api.cuModuleGetFunction(&mut function, self.handle(), name.as_ptr()) };
        found.map_err(|error| match error.code {
            api::NOT_FOUND => missing(),
            _ => error.into(),
        })?;
        // SAFETY: the module's function is live as long as the module, and its context is current.
        unsafe { api.load_function(function) }?;
        // The macro has counted the parameters of a plain kernel in CUDA C++. It cannot always read those of
        // an instance of a template or of compiled code. If such a kernel has more parameters than are
        // declared, the driver reads beyond the end of what launches pass. So the driver is asked, which
        // costs a refused call for each such kernel on drivers that do not tell the number.
        let counted = !kernel.module.source.is_image() && kernel.instance.is_none();
        // SAFETY: as above.
        check_parameters(kernel, unsafe {
            api.parameters(function, counted.then_some(kernel.parameters.len()))
        })?;

        let attribute = |attribute: Attribute| -> DriverResult<u32> {
            let mut value: c_int = 0;
            // SAFETY: `value` is a place for the result; the function is live.
            unsafe { api.cuFuncGetAttribute(&mut value, attribute, function) }?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let set = |attribute: Attribute, value: u32| {
            // SAFETY: the function is live, and its context is current.
            unsafe { api.cuFuncSetAttribute(function, attribute, value as c_int) }
        };
        // Before `cuFuncLoad` existed, asking for an attribute made the driver load a kernel.
        let max_threads_per_block = attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        let static_shared = attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;

        let dynamic = info.max_shared.saturating_sub(static_shared);
        if dynamic > SHARED_WITHOUT_OPT_IN {
            set(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)?;
        }
        let in_source = if info.compute_capability < CLUSTERS {
            None
        } else {
            // A driver that does not know this attribute has no such kernels.
            let axis = |axis| attribute(axis).unwrap_or(0);
            let blocks = [
                axis(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
                axis(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
                axis(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH),
            ];
            (volume(blocks) > 0).then_some(blocks)
        };
        let cluster = match (kernel.cluster, in_source) {
            (Some(declared), Some(found)) if declared != found => {
                let (kernel, file) = (kernel.name, kernel.module.file);
                return Err(Detail::ClusterDiffers { kernel, file, declared, found }.into());
            }
            (_, Some(blocks)) => Some(Cluster { blocks, in_source: true }),
            (Some(blocks), None) => Some(Cluster { blocks, in_source: false }),
            (None, None) => None,
        };
        if cluster.is_some_and(|cluster| volume(cluster.blocks) > PORTABLE_CLUSTER) {
            set(Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        let handle = function.expose_provenance() as u64;
        Ok(RawFunction {
            handle,
            max_threads_per_block,
            static_shared,
            cluster,
            cooperative: kernel.cooperative,
        })
    }

    /// Finds a variable.
    fn symbol(&self, context: &Context, kernel: &KernelInfo, symbol: &'static str) -> Result<RawSymbol> {
        let missing = || {
            let (kernel, file) = (kernel.name, kernel.module.file);
            Error::from(Detail::NoSuchSymbol { symbol, kernel, file })
        };
        let name = CString::new(symbol).map_err(|_| missing())?;
        let api = context.enter()?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: both are places for the results, the module is live, the name is NUL-terminated, and the
        // context is current.
        let found =
            unsafe { api.cuModuleGetGlobal_v2(&mut address, &mut bytes, self.handle(), name.as_ptr()) };
        found.map_err(|error| match error.code {
            api::NOT_FOUND => missing(),
            _ => error.into(),
        })?;
        Ok(RawSymbol { ptr: DevicePtr(address), bytes })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Nobody here could use an error: the context is lost already, or the process is ending.
        // SAFETY: the module is live, and nothing was launched from it, or its device is going, so that no
        // launch can follow.
        let _ = unsafe { self.api.cuModuleUnload(self.handle()) };
    }
}

/// Checks that the compiled kernel has the parameters that launches pass. The driver reads as many bytes as
/// the kernel has, wherever they are.
fn check_parameters(kernel: &KernelInfo, found: Option<Vec<usize>>) -> Result<()> {
    // A driver that cannot tell is too old for this check.
    let Some(found) = found else { return Ok(()) };
    let (name, file, declared) = (kernel.name, kernel.module.file, kernel.parameters);
    if found.len() != declared.len() {
        let (declared, found) = (declared.len(), found.len());
        return Err(Detail::ParameterCount { kernel: name, file, declared, found }.into());
    }
    match declared.iter().zip(&found).position(|(declared, found)| declared != found) {
        None => Ok(()),
        Some(at) => {
            let (declared, found) = (declared[at], found[at]);
            let kind = Detail::ParameterSize { kernel: name, file, index: at + 1, declared, found };
            Err(kind.into())
        }
    }
}

/// The error for the driver's refusal of an image.
fn refused(
    api: &Api,
    info: &Info,
    file: &'static str,
    image: &[u8],
    error: Box<DriverError>,
    log: String,
) -> Error {
    let is_of_image = matches!(
        error.code,
        api::INVALID_IMAGE
            | api::NO_BINARY_FOR_GPU
            | api::INVALID_PTX
            | api::UNSUPPORTED_PTX_VERSION
            | api::INVALID_SOURCE
    );
    // The image has been read before, without the NUL that was added, or NVRTC has made it.
    let Some(holds) = Image::read(image).ok().filter(|_| is_of_image) else {
        return match is_of_image || !log.is_empty() {
            true => Detail::InvalidImage { file, reason: error.to_string(), log }.into(),
            false => error.into(),
        };
    };
    let compute_capability = info.compute_capability;
    if let (Image::Ptx { version, .. }, api::UNSUPPORTED_PTX_VERSION) = (&holds, error.code) {
        return Detail::PtxTooNew { file, version: version.clone(), driver: driver_version(api) }.into();
    }
    if error.code == api::NO_BINARY_FOR_GPU || holds.is_for_others(compute_capability) {
        let (holds, device) = (holds.to_string(), info.name.clone());
        return Detail::NoCodeForDevice { file, holds, device, compute_capability, log }.into();
    }
    Detail::InvalidImage { file, reason: error.to_string(), log }.into()
}

/// The CUDA release that the driver supports, such as `(13, 0)`.
fn driver_version(api: &Api) -> (u32, u32) {
    let mut version: c_int = 0;
    // SAFETY: `version` is a place for the result.
    let asked = unsafe { api.cuDriverGetVersion(&mut version) };
    let version = if asked.is_ok() { u32::try_from(version).unwrap_or(0) } else { 0 };
    (version / 1000, version % 1000 / 10)
}
