//! The timeline of all ranks: those of each rank on one clock, one below the other.

use std::cmp::Reverse;
use std::time::Duration;

use super::clocks::{begins, waits};
use super::findings::worth_a_word;
use super::text::Time;
use super::{Basis, Cause, Engine, Finding, OfRank, Row, Span, Timeline};
use crate::base::report::Report;

impl Timeline {
    /// The timeline of a run of several ranks, of which each has one of `parts`, in their order: at least one.
    pub(crate) fn of_ranks(parts: Vec<Self>) -> Option<Self> {
        let begins = begins(&parts).into_iter().map(Duration::from_nanos);
        let parts: Vec<_> = parts.into_iter().zip(begins).collect();
        let ranks: Vec<_> =
            parts.iter().map(|(part, begin)| OfRank { report: part.report.clone(), begin: *begin }).collect();
        let first = parts.first().map(|(first, _)| first)?;
        let mut whole = Self {
            report: report(&ranks),
            machine: None,
            rows: Vec::new(),
            spans: Vec::new(),
            spec: first.spec.clone(),
            basis: Basis {
                by_bytes: parts.iter().any(|(part, _)| part.basis.by_bytes),
                ranks,
                ..first.basis.clone()
            },
            ..*first
        };
        for (rank, (part, begin)) in parts.into_iter().enumerate() {
            let before = whole.rows.len();
            let name = |row: &Row| format!("r{rank} {}", row.name);
            let rows = part.rows.into_iter();
            whole.rows.extend(rows.map(|row| Row { name: name(&row), rank: Some(rank), ..row }));
            let later = |time: Duration| time.saturating_add(begin);
            whole.spans.extend(
                part.spans
                    .into_iter()
                    .map(|span| Span { row: span.row.saturating_add(before), ..span.at(later) }),
            );
        }
        whole.spans.sort_by_key(|span| (span.start, span.end, span.chunk, span.operation, span.row));
        Some(whole)
    }

    /// What one rank has of the timeline [of all ranks](Self::of_all_ranks), with times that count from its own first
    /// call: its [`report`](Self::report), for example. `None` if there is no such rank, or this is not the timeline of
    /// all ranks.
    pub fn of_rank(&self, rank: usize) -> Option<Self> {
        let OfRank { begin, .. } = *self.basis.ranks.get(rank)?;
        let mut own = self.part_of_rank(rank)?;
        own.spans.iter_mut().for_each(|span| *span = span.at(|time| time.saturating_sub(begin)));
        let prefix = format!("r{rank} ");
        for row in &mut own.rows {
            row.name = row.name.strip_prefix(&prefix).unwrap_or(&row.name).to_owned();
            row.rank = None;
        }
        Some(own)
    }

    /// The number of ranks, if this is the timeline of all; otherwise 0.
    pub(super) fn ranks(&self) -> usize {
        self.basis.ranks.len()
    }

    /// What one of several ranks has of the run, where it is.
    pub(super) fn part_of_rank(&self, rank: usize) -> Option<Self> {
        let OfRank { report, .. } = self.basis.ranks.get(rank)?;
        let first = self.rows.iter().position(|row| row.rank == Some(rank)).unwrap_or(self.rows.len());
        let rows: Vec<Row> = self.rows.iter().filter(|row| row.rank == Some(rank)).cloned().collect();
        let own = first..first + rows.len();
        let spans = self.spans.iter().filter(|span| own.contains(&span.row));
        Some(Self {
            report: report.clone(),
            spec: self.spec.clone(),
            machine: None,
            spans: spans.map(|span| Span { row: span.row - first, ..*span }).collect(),
            rows,
            basis: Basis { ranks: Vec::new(), ..self.basis.clone() },
            ..*self
        })
    }

    /// How long each of several ranks waits for the last one to come to a collective.
    pub(super) fn waits_of_ranks(&self) -> Vec<Duration> {
        let parts: Vec<_> = (0..self.ranks()).filter_map(|rank| self.part_of_rank(rank)).collect();
        waits(&parts)
    }

    /// The time that ranks lose because they do not come to collectives at once: the mean of their waits, since that
    /// is what each would take longer if all had the same to do.
    pub(super) fn lost_by_ranks(&self) -> Duration {
        let waits = self.waits_of_ranks();
        let sum = waits.iter().fold(Duration::ZERO, |sum, wait| sum.saturating_add(*wait));
        sum / u32::try_from(waits.len()).unwrap_or(u32::MAX).max(1)
    }

    /// The finding about this, if it is one, and those of the rank for which the others wait.
    pub(super) fn findings_of_rank(&self, rank: usize, own: &Self) -> Vec<Finding> {
        let mut found = own.findings();
        found.iter_mut().for_each(|finding| finding.note = format!("on rank {rank}, {}", finding.note));
        let lost = self.lost_by_ranks();
        if worth_a_word(lost, self.time()) {
            let waits = self.waits_of_ranks().into_iter().enumerate();
            let (other, most) = waits.max_by_key(|(_, wait)| *wait).unwrap_or_default();
            let share = lost.as_secs_f64() / self.time().as_secs_f64().max(f64::MIN_POSITIVE);
            let who = format!("rank {other} waits {} in collectives for others to come", Time(most));
            let (note, help) = if other == rank {
                (
                    format!("{who}, and all others wait as long: another one comes last each time"),
                    "see what each rank does in the chunks in which it comes last".to_owned(),
                )
            } else {
                (
                    format!("{who}, and rank {rank} comes last"),
                    format!("give rank {rank} less to do, or see why it is slower"),
                )
            };
            found.push(Finding { cause: Cause::Ranks, lost, share, note, help });
            found.sort_by_key(|finding| Reverse(finding.lost));
        }
        found
    }

    /// The rank for which the others wait: the one that itself waits least in collectives. Among equals it is the one
    /// that is least in them, and then the one that ends last.
    pub(super) fn awaited_rank(&self) -> Option<usize> {
        let order = |(rank, wait): (usize, Duration)| {
            let end = self.basis.ranks.get(rank).map(OfRank::end);
            Some((wait, self.part_of_rank(rank)?.busy(Engine::Network), Reverse(end), rank))
        };
        self.waits_of_ranks().into_iter().enumerate().filter_map(order).min().map(|(.., rank)| rank)
    }
}

/// The report of all ranks. They come to the same chunks, of which each has its own items.
fn report(ranks: &[OfRank]) -> Report {
    let report = Report::of_parts(ranks.iter().map(|rank| rank.report.clone()).collect());
    Report {
        chunks: ranks.iter().map(|rank| rank.report.chunks).max().unwrap_or_default(),
        time: ranks.iter().map(OfRank::end).max().unwrap_or_default(),
        parts: Vec::new(),
        ..report
    }
}

impl OfRank {
    fn end(&self) -> Duration {
        self.begin.saturating_add(self.report.time)
    }
}

impl Span {
    /// The same span at other times.
    fn at(self, time: impl Fn(Duration) -> Duration) -> Self {
        let Self { enqueued, start, end, .. } = self;
        Self { enqueued: time(enqueued), start: time(start), end: time(end), ..self }
    }
}
