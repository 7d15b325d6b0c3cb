//! The language's rules beside the absence of races, each as it stands in the book, and which operation a
//! mark is bound to.

use std::collections::{BTreeMap, BTreeSet};

use super::device::Call;
use super::pipeline::{Kind, Line, Of, Pipeline};

/// A wait whose both ends are known.
#[derive(Debug, Clone)]
pub struct Wait {
    pub event: String,
    pub of: Of,
    /// The operation whose event it is.
    pub from: usize,
    /// The operation that is held back.
    pub to: usize,
    /// Stage and line.
    pub at: (usize, usize),
}

/// The marks of a pipeline, bound to operations.
#[derive(Default)]
pub struct Bound {
    pub waits: Vec<Wait>,
    /// The operation that each event stands for.
    pub records: BTreeMap<String, usize>,
    /// The rules that are broken, with the codes that may say so.
    pub broken: BTreeSet<&'static [&'static str]>,
    /// Records that nothing waits for.
    pub unused: BTreeSet<(usize, usize)>,
}

/// "Recorded twice", "recorded nothing", and so on.
pub fn bind(pipeline: &Pipeline) -> Bound {
    let mut bound = Bound::default();
    let ops = pipeline.ops();
    let before = |at: (usize, usize), stream: usize| {
        (0..ops.len()).rev().find(|&op| ops[op].at < at && ops[op].stream == stream)
    };
    let after = |at: (usize, usize), stream: usize| {
        (0..ops.len()).find(|&op| ops[op].at > at && ops[op].stream == stream)
    };
    let marks = |wanted: fn(&Line) -> bool| {
        let places = pipeline.marks(wanted).into_iter();
        places.map(|at| (at, pipeline.stages[at.0].stream, &pipeline.stages[at.0].lines[at.1]))
    };
    let mut written = BTreeSet::new();
    let mut waited = BTreeSet::new();
    for (at, stream, line) in marks(|line| matches!(line, Line::Record(_))) {
        let Line::Record(event) = line else { continue };
        if !written.insert(event.clone()) {
            // An event must be recorded only once.
            bound.broken.insert(&["TW0803"]);
            continue;
        }
        match before(at, stream) {
            Some(op) => drop(bound.records.insert(event.clone(), op)),
            // A record stands for the operation before it on its stream.
            None => drop(bound.broken.insert(&["TW0804"])),
        }
    }
    for (at, stream, line) in marks(|line| matches!(line, Line::Wait(..))) {
        let Line::Wait(event, of) = line else { continue };
        waited.insert(event);
        let Some(&from) = bound.records.get(event) else {
            if !written.contains(event) {
                // An event that is waited for must be recorded.
                bound.broken.insert(&["TW0802"]);
            }
            continue;
        };
        let Some(to) = after(at, stream) else {
            // A wait holds back an operation after it on its stream.
            bound.broken.insert(&["TW0805"]);
            continue;
        };
        let in_time = match of {
            Of::This => from < to,
            // Right before an operation, its event still stands for an earlier chunk.
            Of::Previous | Of::Reuse => from >= to,
        };
        match (in_time, of) {
            (true, _) => bound.waits.push(Wait { event: event.clone(), of: *of, from, to, at }),
            // This chunk's event is waited for after it is recorded: a cycle, or just the wrong order.
            (false, Of::This) => drop(bound.broken.insert(&["TW0808", "TW0809"])),
            // An earlier chunk's event is waited for before the object is recorded for this one.
            (false, _) => drop(bound.broken.insert(&["TW0810"])),
        }
    }
    for (at, _, line) in marks(|line| matches!(line, Line::Record(_))) {
        if matches!(line, Line::Record(event) if !waited.contains(event)) {
            bound.unused.insert(at);
        }
    }
    bound
}

impl Bound {
    /// The calls that are enqueued: "a record stands for the operation before it, a wait holds back those
    /// after it".
    pub fn calls(&self, pipeline: &Pipeline, keep: impl Fn(usize) -> bool) -> Vec<Call> {
        let mut calls = Vec::new();
        for (op, placed) in pipeline.ops().iter().enumerate() {
            let stream = placed.stream;
            let waits = self.waits.iter().enumerate().filter(|(index, wait)| wait.to == op && keep(*index));
            calls.extend(waits.map(|(_, wait)| Call::Wait {
                stream,
                event: wait.event.clone(),
                of: wait.of,
            }));
            calls.push(Call::Op { op, stream });
            let records = self.records.iter().filter(|(_, recorded)| **recorded == op);
            calls.extend(records.map(|(event, _)| Call::Record { stream, event: event.clone() }));
        }
        calls
    }
}

/// The codes of the data flow's rules that are broken. They are judged before the events are.
pub fn data_flow(pipeline: &Pipeline) -> BTreeSet<&'static str> {
    let mut broken = BTreeSet::new();
    let mut written: Vec<bool> = pipeline.data.iter().map(|data| data.kind.is_shared()).collect();
    for placed in pipeline.ops() {
        let accesses = placed.op.what.accesses();
        for (index, &(data, reads, writes)) in accesses.iter().enumerate() {
            let kind = pipeline.data[data].kind;
            if reads && kind.is_ring() && !written[data] {
                broken.insert("TW0202");
            }
            if writes && kind == Kind::Resident {
                broken.insert("TW0210");
            }
            let aliased = |&(other, _, also): &(usize, bool, bool)| other == data && (writes || also);
            if accesses[..index].iter().any(aliased) {
                broken.insert("TW0506");
            }
        }
        accesses.iter().filter(|access| access.2).for_each(|access| written[access.0] = true);
    }
    let unwritten =
        |(data, kind): (usize, Kind)| matches!(kind, Kind::Output | Kind::InOut) && !written[data];
    if pipeline.data.iter().map(|data| data.kind).enumerate().any(unwritten) {
        broken.insert("TW0203");
    }
    broken
}
