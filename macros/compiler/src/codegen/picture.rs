//! The schedule as a small picture for the type's documentation: how its first chunks overlap.

use std::collections::BTreeMap;

use super::Context;
use crate::check::constant::value;
use crate::schedule::Distance;

/// No line of the picture is longer.
const WIDTH: usize = 72;
/// A pipeline with more stages is too large for a small picture.
const STAGES: usize = 16;
/// The ring slots that are drawn where none are declared.
const DEPTH: usize = 3;
/// The most chunks that are drawn, enough to show how a ring goes round. A deeper ring is drawn in part.
const CHUNKS: usize = 8;

/// Operations that follow one another in one stage on one stream: one step of the picture.
struct Node {
    stage: usize,
    stream: usize,
    /// The operation after its last one.
    end: usize,
}

/// When a node of a chunk is run: in which row, at which step.
struct Step {
    row: usize,
    step: usize,
    node: usize,
    chunk: usize,
}

/// The lines of a Markdown section; none if there is nothing to draw, or too much.
///
/// Each node takes a step, and begins as soon as its stream is free and the waits of its operations are over.
pub(super) fn picture(cx: &Context<'_>) -> Vec<String> {
    let program = cx.program;
    if program.operations.is_empty() || program.stages.len() > STAGES {
        return Vec::new();
    }
    let depth = program.depth.given().and_then(value).and_then(|depth| usize::try_from(depth).ok());
    let depth = depth.unwrap_or(DEPTH).max(1);
    let chunks = depth.saturating_add(2).min(CHUNKS);
    let nodes = nodes(cx);
    let (rows, steps) = steps(cx, &nodes, depth, chunks);

    let stages: Vec<_> = program.stages.iter().map(|stage| unraw(&stage.name.to_string())).collect();
    let letters = letters(&stages);
    let names = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0).min(24);
    let cell = 1 + (chunks - 1).to_string().len();
    let columns = (WIDTH - names) / (cell + 1);
    let mut lines = vec![
        String::new(),
        format!(" Its first {chunks} chunks in a ring of {depth}, if each stage took as long:"),
        String::new(),
        " ```text".to_owned(),
    ];
    for (row, name) in rows.iter().enumerate() {
        let mut cells = vec![String::new(); columns];
        for step in steps.iter().filter(|step| step.row == row) {
            if let Some(cell) = cells.get_mut(step.step) {
                *cell = format!("{}{}", letters[nodes[step.node].stage], step.chunk);
            }
        }
        let cells: String = cells.iter().map(|text| format!(" {text:cell$}")).collect();
        let name: String = name.chars().take(names).collect();
        lines.push(format!(" {name:names$}{cells}").trim_end().to_owned());
    }
    lines.push(" ```".to_owned());
    lines.push(String::new());
    let used = |stage: &usize| nodes.iter().any(|node| node.stage == *stage);
    let legend =
        (0..stages.len()).filter(used).map(|stage| format!("{} `{}`", letters[stage], stages[stage]));
    lines.push(format!(" {}; then the number of the chunk.", legend.collect::<Vec<_>>().join(", ")));
    lines
}

fn nodes(cx: &Context<'_>) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (index, operation) in cx.program.operations.iter().enumerate() {
        let (stage, stream) = (operation.stage.0, operation.stream.0);
        match nodes.last_mut() {
            Some(last) if (last.stage, last.stream) == (stage, stream) => last.end = index + 1,
            _ => nodes.push(Node { stage, stream, end: index + 1 }),
        }
    }
    nodes
}

/// The names of the rows, and what is run in them.
fn steps(cx: &Context<'_>, nodes: &[Node], depth: usize, chunks: usize) -> (Vec<String>, Vec<Step>) {
    let node_of = |operation: u32| nodes.partition_point(|node| node.end <= operation as usize);
    let streams = &cx.program.streams;
    // Where a run chooses the streams, one stream is drawn: its order includes that of a stream for each
    // slot.
    let slots = |stream: usize| {
        if streams[stream].per_slot && streams[stream].declared { depth.min(chunks) } else { 1 }
    };
    let (mut rows, mut first_row) = (Vec::new(), Vec::new());
    for (index, stream) in streams.iter().enumerate() {
        let name = unraw(&stream.name.to_string());
        first_row.push(rows.len());
        match slots(index) {
            1 => rows.push(name),
            slots => rows.extend((0..slots).map(|slot| format!("{name} {slot}"))),
        }
    }
    let mut free = vec![0; rows.len()];
    // When each node of each chunk is complete. In this order everything comes after what it waits for.
    let mut complete = BTreeMap::new();
    let mut steps = Vec::new();
    for chunk in 0..chunks {
        for (node, Node { stream, .. }) in nodes.iter().enumerate() {
            let row = first_row[*stream] + (chunk % depth) % slots(*stream);
            let waits = cx.schedule.waits.iter().filter(|wait| node_of(wait.to.0) == node);
            let over = waits.filter_map(|wait| {
                let back = match wait.distance {
                    Distance::Same => 0,
                    Distance::Previous => 1,
                    Distance::Reuse => depth,
                };
                complete.get(&(chunk.checked_sub(back)?, node_of(wait.from.0))).copied()
            });
            let step = over.chain([free[row]]).max().unwrap_or(0);
            free[row] = step + 1;
            complete.insert((chunk, node), step + 1);
            steps.push(Step { row, step, node, chunk });
        }
    }
    (rows, steps)
}

/// A capital for each stage: the first of its own letters that is free, or else the first free one.
fn letters(stages: &[String]) -> Vec<char> {
    let mut letters: Vec<char> = Vec::new();
    for stage in stages {
        let own = stage.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase());
        // There are no more stages than letters.
        let free = own.chain('A'..='Z').find(|c| !letters.contains(c));
        letters.extend(free);
    }
    letters
}

fn unraw(name: &str) -> String {
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}
