//! [`Watch`]: what is under way on a communicator, and what has broken it.
//!
//! The stream of each collective counts it in a word of page-locked memory when it is over. So whoever finds
//! that the ranks no longer come together can say which collective was the first not to end, and needs no
//! call of the driver for that, which might wait for the very stream that stands still.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::base::error::{DriverDetail, DriverError};
use crate::driver::{RawStream, Tag};

/// The most collectives that are known one by one. Beyond that the oldest are forgotten, but not their
/// streams.
const MOST: usize = 1024;

/// What a lock of this folder guards.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave what is locked here half-changed, so a poisoned lock is as good as any.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A collective that was enqueued.
#[derive(Debug, Clone, Copy)]
pub(super) struct Post {
    /// Its number on this communicator, which its stream writes when it is over.
    pub(super) number: u32,
    pub(super) stream: RawStream,
    pub(super) tag: Tag,
}

/// What has broken a communicator.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    why: String,
    /// The first collective that was not over then, if that is known.
    at: Option<Tag>,
}

impl Broken {
    pub(super) fn new(why: String) -> Self {
        Self { why, at: None }
    }

    /// The error of what needs the communicator, or waits for what is on it. `tag`: the operation that fails,
    /// if there is one.
    pub(super) fn error(&self, tag: Option<Tag>) -> Box<DriverError> {
        let error = DriverError::new("collective", 999, "RANKS", self.why.clone());
        let error = if let Some(tag) = tag.or(self.at) { error.about(tag) } else { error };
        error.with(DriverDetail::Ranks(self.why.clone().into()))
    }
}

/// What is under way on a communicator.
#[derive(Debug, Default)]
pub(super) struct Watch {
    posts: VecDeque<Post>,
    /// The streams on which something is under way, as far as the host has waited.
    streams: Vec<RawStream>,
    /// The number of the newest collective.
    newest: u32,
    /// Whether streams count what is over.
    pub(super) counts: bool,
    pub(super) broken: Option<Broken>,
    /// Whether the communicator is given up.
    pub(super) left: bool,
    /// Whether everything on the broken communicator was ended by force.
    pub(super) ended: bool,
}

impl Watch {
    /// Nothing is under way. `counts`: whether streams count what is over.
    pub(super) fn new(counts: bool) -> Self {
        Self { counts, ..Self::default() }
    }

    /// Notes a collective that was enqueued, and returns its number.
    pub(super) fn note(&mut self, stream: RawStream, tag: Tag) -> u32 {
        self.newest = self.newest.wrapping_add(1);
        if self.posts.len() == MOST {
            self.posts.pop_front();
        }
        self.posts.push_back(Post { number: self.newest, stream, tag });
        if !self.streams.contains(&stream) {
            self.streams.push(stream);
        }
        self.newest
    }

    /// Whether something may be under way.
    pub(super) fn is_busy(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Whether something on this stream may be under way.
    pub(super) fn is_on(&self, stream: RawStream) -> bool {
        self.streams.contains(&stream)
    }

    /// Notes that the host has waited for a stream.
    pub(super) fn waited(&mut self, stream: RawStream) {
        self.streams.retain(|other| *other != stream);
        self.posts.retain(|post| post.stream != stream);
    }

    /// Notes that the communicator is broken, unless it was before. `over`: the number of the latest
    /// collective that is over, as streams have counted.
    pub(super) fn break_up(&mut self, why: String, over: u32) {
        if self.broken.is_some() {
            return;
        }
        let is_ahead = |post: &&Post| post.number.wrapping_sub(over).cast_signed() > 0;
        let at = match self.posts.make_contiguous() {
            posts if self.counts => posts.iter().find(is_ahead).map(|post| post.tag),
            // Nobody counts, but it can be no other.
            [only] => Some(only.tag),
            _ => None,
        };
        self.broken = Some(Broken { why, at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: Tag = Tag { pipeline: 1, operation: 0, chunk: 0 };

    fn busy(operations: u32) -> Watch {
        let mut watch = Watch { counts: true, ..Watch::default() };
        for operation in 0..operations {
            watch.note(RawStream(u64::from(operation % 2)), Tag { operation, ..TAG });
        }
        watch
    }

    fn broken_at(mut watch: Watch, over: u32) -> Option<u32> {
        watch.break_up("why".to_owned(), over);
        watch.broken.and_then(|broken| broken.error(None).tag).map(|(operation, _)| operation)
    }

    #[test]
    fn the_first_that_is_not_over_is_named() {
        assert_eq!(broken_at(busy(3), 0), Some(0));
        assert_eq!(broken_at(busy(3), 2), Some(2));
        assert_eq!(broken_at(busy(3), 3), None, "all are over");
        assert_eq!(broken_at(Watch { counts: false, ..busy(3) }, 0), None, "nobody knows which");
        assert_eq!(broken_at(Watch { counts: false, ..busy(1) }, 0), Some(0));
    }

    #[test]
    fn numbers_may_wrap() {
        let mut watch = Watch { counts: true, newest: u32::MAX - 1, ..Watch::default() };
        for operation in 0..3 {
            watch.note(RawStream(1), Tag { operation, ..TAG });
        }
        assert_eq!(broken_at(watch, u32::MAX), Some(1));
    }

    #[test]
    fn a_stream_that_was_waited_for_has_nothing_under_way() {
        let mut watch = busy(4);
        watch.waited(RawStream(0));
        assert!(watch.is_busy() && watch.is_on(RawStream(1)) && !watch.is_on(RawStream(0)));
        watch.break_up("first".to_owned(), 0);
        watch.break_up("second".to_owned(), 0);
        let error = watch.broken.clone().expect("it is broken").error(None);
        assert_eq!((&*error.description, error.tag), ("first", Some((1, 0))));
        watch.waited(RawStream(1));
        assert!(!watch.is_busy());
    }

    #[test]
    fn not_every_collective_of_an_endless_run_is_kept() {
        let watch = busy(3000);
        assert_eq!((watch.posts.len(), watch.streams.len()), (MOST, 2));
        assert_eq!(broken_at(watch, 2999), Some(2999));
    }
}
