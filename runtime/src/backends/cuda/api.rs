//! The functions of CUDA's driver that this backend calls, and the errors they return.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ushort, c_void};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use super::attributes::Attributed;
use super::graph_functions::{Graphs, KernelNodes};
use super::probe;
use super::sys::{self, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream};
use super::table::{functions, symbol};
use crate::base::error::{Detail, DriverError, Error};
use crate::driver::{DriverResult, RawEvent, RawStream};

/// `CUDA_ERROR_INVALID_VALUE`
pub(super) const INVALID_VALUE: u32 = 1;
/// `CUDA_ERROR_NO_DEVICE`
pub(super) const NO_DEVICE: u32 = 100;
/// `CUDA_ERROR_INVALID_IMAGE`
pub(super) const INVALID_IMAGE: u32 = 200;
/// `CUDA_ERROR_NO_BINARY_FOR_GPU`
pub(super) const NO_BINARY_FOR_GPU: u32 = 209;
/// `CUDA_ERROR_INVALID_PTX`
pub(super) const INVALID_PTX: u32 = 218;
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`
pub(super) const UNSUPPORTED_PTX_VERSION: u32 = 222;
/// `CUDA_ERROR_INVALID_SOURCE`
pub(super) const INVALID_SOURCE: u32 = 300;
/// `CUDA_ERROR_NOT_FOUND`
pub(super) const NOT_FOUND: u32 = 500;
/// `CUDA_ERROR_NOT_READY`
pub(super) const NOT_READY: u32 = 600;
/// `CUDA_ERROR_NOT_SUPPORTED`
pub(super) const NOT_SUPPORTED: u32 = 801;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`
pub(super) const PEER_ACCESS_ALREADY_ENABLED: u32 = 704;
/// `CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`
pub(super) const PEER_ACCESS_NOT_ENABLED: u32 = 705;
/// `CUDA_ERROR_MISALIGNED_ADDRESS`
pub(super) const MISALIGNED_ADDRESS: u32 = 716;

functions! {
    /// The functions that every CUDA driver since 11.0 has.
    struct Functions, bindings super::sys, code CUresult;
    fn cuInit(flags: c_uint);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, index: c_int);
    fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: sys::CUdevice_attribute, device: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuCtxSetCurrent(context: CUcontext);
    fn cuCtxGetCurrent(context: *mut CUcontext);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(ptr: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(ptr: CUdeviceptr);
    fn cuMemHostAlloc(ptr: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(ptr: *mut c_void);
    fn cuMemHostRegister_v2(ptr: *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemHostUnregister(ptr: *mut c_void);
    fn cuMemHostGetDevicePointer_v2(device: *mut CUdeviceptr, host: *mut c_void, flags: c_uint);
    fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamQuery(stream: CUstream);
    fn cuCtxSynchronize();
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventQuery(event: CUevent);
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpyPeerAsync(
        to: CUdeviceptr,
        to_context: CUcontext,
        from: CUdeviceptr,
        from_context: CUcontext,
        bytes: usize,
        stream: CUstream,
    );
    fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);
    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
    fn cuCtxDisablePeerAccess(peer: CUcontext);
    fn cuMemcpy2DAsync_v2(copy: *const sys::CUDA_MEMCPY2D, stream: CUstream);
    fn cuMemsetD8Async(to: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream);
    fn cuMemsetD16Async(to: CUdeviceptr, value: c_ushort, count: usize, stream: CUstream);
    fn cuMemsetD32Async(to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);
    fn cuMemsetD2D8Async(
        to: CUdeviceptr,
        pitch: usize,
        value: c_uchar,
        width: usize,
        height: usize,
        stream: CUstream,
    );
    fn cuMemsetD2D16Async(
        to: CUdeviceptr,
        pitch: usize,
        value: c_ushort,
        width: usize,
        height: usize,
        stream: CUstream,
    );
    fn cuMemsetD2D32Async(
        to: CUdeviceptr,
        pitch: usize,
        value: c_uint,
        width: usize,
        height: usize,
        stream: CUstream,
    );
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        option_count: c_uint,
        options: *mut sys::CUjit_option,
        values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetGlobal_v2(ptr: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: sys::CUfunction_attribute, function: CUfunction);
    fn cuFuncSetAttribute(function: CUfunction, attribute: sys::CUfunction_attribute, value: c_int);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        block: c_int,
        shared: usize,
    );
    fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn cuLaunchHostFunc(stream: CUstream, function: sys::CUhostFn, argument: *mut c_void);
}

