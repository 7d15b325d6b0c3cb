//! What the runnable examples share.
