//! Where staging slots change hands between a run and whoever fills or empties them: a source's or a sink's thread, or a
//! caller.

mod bell;
mod ends;
mod feed;
mod link;

pub(crate) use bell::Bell;
pub(crate) use ends::{Attached, input_with, output_with, sleep};
pub use ends::{Pulled, Puller, Pushed, Pusher, input, output};
pub(crate) use feed::{AnySink, AnySource, Feed};
pub use feed::{Sink, Source, Streamed};
pub(crate) use link::{Job, Link, Trouble};