#[cfg(test)]
const _: () = {
    let _: unsafe fn(CUfunction) -> sys::CUresult = sys::cuFuncLoad;
    let _: unsafe fn(CUfunction, usize, *mut usize, *mut usize) -> sys::CUresult = sys::cuFuncGetParamInfo;
    let _: unsafe fn(CUstream, CUdeviceptr, c_uint, c_uint) -> sys::CUresult = sys::cuStreamWaitValue32_v2;
    let _: unsafe fn(CUstream, CUdeviceptr, c_uint, c_uint) -> sys::CUresult = sys::cuStreamWriteValue32_v2;
    // The first version, which every driver has, is of the same type.
    let _: unsafe fn(*mut f32, CUevent, CUevent) -> sys::CUresult = sys::cuEventElapsedTime_v2;
};

type ElapsedTime = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> u32;
type StreamValue = unsafe extern "C" fn(CUstream, CUdeviceptr, c_uint, c_uint) -> u32;
type FuncGetParamInfo = unsafe extern "C" fn(CUfunction, usize, *mut usize, *mut usize) -> u32;
// The header of CUDA 13.2 has it.
type FuncGetParamCount = unsafe extern "C" fn(CUfunction, *mut usize) -> u32;

/// CUDA's driver, loaded and initialised.
pub(super) struct Api {
    functions: Functions,
    /// Drivers have them since 11.4. The error is the name of one that is missing.
    graphs: Result<(Graphs, KernelNodes), &'static str>,
    /// Drivers have it since 12.4.
    func_load: Option<unsafe extern "C" fn(CUfunction) -> u32>,
    /// Drivers have it since 12.4.
    func_get_param_info: Option<FuncGetParamInfo>,
    /// Drivers have it since 13.2.
    func_get_param_count: Option<FuncGetParamCount>,
    /// Drivers have them since 11.8. The error is the name of one that is missing.
    attributed: Result<Attributed, &'static str>,
    /// Every driver has it.
    elapsed: Option<ElapsedTime>,
    /// Drivers have it since 11.7. Its first version works only if the kernel module was told to allow it.
    wait_value: Option<StreamValue>,
    /// Drivers have it since 11.7.
    write_value: Option<StreamValue>,
}

impl std::ops::Deref for Api {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.functions
    }
}

impl Api {
    /// The driver of this process: looked for, checked and initialised at the first call.
    ///
    /// # Errors
    /// There is none, it is too old, or it does not initialise. The result stays the same until the process
    /// ends.
    pub(super) fn get() -> Result<&'static Self, Error> {
        static API: OnceLock<Result<Api, Error>> = OnceLock::new();
        API.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Self, Error> {
        let not_there = |looked_for| Detail::NoCudaDriver { looked_for, asked: None };
        let library = probe::cuda_driver().map_err(not_there)?;
        let api = Self::find(library).map_err(|symbol| Detail::CudaDriverTooOld { symbol })?;
        // SAFETY: `cuInit` may be called at any time; it takes no flags yet.
        unsafe { api.cuInit(0) }?;
        Ok(api)
    }

