//! Streams by hand: each operation is checked against those that are pending, and then noted as one of them.

pub(crate) mod capture;
pub(crate) mod core;
mod outstanding;

pub(crate) use outstanding::Outstanding;
