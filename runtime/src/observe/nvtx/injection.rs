//! [`Tool`]: attaches a tool.
//!
//! NVTX 3 has no library: the header that a C program includes loads the tool's library, named by
//! `NVTX_INJECTION64_PATH` (Nsight Systems sets it), and calls its `InitializeInjectionNvtx2`. That function
//! asks for tables of function slots, and stores its own functions there. This module does the same, as far
//! as ranges need it.
//!
//! Source: `nvtxDetail/nvtxTypes.h` and `nvtxDetail/nvtxInit.h` of NVTX 3.

use std::env;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::observe::nvtx::sys::{nvtxDomainHandle_t, nvtxEventAttributes_t};
use libloading::Library;

/// The environment variable that names the tool's library.
const VARIABLE: &str =
    // Note 27: as the headers of NVTX 3 do it.
    if size_of::<usize>() == 4 { "NVTX_INJECTION32_PATH" } else { "NVTX_INJECTION64_PATH" };

/// The number of functions of each module: unused, core, CUDA, OpenCL, CUDA's runtime, core since version 2,
/// and synchronisation.
const FUNCTIONS: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];

/// The largest of these numbers, plus one for the final null.
const MOST: usize = 17;

/// The module with domains, and the functions of it that are used here.
const CORE_2: usize = 5;
const PUSH: usize = 4;
const POP: usize = 5;
const CREATE_DOMAIN: usize = 12;

type CreateDomain = unsafe extern "C" fn(*const c_char) -> nvtxDomainHandle_t;
type Push = unsafe extern "C" fn(nvtxDomainHandle_t, *const nvtxEventAttributes_t) -> c_int;
type Pop = unsafe extern "C" fn(nvtxDomainHandle_t) -> c_int;

type ExportTable = extern "C" fn(u32) -> *const c_void;
type Initialize = unsafe extern "C" fn(ExportTable) -> c_int;

/// The functions of a tool.
pub(super) struct Tool {
    pub(super) create_domain: CreateDomain,
    pub(super) push: Push,
    pub(super) pop: Pop,
}

impl Tool {
    /// The tool that the environment names, if it can be loaded and wants ranges. Called once in a process.
    pub(super) fn attach() -> Option<Self> {
        let path = env::var_os(VARIABLE).filter(|path| !path.is_empty())?;
        // SAFETY: whoever set the variable wants this library's code to run here.
        let library = unsafe { Library::new(path) }.ok()?;
        // SAFETY: the symbol has this type in NVTX's interface.
        let initialize = *unsafe { library.get::<Initialize>(b"InitializeInjectionNvtx2\0") }.ok()?;
        // Its functions are called until the process ends.
        std::mem::forget(library);
        // SAFETY: this is how the interface has it called; the argument is valid for as long as the process.
        if unsafe { initialize(export_table) } == 0 {
            return None;
        }
        let [create_domain, push, pop] = [CREATE_DOMAIN, PUSH, POP].map(|function| {
            let function = SLOTS[CORE_2][function].load(Ordering::Acquire);
            (!function.is_null()).then_some(function)
        });
        // SAFETY: what a tool stores in these slots has these types in NVTX's interface, and is not null.
        unsafe {
            Some(Self {
                create_domain: transmute::<*mut c_void, CreateDomain>(create_domain?),
                push: transmute::<*mut c_void, Push>(push?),
                pop: transmute::<*mut c_void, Pop>(pop?),
            })
        }
    }
}

/// The slots in which a tool stores its functions, by module.
static SLOTS: [[AtomicPtr<c_void>; MOST]; FUNCTIONS.len()] =
    [const { [const { AtomicPtr::new(ptr::null_mut()) }; MOST] }; FUNCTIONS.len()];

/// The slots in the order in which tools ask for them: the first is unused, and a null ends them.
static TABLES: [[AtomicPtr<c_void>; MOST]; FUNCTIONS.len()] =
    [const { [const { AtomicPtr::new(ptr::null_mut()) }; MOST] }; FUNCTIONS.len()];

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    bytes: usize,
    module: extern "C" fn(c_int, *mut *const c_void, *mut c_uint) -> c_int,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
struct Version {
    bytes: usize,
    version: u32,
    reserved: u32,
    set_version_of_tool: extern "C" fn(u32),
}

static CALLBACKS: Callbacks = Callbacks { bytes: size_of::<Callbacks>(), module };
static VERSION: Version =
    Version { bytes: size_of::<Version>(), version: super::VERSION as u32, reserved: 0, set_version_of_tool };

extern "C" fn export_table(id: u32) -> *const c_void {
    match id {
        1 => (&raw const CALLBACKS).cast(),
        3 => (&raw const VERSION).cast(),
        _ => ptr::null(),
    }
}

extern "C" fn set_version_of_tool(_version: u32) {}

/// Hands out the slots of a module's functions, and their number. Returns 0 if there is no such module.
extern "C" fn module(module: c_int, table: *mut *const c_void, functions: *mut c_uint) -> c_int {
    let known = usize::try_from(module).ok().filter(|&module| module > 0 && module < FUNCTIONS.len());
    let Some(module) = known else { return 0 };
    for (place, slot) in TABLES[module].iter().zip(&SLOTS[module]).take(FUNCTIONS[module]).skip(1) {
        place.store(slot.as_ptr().cast(), Ordering::Release);
    }
    // SAFETY: where they are not null, the tool has room for the results there.
    unsafe {
        if !table.is_null() {
            table.write(TABLES[module].as_ptr().cast());
        }
        if !functions.is_null() {
            functions.write(FUNCTIONS[module] as c_uint);
        }
    }
    1
}