    fn find(library: &'static Library) -> Result<Self, &'static str> {
        Ok(Self {
            functions: Functions::find(library)?,
            graphs: Graphs::find(library).and_then(|graphs| Ok((graphs, KernelNodes::find(library)?))),
            // SAFETY: the type is that of the header, except the code, an enum there and its integer here.
            func_load: unsafe { symbol(library, "cuFuncLoad") },
            // SAFETY: as above.
            func_get_param_info: unsafe { symbol(library, "cuFuncGetParamInfo") },
            // SAFETY: as above.
            func_get_param_count: unsafe { symbol(library, "cuFuncGetParamCount") },
            attributed: Attributed::find(library),
            // SAFETY: as above.
            elapsed: unsafe { symbol(library, "cuEventElapsedTime") },
            // SAFETY: as above.
            wait_value: unsafe { symbol(library, "cuStreamWaitValue32_v2") },
            // SAFETY: as above.
            write_value: unsafe { symbol(library, "cuStreamWriteValue32_v2") },
        })
    }

    /// The functions of graphs.
    ///
    /// # Errors
    /// The driver is too old for them.
    pub(super) fn graphs(&self) -> DriverResult<&(Graphs, KernelNodes)> {
        self.graphs.as_ref().map_err(|symbol| {
            let description = "the driver is too old for graphs: it lacks this function";
            DriverError::new(without_version(symbol), NOT_FOUND, "CUDA_ERROR_NOT_FOUND", description)
        })
    }

    /// Loads a kernel onto the device now, if the driver can be told to.
    ///
    /// # Safety
    /// `function` is live and its context is current.
    pub(super) unsafe fn load_function(&self, function: CUfunction) -> DriverResult<()> {
        let Some(load) = self.func_load else {
            return Ok(());
        };
        // SAFETY: the pointer is that of `cuFuncLoad`, and the library is never unloaded. The caller keeps
        // the function's contract.
        match unsafe { load(function) } {
            0 => Ok(()),
            code => Err(self.error("cuFuncLoad", code)),
        }
    }

    /// The sizes of a kernel's parameters, in bytes, if the driver can tell.
    ///
    /// `known` is the largest possible number of parameters, if the caller knows it. Otherwise the driver is
    /// asked. A driver that does not tell the number ends the list by refusing a call, which a checker such
    /// as compute-sanitizer reports.
    ///
    /// # Safety
    /// `function` is live and its context is current.
    pub(super) unsafe fn parameters(&self, function: CUfunction, known: Option<usize>) -> Option<Vec<usize>> {
        let ask = self.func_get_param_info?;
        // SAFETY: the caller's promise.
        let most = known.or_else(|| unsafe { self.parameter_count(function) });
        let mut sizes = Vec::new();
        loop {
            if most.is_some_and(|most| sizes.len() >= most) {
                return Some(sizes);
            }
            let (mut offset, mut bytes) = (0, 0);
            // SAFETY: the pointer is that of `cuFuncGetParamInfo`, and the library is never unloaded. Both
            // are places for the results, and the caller keeps the function's contract.
            match unsafe { ask(function, sizes.len(), &mut offset, &mut bytes) } {
                0 => sizes.push(bytes),
                INVALID_VALUE => return Some(sizes),
                _ => return None,
            }
        }
    }

    /// The number of a kernel's parameters, if the driver can tell.
    ///
    /// # Safety
    /// As [`parameters`](Self::parameters).
    unsafe fn parameter_count(&self, function: CUfunction) -> Option<usize> {
        let count = self.func_get_param_count?;
        let mut parameters = 0;
        // SAFETY: the pointer is that of `cuFuncGetParamCount`, and the library is never unloaded.
        // `parameters` is a place for the result, and the caller keeps the function's contract.
        (unsafe { count(function, &mut parameters) } == 0).then_some(parameters)
    }

    /// The functions that launch with attributes.
    ///
    /// # Errors
    /// The driver is too old for them; the error names one that is missing.
    pub(super) fn attributed(&self) -> Result<&Attributed, Detail> {
        self.attributed.as_ref().map_err(|&symbol| Detail::CudaDriverTooOld { symbol })
    }

    /// The milliseconds between two events with timing, with an error of half a microsecond.
    ///
    /// # Errors
    /// One of them is not complete or has no timing.
    ///
    /// # Safety
    /// Both are live, and their context is current.
    pub(super) unsafe fn elapsed(&self, from: CUevent, to: CUevent) -> DriverResult<f32> {
        let mut millis = 0.0;
        let code = self.elapsed.map_or(NOT_FOUND, |elapsed| {
            // SAFETY: the pointer is that of `cuEventElapsedTime`, and the library is never unloaded.
            // `millis` is a place for the result, and the caller keeps the function's contract.
            unsafe { elapsed(&mut millis, from, to) }
        });
        if code == 0 { Ok(millis) } else { Err(self.error("cuEventElapsedTime", code)) }
    }

    /// Whether the driver has [`wait_value`](Self::wait_value). A device may still refuse it.
    pub(super) fn has_wait_value(&self) -> bool {
        self.wait_value.is_some()
    }

    /// Makes a stream wait until the word at `at` is `value` or at most 2^31 beyond it.
    ///
    /// # Errors
    /// [`NOT_SUPPORTED`] if the driver or the device cannot do it.
    ///
    /// # Safety
    /// The stream is live, its context current, and the word is mapped memory until the stream has gone on.
    pub(super) unsafe fn wait_value(
        &self,
        stream: CUstream,
        at: CUdeviceptr,
        value: u32,
    ) -> DriverResult<()> {
        let greater_or_equal = sys::CUstreamWaitValue_flags_enum::CU_STREAM_WAIT_VALUE_GEQ as c_uint;
        // SAFETY: the pointer is that of `cuStreamWaitValue32_v2`. The caller keeps the function's contract.
        unsafe { self.value("cuStreamWaitValue32", self.wait_value, stream, (at, value), greater_or_equal) }
    }

    /// Whether the driver has [`write_value`](Self::write_value). A device may still refuse it.
    pub(super) fn has_write_value(&self) -> bool {
        self.write_value.is_some()
    }

    /// Creates a stream.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// A context is current.
    pub(super) unsafe fn new_stream(
        &self,
        flags: sys::CUstream_flags_enum,
        priority: c_int,
    ) -> DriverResult<RawStream> {
        let mut stream = ptr::null_mut();
        // SAFETY: `stream` is a place for the result. The caller's promise.
        unsafe { self.cuStreamCreateWithPriority(&mut stream, flags as c_uint, priority) }?;
        Ok(RawStream(stream.expose_provenance() as u64))
    }

    /// Creates an event.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// A context is current.
    pub(super) unsafe fn new_event(&self, flags: sys::CUevent_flags_enum) -> DriverResult<RawEvent> {
        let mut event = ptr::null_mut();
        // SAFETY: `event` is a place for the result. The caller's promise.
        unsafe { self.cuEventCreate(&mut event, flags as c_uint) }?;
        Ok(RawEvent(event.expose_provenance() as u64))
    }

    /// Makes a stream write `value` to the word at `at`, after everything that it has written before.
    ///
    /// # Errors
    /// [`NOT_SUPPORTED`] if the driver or the device cannot do it.
    ///
    /// # Safety
    /// The stream is live, its context current, and the word is mapped memory until the stream has gone on.
    pub(super) unsafe fn write_value(
        &self,
        stream: CUstream,
        at: CUdeviceptr,
        value: u32,
    ) -> DriverResult<()> {
        let with_a_fence = sys::CUstreamWriteValue_flags_enum::CU_STREAM_WRITE_VALUE_DEFAULT as c_uint;
        // SAFETY: the pointer is that of `cuStreamWriteValue32_v2`. The caller keeps the function's contract.
        unsafe { self.value("cuStreamWriteValue32", self.write_value, stream, (at, value), with_a_fence) }
    }

    /// # Safety
    /// `call` is a function of the library, which is never unloaded, and its contract is kept.
    unsafe fn value(
        &self,
        name: &'static str,
        call: Option<StreamValue>,
        stream: CUstream,
        (at, value): (CUdeviceptr, u32),
        flags: c_uint,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        let code = call.map_or(NOT_SUPPORTED, |call| unsafe { call(stream, at, value, flags) });
        if code == 0 { Ok(()) } else { Err(self.error(name, code)) }
    }
}

impl Functions {
    #[cold]
    pub(super) fn error(&self, function: &'static str, code: u32) -> Box<DriverError> {
        error(function, code)
    }
}

/// A function's name as in CUDA's manual and headers. The suffix tells versions of the binary interface
/// apart.
fn without_version(function: &'static str) -> &'static str {
    function.strip_suffix("_v2").unwrap_or(function)
}

#[cold]
pub(super) fn error(function: &'static str, code: u32) -> Box<DriverError> {
    let unknown = "the driver has no description of this code";
    let error = DriverError::new(
        without_version(function),
        code,
        text("cuGetErrorName", code).unwrap_or(Cow::Borrowed("CUDA_ERROR_UNKNOWN")),
        text("cuGetErrorString", code).unwrap_or(Cow::Borrowed(unknown)),
    );
    // Such an error stays: every later call in the context gives it again.
    let lost = error.is_asynchronous();
    error.lost(lost)
}

/// The text of `cuGetErrorName` or `cuGetErrorString` for a code. The functions are looked up when needed: a
/// table would report their own errors through them.
fn text(function: &str, code: u32) -> Option<Cow<'static, str>> {
    type Describe = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;
    let library = probe::cuda_driver().ok()?;
    // SAFETY: the type is that of the header, except the codes, enums there and their integer here.
    let describe = unsafe { symbol::<Describe>(library, function) }?;
    let mut text = ptr::null();
    // SAFETY: the function takes any code, and `text` is a place for its result.
    let outcome = unsafe { describe(code, &mut text) };
    if outcome != 0 || text.is_null() {
        return None;
    }
    // SAFETY: on success the text is a NUL-terminated string of the driver's, which is never unloaded.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy())
}
