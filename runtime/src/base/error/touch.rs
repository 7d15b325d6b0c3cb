//! [`Touch`]: an operation's part in a race.

use super::Place;

/// An operation's part in a [race](super::ErrorKind::Race).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Touch {
    /// The place of the operation in the pipeline, with its chunk.
    pub place: Place,
    /// Whether the operation writes the memory; otherwise it reads it.
    pub writes: bool,
}

impl Touch {
    /// `` `copy x -> dx` of chunk 3 writes ``
    pub(super) fn named(&self) -> String {
        format!("{} {}", named(&self.place), if self.writes { "writes" } else { "reads" })
    }

    /// The operation's place, on a line of its own.
    pub(super) fn located(&self, what: &str) -> String {
        located(&self.place).map_or(String::new(), |at| format!("\n  {what} is {at}"))
    }
}

/// `` `copy x -> dx` of chunk 3 ``
fn named(place: &Place) -> String {
    let operation = place.operation.map(|text| format!("`{text}`"));
    let operation = operation.unwrap_or_else(|| "what a run does besides its operations".to_owned());
    match place.chunk {
        Some(chunk) if place.operation.is_some() => format!("{operation} of chunk {chunk}"),
        _ => operation,
    }
}

/// ``in stage `load`, at src/main.rs:31:31``
fn located(place: &Place) -> Option<String> {
    let stage = place.stage.map(|name| format!("in stage `{name}`"));
    let site = place.site.map(|site| format!("at {site}"));
    let parts: Vec<_> = stage.into_iter().chain(site).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Operations that use memory, each on a line of its own.
pub(super) fn users(places: &[Place]) -> String {
    let line = |place: &Place| {
        let at = located(place).map_or(String::new(), |at| format!(", {at}"));
        format!("\n  by {}{at}", named(place))
    };
    places.iter().map(line).collect()
}
