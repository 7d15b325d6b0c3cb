//! Kernels in CUDA C++ on the host: compiled by `g++` with headers that stand for CUDA
//! (`tests/cuda-on-host`), and run thread by thread. What they compute is compared with Rust bit by bit, on a
//! machine without a GPU.

use std::ffi::{CStr, c_char, c_void};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use libloading::Library;

use crate::launches::Dim3;

/// CUDA C++ to be compiled for the host.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The name that the compiler's messages and errors of a launch give the text.
    pub file: &'a str,
    /// CUDA C++ without `#include` of the toolkit.
    pub text: &'a str,
    /// The kernels to launch, as C++ names them: `saxpy`, `scale<float>`.
    pub kernels: &'a [&'a str],
    /// How strict the compiler and the launches are.
    pub checks: Checks,
    /// More flags for the compiler.
    pub flags: &'a [&'a str],
}

/// How strict the compiler and the launches are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// The compiler is as strict as `nvcc`: for what people have written.
    Usual,
    /// A warning is an error, and so are what C++ leaves undefined and a loop without an end: for what a
    /// program has written.
    Strict,
}

/// A grid and how its threads take turns.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// The blocks.
    pub grid: Dim3,
    /// The threads of each block.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// The choice among the threads that can go on: 0 the first, 1 the last, others follow from the number.
    pub order: u64,
    /// How many basic blocks of a [`Checks::Strict`] program the launch may run.
    pub steps: u64,
}

impl Turns {
    /// A grid whose threads take turns in their order.
    pub fn new(grid: Dim3, block: Dim3, shared: u32) -> Self {
        Self { grid, block, shared, order: 0, steps: 1 << 32 }
    }

    /// The same in another order.
    #[must_use]
    pub fn order(self, order: u64) -> Self {
        Self { order, ..self }
    }
}

/// A thread that has noted its line and has ended: `faulted(line)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct Fault {
    /// The line that the text gave.
    pub line: u32,
    /// The place of the thread's block, x first.
    pub block: [u32; 3],
    /// The thread's place in its block, x first.
    pub thread: [u32; 3],
}

/// What a launch did, apart from what it has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The threads that faulted, in the order in which they did.
    pub faults: Vec<Fault>,
    /// How many times a thread has waited for others.
    pub waits: u64,
}

/// One argument of a kernel, as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument(Vec<u8>);

impl Argument {
    /// A value, which the kernel takes with the same bytes.
    pub fn value<T: thalweg::Pod>(value: &T) -> Self {
        Self(thalweg::bytemuck::bytes_of(value).to_vec())
    }

    /// A value with these bytes.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// A pointer.
    pub fn pointer<T>(to: *const T) -> Self {
        Self((to as usize).to_ne_bytes().to_vec())
    }
}

/// A program that was compiled for the host.
#[derive(Debug)]
pub struct OnHost {
    library: Library,
    kernels: Vec<String>,
}

/// `on_host::Launch` of `core.h`.
#[repr(C)]
struct Launch {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    order: u64,
    steps: u64,
    faults: *mut Fault,
    room: u64,
    fault_count: u64,
    waits: u64,
    error: [c_char; 1024],
}

type Entry = unsafe extern "C" fn(*mut Launch, *const *const c_void, *const usize, usize) -> bool;

