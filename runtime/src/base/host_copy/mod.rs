//! Copies by the CPU: by threads of the process's own, near the GPU, past the caches where that is quicker.

// Note 21: threads of the process copy, and read ahead.
mod copy;
pub(crate) mod first_touch;
pub(crate) mod numa;
mod workers;

pub(crate) use copy::{Way, copy_with};
pub(crate) use workers::{PIECE, Task, Workers, let_a_moment_pass};
