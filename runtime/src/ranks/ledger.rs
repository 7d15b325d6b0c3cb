//! [`Ledger`]: which rank has come to which gather. It has no clock, no lock and no connection of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::error::{RanksDetail, Who};

/// What a rank brings to a gather.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    /// What the gather is about, for messages. All ranks give the same.
    pub(super) what: String,
    pub(super) payload: Vec<u8>,
    /// How long this rank is willing to wait for the others.
    pub(super) limit: Duration,
}

/// A gather to which every rank has come.
#[derive(Debug)]
pub(super) struct Complete {
    /// The gather's number. Each rank counts its own gathers from 0.
    pub(super) number: u64,
    /// What the ranks have brought, in their order.
    pub(super) payloads: Vec<Vec<u8>>,
}

/// A gather to which some ranks have come.
#[derive(Debug)]
struct Open {
    what: String,
    /// The rank that came first.
    first: usize,
    payloads: Vec<Option<Vec<u8>>>,
    /// When the patience of a rank ends, and how long that was; `None` if that is beyond what a clock shows.
    deadline: Option<(Instant, Duration)>,
}

/// The gathers of a world.
#[derive(Debug)]
pub(super) struct Ledger {
    people: Arc<[Who]>,
    /// The number of gathers that each rank has come to.
    counts: Vec<u64>,
    has_left: Vec<bool>,
    open: BTreeMap<u64, Open>,
}

impl Ledger {
    pub(super) fn new(people: Arc<[Who]>) -> Self {
        let size = people.len();
        Self { people, counts: vec![0; size], has_left: vec![false; size], open: BTreeMap::new() }
    }

    /// The number of the next gather that this rank comes to.
    pub(super) fn next(&self, rank: usize) -> u64 {
        self.counts[rank]
    }

    /// A rank comes to its next gather. Returns the gather if it was the last one to come.
    pub(super) fn arrive(
        &mut self,
        rank: usize,
        arrival: Arrival,
        now: Instant,
    ) -> Result<Option<Complete>, RanksDetail> {
        let number = self.counts[rank];
        self.counts[rank] += 1;
        self.nobody_has_left_before(number)?;
        let Arrival { what, payload, limit } = arrival;
        let size = self.people.len();
        let open = self.open.entry(number).or_insert_with(|| {
            let (what, payloads) = (what.clone(), vec![None; size]);
            Open { what, first: rank, payloads, deadline: None }
        });
        if open.what != what {
            let (one, first) = (open.first, open.what.clone());
            return Err(RanksDetail::Differ { one, what: first, other: rank, other_what: what });
        }
        open.payloads[rank] = Some(payload);
        let deadline = now.checked_add(limit).map(|at| (at, limit));
        open.deadline = open.deadline.into_iter().chain(deadline).min();
        if open.payloads.iter().any(Option::is_none) {
            return Ok(None);
        }
        let payloads = self.open.remove(&number).map(|open| open.payloads.into_iter().flatten().collect());
        Ok(payloads.map(|payloads| Complete { number, payloads }))
    }

    /// A rank leaves the world. It is an error if another rank waits for it.
    pub(super) fn leave(&mut self, rank: usize) -> Result<(), RanksDetail> {
        self.has_left[rank] = true;
        match self.open.last_key_value() {
            Some((&newest, _)) => self.nobody_has_left_before(newest),
            None => Ok(()),
        }
    }

