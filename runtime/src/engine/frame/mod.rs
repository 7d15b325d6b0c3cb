//! The frame of a run: its memory is prepared, its chunks are enqueued, the device is waited for, and the run
//! is reported once nothing is in flight.

mod again;
mod agree;
mod cut;
mod drain;
mod ending;
mod enqueue;
pub(crate) mod execute;
mod predict;
mod profile;
mod repeat;
pub(crate) mod replicate;
mod report;
mod room;
mod several;
mod with_ranks;
