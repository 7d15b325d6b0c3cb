//! The time axis of a picture: its window, its ticks and their labels.

use std::time::Duration;

use super::Timeline;

/// The time in nanoseconds, at most those of 584 years.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A part of a run in nanoseconds. It is never empty, so that every time has a position in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Window {
    pub(super) fn new(from: u64, to: u64) -> Self {
        let from = from.min(u64::MAX - 1);
        Self { from, to: to.max(from + 1) }
    }

    /// The whole run.
    pub(super) fn of(timeline: &Timeline) -> Self {
        let last = timeline.spans.iter().map(|span| span.end.max(span.start)).max().unwrap_or_default();
        Self::new(0, nanoseconds(last.max(timeline.time())))
    }

    pub(super) fn length(self) -> u64 {
        self.to - self.from
    }

    /// The part of a span that lies in the window, if any. A span without length is a single point.
    pub(super) fn clip(self, start: Duration, end: Duration) -> Option<(u64, u64)> {
        let (start, end) = (nanoseconds(start), nanoseconds(end.max(start)));
        let misses = start > self.to || end < self.from;
        // A span that only touches an edge is not in the window, unless it is a single point, which may also
        // lie at the picture's end.
        let touches = start < end && (start == self.to || end == self.from);
        (!misses && !touches).then(|| (start.max(self.from), end.min(self.to)))
    }
}

/// The positions of the ticks, and the labels below them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// `ns`, `us`, `ms` or `s`.
    pub(super) unit: &'static str,
    /// Nanoseconds from the run's beginning, and their number in that unit.
    pub(super) ticks: Vec<(u64, String)>,
}

impl Axis {
    /// An axis with ticks at round times, at most `most` plus one of them.
    pub(super) fn new(window: Window, most: u64) -> Self {
        let most = most.max(1);
        let (mut step, mut digits) = (1_u64, 0);
        let mut factors = [2, 5, 10].into_iter().cycle();
        let mut power = 1_u64;
        while window.length() / step > most {
            let factor = factors.next().unwrap_or(10);
            let Some(next) = power.checked_mul(factor) else { break };
            step = next;
            if factor == 10 {
                power = next;
                digits += 1;
            }
        }
        let (unit, places) = match window.to {
            0..1_000 => ("ns", 0),
            1_000..1_000_000 => ("us", 3),
            1_000_000..1_000_000_000 => ("ms", 6),
            _ => ("s", 9),
        };
        let label = |time: u64| {
            let whole = 10_u64.pow(places);
            let decimals = (places as usize).saturating_sub(digits);
            let fraction = format!("{:0width$}", time % whole, width = places as usize);
            match decimals {
                0 => format!("{}", time / whole),
                _ => format!("{}.{}", time / whole, &fraction[..decimals]),
            }
        };
        let ticks = window.from.div_ceil(step)..=window.to / step;
        Self { unit, ticks: ticks.map(|n| (n * step, label(n * step))).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: u64, to: u64, most: u64) -> (String, &'static str) {
        let axis = Axis::new(Window::new(from, to), most);
        (axis.ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" "), axis.unit)
    }

    #[test]
    fn ticks_are_at_round_times() {
        assert_eq!(labels(0, 0, 8), ("0 1".to_owned(), "ns"));
        assert_eq!(labels(0, 999, 5), ("0 200 400 600 800".to_owned(), "ns"));
        assert_eq!(labels(0, 21_700_000, 8), ("0 5 10 15 20".to_owned(), "ms"));
        assert_eq!(labels(0, 1_250_000, 5), ("0.0 0.5 1.0".to_owned(), "ms"));
        assert_eq!(labels(0, 1_250_000, 6), ("0.0 0.2 0.4 0.6 0.8 1.0 1.2".to_owned(), "ms"));
        assert_eq!(
            labels(12_340_100, 12_350_100, 5),
            ("12.342 12.344 12.346 12.348 12.350".to_owned(), "ms")
        );
        assert_eq!(labels(0, 7_000_000_000, 8), ("0 1 2 3 4 5 6 7".to_owned(), "s"));
    }

    #[test]
    fn the_longest_run_and_the_last_instant_have_an_axis() {
        let Axis { unit, ticks } = Axis::new(Window::new(0, u64::MAX), 8);
        assert_eq!((unit, ticks.len()), ("s", 4));
        let window = Window::new(u64::MAX, u64::MAX);
        assert_eq!(window.length(), 1);
        assert_eq!(Axis::new(window, 8).ticks.len(), 2);
    }

    #[test]
    fn a_window_holds_what_is_in_it() {
        let window = Window::new(10, 20);
        let clip = |start, end| window.clip(Duration::from_nanos(start), Duration::from_nanos(end));
        assert_eq!(clip(0, 30), Some((10, 20)));
        assert_eq!(clip(12, 15), Some((12, 15)));
        assert_eq!((clip(0, 10), clip(20, 30)), (None, None));
        assert_eq!((clip(10, 10), clip(20, 20)), (Some((10, 10)), Some((20, 20))));
        assert_eq!((clip(9, 9), clip(21, 21)), (None, None));
        // A span that ends before it began counts as a point.
        assert_eq!(clip(15, 12), Some((15, 15)));
    }
}
