use std::time::{Duration, Instant};

use super::Timeline;
use super::sample::{SAXPY, per_slot, saxpy, span, steady};
use crate::base::plan::{OperationPlan, Plan};

/// The number of occurrences of a text.
fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// The values of an attribute.
fn values(svg: &str, name: &str) -> Vec<f64> {
    let begin = format!(" {name}=\"");
    let after = svg.split(begin.as_str()).skip(1);
    after.filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
}

/// Checks that the elements of an SVG are closed and that nothing lies out of its bounds.
fn check(svg: &str) {
    let mut open = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        let name = tag.split_whitespace().next().unwrap_or_default();
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        assert!(!text.contains('>'), "{text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    assert!(open.is_empty());
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let height = values(svg, "height")[0];
    assert!(values(svg, "x").iter().all(|x| (0.0..=1000.0).contains(x)));
    assert!(values(svg, "y").iter().all(|y| (0.0..=height).contains(y)));
    assert!(values(svg, "width").iter().all(|width| (0.0..=1000.0).contains(width)));
}

#[test]
fn a_bar_for_each_operation() {
    let svg = steady(3).svg();
    check(&svg);
    assert_eq!(times(&svg, "<rect class=\"s0\""), 6 + 1);
    assert_eq!((times(&svg, "<rect class=\"s1\""), times(&svg, "<rect class=\"s2\"")), (3 + 1, 3 + 1));
    assert!(svg.contains(
        "<title>copy y -&gt; dy\nload, chunk 1\n60.0 us to 80.0 us: 20.0 us\n976.6 KiB, 50.0 GB/s</title>"
    ));
    assert!(svg.contains("1024 blocks\n2.9 MiB, 300.0 GB/s"));
    assert!(svg.contains(">load 2</text>") && svg.contains(">store 2</text>"));
    assert!(svg.contains("@media(prefers-color-scheme:dark)"));
    assert!(svg.contains(">busy: link up 80 %, compute 20 %, link down 40 %</text>"));
}

#[test]
fn two_are_on_one_axis() {
    let predicted = Timeline { predicted: true, ..steady(2) };
    let measured = steady(4);
    let both = predicted.svg_with(&measured);
    check(&both);
    assert!(both.contains("<title>Saxpy on NVIDIA H200, predicted; Saxpy on NVIDIA H200, measured</title>"));
    // The shorter one takes its part of the axis: 110 of 190 us.
    let scale: f64 = (1000.0 - 14.0 - 49.0) / 190.0;
    let width = |micros: f64| format!("width=\"{}\"", ((micros * scale - 1.0) * 100.0).round() / 100.0);
    assert_eq!(times(&both, &width(20.0)), 2 * (2 + 4) + 2 + 4);
    assert_eq!(times(&both, ">load</text>"), 1);
    assert_eq!(times(&both, ">us</text>"), 1);
}

#[test]
fn what_is_too_narrow_is_drawn_together() {
    let timeline = steady(25_000);
    let began = Instant::now();
    let svg = timeline.svg();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    check(&svg);
    let bars = times(&svg, "<rect class=\"s");
    assert!((900..8_100).contains(&bars), "{bars}");
    assert!(svg.contains(" operations, chunks "));
    // The kernels take a quarter of the time; opacity does not go below a third.
    assert!(svg.contains("<rect class=\"s1\"") && svg.contains("opacity=\"0.35\""));
    // Every row extends to its end.
    let end = values(&svg, "x").into_iter().fold(0.0, f64::max);
    assert!(end > 980.0, "{end}");
    let slots = per_slot(25_000, 64).svg();
    check(&slots);
    assert!(times(&slots, "<rect class=\"s") < 8_100);
}

#[test]
fn overlapping_spans_are_side_by_side() {
    let svg = saxpy(100, vec![span(3, 0, 2, 0..60), span(3, 1, 2, 20..80)]).svg();
    let bars: Vec<_> =
        svg.lines().filter(|line| line.contains("copy dy")).map(|line| values(line, "y")[0]).collect();
    assert_eq!(bars[1] - bars[0], 24.0);
    check(&saxpy(100, (0..1000).map(|chunk| span(3, chunk, 2, 0..60)).collect()).svg());
}

#[test]
fn next_to_nothing() {
    for timeline in [
        saxpy(0, vec![]),
        saxpy(0, vec![span(0, 0, 0, 0..0)]),
        saxpy(9, vec![span(0, 0, 0, 9..9)]),
        Timeline { rows: vec![], ..steady(2) },
    ] {
        check(&timeline.svg());
        check(&timeline.svg_with(&steady(1)));
    }
    assert!(saxpy(0, vec![]).svg().contains(">nothing was done</text>"));
    assert_eq!(times(&saxpy(9, vec![span(0, 0, 0, 9..9)]).svg(), "copy x"), 1);
}

#[test]
fn names_are_no_markup() {
    static ODD: Plan = Plan {
        operations: &[OperationPlan { text: "k::<{ \"a\" }> & \u{1}<b>", ..SAXPY.operations[2] }],
        stages: &["load", "r#match"],
        ..SAXPY
    };
    let mut timeline = Timeline { plan: &ODD, ..saxpy(9, vec![span(0, 0, 0, 0..9)]) };
    timeline.rows[0].name = "<&\"'>".to_owned();
    timeline.rows[1].name = "r#loop 0".to_owned();
    timeline.report.device = "a <GPU>".to_owned();
    let svg = timeline.svg();
    check(&svg);
    assert!(svg.contains("k::&lt;{ &quot;a&quot; }&gt; &amp; \u{fffd}&lt;b&gt;"));
    assert!(svg.contains(">&lt;&amp;&quot;'&gt;</text>"));
    assert!(svg.contains(">match 0</text>") && svg.contains(">loop 0</text>"));
}
