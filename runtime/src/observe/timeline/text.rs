//! Texts that the pictures of a timeline share.

use std::fmt;
use std::time::Duration;

use super::{Span, Timeline};
pub(super) use crate::base::error::counted as count;
pub(super) use crate::base::report::Bytes;
use crate::base::report::Report;

/// A time in the unit that suits it.
pub(super) struct Time(pub(super) Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match seconds {
            ..1e-4 => write!(f, "{:.1} us", seconds * 1e6),
            ..1.0 => write!(f, "{:.3} ms", seconds * 1e3),
            _ => write!(f, "{seconds:.3} s"),
        }
    }
}

/// A name as users read it: without the `r#` of a raw identifier.
pub(super) fn unraw(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// The text in at most `most` characters: a longer one ends in an ellipsis.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The parts with commas between them, in lines of at most `width` characters; further lines are indented.
pub(super) fn wrapped(parts: impl IntoIterator<Item = String>, width: usize) -> String {
    let (mut text, mut column) = (String::new(), 0);
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        let comma = usize::from(parts.peek().is_some());
        let part = shortened(&part, width.saturating_sub(2 + comma));
        let length = part.chars().count() + comma;
        if column > 0 && column + 1 + length > width {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(&part);
        text.push_str(if comma > 0 { "," } else { "" });
        column += length;
    }
    text
}

impl Span {
    /// Bytes per second, if the span has bytes and took time.
    pub(super) fn rate(&self) -> Option<f64> {
        let time = self.time();
        (self.bytes > 0 && !time.is_zero()).then(|| self.bytes as f64 / time.as_secs_f64())
    }
}

impl Timeline {
    /// The timeline's origin.
    pub(super) fn origin(&self) -> &'static str {
        if self.predicted { "predicted" } else { "measured" }
    }

    /// Parts of a sentence: what ran, on which device, how long, in how many chunks.
    pub(super) fn heading(&self) -> Vec<String> {
        let report = &self.report;
        let on = match self.ranks() {
            0 => report.device.clone(),
            ranks => format!("{} ({})", count(ranks, "rank"), report.device),
        };
        let mut parts = vec![
            format!("{} on {on}", report.pipeline),
            self.origin().to_owned(),
            format!("{}{}", Time(report.time), if report.simulated { " (virtual time)" } else { "" }),
        ];
        match report.chunks {
            0 => parts.push("no items".to_owned()),
            chunks => {
                let are_even = match self.ranks() {
                    0 => is_even(report),
                    _ => self.basis.ranks.iter().all(|rank| is_even(&rank.report)),
                };
                let (even, each) =
                    (if are_even { "" } else { "up to " }, if self.ranks() > 1 { " on each" } else { "" });
                let of = count(report.chunk, "item");
                parts.push(format!("{} of {even}{of}{each}", count(chunks, "chunk")));
                parts.push(format!("depth {}", report.depth));
                if self.spans.iter().any(|span| span.estimated) {
                    parts.push(format!(
                        "{} timed and the others estimated",
                        count(self.timed_chunks(), "chunk")
                    ));
                }
            }
        }
        parts
    }
}

/// Whether the items make as many chunks as there are, without smaller ones at the beginning.
fn is_even(report: &Report) -> bool {
    report.items.div_ceil(report.chunk.max(1)) == report.chunks
}

#[cfg(test)]
mod tests {
    use super::super::sample::steady;
    use super::*;

    #[test]
    fn lines_are_no_longer_than_asked_for() {
        let parts = || ["one", "two", "three", "four"].map(str::to_owned);
        assert_eq!(wrapped(parts(), 80), "one, two, three, four");
        assert_eq!(wrapped(parts(), 13), "one, two,\n  three, four");
        assert_eq!(wrapped(["eleven letters".to_owned()], 12), "eleven le…");
        assert_eq!(wrapped([], 12), "");
    }

    #[test]
    fn a_heading_says_what_ran() {
        let mut timeline = steady(2);
        assert_eq!(
            timeline.heading().join(", "),
            "Saxpy on NVIDIA H200, measured, 0.110 ms, 2 chunks of 250000 items, depth 3"
        );
        (timeline.predicted, timeline.report.simulated, timeline.report.chunks) = (true, true, 0);
        assert_eq!(
            timeline.heading().join(", "),
            "Saxpy on NVIDIA H200, predicted, 0.110 ms (virtual time), no items"
        );
    }
}
