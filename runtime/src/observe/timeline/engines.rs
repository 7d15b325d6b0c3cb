//! The share of a run for which each engine was busy.

use std::fmt;
use std::time::Duration;

use super::axis::Window;
use super::{Engine, Timeline};

/// So many ranks are not told apart.
const MANY: usize = 9;

impl Engine {
    pub(super) const ALL: [Self; 5] =
        [Self::ToDevice, Self::Compute, Self::ToHost, Self::Host, Self::Network];
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ToDevice => "link up",
            Self::Compute => "compute",
            Self::ToHost => "link down",
            Self::Host => "host",
            Self::Network => "network",
        })
    }
}

impl Timeline {
    /// The share of the run in which an engine was busy with at least one operation: 0 to 1.
    pub fn share(&self, engine: Engine) -> f64 {
        self.share_in(engine, Window::of(self)).unwrap_or_default()
    }

    /// How long an engine was busy with at least one operation.
    pub fn busy(&self, engine: Engine) -> Duration {
        Duration::from_nanos(self.busy_in(engine, Window::of(self)).unwrap_or_default())
    }

    /// The engine that was busy longest; `None` if nothing was done.
    pub fn bottleneck(&self) -> Option<Engine> {
        let busy = Engine::ALL.into_iter().map(|engine| (self.busy(engine), engine));
        let longest = busy.filter(|(busy, _)| !busy.is_zero()).max_by_key(|(busy, _)| *busy);
        longest.map(|(_, engine)| engine)
    }

    /// The share of a part of the run; `None` if the engine has no work in the whole run.
    pub(super) fn share_in(&self, engine: Engine, window: Window) -> Option<f64> {
        Some(self.busy_in(engine, window)? as f64 / window.length() as f64)
    }

    /// The time for which an engine is busy in a window, in nanoseconds.
    fn busy_in(&self, engine: Engine, window: Window) -> Option<u64> {
        let mut of_it = self.spans.iter().filter(|span| span.engine == engine).peekable();
        of_it.peek()?;
        let mut parts: Vec<_> = of_it.filter_map(|span| window.clip(span.start, span.end)).collect();
        parts.sort_unstable();
        let (mut busy, mut until) = (0, window.from);
        for (start, end) in parts {
            busy += end.saturating_sub(start.max(until));
            until = until.max(end);
        }
        Some(busy)
    }

    /// The shares of each engine that had work, as parts of a sentence; of up to so many ranks a sentence for each. Empty
    /// if nothing was done.
    pub(super) fn busy_shares(&self, window: Window) -> Vec<Vec<String>> {
        let said = |who: String, mut shares: Vec<String>| {
            shares.first_mut()?.insert_str(0, &who);
            Some(shares)
        };
        match self.ranks() {
            0..=1 => said("busy: ".to_owned(), self.shares(window)).into_iter().collect(),
            MANY.. => said("busy on any rank: ".to_owned(), self.shares(window)).into_iter().collect(),
            ranks => {
                let of = |rank| said(format!("r{rank} busy: "), self.part_of_rank(rank)?.shares(window));
                (0..ranks).filter_map(of).collect()
            }
        }
    }

    /// The share of each engine that had work, as text: `link up 93 %`.
    fn shares(&self, window: Window) -> Vec<String> {
        let share = |engine| {
            let percent = 100.0 * self.share_in(engine, window)?;
            Some(match percent {
                0.0 => format!("{engine} 0 %"),
                ..1.0 => format!("{engine} under 1 %"),
                _ => format!("{engine} {percent:.0} %"),
            })
        };
        Engine::ALL.into_iter().filter_map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{saxpy, span};
    use super::*;

    #[test]
    fn operations_at_the_same_time_count_once() {
        let timeline = saxpy(100, vec![span(2, 0, 1, 10..30), span(2, 1, 1, 20..40), span(2, 2, 1, 90..100)]);
        assert_eq!(timeline.share(Engine::Compute), 0.4);
        assert_eq!(timeline.share(Engine::ToDevice), 0.0);
        assert_eq!(timeline.shares(Window::of(&timeline)), ["compute 40 %"]);
        // 30 to 60 us: a third of it.
        assert_eq!(timeline.shares(Window::new(30_000, 60_000)), ["compute 33 %"]);
        assert_eq!(timeline.shares(Window::new(50_000, 60_000)), ["compute 0 %"]);
    }

    #[test]
    fn a_little_is_not_nothing() {
        let timeline = saxpy(1000, vec![span(0, 0, 0, 0..1), span(3, 0, 2, 5..5)]);
        assert_eq!(timeline.shares(Window::of(&timeline)), ["link up under 1 %", "link down 0 %"]);
    }
}
