//! [`Stamp`]: an event that tells the time, and [`Clockwork`]: what is kept of them from run to run.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use crate::device::Device;
use crate::driver::{DriverResult, Nanos};
use crate::plan::Priority;
use crate::stream::{Event, Stream};

/// Events that are made before a run begins, at most. More of them are made on the way, unless some are free again.
const MOST: usize = 1 << 16;

/// What times runs, when it is not in use.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct Clockwork {
    /// Events with timing.
    pub(super) events: Vec<Event>,
    /// They note when events of other streams come.
    pub(super) observers: Vec<Stream>,
    /// Recorded on a stream that is observed, where the plan has no event.
    pub(super) mark: Option<Event>,
}

/// A stamp that may have been looked at, and when it was noted, once that was asked.
pub(super) type Noted = (Weak<Stamp>, Rc<Cell<Option<Nanos>>>);

/// An event that is recorded once.
pub(super) struct Stamp {
    pub(super) event: Event,
    pub(super) recorded: Cell<bool>,
    /// When that was, once it was asked.
    pub(super) at: Cell<Option<Nanos>>,
    /// What the stream that noted it came after: it cannot have been noted before, however early it was.
    pub(super) floor: RefCell<Vec<Rc<Stamp>>>,
    /// When it was seen, once it was asked.
    pub(super) noted: Rc<Cell<Option<Nanos>>>,
    /// What a shared observer saw before it.
    pub(super) before: RefCell<Option<Noted>>,
}

impl Clockwork {
    /// Has so many events and observers.
    pub(in crate::pipeline) fn prepare(
        &mut self,
        device: &Device,
        events: usize,
        observers: usize,
    ) -> DriverResult<()> {
        while self.events.len() < events.saturating_add(1).min(MOST) {
            self.events.push(Event::with_timing(device)?);
        }
        while self.observers.len() < observers {
            self.observers.push(Stream::new(device, Priority::Default)?);
        }
        if self.mark.is_none() {
            self.mark = Some(Event::new(device)?);
        }
        Ok(())
    }
}
