//! What happens around a run: its memory is prepared, its chunks are enqueued, the device is waited for, and nothing is in
//! flight when it is reported.

mod drain;
mod enqueue;
pub(crate) mod execute;
mod predict;
mod profile;
mod report;
mod room;
