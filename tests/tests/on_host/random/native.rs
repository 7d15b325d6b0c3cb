//! Random kernels as Rust: one file, compiled by rustc as a debug and as a release build, and run thread by thread.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use libloading::Library;
use thalweg_compiler::rust_kernels::Build;
use thalweg_tests::on_host::built;

use super::data::Data;
use super::module::{Module, Takes};

/// The types of kernels, as far as these kernels use them, and how a thread's panic is caught.
const STAND_INS: &str = r#"
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

#[derive(Clone, Copy)]
pub struct Index<const D: usize = 1>([usize; D]);
impl Index<1> { pub fn get(self) -> usize { self.0[0] } }
impl Index<2> { pub fn get(self) -> [usize; 2] { self.0 } }
impl Index<3> { pub fn get(self) -> [usize; 3] { self.0 } }
impl<T> std::ops::Index<Index<1>> for [T] {
    type Output = T;
    #[track_caller]
    fn index(&self, index: Index<1>) -> &T { &self[index.0[0]] }
}

pub struct Own<'a, T: ?Sized>(*mut u8, [usize; 3], PhantomData<&'a mut T>);
pub type Out<'a, T> = Own<'a, T>;
impl<'a, T> Own<'a, [T]> {
    pub fn get_mut<const D: usize>(&mut self, index: Index<D>) -> Option<&mut T> {
        let mut place = 0;
        for (at, length) in index.0.into_iter().zip(&self.1[3 - D..]) {
            if at >= *length { return None }
            place = place * length + at;
        }
        Some(unsafe { &mut *self.0.cast::<T>().add(place) })
    }
}

thread_local! { static LINE: Cell<u32> = const { Cell::new(0) }; }

#[unsafe(no_mangle)]
pub extern "C" fn prepare() {
    set_hook(Box::new(|info| {
        let line = info.location().map_or(u32::MAX, |at| if at.file() == file!() { at.line() } else { u32::MAX });
        LINE.set(line);
    }));
}

/// The line of a panic, `u32::MAX` if it is in the standard library, 0 without one.
fn guarded(kernel: impl FnOnce()) -> u32 {
    match catch_unwind(AssertUnwindSafe(kernel)) { Ok(()) => 0, Err(_) => LINE.get() }
}

fn threads<const D: usize>(of: [usize; 3], mut kernel: impl FnMut(usize, Index<D>)) {
    let mut number = 0;
    for z in 0..of[0] { for y in 0..of[1] { for x in 0..of[2] {
        kernel(number, Index(std::array::from_fn(|axis| [z, y, x][3 - D + axis])));
        number += 1;
    } } }
}
"#;

/// The file with these kernels.
pub fn file(modules: &[Module]) -> String {
    let mut text = STAND_INS.to_owned();
    for Module { seed, text: items, parameters, dimensions, .. } in modules {
        let _ = writeln!(text, "mod m{seed} {{\nuse super::{{Index, Out, Own}};\n{items}}}");
        let mut arguments = vec!["index".to_owned()];
        for (at, parameter) in parameters.iter().enumerate() {
            let (ty, pointer) = (&parameter.ty, format!("(*data.add({at}))"));
            arguments.push(match parameter.takes {
                Takes::Value => format!("*{pointer}.cast::<{ty}>()"),
                Takes::Slice => {
                    format!("std::slice::from_raw_parts({pointer}.cast::<{ty}>(), *lengths.add({at}))")
                }
                Takes::Own | Takes::Out => {
                    let shape = match dimensions {
                        1 => format!("[1, 1, *lengths.add({at})]"),
                        _ => "*shape".to_owned(),
                    };
                    format!("&mut Own({pointer}, {shape}, PhantomData)")
                }
            });
        }
        let _ = writeln!(
            text,
            "#[unsafe(no_mangle)]\n\
             pub unsafe extern \"C\" fn run_{seed}(\n\
             data: *const *mut u8, lengths: *const usize, of: &[usize; 3], shape: &[usize; 3], lines: *mut u32,\n\
             ) {{ unsafe {{\n\
             threads::<{dimensions}>(*of, |thread, index| {{\n\
             *lines.add(thread) = guarded(|| m{seed}::k{seed}({}));\n\
             }});\n\
             }} }}",
            arguments.join(", ")
        );
    }
    text
}

type Run = unsafe extern "C" fn(*const *mut u8, *const usize, &[usize; 3], &[usize; 3], *mut u32);

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
        let path = built(folder, ["rs", "so"], file, |source, result| {
            let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            command.args(["--edition=2024", "--crate-type=cdylib", "--crate-name=kernels", "-Cdebuginfo=0"]);
            // Random programs have odd parts, and rustc sees some of the panics.
            command.args(["--cap-lints=allow", "-Ccodegen-units=2"]).args(flags);
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

    /// Runs a kernel, and returns the line at which each thread has panicked, 0 where it has not.
    pub fn run(&self, module: &Module, data: &mut Data) -> Vec<u32> {
        let mut lines = vec![0; data.threads.iter().product()];
        let symbol = format!("run_{}", module.seed);
        // SAFETY: the file has this function, and the data are those of the module's parameters.
        unsafe {
            let run = self.0.get::<Run>(symbol).expect("the kernel");
            let pointers: Vec<_> =
                data.arrays.iter_mut().map(|array| array.as_mut_ptr().cast::<u8>()).collect();
            run(pointers.as_ptr(), data.lengths.as_ptr(), &data.threads, &data.shape, lines.as_mut_ptr());
        }
        lines
    }
}
