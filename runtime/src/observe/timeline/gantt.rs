//! A timeline as a Gantt chart of characters.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::axis::{Axis, Window, nanoseconds};
use super::letters::{letters, of_chunk};
use super::text::{shortened, unraw, wrapped};
use super::{Span, Timeline};

/// A chart of a run, or of a part of it, for the terminal: a row for each stream, a letter for each stage, a
/// dot for idle time.
///
/// ```text
/// up   LLLLLLLLLLLLLLLLLLLLllllllllllllllllllllLLLLLLLLLLLLLLLLLLLL...............
/// math ....................AAAAA...............aaaaa...............AAAAA..........
/// down .........................SSSSSSSSSS..........ssssssssss..........SSSSSSSSSS
///      +---------+---------+---------+---------+---------+---------+---------+----
///   us 0        20        40        60        80        100       120       140
/// L load, A axpy, S store, even chunks in capitals
/// busy: link up 80 %, compute 20 %, link down 40 %
/// ```
///
/// `Display` prints it. A cell shows the stage that occupies most of it, with a capital for an even chunk. A
/// cell that is more than half idle shows a dot, unless a span has its middle there: so each span longer than
/// a cell is rounded to the nearest cell, and a shorter one is not lost. If many chunks share each cell, all
/// letters are small.
///
/// Below are the axis, the letters, and the share of the drawn time in which each engine was busy.
#[derive(Debug, Clone, Copy)]
pub struct Gantt<'t> {
    timeline: &'t Timeline,
    width: usize,
    window: Window,
}

impl Timeline {
    /// The run as a Gantt chart, 80 columns wide.
    pub fn gantt(&self) -> Gantt<'_> {
        Gantt { timeline: self, width: 80, window: Window::of(self) }
    }
}

impl Gantt<'_> {
    /// Sets the width in columns; fewer than 24 count as 24.
    pub fn width(self, columns: usize) -> Self {
        Self { width: columns.max(24), ..self }
    }

    /// Draws only the time between `from` and `to`, counted from the run's beginning.
    pub fn between(self, from: Duration, to: Duration) -> Self {
        Self { window: Window::new(nanoseconds(from), nanoseconds(to)), ..self }
    }

    /// Draws only the time of these chunks, from the beginning of the first operation to the end of the last;
    /// the whole run if it has none of them.
    pub fn chunks(self, chunks: Range<usize>) -> Self {
        let of_them = || self.timeline.spans.iter().filter(|span| chunks.contains(&span.chunk));
        let from = of_them().map(|span| span.start).min();
        let to = of_them().map(|span| span.end).max();
        match (from, to) {
            (Some(from), Some(to)) => self.between(from, to),
            _ => Self { window: Window::of(self.timeline), ..self },
        }
    }

    /// The column of a time, in a chart of `columns` columns.
    fn column(&self, time: u64, columns: usize) -> usize {
        let ahead = u128::from(time.saturating_sub(self.window.from));
        // This is at most `columns`.
        let column = (ahead * columns as u128 / u128::from(self.window.length())) as usize;
        column.min(columns - 1)
    }

    /// The cells of every row.
    fn cells(&self, columns: usize) -> Vec<Vec<Cell>> {
        let mut rows = vec![vec![Cell::default(); columns]; self.timeline.rows.len()];
        for span in &self.timeline.spans {
            let Some((start, end)) = self.window.clip(span.start, span.end) else { continue };
            let Some(row) = rows.get_mut(span.row) else { continue };
            let stage = self.timeline.plan.operations[span.operation].stage;
            row[self.column(start + (end - start) / 2, columns)].has_middle = true;
            // Positions are in nanoseconds times columns, so that a cell is as long as the window.
            let place = |time: u64| u128::from(time - self.window.from) * columns as u128;
            let (start, end, cell) = (place(start), place(end), u128::from(self.window.length()));
            let first = ((start / cell) as usize).min(columns - 1);
            let last = ((end / cell) as usize).min(columns - 1);
            for (index, column) in row.iter_mut().enumerate().take(last + 1).skip(first) {
                let from = index as u128 * cell;
                column.add(span, stage, end.min(from + cell) - start.max(from));
            }
        }
        rows
    }
}

