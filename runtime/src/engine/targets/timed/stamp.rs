//! [`Stamp`]: an event with a timestamp, and [`Clockwork`]: the events and streams kept from run to run.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::{Rc, Weak};

use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::stream::{Event, Stream};
use crate::driver::{DriverResult, Nanos};

/// The number of events made before a run begins, at most. More are made on the way, unless some become free.
const MOST: usize = 1 << 16;

/// The events and streams that time runs, while they are not in use.
#[derive(Debug, Default)]
pub(crate) struct Clockwork {
    /// Events with timing.
    pub(crate) events: Vec<Event>,
    /// Streams that note when events of other streams are complete.
    pub(crate) observers: Vec<Stream>,
    /// Recorded on an observed stream where the plan has no event.
    pub(crate) mark: Option<Event>,
}

/// A stamp that may have been read, and the time at which it was noted, once read.
pub(crate) type Noted = (Weak<Stamp>, Rc<Cell<Option<Nanos>>>);

/// An event that is recorded once.
pub(crate) struct Stamp {
    pub(crate) event: Event,
    pub(crate) recorded: Cell<bool>,
    /// The time of the event, once read.
    pub(crate) at: Cell<Option<Nanos>>,
    /// The stamps that the noting stream came after: it cannot have noted this one earlier, however early the
    /// event was.
    pub(crate) floor: RefCell<Vec<Rc<Stamp>>>,
    /// The time at which it was seen, once read.
    pub(crate) noted: Rc<Cell<Option<Nanos>>>,
    /// The stamp that a shared observer saw before it.
    pub(crate) before: RefCell<Option<Noted>>,
}

impl Clockwork {
    /// Ensures that there are so many events and observers.
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

/// Times closer together than this may be the same moment.
const SOON: Nanos = 3e3;

/// Now and then a stream takes this long to see an event that is already complete.
const LATE: Nanos = 10e3;

/// Whether a stream that noted the end of a copy was busy with something else until `floor`, and so noted it
/// late. `expected` is the time of the copy if it took as long as it does by itself.
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

    /// A copy that may well have taken until just after the kernel was over.
    #[test]
    fn a_copy_that_ends_beside_a_kernel_is_noted_in_time() {
        assert!(!was_busy(505e3, 500e3, &(455e3..495e3)));
        assert!(was_busy(501e3, 500e3, &(455e3..495e3)));
    }
}
