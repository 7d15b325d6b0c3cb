//! A plan in DOT, Graphviz's language.

use std::fmt::Write;

use super::text::stream_text;
use super::{Distance, Plan};

impl Plan {
    /// The plan in DOT, which `dot -Tsvg` of [Graphviz](https://graphviz.org) draws.
    ///
    /// Boxes are operations, and frames are streams. Solid arrows are stream order. Dashed arrows are waits:
    /// their labels give the event and its chunk, then the hazards that the wait orders.
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
    /// let picture = Shift::PLAN.graphviz();
    /// assert!(picture.starts_with("digraph \"Shift\" {\n"));
    /// assert!(picture.contains("o0 -> o1 [style=dashed, label=\"load_done of this chunk\\nd: read after write\"];"));
    /// ```
    pub fn graphviz(&self) -> String {
        let mut out = String::new();
        let mut line = |text: std::fmt::Arguments<'_>| {
            let _ = out.write_fmt(format_args!("{text}\n"));
        };
        line(format_args!("digraph \"{}\" {{", escaped(&[self.pipeline.to_owned()])));
        line(format_args!("    node [shape=box];"));
        for (index, stream) in self.streams.iter().enumerate() {
            line(format_args!("    subgraph cluster_{index} {{"));
            let label = escaped(&[format!("stream {}", stream_text(stream))]);
            line(format_args!("        label=\"{label}\";"));
            let on_it = self.operations.iter().enumerate().filter(|(_, operation)| operation.stream == index);
            for (number, operation) in on_it {
                let label = escaped(&self.operation_lines(operation));
                line(format_args!("        o{number} [label=\"{label}\"];"));
            }
            line(format_args!("    }}"));
        }
        for (first, second) in self.stream_order() {
            line(format_args!("    o{first} -> o{second};"));
        }
        for wait in self.waits {
            let (from, to) = (self.events[wait.event].operation, wait.operation);
            let label = escaped(&self.wait_lines(wait));
            // The layout follows the order of one chunk, so that its first operation is at the top.
            let earlier = if wait.distance == Distance::Same { "" } else { "constraint=false, " };
            line(format_args!("    o{from} -> o{to} [style=dashed, {earlier}label=\"{label}\"];"));
        }
        line(format_args!("}}"));
        out
    }
}

/// The lines as one label in quotes. In any label `\\` begins an escape, and `&` begins an entity.
fn escaped(lines: &[String]) -> String {
    let mut out = String::new();
    for c in lines.join("\n").chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}
