//! [`Offer`]: what a rank says of its timeline before it sends it.

use super::encoding::VERSION;
use crate::engine::ranks::bytes::{Rest, number, text};
use crate::observe::timeline::{RunOfRanks, Timeline};

/// What a rank says of its timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    /// The form of the bytes that follow.
    pub(super) version: u64,
    pub(super) pipeline: String,
    /// What tells the pipeline from others.
    pub(super) plan: [u8; 32],
    pub(super) predicted: bool,
    /// The ranks that it is of already.
    pub(super) ranks: u64,
    /// The run, if ranks have agreed on it.
    pub(super) run: Option<Run>,
    /// The length of the timeline in bytes.
    pub(super) bytes: u64,
}

/// A run of ranks, as all of them know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Whether it is one of the world that is asked.
    pub(super) is_here: bool,
    pub(super) agreement: u64,
    pub(super) number: u64,
}

impl Offer {
    /// `world`: the number of the world that is asked.
    pub(super) fn new(timeline: &Timeline, plan: [u8; 32], world: u32, bytes: u64) -> Self {
        let run = |run: RunOfRanks| Run {
            is_here: run.world == world,
            agreement: run.agreement,
            number: run.number,
        };
        Self {
            version: VERSION,
            pipeline: timeline.plan.pipeline.to_owned(),
            plan,
            predicted: timeline.predicted,
            ranks: timeline.basis.ranks.len() as u64,
            run: timeline.basis.run.map(run),
            bytes,
        }
    }

    /// As bytes, which [`read`](Self::read) takes.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        number(&mut bytes, self.version);
        text(&mut bytes, self.pipeline.as_bytes());
        bytes.extend(self.plan);
        let (is_here, run) =
            self.run.map_or((false, [0; 2]), |run| (run.is_here, [run.agreement, run.number]));
        let flags = [self.predicted, self.run.is_some(), is_here].map(u64::from);
        flags.into_iter().chain(run).chain([self.ranks, self.bytes]).for_each(|it| number(&mut bytes, it));
        bytes
    }

    /// `None` for bytes that [`write`](Self::write) did not make.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes);
        let (version, pipeline) = (rest.number()?, rest.string()?);
        let plan = rest.take(32)?.try_into().ok()?;
        let [predicted, has_run, is_here] = [(); 3].map(|()| rest.number().map(|flag| flag == 1));
        let (predicted, has_run, is_here) = (predicted?, has_run?, is_here?);
        let run = Run { is_here, agreement: rest.number()?, number: rest.number()? };
        let (ranks, bytes) = (rest.number()?, rest.number()?);
        let run = has_run.then_some(run);
        rest.0.is_empty().then_some(Self { version, pipeline, plan, predicted, ranks, run, bytes })
    }
}

/// The lengths of all ranks' timelines, or why they do not belong together: every rank comes to the same conclusion.
pub(super) fn judged(all: &[Vec<u8>]) -> Result<Vec<u64>, String> {
    let of_another_version =
        |rank: usize| format!("what rank {rank} says of its timeline is of another version");
    let read = |(rank, bytes): (usize, &Vec<u8>)| Offer::read(bytes).ok_or_else(|| of_another_version(rank));
    let all: Vec<Offer> = all.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let Some(first) = all.first() else { return Err("there are no ranks".to_owned()) };
    for (rank, offer) in all.iter().enumerate() {
        if offer.version != first.version {
            return Err(of_another_version(rank));
        }
        if offer.ranks > 0 {
            return Err(format!("the timeline of rank {rank} is of all ranks already"));
        }
        if offer.run.is_some_and(|run| !run.is_here) {
            return Err(format!("the timeline of rank {rank} is of a run in another world: ask that one"));
        }
        differs(first, offer, rank)?;
    }
    Ok(all.iter().map(|offer| offer.bytes).collect())
}

/// Whether a rank has the timeline of something else than rank 0.
fn differs(first: &Offer, offer: &Offer, rank: usize) -> Result<(), String> {
    let give = |one: &str, other: &str| {
        Err(format!("rank 0 gives the timeline of {one}, and rank {rank} of {other}"))
    };
    let (name, other) = (format!("`{}`", first.pipeline), format!("`{}`", offer.pipeline));
    if first.pipeline != offer.pipeline {
        return give(&name, &other);
    }
    if first.plan != offer.plan {
        return give(&name, "another pipeline of this name");
    }
    let what = |offer: &Offer| match (offer.predicted, offer.run) {
        (true, _) => format!("a prediction of {name}"),
        (false, Some(run)) => format!("run {} of {name}", run.number),
        (false, None) => format!("a run of {name} without a world"),
    };
    match (what(first), what(offer)) {
        (one, other) if one != other => give(&one, &other),
        // Each of several pipelines of one type counts its own runs.
        (one, _) if first.run != offer.run => give(&one, "a run of another one with this number"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        let run = Some(Run { is_here: true, agreement: 9, number: 3 });
        Offer {
            version: VERSION,
            pipeline: "Train".to_owned(),
            plan: [7; 32],
            predicted: false,
            ranks: 0,
            run,
            bytes: 99,
        }
    }

    #[test]
    fn what_is_offered_is_heard() {
        for offer in [offer(), Offer { run: None, predicted: true, ..offer() }] {
            assert_eq!(Offer::read(&offer.write()), Some(offer));
        }
        let bytes = offer().write();
        (0..bytes.len()).for_each(|end| assert_eq!(Offer::read(&bytes[..end]), None, "{end} bytes"));
        assert_eq!(Offer::read(&[bytes.as_slice(), &[0]].concat()), None, "a byte more");
    }

    #[test]
    fn all_learn_whose_timeline_is_another_one() {
        let run = |number, agreement| Some(Run { is_here: true, agreement, number });
        let cases = [
            (
                Offer { pipeline: "Test".to_owned(), ..offer() },
                "rank 0 gives the timeline of `Train`, and rank 1 of `Test`",
            ),
            (
                Offer { plan: [8; 32], ..offer() },
                "rank 0 gives the timeline of `Train`, and rank 1 of another pipeline of this name",
            ),
            (
                Offer { run: run(4, 11), ..offer() },
                "rank 0 gives the timeline of run 3 of `Train`, and rank 1 of run 4 of `Train`",
            ),
            (
                Offer { run: run(3, 11), ..offer() },
                "rank 0 gives the timeline of run 3 of `Train`, and rank 1 of a run of another one with this number",
            ),
            (
                Offer { run: None, ..offer() },
                "rank 0 gives the timeline of run 3 of `Train`, and rank 1 of a run of `Train` without a world",
            ),
            (
                Offer { run: None, predicted: true, ..offer() },
                "rank 0 gives the timeline of run 3 of `Train`, and rank 1 of a prediction of `Train`",
            ),
            (
                Offer { run: Some(Run { is_here: false, agreement: 9, number: 3 }), ..offer() },
                "the timeline of rank 1 is of a run in another world: ask that one",
            ),
            (Offer { ranks: 2, ..offer() }, "the timeline of rank 1 is of all ranks already"),
            (
                Offer { version: VERSION + 1, ..offer() },
                "what rank 1 says of its timeline is of another version",
            ),
        ];
        for (other, expected) in cases {
            assert_eq!(judged(&[offer().write(), other.write()]), Err(expected.to_owned()));
        }
        assert_eq!(judged(&[offer().write(), Offer { bytes: 5, ..offer() }.write()]), Ok(vec![99, 5]));
        assert!(judged(&[offer().write(), vec![1]]).unwrap_err().contains("rank 1"));
        assert!(judged(&[]).is_err());
    }
}
