//! Random kernels as Rust: one file, compiled by rustc as a debug and as a release build, and run thread by thread.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;
use thalweg_compiler::rust_kernels::Build;
use thalweg_tests::on_host::built;

use super::data::Data;
use super::module::{Form, Module, Takes};
use super::types::Ty;

/// The types of kernels, as far as these kernels use them, and how a thread's panic is caught.
const STAND_INS: &str = include_str!("stand_ins.txt");

/// The file with these kernels.
pub fn file(modules: &[Module]) -> String {
    let mut text = STAND_INS.to_owned();
    for Module { seed, text: items, parameters, form, structs, .. } in modules {
        let _ = writeln!(text, "mod m{seed} {{\nuse super::*;\n{items}}}");
        for of in structs {
            let _ = writeln!(text, "impl Leaf for m{seed}::{} {{}}", of.name);
        }
        let mut arguments = vec!["position".to_owned()];
        for (at, parameter) in parameters.iter().enumerate() {
            let (ty, pointer) = (in_module(&parameter.ty, *seed), format!("(*data.add({at}))"));
            arguments.push(match parameter.takes {
                Takes::Value => format!("*{pointer}.cast::<{ty}>()"),
                // Each has the size and the bits of its number.
                Takes::Slice | Takes::Atomics { .. } => {
                    format!("std::slice::from_raw_parts({pointer}.cast(), *lengths.add({at}))")
                }
                Takes::Own | Takes::Out => {
                    let shape = match form.dimensions() {
                        1 => format!("[1, 1, *lengths.add({at})]"),
                        _ => "*shape".to_owned(),
                    };
                    format!("&mut Own({pointer}, {shape}, PhantomData)")
                }
            });
        }
        let all = match form {
            Form::Threads(dimensions) => format!("threads::<{dimensions}>(*of, "),
            Form::Blocks { dimensions, .. } => format!("blocks::<{dimensions}>(*of, *block, "),
        };
        let _ = writeln!(
            text,
            "#[unsafe(no_mangle)]\n\
             pub unsafe extern \"C\" fn run_{seed}(\n\
             data: *const *mut u8, lengths: *const usize, of: &[usize; 3], block: &usize, shape: &[usize; 3],\n\
             panics: *mut [u32; 2],\n\
             ) {{ unsafe {{\n\
             {all}|number, position| {{\n\
             *panics.add(number) = guarded(|| m{seed}::k{seed}({}));\n\
             }});\n\
             }} }}",
            arguments.join(", ")
        );
    }
    text
}

/// A type as the module of a seed names it.
fn in_module(ty: &Ty, seed: u64) -> String {
    match ty {
        Ty::Array(of, length) => format!("[{}; {length}]", in_module(of, seed)),
        Ty::Struct(of) => format!("m{seed}::{}", of.name),
        other => other.to_string(),
    }
}

type Run =
    unsafe extern "C" fn(*const *mut u8, *const usize, &[usize; 3], &usize, &[usize; 3], *mut [u32; 2]);

/// Where a thread, or a block, has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panic {
    /// `u32::MAX` if it is in the standard library.
    pub line: u32,
    /// The thread of a block, where it is one and known.
    pub thread: Option<u32>,
}

/// The kernels of a file in one build.
pub struct Native(Library);

impl Native {
    /// Compiles the file.
    ///
    /// # Errors
    /// What rustc says.
    pub fn compile(folder: &Path, file: &str, build: Build) -> Result<Self, String> {
        let flags: &[&str] = match build {
            Build::Debug => &["-Copt-level=0", "-Coverflow-checks=on", "-Cdebug-assertions=on"],
            Build::Release => &["-Copt-level=1", "-Coverflow-checks=off", "-Cdebug-assertions=off"],
        };
        let half = half();
        let path = built(folder, ["rs", "so"], file, |source, result| {
            let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            command.args(["--edition=2024", "--crate-type=cdylib", "--crate-name=kernels", "-Cdebuginfo=0"]);
            // Random programs have odd parts, and rustc sees some of the panics.
            command.args(["--cap-lints=allow", "-Ccodegen-units=2"]).args(flags);
            command.arg("--extern").arg(&half).arg("-L").arg(dependencies());
            command.arg(source).arg("-o").arg(result);
            command
        })?;
        // SAFETY: the library is the one that was just made, and begins with nothing.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        // SAFETY: the file has this function.
        unsafe {
            let prepare = library.get::<extern "C" fn()>("prepare").map_err(|error| error.to_string())?;
            prepare();
        }
        Ok(Self(library))
    }

    /// Runs a kernel, and returns where each thread of one in threads has panicked, and each block of one in blocks.
    pub fn run(&self, module: &Module, data: &mut Data) -> Vec<Option<Panic>> {
        let (x, y, z) = data.grid;
        let (of, block) = match module.form {
            Form::Threads(_) => (data.threads, 1),
            Form::Blocks { .. } => ([z, y, x].map(|blocks| blocks as usize), data.block.0 as usize),
        };
        let mut panics = vec![[0; 2]; of.iter().product()];
        let symbol = format!("run_{}", module.seed);
        // SAFETY: the file has this function, and the data are those of the module's parameters.
        unsafe {
            let run = self.0.get::<Run>(symbol).expect("the kernel");
            let pointers: Vec<_> =
                data.arrays.iter_mut().map(|array| array.as_mut_ptr().cast::<u8>()).collect();
            run(pointers.as_ptr(), data.lengths.as_ptr(), &of, &block, &data.shape, panics.as_mut_ptr());
        }
        let panic = |[line, thread]: [u32; 2]| {
            // 0 is none, and the greatest is several.
            let thread = thread.checked_sub(1).filter(|thread| *thread < 1024);
            (line != 0).then_some(Panic { line, thread })
        };
        panics.into_iter().map(panic).collect()
    }
}

/// Where the libraries are that this program was built from.
fn dependencies() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    program.parent().expect("its folder").to_owned()
}

/// The crate `half`, as rustc takes it. All that were built there are of one version.
fn half() -> String {
    let files = std::fs::read_dir(dependencies()).expect("the folder of dependencies");
    let of_half = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libhalf-") && name.ends_with(".rlib")
    };
    let found = files.filter_map(|file| Some(file.ok()?.path())).filter(of_half);
    let newest = found.max_by_key(|file| file.metadata().and_then(|of| of.modified()).ok());
    format!("half={}", newest.expect("the crate `half` was built").display())
}