impl OnHost {
    /// Compiles a program, or finds it in `folder` where an earlier test has left it: below
    /// `env!("CARGO_TARGET_TMPDIR")`.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn compile(folder: &str, program: &Program<'_>) -> Result<Self, String> {
        let folder = Path::new(folder);
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let parts = parts(folder, program.checks)?;
        let flags = match program.checks {
            Checks::Usual => &["-Wno-unknown-pragmas"][..],
            Checks::Strict => STRICT,
        };
        let object = built(folder, ["cpp", "o"], &whole(program)?, |source, result| {
            let mut command = compiler();
            // Headers of the system give no warnings.
            command
                .arg("-c")
                .args(flags)
                .args(program.flags)
                .arg("-isystem")
                .arg(headers())
                .args(["-include", "cuda.h"]);
            command.arg(source).arg("-o").arg(result);
            command
        })?;
        // By itself, so that the compiler does not add a library of its own for the checks.
        let path = built(folder, ["txt", "so"], &format!("{object:?} {parts:?}"), |_, result| {
            let mut command = compiler();
            command.arg("-shared").arg(&object).args(&parts).arg("-o").arg(result);
            command
        })?;
        // SAFETY: the library is the one that was just made, and initialises nothing but its own variables.
        let library = unsafe { Library::new(&path) }.map_err(|error| error.to_string())?;
        Ok(Self { library, kernels: program.kernels.iter().map(ToString::to_string).collect() })
    }

    /// Runs a kernel with arguments of the sizes that it declares. Launches of one program take turns.
    ///
    /// # Errors
    /// The kernel does not take such arguments, a barrier diverges, or whatever else a launch must not do.
    ///
    /// # Safety
    /// The kernel stays within the memory that its pointers point to, which nobody else uses.
    ///
    /// # Panics
    /// The program has no such kernel.
    pub unsafe fn launch(
        &self,
        kernel: &str,
        turns: Turns,
        arguments: &[Argument],
    ) -> Result<Outcome, String> {
        let number = self.kernels.iter().position(|name| name == kernel);
        let symbol = format!("{ENTRY}{}", number.unwrap_or_else(|| panic!("no kernel `{kernel}`")));
        // SAFETY: `whole` has written this function with this signature.
        let entry = unsafe { self.library.get::<Entry>(symbol) }.map_err(|error| error.to_string())?;
        let pointers: Vec<_> = arguments.iter().map(|argument| argument.0.as_ptr().cast()).collect();
        let sizes: Vec<_> = arguments.iter().map(|argument| argument.0.len()).collect();
        let Turns { grid, block, shared, order, steps } = turns;
        let room = threads(grid) * threads(block);
        let mut faults: Vec<Fault> = Vec::with_capacity(room.min(1 << 16));
        let mut launch = Launch {
            grid: grid.into(),
            block: block.into(),
            shared,
            order,
            steps,
            faults: faults.as_mut_ptr(),
            room: faults.capacity() as u64,
            fault_count: 0,
            waits: 0,
            error: [0; 1024],
        };
        // SAFETY: the launch and its faults have room for what is written, each argument is as long as its
        // size says, which the callee compares with the kernel's, and the caller answers for the kernel.
        let done = unsafe { entry(&mut launch, pointers.as_ptr(), sizes.as_ptr(), arguments.len()) };
        if !done {
            // SAFETY: it was written by `vsnprintf`, which ends each text.
            let text = unsafe { CStr::from_ptr(launch.error.as_ptr()) };
            return Err(text.to_string_lossy().into_owned());
        }
        if launch.fault_count > launch.room {
            return Err(format!("{} threads have faulted", launch.fault_count));
        }
        // SAFETY: as many were written, and there is room for them.
        unsafe { faults.set_len(launch.fault_count as usize) };
        Ok(Outcome { faults, waits: launch.waits })
    }
}

/// The names of the functions that launch kernels begin so; their number in the program follows.
const ENTRY: &str = "on_host_kernel_";

/// `-fsanitize-coverage` calls a function in each basic block, which counts them. What is left out of the
/// undefined needs classes with virtual functions, or the C library.
const STRICT: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=undefined,float-cast-overflow",
    "-fno-sanitize=vptr,returns-nonnull-attribute",
    "-fsanitize-coverage=trace-pc",
];

fn threads((x, y, z): Dim3) -> usize {
    x as usize * y as usize * z as usize
}

/// The folder with the headers.
fn headers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda-on-host")
}

fn compiler() -> Command {
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-pthread"]);
    // Products and sums are rounded one by one, as the results are compared.
    command.args(["-ffp-contract=off", "-fno-fast-math"]);
    // Threads jump between stacks of their own. Some distributions' `g++` defines this by itself, and then their
    // `longjmp` ends the process, as it expects one stack.
    command.arg("-U_FORTIFY_SOURCE");
    command
}