    /// When the first of the open gathers is late.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.open.values().filter_map(|open| open.deadline).map(|(at, _)| at).min()
    }

    /// The gather that is late at this time, as an error that names the ranks which have not come.
    pub(super) fn late(&self, now: Instant) -> Option<RanksDetail> {
        self.open.values().find_map(|open| {
            let (_, limit) = open.deadline.filter(|(at, _)| *at <= now)?;
            let absent = open.payloads.iter().enumerate().filter(|(_, payload)| payload.is_none());
            let ranks = absent.map(|(rank, _)| rank).collect();
            Some(RanksDetail::Late { what: open.what.clone(), ranks, limit })
        })
    }

    /// A gather cannot be completed if a rank has left before it came there.
    fn nobody_has_left_before(&self, number: u64) -> Result<(), RanksDetail> {
        let is_gone = |rank: &usize| self.has_left[*rank] && self.counts[*rank] <= number;
        match (0..self.people.len()).find(is_gone) {
            Some(rank) => Err(RanksDetail::Left { who: self.people[rank].clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(size: usize) -> Ledger {
        Ledger::new((0..size).map(|rank| Who { rank, host: "h".to_owned(), process: 7 }).collect())
    }

    fn arrival(what: &str, payload: &[u8]) -> Arrival {
        Arrival { what: what.to_owned(), payload: payload.to_vec(), limit: Duration::from_secs(30) }
    }

    #[test]
    fn the_last_rank_completes_a_gather_in_the_order_of_ranks() {
        let (mut ledger, now) = (ledger(3), Instant::now());
        assert!(ledger.arrive(2, arrival("a", b"2"), now).expect("a rank").is_none());
        assert!(ledger.arrive(0, arrival("a", b"0"), now).expect("a rank").is_none());
        let complete = ledger.arrive(1, arrival("a", b"1"), now).expect("a rank").expect("all are there");
        assert_eq!(
            (complete.number, complete.payloads),
            (0, vec![b"0".to_vec(), b"1".to_vec(), b"2".to_vec()])
        );
        assert_eq!(ledger.deadline(), None);
    }

    #[test]
    fn a_rank_may_be_several_gathers_ahead() {
        let (mut ledger, now) = (ledger(2), Instant::now());
        for what in ["a", "b", "c"] {
            assert!(ledger.arrive(1, arrival(what, b"1"), now).expect("a rank").is_none());
        }
        for (number, what) in ["a", "b", "c"].into_iter().enumerate() {
            let complete = ledger.arrive(0, arrival(what, b"0"), now).expect("a rank").expect("both");
            assert_eq!(complete.number, number as u64);
        }
    }

    #[test]
    fn the_least_patient_rank_decides_when_a_gather_is_late() {
        let (mut ledger, now) = (ledger(4), Instant::now());
        ledger.arrive(0, arrival("run 4 of `Train`", b""), now).expect("a rank");
        let brief = Arrival { limit: Duration::from_secs(5), ..arrival("run 4 of `Train`", b"") };
        ledger.arrive(2, brief, now).expect("a rank");
        assert_eq!(ledger.deadline(), Some(now + Duration::from_secs(5)));
        assert_eq!(ledger.late(now), None);
        let late = ledger.late(now + Duration::from_secs(5)).expect("it is late");
        assert_eq!(late.to_string(), "ranks 1 and 3 have not come to `run 4 of `Train`` within 5 s");
        assert_eq!(late.ranks(), [1, 3]);
    }

    #[test]
    fn ranks_that_do_different_things_are_told() {
        let (mut ledger, now) = (ledger(2), Instant::now());
        ledger.arrive(1, arrival("run 4 of Train", b""), now).expect("a rank");
        let error = ledger.arrive(0, arrival("run 1 of Eval", b""), now).expect_err("they differ");
        let text = error.to_string();
        assert!(
            text.starts_with("rank 1 has come to `run 4 of Train`, and rank 0 to `run 1 of Eval`"),
            "{text}"
        );
    }

    #[test]
    fn a_rank_that_has_left_is_missed_by_later_gathers_alone() {
        let (mut ledger, now) = (ledger(3), Instant::now());
        ledger.arrive(2, arrival("a", b"2"), now).expect("a rank");
        ledger.leave(2).expect("it has come to the only gather");
        ledger.arrive(0, arrival("a", b"0"), now).expect("a rank");
        assert!(ledger.arrive(1, arrival("a", b"1"), now).expect("a rank").is_some());
        let error = ledger.arrive(0, arrival("b", b"0"), now).expect_err("rank 2 is gone");
        assert_eq!(error.to_string(), "rank 2 (host h, process 7) has left the world");
    }

    #[test]
    fn a_rank_that_is_awaited_cannot_leave_unnoticed() {
        let (mut ledger, now) = (ledger(2), Instant::now());
        ledger.arrive(0, arrival("a", b"0"), now).expect("a rank");
        assert_eq!(ledger.leave(1).expect_err("rank 0 waits").ranks(), [1]);
    }

    #[test]
    fn a_limit_beyond_all_clocks_is_none() {
        let mut ledger = ledger(2);
        let patient = Arrival { limit: Duration::MAX, ..arrival("a", b"") };
        ledger.arrive(0, patient, Instant::now()).expect("a rank");
        assert_eq!(ledger.deadline(), None);
    }
}
