//! What must hold of every file that Thalweg reads and has not written itself, whatever bytes are in it.
//!
//! A function for each kind of file takes the bytes, and panics if something does not hold. libFuzzer calls
//! them with bytes of its own (`fuzz_targets/`). A test calls them with every file of `corpus/`
//! (`tests/language/corpora.rs`); this file is a module of its program.

mod allocated;
mod calibration;
mod image;
mod npy;
mod sources;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub use calibration::calibration;
pub use image::image;
pub use npy::npy;
pub use sources::{cuda, ptx};

/// What holds of the bytes of a file of one kind, or it panics.
pub type Target = fn(&[u8]);

/// The functions, and the folder of `corpus/` and the fuzz target of each.
pub const TARGETS: [(&str, Target); 5] =
    [("calibration", calibration), ("cuda", cuda), ("image", image), ("npy", npy), ("ptx", ptx)];

/// Memory that a reader may hold at once, whatever it reads, in bytes: a `.npy` file's header may have 1 MiB.
const ALWAYS: usize = 4 << 20;
/// And for each byte that it reads.
const EACH: usize = 4 << 10;

/// Calls a function with these bytes, and sees that it needs no more memory than they account for.
///
/// # Panics
///
/// As the function does; if it needs more.
pub fn run(target: Target, bytes: &[u8]) {
    // Else the places of all tokens that were ever made are kept.
    proc_macro2::extra::invalidate_current_thread_spans();
    let (result, most) = allocated::most(|| catch_unwind(AssertUnwindSafe(|| target(bytes))));
    result.unwrap_or_else(|panic| resume_unwind(panic));
    let allowed = ALWAYS + EACH * bytes.len();
    assert!(most <= allowed, "{} bytes take {most} bytes of memory", bytes.len());
}
