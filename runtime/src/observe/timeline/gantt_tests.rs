use std::time::{Duration, Instant};

use super::sample::{per_slot, saxpy, span, steady};
use super::{Engine, Timeline};
use crate::base::plan::Plan;

fn micros(time: u64) -> Duration {
    Duration::from_micros(time)
}

/// The characters of a row, without its name.
fn cells(text: &str, row: usize) -> &str {
    text.lines().nth(row).and_then(|line| line.split_whitespace().last()).unwrap_or_default()
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn three_chunks() {
    let text = steady(3).to_string();
    assert_eq!(
        text,
        "\
Saxpy on NVIDIA H200, measured, 0.150 ms, 3 chunks of 250000 items, depth 3
up   LLLLLLLLLLLLLLLLLLLLllllllllllllllllllllLLLLLLLLLLLLLLLLLLLL...............
math ....................AAAAA...............aaaaa...............AAAAA..........
down .........................SSSSSSSSSS..........ssssssssss..........SSSSSSSSSS
     +---------+---------+---------+---------+---------+---------+---------+----
  us 0        20        40        60        80        100       120       140
L load, A axpy, S store, even chunks in capitals
busy: link up 80 %, compute 20 %, link down 40 %"
    );
}

#[test]
fn a_part_of_a_run() {
    let timeline = steady(3);
    let text = timeline.gantt().width(45).between(micros(30), micros(70)).to_string();
    assert_eq!(
        text,
        "\
up   LLLLLLLLLLllllllllllllllllllllllllllllll
math ..........AAAAAAAAAA....................
down ....................SSSSSSSSSSSSSSSSSSSS
     +---------+---------+---------+--------+
  us 30       40        50        60       70
L load, A axpy, S store,
  even chunks in capitals
busy: link up 100 %, compute 25 %,
  link down 50 %"
    );
    let of_chunk = timeline.gantt().chunks(1..2).to_string();
    assert_eq!(of_chunk, timeline.gantt().between(micros(40), micros(110)).to_string());
    // The run has no such chunks.
    assert_eq!(timeline.gantt().chunks(7..9).to_string(), timeline.gantt().to_string());
}

#[test]
fn chunks_shorter_than_a_cell() {
    // A chunk takes half a cell, so each cell has an even and an odd one; then each cell has many.
    let text = steady(140).gantt().to_string();
    assert_eq!(cells(&text, 0), "l".repeat(75), "{text}");
    let text = steady(1000).gantt().to_string();
    assert!(cells(&text, 0).starts_with(&"l".repeat(74)), "{text}");
    assert!(cells(&text, 1).contains(&"a".repeat(74)), "{text}");
    assert_eq!(text.lines().last(), Some("busy: link up 100 %, compute 25 %, link down 50 %"));
}

#[test]
fn a_short_span_is_not_lost_and_the_edges_of_long_ones_are_rounded() {
    // There are 75 cells of 10 us.
    let spans = vec![span(2, 0, 1, 101..102), span(3, 0, 2, 104..126), span(3, 1, 2, 206..226)];
    let text = saxpy(750, spans).gantt().to_string();
    assert_eq!(cells(&text, 1).find('A'), Some(10));
    assert_eq!(cells(&text, 1).matches(|c| c != '.').count(), 1);
    assert_eq!(&cells(&text, 2)[9..24], ".SSS........ss.");
}

#[test]
fn a_cell_shows_the_stage_that_has_most_of_it() {
    // Three stages on one stream, in cells of 10 us.
    let spans =
        vec![span(0, 0, 0, 0..24), span(2, 0, 0, 24..27), span(3, 0, 0, 27..50), span(2, 1, 0, 52..54)];
    let text = saxpy(750, spans).gantt().to_string();
    assert_eq!(&cells(&text, 0)[..7], "LLLSSa.");
}

#[test]
fn a_row_for_each_slot() {
    let text = per_slot(4, 3).gantt().width(44).between(micros(0), micros(200)).to_string();
    assert_eq!(
        text.lines().take(3).collect::<Vec<_>>(),
        [
            "s 0 LLLLLLLLAASSSS..........llllllllaassss..",
            "s 1 ........llllllllaassss..................",
            "s 2 ................LLLLLLLLAASSSS..........",
        ]
    );
    let text = per_slot(1000, 32).to_string();
    assert_eq!(text.lines().count(), 1 + 32 + 4);
    assert!(widest(&text) <= 80, "{text}");
}

#[test]
fn next_to_nothing() {
    let nothing = saxpy(0, vec![]);
    assert_eq!(
        nothing.to_string(),
        format!(
            "\
Saxpy on NVIDIA H200, measured, 0.0 us, no items
up   {0}
math {0}
down {0}
     +{1}+
  ns 0{2}1
L load, A axpy, S store, even chunks in capitals
nothing was done",
            ".".repeat(75),
            "-".repeat(73),
            " ".repeat(73)
        )
    );
    let no_rows = Timeline { rows: vec![], ..nothing };
    assert!(no_rows.to_string().ends_with("nothing was done"));
    // Spans without length, at the very beginning and at the very end.
    assert_eq!(
        cells(&saxpy(0, vec![span(0, 0, 0, 0..0)]).gantt().to_string(), 0),
        format!("L{}", ".".repeat(74))
    );
    assert_eq!(
        cells(&saxpy(9, vec![span(0, 0, 0, 9..9)]).gantt().to_string(), 0),
        format!("{}L", ".".repeat(74))
    );
    let all = saxpy(9, vec![span(0, 0, 0, 0..9)]).gantt().to_string();
    assert_eq!(cells(&all, 0), "L".repeat(75));
    assert_eq!(all.lines().last(), Some("busy: link up 100 %"));
}

#[test]
fn no_line_is_too_long() {
    static WIDE: Plan = Plan {
        stages: &[
            "a_stage_whose_name_alone_is_longer_than_any_line_should_be_and_then_some_more_for_the_luck_of_it",
            "b",
            "c",
        ],
        ..super::sample::SAXPY
    };
    let mut timeline = Timeline { plan: &WIDE, ..steady(9) };
    timeline.rows[0].name = "a_stream_of_a_name_that_takes_more_columns_than_there_are".to_owned();
    timeline.report.device =
        "NVIDIA GH200 480GB with a name that vendors like to make longer every year".to_owned();
    let text = timeline.to_string();
    assert_eq!(widest(&text), 80, "{text}");
    for width in 0..200 {
        let text = timeline.gantt().width(width).to_string();
        assert!(widest(&text) <= width.max(24), "{width}:\n{text}");
    }
}

#[test]
fn a_hundred_thousand_spans_take_no_time() {
    let timeline = steady(25_000);
    let began = Instant::now();
    let text = timeline.to_string();
    // Quadratic work would take minutes.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(widest(&text) <= 80);
    assert_eq!((timeline.spans.len(), timeline.share(Engine::ToHost) > 0.49), (100_000, true));
}
