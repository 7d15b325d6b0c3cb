//! Exchanges of staging slots between a run and the other side, which fills or empties them: a source's or a
//! sink's thread, or a caller.

mod ends;
mod feed;
mod slot_exchange;
mod slots;
mod wakeup;
#[cfg(test)]
mod wakeup_tests;

pub(crate) use ends::{Attached, input_with, output_with, sleep};
pub use ends::{Pulled, Puller, Pushed, Pusher, input, output};
pub(crate) use feed::{AnySink, AnySource, Feed};
pub use feed::{Sink, Source, Streamed};
pub(crate) use slot_exchange::{Job, SlotExchange, Trouble};
pub(crate) use wakeup::Wakeup;
