use std::ops::Range;
use std::time::Duration;

use super::sample::{row, saxpy, span, steady};
use super::{Cause, Engine, Span, Timeline};
use crate::base::collective::CollectiveKind;
use crate::base::plan::{OperationKind, OperationPlan, Plan};
use crate::base::report::Report;

const fn collective(collective: CollectiveKind, text: &'static str) -> OperationPlan {
    let kind = OperationKind::Collective { collective };
    OperationPlan { stage: 0, stream: 0, text, kind, ..super::sample::SAXPY.operations[0] }
}

/// A sum, which ends on all ranks at once, and a broadcast, which does not; and a kernel.
const TRAIN: Plan = Plan {
    pipeline: "Train",
    stages: &["share", "math"],
    operations: &[
        collective(CollectiveKind::AllReduce, "all_reduce sum g"),
        collective(CollectiveKind::Broadcast, "broadcast w from 0"),
        OperationPlan { stage: 1, ..super::sample::SAXPY.operations[2] },
    ],
    events: &[],
    waits: &[],
    ..super::sample::SAXPY
};

fn train(micros: u64, spans: &[(usize, usize, Range<u64>)]) -> Timeline {
    let of = |(operation, chunk, at): &(usize, usize, Range<u64>)| {
        let engine = if *operation == 2 { Engine::Compute } else { Engine::Network };
        Span { operation: *operation, engine, ..span(0, *chunk, usize::from(*operation == 2), at.clone()) }
    };
    let spans = spans.iter().map(of).collect();
    Timeline { plan: &TRAIN, rows: vec![row("comm", 0, None), row("math", 1, None)], ..saxpy(micros, spans) }
}

fn whole(parts: Vec<Timeline>) -> Timeline {
    Timeline::of_ranks(parts).expect("there are ranks")
}

/// When each rank began, in microseconds.
fn begins(parts: Vec<Timeline>) -> Vec<u128> {
    whole(parts).basis.ranks.iter().map(|rank| rank.begin.as_micros()).collect()
}

#[test]
fn clocks_follow_the_ends_of_sums() {
    // The second rank began 30 us after the first, as all but one of its sums say.
    let first = train(100, &[(0, 0, 10..50), (0, 1, 60..70), (0, 2, 80..90), (1, 2, 90..91)]);
    let other = train(70, &[(0, 0, 15..20), (0, 1, 30..45), (0, 2, 50..60), (1, 2, 60..69)]);
    assert_eq!(begins(vec![first.clone(), other.clone()]), [0, 30]);
    assert_eq!(begins(vec![other.clone(), first.clone()]), [30, 0]);
    let all = whole(vec![first, other]);
    assert_eq!(all.time(), Duration::from_micros(100));
    let ends = |chunk: usize| {
        let of = all.spans.iter().filter(move |span| (span.operation, span.chunk) == (0, chunk));
        of.map(|span| span.end.as_micros()).collect::<Vec<_>>()
    };
    assert_eq!((ends(0), ends(2)), (vec![50, 50], vec![90, 90]));
}

#[test]
fn other_collectives_count_if_there_are_no_sums() {
    let (first, other) = (train(9, &[(1, 0, 0..5)]), train(9, &[(1, 0, 0..8)]));
    assert_eq!(begins(vec![first, other]), [3, 0]);
    // Times that were worked out from those of other chunks say nothing.
    let (first, mut other) =
        (train(9, &[(0, 0, 0..5), (1, 0, 5..6)]), train(9, &[(0, 0, 0..8), (1, 0, 8..9)]));
    other.spans[0].estimated = true;
    assert_eq!(begins(vec![first, other]), [3, 0]);
}

#[test]
fn runs_without_collectives_begin_at_once() {
    assert_eq!(begins(vec![steady(2), steady(3)]), [0, 0]);
    let [first, mut other] = [train(9, &[(0, 0, 0..5)]), train(9, &[(0, 0, 0..8)])];
    assert_eq!(begins(vec![first.clone(), train(9, &[])]), [0, 0]);
    other.predicted = true;
    assert_eq!(begins(vec![first, other]), [0, 0]);
}

