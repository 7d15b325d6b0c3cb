//! Copies by the CPU, on threads of the process's own, near the GPU, and past the caches where that is
//! faster.

// Note 21: threads of the process copy, and read ahead.
mod copy;
pub(crate) mod first_touch;
pub(crate) mod numa;
mod process;
mod workers;
#[cfg(test)]
mod workers_tests;

pub(crate) use copy::{Way, copy_with};
// The queue of pieces has no lock: there are so many pieces of 128 KiB that threads would wait for each
// other.
use crossbeam_deque::{Injector, Steal};
use process::CORES;
pub(crate) use process::let_a_moment_pass;
pub(crate) use workers::{PIECE, Task, Workers};
