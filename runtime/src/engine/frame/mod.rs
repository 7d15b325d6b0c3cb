//! What happens around a run: its memory is prepared, and nothing is in flight when it is over.

pub(crate) mod execute;
mod profile;
mod room;
