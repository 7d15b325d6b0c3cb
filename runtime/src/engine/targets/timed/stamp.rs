//! [`Stamp`]: an event that tells the time, and [`Clockwork`]: what is kept of them from run to run.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::{Rc, Weak};

use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::stream::{Event, Stream};
use crate::driver::{DriverResult, Nanos};

/// Events that are made before a run begins, at most. More of them are made on the way, unless some are free again.
const MOST: usize = 1 << 16;

/// What times runs, when it is not in use.
#[derive(Debug, Default)]
pub(crate) struct Clockwork {
    /// Events with timing.
    pub(crate) events: Vec<Event>,
    /// They note when events of other streams come.
    pub(crate) observers: Vec<Stream>,
    /// Recorded on a stream that is observed, where the plan has no event.
    pub(crate) mark: Option<Event>,
}

/// A stamp that may have been looked at, and when it was noted, once that was asked.
pub(crate) type Noted = (Weak<Stamp>, Rc<Cell<Option<Nanos>>>);

/// An event that is recorded once.
pub(crate) struct Stamp {
    pub(crate) event: Event,
    pub(crate) recorded: Cell<bool>,
    /// When that was, once it was asked.
    pub(crate) at: Cell<Option<Nanos>>,
    /// What the stream that noted it came after: it cannot have been noted before, however early it was.
    pub(crate) floor: RefCell<Vec<Rc<Stamp>>>,
    /// When it was seen, once it was asked.
    pub(crate) noted: Rc<Cell<Option<Nanos>>>,
    /// What a shared observer saw before it.
    pub(crate) before: RefCell<Option<Noted>>,
}

impl Clockwork {
    /// Has so many events and observers.
    pub(crate) fn prepare(&mut self, device: &Device, events: usize, observers: usize) -> DriverResult<()> {
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

/// What is closer together than this may be the same moment.
const SOON: Nanos = 3e3;

/// Now and then a stream takes so long to see what is there already.
const LATE: Nanos = 10e3;

/// Whether a stream that noted the end of a copy was busy with something else until then, which was over at `floor`, and so noted it
/// late. `expected` is when the copy would have been if it had taken as long as it does by itself.
pub(crate) fn was_busy(noted: Nanos, floor: Nanos, expected: &Range<Nanos>) -> bool {
    let overdue = expected.end + (expected.end - expected.start) < floor;
    noted <= floor + if overdue { LATE } else { SOON }
}

#[cfg(test)]
mod tests {
    use super::was_busy;

    /// A copy of 40 us at 100 us, beside a kernel that is over at 500 us.
    #[test]
    fn a_copy_that_was_over_long_before_is_noted_late() {
        assert!(was_busy(502e3, 500e3, &(100e3..140e3)));
        assert!(was_busy(505e3, 500e3, &(100e3..140e3)), "the stream took a little longer to see it");
        assert!(!was_busy(520e3, 500e3, &(100e3..140e3)), "the copy itself took until then");
    }

    /// One that may well have taken until just after the kernel was over.
    #[test]
    fn a_copy_that_ends_beside_a_kernel_is_noted_in_time() {
        assert!(!was_busy(505e3, 500e3, &(455e3..495e3)));
        assert!(was_busy(501e3, 500e3, &(455e3..495e3)));
    }
}
