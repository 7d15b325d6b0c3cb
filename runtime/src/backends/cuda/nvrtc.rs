//! Compilation of `.cu` sources with NVRTC, which needs no GPU.

pub(super) mod sys;

use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use self::sys::nvrtcProgram;
use libloading::Library;

use super::compiled::Compiled;
use super::headers::{Includes, line_directive, without_mark};
use super::language;
use super::probe;
use super::table::{functions, symbol};
use super::toolkit::Toolkit;
use crate::base::error::{Detail, DriverError, Result};
use crate::base::kernel::KernelModule;
use crate::driver::DriverResult;

functions! {
    /// The functions that every NVRTC since 11.2 has.
    struct Functions, bindings self::sys, code nvrtcResult;
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int);
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
    fn nvrtcAddNameExpression(program: nvrtcProgram, expression: *const c_char);
    fn nvrtcGetLoweredName(program: nvrtcProgram, expression: *const c_char, name: *mut *const c_char);
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
    /// The functions of this process's NVRTC. An error says that `file` could not be compiled.
    fn get(file: &'static str) -> Result<&'static Self> {
        static FUNCTIONS: OnceLock<Result<Functions, &'static str>> = OnceLock::new();
        let library = probe::nvrtc().map_err(|looked_for| Detail::NoNvrtc { file, looked_for })?;
        let functions = FUNCTIONS.get_or_init(|| Self::find(library)).as_ref();
        Ok(functions.map_err(|symbol| {
            let text = "this NVRTC is too old: it lacks the function";
            DriverError::new(symbol, 0, "NVRTC_ERROR_NOT_FOUND", text)
        })?)
    }

    /// The architectures that it compiles for: 90 stands for compute capability 9.0.
    fn architectures(&self) -> DriverResult<Vec<c_int>> {
        let mut count = 0;
        // SAFETY: `count` is a place for the result.
        unsafe { self.nvrtcGetNumSupportedArchs(&mut count) }?;
        let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
        if !known.is_empty() {
            // SAFETY: there is room for as many architectures as NVRTC has just said it knows.
            unsafe { self.nvrtcGetSupportedArchs(known.as_mut_ptr()) }?;
        }
        Ok(known)
    }

    #[cold]
    fn error(&self, function: &'static str, code: u32) -> Box<DriverError> {
        let name = probe::nvrtc().ok().and_then(|library| error_name(library, code));
        let name = name.unwrap_or("NVRTC_ERROR_UNKNOWN");
        DriverError::new(function, code, name, "the compiler itself failed")
    }
}

