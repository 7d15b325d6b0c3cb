//! [`Standing`]: how long a collective has begun and not ended.

use std::time::{Duration, Instant};

use super::scratch::Counted;

/// The most time that counts at once. A process that was stopped itself has not waited for others meanwhile.
const MOMENT: Duration = Duration::from_secs(1);

/// How long a collective has begun on this device and not ended. A device that is busy with something else has begun
/// none.
#[derive(Debug, Default)]
pub(super) struct Standing {
    seen: Option<(Counted, Instant)>,
    lasts: Duration,
}

impl Standing {
    /// How long the collective that is under way has been so, as far as was looked.
    pub(super) fn lasts(&mut self, counted: Counted, now: Instant) -> Duration {
        let seen = self.seen.replace((counted, now));
        self.lasts = match seen {
            Some((before, then)) if before == counted && counted.begun != counted.over => {
                self.lasts + now.duration_since(then).min(MOMENT)
            }
            _ => Duration::ZERO,
        };
        self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collective_stands_as_long_as_nothing_changes() {
        let (mut standing, begun) = (Standing::default(), Instant::now());
        let mut lasts = |counted: [u32; 2], millis| {
            let counted = Counted { begun: counted[0], over: counted[1] };
            standing.lasts(counted, begun + Duration::from_millis(millis)).as_millis()
        };
        assert_eq!([lasts([1, 0], 0), lasts([1, 0], 20), lasts([1, 0], 40)], [0, 20, 40]);
        assert_eq!([lasts([2, 1], 60), lasts([2, 1], 80)], [0, 20], "another one");
        assert_eq!([lasts([2, 2], 100), lasts([2, 2], 120)], [0, 0], "none is under way");
        assert_eq!([lasts([3, 2], 140), lasts([3, 2], 9_000)], [0, 1000], "the process was stopped");
    }
}
