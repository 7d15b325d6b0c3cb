//! The compiler behind thalweg's macros.
pub mod schedule;
