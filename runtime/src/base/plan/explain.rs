//! Explanations in words: what each wait of a plan is for, and why the other conflicts need none.

use std::fmt::{self, Write};
use std::ops::Range;

use super::conflicts::{Conflict, Link, Ordered, Step};
use super::text::{count, hazard_lines};
use super::{Distance, Hazard, HazardPlan, OperationPlan, Plan, WaitPlan};

impl Plan {
    /// Explains each wait, and says what orders each two operations that conflict without a wait of their
    /// own.
    ///
    /// ```
    /// # use thalweg::prelude::*;
    /// # stream_pipeline! {
    /// #     pipeline Shift {
    /// #         input x: [f32];
    /// #         output y: [f32];
    /// #         chunk c = 1024;
    /// #         depth = 2;
    /// #         stream up;
    /// #         stream down;
    /// #         stage load on up { copy x -> d; }
    /// #         stage store on down { copy d -> y; }
    /// #     }
    /// # }
    /// let text = Shift::PLAN.explain();
    /// assert!(text.contains(
    ///     "
    /// `copy d -> y` waits for load_done of this chunk
    ///     d: it reads what `copy x -> d` writes
    /// "
    /// ));
    /// assert!(text.contains(
    ///     "
    /// `copy x -> d`, then `copy x -> d` of the next chunk in the slot
    ///     d: write after write
    ///     stream up: `copy x -> d`, then `copy x -> d` of the next chunk in the slot
    /// "
    /// ));
    /// ```
    pub fn explain(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write_explanation(&mut out);
        out
    }

    fn write_explanation(&self, out: &mut String) -> fmt::Result {
        let conflicts = self.conflicts();
        let own = |conflict: &&Conflict| matches!(conflict.ordered, Ordered::Wait(_));
        let (waited, rest): (Vec<_>, Vec<_>) = conflicts.iter().partition(own);
        writeln!(
            out,
            "pipeline {}: {}, of which {}",
            self.pipeline,
            count(conflicts.len(), "conflict"),
            match waited.len() {
                1 => "1 has a wait of its own".to_owned(),
                n => format!("{n} have a wait of their own"),
            },
        )?;
        if self.operations.iter().any(|operation| operation.conditional) {
            writeln!(out, "What is in an `if` counts as if every chunk ran it.")?;
        }
        if self.operations.iter().any(|operation| operation.repeat.is_some()) {
            writeln!(
                out,
                "The operations of a `repeat` are on one stream, one after another; here they count as one."
            )?;
        }
        if !self.waits.is_empty() {
            writeln!(out, "\nWaits, and the hazards that they order:")?;
        }
        for (index, wait) in self.waits.iter().enumerate() {
            let conflict = waited.iter().find(|conflict| conflict.ordered == Ordered::Wait(index));
            self.write_wait(out, wait, conflict)?;
            if wait.hazards.is_empty() {
                let others = |step: &Step| step.link == Link::Wait(index);
                let is_used = conflicts.iter().any(
                    |conflict| matches!(&conflict.ordered, Ordered::Path(steps) if steps.iter().any(others)),
                );
                let need =
                    if is_used { "it orders conflicts of others, below" } else { "no conflict needs it" };
                writeln!(out, "    {need}")?;
            }
        }
        if !rest.is_empty() {
            writeln!(
                out,
                "\nConflicts without a wait of their own, and what orders them:\n\
                 a stream runs one operation after another, an event holds back what waits for it."
            )?;
        }
        for conflict in rest {
            self.write_conflict(out, conflict)?;
        }
        self.write_left_out(out)
    }

    fn write_left_out(&self, out: &mut String) -> fmt::Result {
        let mut left_out = self.left_out().peekable();
        if left_out.peek().is_some() {
            writeln!(out, "\nLeft out on a CPU, where a buffer can be the argument itself:")?;
        }
        for (operation, buffer, host) in left_out {
            let but = if host.halo { ", but for the chunks at the ends" } else { "" };
            writeln!(out, "    {}: {buffer} is {}{but}", self.name_of_one(operation), host.name)?;
        }
        Ok(())
    }

    fn write_wait(&self, out: &mut String, wait: &WaitPlan, conflict: Option<&&Conflict>) -> fmt::Result {
        let event = self.events[wait.event];
        let (mut from, mut to) = (event.operation..event.operation + 1, wait.operation..wait.operation + 1);
        if let Some(conflict) = conflict {
            (from, to) = (conflict.from.clone(), conflict.to.clone());
        }
        let (from, to) = (self.name_of(&from), self.name_of(&to));
        writeln!(out, "\n{to} waits for {} of {}", event.name, wait.distance)?;
        for HazardPlan { buffer, hazard } in wait.hazards {
            match hazard {
                Hazard::ReadAfterWrite => writeln!(out, "    {buffer}: it reads what {from} writes"),
                Hazard::WriteAfterRead => writeln!(out, "    {buffer}: it overwrites what {from} reads"),
                Hazard::WriteAfterWrite => writeln!(out, "    {buffer}: it overwrites what {from} writes"),
            }?;
        }
        Ok(())
    }

    fn write_conflict(&self, out: &mut String, conflict: &Conflict) -> fmt::Result {
        let Conflict { from, to, distance, hazards, ordered } = conflict;
        writeln!(out, "\n{}", self.one_then_another(from, to, *distance))?;
        for line in hazard_lines(hazards) {
            writeln!(out, "    {line}")?;
        }
        match ordered {
            Ordered::Wait(wait) => writeln!(out, "    its own {}", self.wait_text(&self.waits[*wait])),
            Ordered::Path(steps) => {
                for Step { from, to, distance, link } in steps {
                    let by = match *link {
                        Link::Stream(stream) if self.streams[stream].per_slot => {
                            format!("stream {} of the slot", self.streams[stream].name)
                        }
                        Link::Stream(stream) => format!("stream {}", self.streams[stream].name),
                        Link::Wait(wait) => self.events[self.waits[wait].event].name.to_owned(),
                    };
                    writeln!(out, "    {by}: {}", self.one_then_another(from, to, *distance))?;
                }
                let is_shorter = |step: &Step| step.distance == Distance::Previous;
                if *distance == Distance::Reuse && steps.iter().any(is_shorter) {
                    writeln!(out, "    and so from chunk to chunk, until one is in the slot again")?;
                }
                Ok(())
            }
            Ordered::Nothing => writeln!(out, "    nothing"),
        }
    }

    fn one_then_another(&self, from: &Range<usize>, to: &Range<usize>, distance: Distance) -> String {
        let of = match distance {
            Distance::Same => "",
            Distance::Previous => " of the next chunk",
            Distance::Reuse => " of the next chunk in the slot",
        };
        format!("{}, then {}{of}", self.name_of(from), self.name_of(to))
    }

    /// An operation, or the first and the last of a `repeat`.
    fn name_of(&self, operations: &Range<usize>) -> String {
        let mut name = self.name_of_one(operations.start);
        if operations.len() > 1 {
            let _ = write!(name, " … {}", self.name_of_one(operations.end - 1));
        }
        name
    }

    /// The operation's text. If another operation has the same text, the place where it is written follows.
    fn name_of_one(&self, index: usize) -> String {
        let OperationPlan { text, line, column, .. } = self.operations[index];
        let twins = || {
            self.operations.iter().enumerate().filter(|&(other, twin)| other != index && twin.text == text)
        };
        if twins().any(|(_, twin)| twin.line == line) {
            format!("`{text}` ({line}:{column})")
        } else if twins().next().is_some() {
            format!("`{text}` (line {line})")
        } else {
            format!("`{text}`")
        }
    }
}
