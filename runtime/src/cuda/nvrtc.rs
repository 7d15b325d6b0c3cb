//! Compiles `.cu` sources with NVRTC, which needs no GPU.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use cudarc::nvrtc::sys::{self, nvrtcProgram};
use libloading::Library;

use super::probe;
use super::table::{functions, symbol};
use crate::driver::DriverResult;
use crate::error::{DriverError, ErrorKind, Result};

functions! {
    /// What every NVRTC since 11.2 has.
    struct Functions, bindings sys, code nvrtcResult;
    fn nvrtcGetNumSupportedArchs(count: *mut c_int);
    fn nvrtcGetSupportedArchs(architectures: *mut c_int);
    fn nvrtcCreateProgram(
        program: *mut nvrtcProgram,
        source: *const c_char,
        name: *const c_char,
        header_count: c_int,
        headers: *const *const c_char,
        header_names: *const *const c_char,
    );
    fn nvrtcDestroyProgram(program: *mut nvrtcProgram);
    fn nvrtcCompileProgram(program: nvrtcProgram, option_count: c_int, options: *const *const c_char);
    fn nvrtcGetProgramLogSize(program: nvrtcProgram, bytes: *mut usize);
    fn nvrtcGetProgramLog(program: nvrtcProgram, log: *mut c_char);
    fn nvrtcGetCUBINSize(program: nvrtcProgram, bytes: *mut usize);
    fn nvrtcGetCUBIN(program: nvrtcProgram, image: *mut c_char);
    fn nvrtcGetPTXSize(program: nvrtcProgram, bytes: *mut usize);
    fn nvrtcGetPTX(program: nvrtcProgram, image: *mut c_char);
}

