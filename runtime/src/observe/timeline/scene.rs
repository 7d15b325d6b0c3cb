//! The picture of one timeline, or of two on one axis, as rectangles, lines and texts, from which SVG and PNG
//! are made.
//!
//! Lengths are in pixels of the SVG at its natural size, and of the PNG.

use super::axis::{Axis, Window, nanoseconds};
use super::lanes::lanes;
use super::text::{Bytes, Time, count, shortened, unraw, wrapped};
use super::{Span, Timeline};

/// The width of a picture.
pub(super) const WIDTH: f64 = 1000.0;
/// The width of a character of the PNG's font, and of about every monospaced font at 12 pixels.
pub(super) const CHARACTER: f64 = 7.0;
const MARGIN: f64 = 14.0;
const LINE: f64 = 18.0;
const BAR: f64 = 20.0;
const ROW: f64 = 24.0;
/// The gap between the rows of one rank and those of the next.
const BETWEEN_RANKS: f64 = 8.0;
/// The greatest height of a row of overlapping spans, in bars.
const LANES: usize = 4;
/// The opacity of spans that were not timed.
const ESTIMATED: f64 = 0.6;
/// More rectangles than these help nobody, and slow every viewer down.
const RECTANGLES: usize = 8_000;

pub(super) struct Scene {
    pub(super) height: f64,
    pub(super) title: String,
    /// The shapes, in the order in which they are drawn.
    pub(super) shapes: Vec<Shape>,
}

