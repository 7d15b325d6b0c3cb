//! A plan as text, and the words that its pictures share with it.

use std::fmt;

use super::{Distance, Hazard, HazardPlan, OperationPlan, Plan, Priority, StreamPlan, WaitPlan};
pub(super) use crate::base::error::counted as count;

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::High => f.write_str("high"),
            Self::Low => f.write_str("low"),
            Self::Level(level) => write!(f, "{level}"),
        }
    }
}

impl fmt::Display for Distance {
    /// The event's chunk, relative to the chunk that waits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "this chunk",
            Self::Previous => "the chunk before",
            Self::Reuse => "the chunk that last used the slot",
        })
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadAfterWrite => "read after write",
            Self::WriteAfterRead => "write after read",
            Self::WriteAfterWrite => "write after write",
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "pipeline {}: {}, {}, {}, {}",
            self.pipeline,
            count(self.stages.len(), "stage"),
            count(self.streams.len(), "stream"),
            count(self.events.len(), "event"),
            count(self.waits.len(), "wait"),
        )?;
        let wait_width = self.waits.iter().map(|wait| self.wait_text(wait).len()).max().unwrap_or(0);
        let mut heading = None;
        for (index, operation) in self.operations.iter().enumerate() {
            if heading != Some((operation.stage, operation.stream)) {
                heading = Some((operation.stage, operation.stream));
                let stream = stream_text(&self.streams[operation.stream]);
                writeln!(f, "  stage {} on {stream}", self.stages[operation.stage])?;
            }
            for wait in self.waits.iter().filter(|wait| wait.operation == index) {
                let mut text = self.wait_text(wait);
                let lines = hazard_lines(wait.hazards);
                if lines.is_empty() {
                    writeln!(f, "    {text}")?;
                }
                for line in lines {
                    writeln!(f, "    {text:wait_width$}   {line}")?;
                    text.clear();
                }
            }
            writeln!(f, "    {}", operation.text)?;
            for event in self.events.iter().filter(|event| event.operation == index) {
                writeln!(f, "    record {}", event.name)?;
            }
        }
        Ok(())
    }
}

/// A stream as it is declared: its name, whether there is one for each slot, and its priority.
pub(super) fn stream_text(stream: &StreamPlan) -> String {
    let StreamPlan { name, priority, per_slot, null, placed } = *stream;
    let slot = match (per_slot, null) {
        (true, _) if placed => ", or one per slot",
        (true, _) => " per slot",
        (false, true) => " = null",
        (false, false) => "",
    };
    match priority {
        Priority::Default => format!("{name}{slot}"),
        other => format!("{name}{slot}: {other}"),
    }
}

/// The hazards of a wait, a line for each buffer.
pub(super) fn hazard_lines(hazards: &[HazardPlan]) -> Vec<String> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for HazardPlan { buffer, hazard } in hazards {
        match lines.iter_mut().find(|(name, _)| name == buffer) {
            Some((_, line)) => line.push_str(&format!(", {hazard}")),
            None => lines.push((buffer, format!("{buffer}: {hazard}"))),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

impl Plan {
    /// A picture's text for an operation, line by line.
    pub(super) fn operation_lines(&self, operation: &OperationPlan) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.stages[operation.stage], operation.text)];
        if operation.conditional {
            lines.push("if its condition holds".to_owned());
        }
        lines
    }

    /// A picture's text for a wait, line by line.
    pub(super) fn wait_lines(&self, wait: &WaitPlan) -> Vec<String> {
        let mut lines = vec![format!("{} of {}", self.events[wait.event].name, wait.distance)];
        lines.extend(hazard_lines(wait.hazards));
        lines
    }

    /// Pairs of operations that follow each other on one stream, in the order in which they are enqueued.
    pub(super) fn stream_order(&self) -> impl Iterator<Item = (usize, usize)> {
        self.operations.iter().enumerate().filter_map(|(index, operation)| {
            let mut later = self.operations.iter().skip(index + 1);
            later.position(|other| other.stream == operation.stream).map(|ahead| (index, index + 1 + ahead))
        })
    }

    /// A wait as it would be written: `wait axpy_done @ reuse`.
    pub(super) fn wait_text(&self, wait: &WaitPlan) -> String {
        let of = match wait.distance {
            Distance::Same => "",
            Distance::Previous => " @ previous",
            Distance::Reuse => " @ reuse",
        };
        format!("wait {}{of}", self.events[wait.event].name)
    }
}