/// The contents of one cell.
#[derive(Clone, Default)]
struct Cell {
    /// Whether a span has its middle here.
    has_middle: bool,
    stages: Vec<Share>,
}

/// A stage's part of a cell.
#[derive(Clone)]
struct Share {
    stage: usize,
    time: u128,
    /// The last chunk: its time in this cell, and its index.
    chunk: (u128, usize),
    /// The chunk with the most time.
    longest: (u128, usize),
}

impl Cell {
    fn add(&mut self, span: &Span, stage: usize, time: u128) {
        let known = self.stages.iter().position(|share| share.stage == stage);
        let index = known.unwrap_or_else(|| {
            let none = (0, span.chunk);
            self.stages.push(Share { stage, time: 0, chunk: none, longest: none });
            self.stages.len() - 1
        });
        let share = &mut self.stages[index];
        share.time += time;
        if share.chunk.1 != span.chunk {
            share.chunk = (0, span.chunk);
        }
        share.chunk.0 += time;
        if share.chunk.0 > share.longest.0 {
            share.longest = share.chunk;
        }
    }

    /// The letter of the cell. `cell`: its length.
    fn letter(&self, letters: &[Option<char>], cell: u128) -> char {
        let busy: u128 = self.stages.iter().map(|share| share.time).sum();
        // Among stages with equal time the first one counts.
        let most = self.stages.iter().rev().max_by_key(|share| share.time);
        match most {
            Some(share) if self.has_middle || 2 * busy >= cell => {
                let (longest, chunk) = share.longest;
                of_chunk(letters[share.stage], chunk % 2 == 0 && 3 * longest >= 2 * share.time)
            }
            _ => '.',
        }
    }
}

impl fmt::Display for Gantt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { timeline, width, window } = *self;
        let names = timeline.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        // Leaves room for the unit, too.
        let names = names.clamp(2, 20.min(width / 3));
        let columns = width - names - 1;
        let letters = letters(timeline.plan.stages);
        for (row, cells) in timeline.rows.iter().zip(self.cells(columns)) {
            let cells = cells.iter().map(|cell| cell.letter(&letters, u128::from(window.length())));
            writeln!(f, "{:names$} {}", shortened(unraw(&row.name), names), cells.collect::<String>())?;
        }
        let axis = Axis::new(window, columns as u64 / 10);
        let (mut line, mut labels) = (vec!['-'; columns], String::new());
        for (time, label) in &axis.ticks {
            let column = self.column(*time, columns);
            line[column] = '+';
            // The label stands below the tick, without overlapping another one or the edge.
            let start = column.saturating_sub(label.len() / 2).min(columns.saturating_sub(label.len()));
            if labels.is_empty() || start > labels.len() {
                labels = format!("{labels:start$}{label}");
            }
        }
        writeln!(f, "{:names$} {}", "", line.into_iter().collect::<String>())?;
        writeln!(f, "{:>names$} {labels}", axis.unit)?;
        let stages = timeline.plan.stages.iter().zip(&letters);
        let legend = stages.map(|(stage, &letter)| format!("{} {}", of_chunk(letter, true), unraw(stage)));
        writeln!(f, "{}", wrapped(legend.chain(["even chunks in capitals".to_owned()]), width))?;
        let shares = timeline.busy_shares(window);
        if shares.is_empty() {
            return f.write_str("nothing was done");
        }
        let lines: Vec<_> = shares.into_iter().map(|shares| wrapped(shares, width)).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// Prints a summary of the run, and its [`Gantt`] chart in 80 columns.
impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", wrapped(self.heading(), 80))?;
        self.gantt().fmt(f)
    }
}