pub(super) enum Shape {
    Rectangle {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        paint: Paint,
        opacity: f64,
        tip: Option<String>,
    },
    /// `y` is that of the baseline.
    Text {
        x: f64,
        y: f64,
        anchor: Anchor,
        paint: Paint,
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Ink,
    Quiet,
    Grid,
    /// The background of a row.
    Band,
    /// A stage, by its index among all of the picture's.
    Stage(usize),
    /// Text on a stage.
    OnStage(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The position of the time axis.
#[derive(Clone, Copy)]
struct Plot {
    left: f64,
    window: Window,
}

impl Plot {
    fn width(self) -> f64 {
        WIDTH - MARGIN - self.left
    }

    fn x(self, time: u64) -> f64 {
        let share = time.saturating_sub(self.window.from) as f64 / self.window.length() as f64;
        self.left + share.min(1.0) * self.width()
    }
}

impl Scene {
    /// Draws the timelines one below the other.
    pub(super) fn new(timelines: &[&Timeline]) -> Self {
        let mut stages: Vec<&'static str> = Vec::new();
        for stage in timelines.iter().flat_map(|timeline| timeline.plan.stages) {
            if !stages.contains(stage) {
                stages.push(stage);
            }
        }
        let to = timelines.iter().map(|timeline| Window::of(timeline).to).max().unwrap_or(1);
        let rows = timelines.iter().flat_map(|timeline| &timeline.rows);
        let names = rows.map(|row| row.name.chars().count()).max().unwrap_or(0).clamp(2, 24);
        let left = MARGIN + (names as f64 + 1.0) * CHARACTER;
        let plot = Plot { left, window: Window::new(0, to) };
        let axis = Axis::new(plot.window, (plot.width() / 90.0) as u64);

        let mut scene = Self { height: MARGIN, title: title(timelines), shapes: Vec::new() };
        for timeline in timelines {
            scene.panel(timeline, plot, &axis, &stages, names);
        }
        scene.axis(plot, &axis);
        scene.legend(&stages);
        scene.height += MARGIN - 4.0;
        scene
    }

    fn text(&mut self, x: f64, anchor: Anchor, paint: Paint, text: impl Into<String>) {
        self.shapes.push(Shape::Text { x, y: self.height + 13.0, anchor, paint, text: text.into() });
    }

    fn rectangle(&mut self, x: f64, y: f64, width: f64, height: f64, paint: Paint) {
        self.shapes.push(Shape::Rectangle { x, y, width, height, paint, opacity: 1.0, tip: None });
    }

    fn paragraph(&mut self, parts: Vec<String>, paint: Paint) {
        let columns = ((WIDTH - 2.0 * MARGIN) / CHARACTER) as usize;
        for line in wrapped(parts, columns).lines() {
            self.text(MARGIN, Anchor::Start, paint, line);
            self.height += LINE;
        }
    }

    /// Draws the heading of a timeline, its rows, and the shares of its engines.
    fn panel(&mut self, timeline: &Timeline, plot: Plot, axis: &Axis, stages: &[&str], names: usize) {
        self.paragraph(timeline.heading(), Paint::Ink);
        self.height += 4.0;
        let (of_spans, of_rows) = lanes(timeline);
        let top = self.height;
        let mut tops = Vec::new();
        let mut rank = None;
        for (row, lanes) in timeline.rows.iter().zip(&of_rows) {
            if !tops.is_empty() && row.rank != rank {
                self.height += BETWEEN_RANKS;
            }
            rank = row.rank;
            let bars = *lanes.min(&LANES) as f64;
            self.rectangle(plot.left, self.height + 2.0, plot.width(), ROW * bars - 4.0, Paint::Band);
            tops.push(self.height + 2.0);
            self.height += (ROW - LINE) / 2.0;
            let name = shortened(unraw(&row.name), names);
            self.text(plot.left - CHARACTER, Anchor::End, Paint::Ink, name);
            self.height += ROW * bars - (ROW - LINE) / 2.0;
        }
        for (time, _) in &axis.ticks {
            self.rectangle(plot.x(*time), top, 1.0, self.height - top, Paint::Grid);
        }
        let bars = Bars { timeline, plot, stages, lanes: of_spans };
        // Columns get wider until there are few enough bars; the first width is what a screen can show.
        let mut column = 1.0;
        let mut drawn = bars.of(column);
        while drawn.len() > RECTANGLES && column < plot.width() {
            column *= 2.0;
            drawn = bars.of(column);
        }
        for bar in &drawn {
            let lane = bar.lane.min(LANES - 1) as f64;
            self.bar(bar, tops[bar.row] + ROW * lane, stages);
        }
        let shares = timeline.busy_shares(Window::of(timeline));
        if shares.is_empty() {
            self.paragraph(vec!["nothing was done".to_owned()], Paint::Quiet);
        }
        shares.into_iter().for_each(|shares| self.paragraph(shares, Paint::Quiet));
        self.height += 8.0;
    }

    fn bar(&mut self, bar: &Bar, y: f64, stages: &[&str]) {
        // A thin gap between neighbours shows where a chunk ends.
        let width = bar.width - (0.2 * bar.width).min(1.0);
        self.shapes.push(Shape::Rectangle {
            x: bar.x,
            y,
            width: width.max(0.75),
            height: BAR,
            paint: Paint::Stage(bar.stage),
            opacity: bar.opacity,
            tip: Some(bar.tip.clone()),
        });
        let Some(chunk) = bar.chunk else { return };
        let fits = |text: &String| text.chars().count() as f64 * CHARACTER + 6.0 <= width;
        let labels = [format!("{} {chunk}", unraw(stages[bar.stage])), chunk.to_string()];
        if let Some(text) = labels.into_iter().find(fits) {
            self.shapes.push(Shape::Text {
                x: bar.x + width / 2.0,
                y: y + 14.0,
                anchor: Anchor::Middle,
                paint: Paint::OnStage(bar.stage),
                text,
            });
        }
    }

    fn axis(&mut self, plot: Plot, axis: &Axis) {
        self.rectangle(plot.left, self.height, plot.width(), 1.0, Paint::Quiet);
        for (time, _) in &axis.ticks {
            self.rectangle(plot.x(*time), self.height, 1.0, 5.0, Paint::Quiet);
        }
        self.height += 5.0;
        self.text(plot.left - CHARACTER, Anchor::End, Paint::Quiet, axis.unit);
        for (time, label) in &axis.ticks {
            let half = label.len() as f64 * CHARACTER / 2.0;
            let x = plot.x(*time).clamp(plot.left + half - 3.0, WIDTH - MARGIN - half);
            self.text(x, Anchor::Middle, Paint::Quiet, label.as_str());
        }
        self.height += LINE + 6.0;
    }

    fn legend(&mut self, stages: &[&str]) {
        let mut x = MARGIN;
        let mut lines = 0.0;
        for (index, stage) in stages.iter().enumerate() {
            let name = shortened(unraw(stage), 60);
            let width = 12.0 + 6.0 + (name.chars().count() + 3) as f64 * CHARACTER;
            if x > MARGIN && x + width > WIDTH - MARGIN {
                (x, lines) = (MARGIN, lines + 1.0);
                self.height += LINE;
            }
            self.rectangle(x, self.height + 3.0, 12.0, 12.0, Paint::Stage(index));
            self.text(x + 18.0, Anchor::Start, Paint::Ink, name);
            x += width;
        }
        self.height += LINE;
    }
}

fn title(timelines: &[&Timeline]) -> String {
    let said = |timeline: &&Timeline| format!("{}, {}", timeline.heading().swap_remove(0), timeline.origin());
    timelines.iter().map(said).collect::<Vec<_>>().join("; ")
}

/// The spans of a timeline, to be drawn.
struct Bars<'t> {
    timeline: &'t Timeline,
    plot: Plot,
    stages: &'t [&'t str],
    lanes: Vec<usize>,
}

/// One span, or several that are too narrow to be told apart.
struct Bar {
    row: usize,
    lane: usize,
    x: f64,
    width: f64,
    stage: usize,
    /// The chunk, if the bar is a single span.
    chunk: Option<usize>,
    /// The share of the bar in which work was done; lower for a single span that was not timed.
    opacity: f64,
    tip: String,
}

impl Bars<'_> {
    /// The bars of the row. Spans narrower than `column` pixels are drawn together with the others of their
    /// column.
    fn of(&self, column: f64) -> Vec<Bar> {
        let Self { timeline, plot, .. } = *self;
        let row = |index: usize| timeline.spans[index].row;
        let mut order: Vec<_> =
            (0..timeline.spans.len()).filter(|&index| row(index) < timeline.rows.len()).collect();
        order.sort_by_key(|&index| (row(index), self.lanes[index], timeline.spans[index].start));
        let mut bars = Vec::new();
        let mut narrow: Vec<&Span> = Vec::new();
        let mut place = None;
        for index in order {
            let span = &timeline.spans[index];
            let (x, end) = (plot.x(nanoseconds(span.start)), plot.x(nanoseconds(span.end)));
            let here = (span.row, self.lanes[index], (x / column) as u64);
            let is_narrow = end - x < column;
            if !is_narrow || place != Some(here) {
                bars.extend(self.bar(&narrow, place.map_or(0, |(_, lane, _)| lane)));
                narrow.clear();
            }
            if is_narrow {
                place = Some(here);
                narrow.push(span);
            } else {
                bars.extend(self.bar(&[span], self.lanes[index]));
            }
        }
        bars.extend(self.bar(&narrow, place.map_or(0, |(_, lane, _)| lane)));
        bars
    }

