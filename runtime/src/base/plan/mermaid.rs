//! A plan as a Mermaid flowchart.

use std::fmt::Write;

use super::Plan;
use super::text::stream_text;

impl Plan {
    /// The plan as a [Mermaid](https://mermaid.js.org) flowchart, which many forges and editors draw from a
    /// fenced code block.
    ///
    /// Boxes are operations, and frames are streams. Solid arrows are stream order. Dotted arrows are waits:
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
    /// let picture = Shift::PLAN.mermaid();
    /// assert!(picture.starts_with("flowchart TB\n"));
    /// assert!(picture.contains("o0 -. \"load_done of this chunk<br>d: read after write\" .-> o1;"));
    /// ```
    pub fn mermaid(&self) -> String {
        let mut out = String::from("flowchart TB\n");
        // Each line with a text ends in `;`, since Mermaid removes the last `;` of a line that looks like a
        // style.
        let mut line = |text: std::fmt::Arguments<'_>| {
            let _ = out.write_fmt(format_args!("    {text}\n"));
        };
        for (index, stream) in self.streams.iter().enumerate() {
            let label = escaped(&[format!("stream {}", stream_text(stream))]);
            line(format_args!("subgraph s{index}[\"{label}\"];"));
            let on_it = self.operations.iter().enumerate().filter(|(_, operation)| operation.stream == index);
            for (number, operation) in on_it {
                line(format_args!("    o{number}[\"{}\"];", escaped(&self.operation_lines(operation))));
            }
            line(format_args!("end"));
        }
        for (first, second) in self.stream_order() {
            line(format_args!("o{first} --> o{second};"));
        }
        for wait in self.waits {
            let (from, to) = (self.events[wait.event].operation, wait.operation);
            line(format_args!("o{from} -. \"{}\" .-> o{to};", escaped(&self.wait_lines(wait))));
        }
        out
    }
}

/// The lines as one label in quotes. Characters that could end the label, or that Mermaid takes for Markdown
/// or HTML, become entities, which Mermaid begins with `#`.
fn escaped(lines: &[String]) -> String {
    let text = lines.join("\n");
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let within_a_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        match c {
            '\n' => out.push_str("<br>"),
            '"' => out.push_str("#quot;"),
            '&' => out.push_str("#amp;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            // A word between two underscores would be emphasised.
            '_' if !(within_a_word(before) && within_a_word(rest.peek().copied())) => out.push_str("#95;"),
            // The marker of a list: a bullet, or the dot after a number.
            '-' | '+' | '.' | ')' if before.is_none_or(|c| c == '\n' || c.is_ascii_digit()) => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            ' ' | '_' | '-' | '+' | '.' | ')' | '(' | ',' | ':' | '=' | '@' | '/' => out.push(c),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c if c.is_alphanumeric() => out.push(c),
            c => {
                let _ = write!(out, "#{};", u32::from(c));
            }
        }
        before = Some(c);
    }
    out
}