#[test]
fn each_rank_has_its_rows() {
    let all = whole(vec![steady(2), saxpy(9, vec![]), steady(3)]);
    let names: Vec<_> = all.rows.iter().map(|row| (row.rank, row.name.as_str())).collect();
    assert_eq!(&names[2..5], [(Some(0), "r0 down"), (Some(1), "r1 up"), (Some(1), "r1 math")]);
    assert_eq!((all.rows.len(), all.spans.len()), (9, 4 * 5));
    let Report { items, chunks, time, .. } = all.report;
    assert_eq!((items, chunks, time), (5 * 250_000, 3, Duration::from_micros(150)));
    assert_eq!(all.of_rank(0), Some(steady(2)));
    assert_eq!(all.of_rank(1), Some(saxpy(9, vec![])));
    assert_eq!((all.of_rank(3), steady(2).of_rank(0)), (None, None));
    assert_eq!(
        all.heading().join(", "),
        "Saxpy on 3 ranks (3 x NVIDIA H200), measured, 0.150 ms, 3 chunks of 250000 items on each, depth 3"
    );
}

#[test]
fn one_rank_is_itself() {
    let one = whole(vec![steady(2)]);
    assert_eq!((one.rows[0].name.as_str(), one.rows[0].rank), ("r0 up", Some(0)));
    assert_eq!((&one.spans, &one.report), (&steady(2).spans, &steady(2).report));
    assert!(one.to_string().contains("Saxpy on 1 rank (NVIDIA H200), measured"), "{one}");
    assert!(one.to_string().ends_with("busy: link up 73 %, compute 18 %, link down 36 %"), "{one}");
    assert!(Timeline::of_ranks(Vec::new()).is_none());
}

#[test]
fn findings_are_about_the_rank_that_is_waited_for() {
    // The second rank computes for 80 us of 100, and the first waits for it.
    let first = train(100, &[(2, 0, 0..20), (0, 0, 20..100)]);
    let other = train(100, &[(2, 0, 0..80), (0, 0, 80..100)]);
    let all = whole(vec![first, other.clone()]);
    assert_eq!(all.awaited_rank(), Some(1));
    let [mut found, own] = [all.findings(), other.findings()];
    let waits = found.remove(0);
    assert_eq!((waits.cause, waits.lost), (Cause::Ranks, Duration::from_micros(30)));
    assert_eq!(waits.note, "rank 0 waits 60.0 us in collectives for others to come, and rank 1 comes last");
    assert_eq!(waits.help, "give rank 1 less to do, or see why it is slower");
    assert!(found.iter().any(|finding| finding.cause == Cause::ChunkTooLarge), "{found:?}");
    assert_eq!(found.len(), own.len());
    assert!(found.iter().zip(&own).all(|(one, own)| one.note == format!("on rank 1, {}", own.note)));
    assert_eq!(all.losses()[&Cause::Ranks], waits.lost);
}

#[test]
fn many_ranks_are_drawn_together() {
    let text = whole(vec![steady(2); 12]).to_string();
    assert!(text.ends_with("busy on any rank: link up 73 %, compute 18 %, link down 36 %"), "{text}");
    let text = whole(vec![steady(2); 2]).to_string();
    let busy = "busy: link up 73 %, compute 18 %, link down 36 %";
    assert!(text.ends_with(&format!("r0 {busy}\nr1 {busy}")), "{text}");
}

/// Rows of a rank are closer to each other than to those of the next.
#[test]
fn ranks_are_apart_in_the_picture() {
    let bands = |timeline: &Timeline| {
        let svg = timeline.svg();
        let bands = svg.lines().filter(|line| line.starts_with("<rect class=\"band\""));
        let tops =
            bands.filter_map(|line| line.split(" y=\"").nth(1)?.split('"').next()?.parse::<f64>().ok());
        tops.collect::<Vec<_>>()
    };
    let tops = bands(&whole(vec![steady(2); 2]));
    let apart: Vec<_> = tops.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(apart, [24.0, 24.0, 32.0, 24.0, 24.0]);
}
