//! Streams by hand: what is enqueued on them is checked against what is pending, and then noted there.

pub(crate) mod capture;
pub(crate) mod core;
mod outstanding;

pub(crate) use outstanding::Outstanding;