impl Functions {
    /// The functions of this process's NVRTC; `file` is what an error says could not be compiled.
    fn get(file: &'static str) -> Result<&'static Self> {
        static FUNCTIONS: OnceLock<Result<Functions, &'static str>> = OnceLock::new();
        let library = probe::nvrtc().map_err(|looked_for| ErrorKind::NoNvrtc { file, looked_for })?;
        let functions = FUNCTIONS.get_or_init(|| Self::find(library)).as_ref();
        Ok(functions.map_err(|symbol| {
            let text = "this NVRTC is too old: it lacks the function";
            DriverError::new(symbol, 0, "NVRTC_ERROR_NOT_FOUND", text)
        })?)
    }

    #[cold]
    fn error(&self, function: &'static str, code: u32) -> DriverError {
        let name = probe::nvrtc().ok().and_then(|library| error_name(library, code));
        let name = name.unwrap_or("NVRTC_ERROR_UNKNOWN");
        DriverError::new(function, code, name, "the compiler itself failed")
    }
}

/// NVRTC's name for one of its codes.
fn error_name(library: &'static Library, code: u32) -> Option<&'static str> {
    type ErrorString = unsafe extern "C" fn(u32) -> *const c_char;
    // SAFETY: the type is that of cudarc's binding, but for the code, an enum there and its integer here.
    let describe = unsafe { symbol::<ErrorString>(library, "nvrtcGetErrorString") }?;
    // SAFETY: the function takes any code.
    let text = unsafe { describe(code) };
    if text.is_null() {
        return None;
    }
    // SAFETY: the text is a NUL-terminated string of the library's, which is never unloaded.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// The architecture to compile for, such that the result runs on a device of this compute capability: its own, or,
/// for a device newer than NVRTC, the newest virtual one, whose PTX the driver then compiles on.
pub(super) fn architecture_for(compute_capability: (u32, u32), file: &'static str) -> Result<String> {
    let nvrtc = Functions::get(file)?;
    let mut count = 0;
    // SAFETY: `count` is a place for the result.
    unsafe { nvrtc.nvrtcGetNumSupportedArchs(&mut count) }?;
    let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
    if !known.is_empty() {
        // SAFETY: there is room for as many architectures as NVRTC has just said it knows.
        unsafe { nvrtc.nvrtcGetSupportedArchs(known.as_mut_ptr()) }?;
    }
    Ok(choose(compute_capability, &known))
}

/// `known` holds 90 for compute capability 9.0.
fn choose((major, minor): (u32, u32), known: &[c_int]) -> String {
    let own = (major * 10 + minor) as c_int;
    match known.iter().filter(|&&known| known < own).max() {
        Some(newest) if !known.contains(&own) => format!("compute_{newest}"),
        // A device older than all that NVRTC knows comes here too: NVRTC's own words say so best.
        _ => format!("sm_{own}"),
    }
}

/// Compiles a kernel source: to a cubin for a real architecture (`sm_90`), to NUL-terminated PTX for a virtual one
/// (`compute_90`). `file` is what the compiler's messages name.
///
/// # Errors
/// NVRTC is missing or too old, or the source does not compile.
#[doc(hidden)]
pub fn compile_for(source: &str, file: &'static str, architecture: &str) -> Result<Vec<u8>> {
    let failed = |log: String| ErrorKind::Compile { file, architecture: architecture.into(), log };
    let nvrtc = Functions::get(file)?;
    let c_string = |what: &str, text: &str| {
        CString::new(text).map_err(|_| failed(format!("{file}: error: the {what} holds a NUL character")))
    };
    let name = c_string("path", file)?;
    let source = c_string("source", source)?;
    let options = [c_string("architecture", &format!("--gpu-architecture={architecture}"))?];

    let program = Program::new(nvrtc, &source, &name)?;
    if let Err(error) = program.compile(&options) {
        let log = program.log()?;
        return Err(failed(if log.is_empty() { error.to_string() } else { log }).into());
    }
    Ok(if architecture.starts_with("sm_") { program.cubin() } else { program.ptx() }?)
}

/// An NVRTC program; destroyed on drop.
struct Program<'a> {
    nvrtc: &'static Functions,
    handle: nvrtcProgram,
    /// The manual does not say that NVRTC copies the source.
    _source: &'a CStr,
}

impl<'a> Program<'a> {
    fn new(nvrtc: &'static Functions, source: &'a CStr, name: &'a CStr) -> DriverResult<Self> {
        let mut handle = ptr::null_mut();
        let (source_ptr, name) = (source.as_ptr(), name.as_ptr());
        // SAFETY: `handle` is a place for the result, and both strings are NUL-terminated and outlive the program.
        unsafe { nvrtc.nvrtcCreateProgram(&mut handle, source_ptr, name, 0, ptr::null(), ptr::null()) }?;
        Ok(Self { nvrtc, handle, _source: source })
    }

    fn compile(&self, options: &[CString]) -> DriverResult<()> {
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is live, and the array holds as many NUL-terminated strings as given.
        unsafe { self.nvrtc.nvrtcCompileProgram(self.handle, options.len() as c_int, options.as_ptr()) }
    }

    /// What the compiler said, without the NUL at its end.
    fn log(&self) -> DriverResult<String> {
        let mut bytes = 0;
        // SAFETY: the program is live, and `bytes` is a place for the result.
        unsafe { self.nvrtc.nvrtcGetProgramLogSize(self.handle, &mut bytes) }?;
        let mut log = vec![0_u8; bytes];
        // SAFETY: the program is live, and there is room for as many bytes as NVRTC has just asked for.
        unsafe { self.nvrtc.nvrtcGetProgramLog(self.handle, log.as_mut_ptr().cast()) }?;
        log.truncate(log.iter().position(|&byte| byte == 0).unwrap_or(bytes));
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    fn cubin(&self) -> DriverResult<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program is live, and `bytes` is a place for the result.
        unsafe { self.nvrtc.nvrtcGetCUBINSize(self.handle, &mut bytes) }?;
        let mut image = vec![0_u8; bytes];
        // SAFETY: the program is live, and there is room for as many bytes as NVRTC has just asked for.
        unsafe { self.nvrtc.nvrtcGetCUBIN(self.handle, image.as_mut_ptr().cast()) }?;
        Ok(image)
    }

    fn ptx(&self) -> DriverResult<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program is live, and `bytes` is a place for the result.
        unsafe { self.nvrtc.nvrtcGetPTXSize(self.handle, &mut bytes) }?;
        let mut image = vec![0_u8; bytes];
        // SAFETY: the program is live, and there is room for as many bytes as NVRTC has just asked for.
        unsafe { self.nvrtc.nvrtcGetPTX(self.handle, image.as_mut_ptr().cast()) }?;
        Ok(image)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // An error is of no use to anyone here.
        // SAFETY: the program is live and not used again.
        let _ = unsafe { self.nvrtc.nvrtcDestroyProgram(&mut self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAXPY: &str = r#"
extern "C" __global__ void saxpy(unsigned n, float a, const float* x, float* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"#;

    #[test]
    fn a_device_that_nvrtc_knows_gets_its_own_architecture() {
        assert_eq!(choose((9, 0), &[75, 80, 86, 90, 100]), "sm_90");
    }

    #[test]
    fn a_device_newer_than_nvrtc_gets_the_newest_ptx() {
        assert_eq!(choose((10, 3), &[75, 80, 90, 100]), "compute_100");
        assert_eq!(choose((9, 0), &[75, 80, 86]), "compute_86");
    }

    #[test]
    fn a_device_older_than_nvrtc_is_left_to_its_words() {
        assert_eq!(choose((7, 0), &[75, 80]), "sm_70");
        assert_eq!(choose((7, 0), &[]), "sm_70");
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn saxpy_compiles_to_a_cubin() {
        for architecture in ["sm_75", "sm_80", "sm_90", "sm_100"] {
            let image = compile_for(SAXPY, "saxpy.cu", architecture).expect(architecture);
            assert_eq!(&image[..4], b"\x7fELF", "{architecture}");
        }
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn a_virtual_architecture_gives_ptx() {
        let image = compile_for(SAXPY, "saxpy.cu", "compute_80").expect("PTX");
        let text = CStr::from_bytes_with_nul(&image).expect("one NUL, at the end").to_string_lossy();
        assert!(text.contains(".target sm_80") && text.contains(".entry saxpy"), "{text}");
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn nvrtc_knows_the_architectures_it_is_asked_for() {
        assert_eq!(architecture_for((8, 0), "saxpy.cu").expect("a list"), "sm_80");
        assert!(architecture_for((99, 0), "saxpy.cu").expect("a list").starts_with("compute_"));
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn errors_carry_file_and_line() {
        let source = SAXPY.replace("a * x[i]", "a * z[i]");
        let error = compile_for(&source, "kernels/saxpy.cu", "sm_80").expect_err("`z` is unknown");
        let ErrorKind::Compile { file, architecture, log } = error.kind() else { panic!("{error}") };
        assert_eq!((*file, architecture.as_str()), ("kernels/saxpy.cu", "sm_80"));
        assert!(log.starts_with("kernels/saxpy.cu(4): error: "), "{log}");
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn an_unknown_architecture_is_reported_in_nvrtcs_words() {
        let error = compile_for(SAXPY, "saxpy.cu", "sm_20").expect_err("long gone");
        assert!(error.to_string().contains("gpu-architecture"), "{error}");
    }
}
