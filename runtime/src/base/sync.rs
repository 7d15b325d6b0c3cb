//! The locks, atomics, clocks and threads of the protocols between this crate's own threads.
//!
//! Here they are the standard library's. The test program `protocols` compiles the files that use this module
//! a second time, with the types of the model checker loom in its place, and runs every interleaving of a few
//! threads. So these files take everything that synchronises from here and from nowhere else. Only shared
//! references (`Arc`) are the standard library's in both.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
pub(crate) use std::thread::Builder;
pub(crate) use std::thread_local;
pub(crate) use std::time::Instant;

/// A static of the process; in a model, each execution has its own.
macro_rules! global {
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
        $(#[$attribute])*
        static $name: $type = $value;
    };
}
pub(crate) use global;

/// Evaluates `is_so` up to `looks` times without a pause, and returns whether it was true once. In a model
/// one look suffices, since the model covers every moment.
#[inline]
pub(crate) fn spin(looks: u32, mut is_so: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| is_so())
}
