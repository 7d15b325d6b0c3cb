//! The code that the runnable examples share.