    /// One bar for all of the spans; `None` if there are none.
    fn bar(&self, spans: &[&Span], lane: usize) -> Option<Bar> {
        let (first, last) = (spans.first()?, spans.last()?);
        let x = self.plot.x(nanoseconds(first.start));
        let end = spans.iter().map(|span| span.end.max(span.start)).max()?;
        let width = self.plot.x(nanoseconds(end)) - x;
        let mut times = vec![0; self.stages.len()];
        let stage_of = |span: &Span| self.stages.iter().position(|stage| *stage == self.timeline.stage(span));
        for span in spans {
            times[stage_of(span)?] += nanoseconds(span.time());
        }
        let first_of_most = times.iter().enumerate().rev().max_by_key(|(_, time)| **time);
        let (stage, opacity, tip) = match spans {
            [span] => {
                let opacity = if span.estimated { ESTIMATED } else { 1.0 };
                (stage_of(span)?, opacity, self.timeline.tip(span))
            }
            _ => {
                let busy: u64 = times.iter().sum();
                let length = nanoseconds(end).saturating_sub(nanoseconds(first.start)).max(1);
                let from = spans.iter().map(|span| span.chunk).min()?;
                let to = spans.iter().map(|span| span.chunk).max()?;
                let chunks =
                    if from == to { format!("chunk {from}") } else { format!("chunks {from} to {to}") };
                let tip = format!(
                    "{}, {chunks}\n{} to {}",
                    count(spans.len(), "operation"),
                    Time(first.start),
                    Time(last.end),
                );
                (first_of_most?.0, (busy as f64 / length as f64).clamp(0.35, 1.0), tip)
            }
        };
        let chunk = (spans.len() == 1).then_some(first.chunk);
        Some(Bar { row: first.row, lane, x, width, stage, chunk, opacity, tip })
    }
}

impl Timeline {
    /// The facts about a span, one in a line.
    fn tip(&self, span: &Span) -> String {
        let operation = &self.plan.operations[span.operation];
        let mut tip = format!(
            "{}\n{}, chunk {}\n{} to {}: {}",
            operation.text,
            unraw(self.stage(span)),
            span.chunk,
            Time(span.start),
            Time(span.end),
            Time(span.time()),
        );
        if span.estimated {
            tip.push_str("\nestimated: other chunks were timed");
        }
        if span.blocks > 0 {
            tip.push_str(&format!("\n{}", count(span.blocks as usize, "block")));
        }
        if let Some(rate) = span.rate() {
            tip.push_str(&format!("\n{}, {:.1} GB/s", Bytes(span.bytes), rate / 1e9));
        }
        tip
    }
}
