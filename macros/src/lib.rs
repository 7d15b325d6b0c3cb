//! The procedural macros of thalweg.