/// NVRTC's name for one of its codes.
fn error_name(library: &'static Library, code: u32) -> Option<&'static str> {
    type ErrorString = unsafe extern "C" fn(u32) -> *const c_char;
    // SAFETY: the type is that of the header, except the code, an enum there and its integer here.
    let describe = unsafe { symbol::<ErrorString>(library, "nvrtcGetErrorString") }?;
    // SAFETY: the function takes any code.
    let text = unsafe { describe(code) };
    if text.is_null() {
        return None;
    }
    // SAFETY: the text is a NUL-terminated string of the library's, which is never unloaded.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// The architecture to compile for, so that the result runs on a device of this compute capability. It is the
/// device's own, or, for a device newer than NVRTC, the newest virtual one, whose PTX the driver compiles
/// further.
pub(super) fn architecture_for(compute_capability: (u32, u32), file: &'static str) -> Result<String> {
    Ok(choose(compute_capability, &Functions::get(file)?.architectures()?))
}

/// `known` holds 90 for compute capability 9.0.
fn choose((major, minor): (u32, u32), known: &[c_int]) -> String {
    let own = (major * 10 + minor) as c_int;
    match known.iter().filter(|&&known| known < own).max() {
        Some(newest) if !known.contains(&own) => format!("compute_{newest}"),
        // A device older than all that NVRTC knows comes here too. That is an error, which lists the known
        // architectures.
        _ => format!("sm_{own}"),
    }
}

/// Whether an architecture's name is one that NVRTC says it knows, or a variant of one: `sm_90a`,
/// `compute_100f`.
fn is_architecture(name: &str, known: &[c_int]) -> bool {
    let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"));
    let number = number.map(|number| number.strip_suffix(['a', 'f']).unwrap_or(number));
    let is_number = |number: &&str| number.bytes().all(|byte| byte.is_ascii_digit());
    number
        .filter(is_number)
        .and_then(|number| number.parse().ok())
        .is_some_and(|number| known.contains(&number))
}

/// The error of an architecture that NVRTC does not know.
fn unknown(file: &'static str, architecture: &str, mut known: Vec<c_int>) -> Detail {
    known.sort_unstable();
    let supported = known.iter().map(|number| format!("sm_{number}")).collect();
    Detail::Architecture { file, architecture: architecture.to_owned(), supported }
}

/// This process's NVRTC.
pub(super) struct Compiler {
    nvrtc: &'static Functions,
    /// Its version, such as `(13, 0)`.
    version: (c_int, c_int),
}

impl Compiler {
    /// # Errors
    /// NVRTC is missing or too old; `file` is the source that could not be compiled.
    pub(super) fn get(file: &'static str) -> Result<Self> {
        let nvrtc = Functions::get(file)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are places for the results.
        unsafe { nvrtc.nvrtcVersion(&mut major, &mut minor) }?;
        Ok(Self { nvrtc, version: (major, minor) })
    }

    /// A text that tells it from other releases. The version does not tell the updates of one toolkit apart,
    /// but their libraries differ in size.
    pub(super) fn identity(&self) -> Vec<u8> {
        let bytes = probe::nvrtc_file().and_then(|file| fs::metadata(file).ok()).map_or(0, |file| file.len());
        let (major, minor) = self.version;
        format!("NVRTC {major}.{minor} of {bytes} bytes").into_bytes()
    }
}

/// Compiles a kernel source: to a cubin for a real architecture (`sm_90`), to NUL-terminated PTX for a
/// virtual one (`compute_90`). The compiler's messages name files as the user does.
///
/// # Errors
/// NVRTC does not know the architecture, or the source does not compile.
pub(super) fn compile(
    compiler: &Compiler,
    module: &KernelModule,
    source: &str,
    architecture: &str,
    includes: &Includes,
) -> Result<Compiled> {
    let file = module.file;
    let known = compiler.nvrtc.architectures()?;
    if !is_architecture(architecture, &known) {
        return Err(unknown(file, architecture, known).into());
    }
    let failed = |log: String| Detail::Compile { file, architecture: architecture.into(), log };
    let c_string = |what: &str, text: &str| {
        CString::new(text).map_err(|_| failed(format!("{file}: error: the {what} holds a NUL character")))
    };
    let source = without_mark(source);
    let tree = includes.write(module, source).map_err(|error| {
        failed(format!("{file}: error: its headers cannot be written to a temporary folder: {error}"))
    })?;
    // With files, the source's name is a path among them, so its includes are looked for beside it, and not
    // in the process's folder.
    let (name, source) = match &tree {
        None => (file.to_owned(), source.to_owned()),
        Some(tree) => {
            let name = tree.path().join(module.path).to_string_lossy().into_owned();
            (name, format!("{}{source}", line_directive(file)))
        }
    };
    let mut options = vec![format!("--gpu-architecture={architecture}")];
    if let Some(tree) = &tree {
        let folders = module.include.iter().map(|folder| tree.path().join(folder));
        options.extend(folders.map(|folder| include_path(&folder)));
    }
    options.extend(module.options.iter().map(|&option| option.to_owned()));
    if let Some(tree) = tree.as_ref().filter(|_| includes.language().next().is_some()) {
        options.push(include_path(&tree.path().join(language::FOLDER)));
    }
    if includes.go_beyond() {
        options.extend(Toolkit::get().folders.iter().map(|folder| include_path(folder)));
    }
    let options = options.iter().map(|option| c_string("option", option)).collect::<Result<Vec<_>, _>>()?;
    let (c_name, source) = (c_string("path", &name)?, c_string("source", &source)?);
    let instances = module.instances.iter().map(|instance| c_string("name expression", instance));
    let instances = instances.collect::<Result<Vec<_>, _>>()?;

    let program = Program::new(compiler.nvrtc, &source, &c_name)?;
    instances.iter().try_for_each(|instance| program.instantiate(instance))?;
    if let Err(error) = program.compile(&options) {
        let log = program.log()?;
        let mut log = if log.is_empty() { error.to_string() } else { log.replace(&name, file) };
        // NVRTC knows the architecture, but not this variant.
        if ["invalid value for --gpu-architecture", "--nv_arch flag"].iter().any(|text| log.contains(text)) {
            return Err(unknown(file, architecture, known).into());
        }
        if let Some(help) = language::explain(&log) {
            log = format!("{}\n{help}", log.trim_end());
        }
        if log.contains("open source file") {
            log = format!("{}\n{}", log.trim_end(), Toolkit::get().explain());
        }
        return Err(failed(log).into());
    }
    let image = if architecture.starts_with("sm_") { program.cubin() } else { program.ptx() }?;
    let lowered = instances.iter().map(|instance| program.lowered(instance));
    let names =
        module.instances.iter().zip(lowered).map(|(&instance, lowered)| Ok((instance.to_owned(), lowered?)));
    Ok(Compiled { image, names: names.collect::<DriverResult<_>>()? })
}

fn include_path(folder: &Path) -> String {
    format!("--include-path={}", folder.display())
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
        // SAFETY: `handle` is a place for the result, and both strings are NUL-terminated and outlive the
        // program.
        unsafe { nvrtc.nvrtcCreateProgram(&mut handle, source_ptr, name, 0, ptr::null(), ptr::null()) }?;
        Ok(Self { nvrtc, handle, _source: source })
    }

    /// Makes the compiler instantiate a template, such as `reduce<float>`.
    fn instantiate(&self, expression: &CStr) -> DriverResult<()> {
        // SAFETY: the program is live and not compiled yet, and the text is NUL-terminated.
        unsafe { self.nvrtc.nvrtcAddNameExpression(self.handle, expression.as_ptr()) }
    }

    /// The name of an instance in the result.
    fn lowered(&self, expression: &CStr) -> DriverResult<String> {
        let mut name = ptr::null();
        // SAFETY: the program is compiled, the text is NUL-terminated, and `name` is a place for the result.
        unsafe { self.nvrtc.nvrtcGetLoweredName(self.handle, expression.as_ptr(), &mut name) }?;
        // SAFETY: the name is a NUL-terminated string of the program's, which is live.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    fn compile(&self, options: &[CString]) -> DriverResult<()> {
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is live, and the array holds as many NUL-terminated strings as given.
        unsafe { self.nvrtc.nvrtcCompileProgram(self.handle, options.len() as c_int, options.as_ptr()) }
    }

    /// The compiler's messages, without the NUL at the end.
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
        // Nobody here could use an error.
        // SAFETY: the program is live and not used again.
        let _ = unsafe { self.nvrtc.nvrtcDestroyProgram(&mut self.handle) };
    }
}

#[cfg(test)]
mod tests;
