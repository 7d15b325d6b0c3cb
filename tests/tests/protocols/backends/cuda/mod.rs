//! Words that the device writes or waits for, the threads of host functions, and a device that consists of
//! the model's threads.

pub(crate) mod api;
#[path = "../../../../../runtime/src/backends/cuda/ends.rs"]
mod ends;
pub(crate) mod handles;
mod host;
pub(crate) mod page;
pub(crate) mod sys;
#[allow(dead_code, reason = "the models use a part of it")]
#[path = "../../../../../runtime/src/backends/cuda/words.rs"]
pub(crate) mod words;

mod result;
mod waits;
