//! The errors of `#[kernel]` and `#[device]`.

pub(super) use crate::diagnostics::error;

/// The errors in the order in which they were found.
pub(super) type Errors = Vec<syn::Error>;
