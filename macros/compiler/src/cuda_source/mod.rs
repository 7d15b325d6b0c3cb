//! Reads kernel sources: CUDA C++, PTX and cubins. Bytes come in, and what they declare comes out as data.
//!
//! | phase | what comes in | what comes out | files |
//! | --- | --- | --- | --- |
//! | kind | bytes, and a file's name | whether it is CUDA C++, PTX, a cubin or a fatbin | `kind` |
//! | tokens | text | words, literals, marks and directives, with their files and lines | `lexer`, `sequence` |
//! | unit | a source and the files that it includes | one sequence of tokens, the macros, the `#if`s around each line | `cuda`, `paths`, `options`, `unit`, `conditions`, `branches`, `brackets` |
//! | declarations | the unit | kernels, types, variables and constants as they are written | `declarations`, `prototype`, `declarator`, `record`, `fields`, `templates`, `shared`, `constant`, `mentions` |
//! | types | a written type, and one choice of branches | what it is through its typedefs, and its layout in memory | `layout`, `structs`, `names`, `known`, `ctype`, `toolkit_types` |
//!
//! PTX and cubins are read in one step each (`ptx`, `cubin`), since they list what they declare (`image`).
//! Only the driver reads fatbins. An `instance` is what `#[instantiate]` names; `host` and `toolkit` know
//! what NVRTC refuses.
//!
//! # What it does not do
//!
//! - There is no preprocessor. All branches of an `#if` are read, and `branches` tells which declarations can
//!   be there together. Macros with parameters are not expanded. Macros without parameters are expanded where
//!   they stand for a constant, a type, qualifiers, a list of parameters or `__global__` itself.
//! - There is no parser of C++. In a function's body, only arrays in shared memory and launches are looked
//!   for, and expressions are evaluated only if they are integer arithmetic. Facts that plain text does not
//!   tell are left out or called unknown, never guessed. Any text can be read.
//! - It opens no file. Its caller gives it bytes, and a function that reads included files (`cuda::Search`).
//! - It knows no tokens of Rust and no declaration of `#[kernels]`, and it words no message. `crate::kernels`
//!   compares the declarations with what is found here, and reports what differs.

pub(crate) mod brackets;
pub(crate) mod branches;
mod conditions;
mod constant;
pub(crate) mod ctype;
pub(crate) mod cubin;
pub(crate) mod cuda;
pub(crate) mod declarations;
mod declarator;
mod fields;
pub(crate) mod host;
pub(crate) mod image;
pub(crate) mod instance;
pub(crate) mod kind;
pub(crate) mod known;
pub(crate) mod layout;
mod lexer;
pub(crate) mod mentions;
mod names;
mod options;
pub(crate) mod paths;
pub mod prototype;
pub(crate) mod ptx;
mod record;
mod sequence;
mod shared;
mod structs;
mod templates;
pub(crate) mod toolkit;
mod toolkit_types;
mod unit;

#[doc(hidden)]
pub use toolkit::headers;

use declarations::Declarations;
use prototype::Prototype;
use unit::Unit;

/// The kernels of `source`, in order; one that is declared and then defined, or that has several versions
/// under `#if`, several times.
pub fn prototypes(source: &str) -> Vec<Prototype> {
    Declarations::of(Unit::read(source, &[], &mut |_| None)).prototypes
}