/// The objects that every program is linked with.
fn parts(folder: &Path, checks: Checks) -> Result<Vec<PathBuf>, String> {
    let names: &[&str] = match checks {
        Checks::Usual => &["core.cpp"],
        Checks::Strict => &["core.cpp", "checks.cpp"],
    };
    let header = read(&headers().join("core.h"))?;
    let object = |name: &&str| {
        let text = format!("{}\n{header}", read(&headers().join(name))?);
        built(folder, ["txt", "o"], &text, |_, result| {
            let mut command = compiler();
            command.args(["-Wall", "-Wextra", "-Werror", "-c"]).arg(headers().join(name));
            command.arg("-o").arg(result);
            command
        })
    };
    names.iter().map(object).collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The text with an entry for each kernel, as `g++` takes it.
fn whole(program: &Program<'_>) -> Result<String, String> {
    let mut whole = format!("#line 1 {:?}\n", program.file);
    whole += &without_registers(&with_dynamic(program.text)?);
    whole += "\n#line 1 \"kernels\"\n";
    for (number, kernel) in program.kernels.iter().enumerate() {
        // Of several functions with this name, the type chooses none: a kernel has one.
        let _ = writeln!(
            whole,
            "extern \"C\" __attribute__((visibility(\"default\"))) bool {ENTRY}{number}(\
             on_host::Launch* on_host_1, const void* const* on_host_2, const size_t* on_host_3, \
             size_t on_host_4) {{ \
             return on_host::start(&{kernel}, on_host_1, on_host_2, on_host_3, on_host_4); }}"
        );
    }
    // A change of the headers makes another text.
    let _ = writeln!(
        whole,
        "// {:x}",
        hash(&(read(&headers().join("cuda.h"))?, read(&headers().join("core.h"))?))
    );
    Ok(whole)
}

/// `extern __shared__ T name[];` becomes a pointer to the launch's dynamic shared memory.
fn with_dynamic(text: &str) -> Result<String, String> {
    let mut parts = text.split("extern __shared__ ");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let wrong =
            || format!("not `extern __shared__ T name[];`: {}", part.lines().next().unwrap_or_default());
        let (declaration, rest) = part.split_once(';').ok_or_else(wrong)?;
        let declared =
            declaration.trim().strip_suffix(']').and_then(|left| left.trim_end().strip_suffix('['));
        let declared = declared.ok_or_else(wrong)?.trim_end();
        // The memory is aligned for every type.
        let declared = match declared.split_once("__align__(") {
            Some((before, after)) => format!("{before}{}", after.split_once(')').ok_or_else(wrong)?.1),
            None => declared.to_owned(),
        };
        let (ty, name) = declared.trim().rsplit_once([' ', '*', '&']).ok_or_else(wrong)?;
        let _ = write!(result, "{ty}* const {name} = reinterpret_cast<{ty}*>(on_host::dynamic);{rest}");
    }
    Ok(result)
}

/// `asm("mov.u32 %0, %%name;" : "=r"(x))`, which reads a register of PTX, becomes a call of the core's `name`.
/// The assembler refuses all else, unless the text leaves it out on a host.
fn without_registers(text: &str) -> String {
    let mut parts = text.split("asm(\"");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let read = || {
            let (register, rest) = part.strip_prefix("mov.u32 %0, %%")?.split_once(";\" : \"=r\"(")?;
            let (variable, rest) = rest.split_once("))")?;
            Some(format!("{variable} = on_host::{register}(){rest}"))
        };
        result += &read().unwrap_or_else(|| format!("asm(\"{part}"));
    }
    result
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What a command makes of a text, which stays in `folder` for later tests: the command is given the file with the
/// text, and the one to make. The extensions are those of both.
///
/// # Errors
/// What the command says.
pub fn built(
    folder: &Path,
    extensions: [&str; 2],
    text: &str,
    command: impl Fn(&Path, &Path) -> Command,
) -> Result<PathBuf, String> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    // Another command makes something else of the same text. Its paths say nothing about that.
    let flags: Vec<_> = command(Path::new(""), Path::new("")).get_args().map(ToOwned::to_owned).collect();
    let name = format!("{:016x}", hash(&(text, flags)));
    let [source, result] = extensions.map(|extension| folder.join(format!("{name}.{extension}")));
    // The text is written last, and two texts may have one hash.
    if result.exists() && fs::read_to_string(&source).is_ok_and(|found| found == text) {
        return Ok(result);
    }
    let own = format!("{name}.{}.{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let [own_source, own_result] = extensions.map(|extension| folder.join(format!("{own}.{extension}")));
    let moved =
        |from: &Path, to: &Path| fs::rename(from, to).map_err(|error| format!("{}: {error}", to.display()));
    fs::write(&own_source, text).map_err(|error| format!("{}: {error}", own_source.display()))?;
    let output = command(&own_source, &own_result).output();
    let program = command(Path::new(""), Path::new("")).get_program().to_string_lossy().into_owned();
    let output = output.map_err(|error| format!("{program}, which these tests need: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    // They are moved into place whole, since another process may be making the same.
    moved(&own_result, &result)?;
    moved(&own_source, &source)?;
    Ok(result)
}
