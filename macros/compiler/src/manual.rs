//! Phase 4 for `sync = manual`: the user's own records and waits, checked against what the hazards demand.
//!
//! The requirement is the one that `sync = auto` meets: every conflict ordered. A missing order is an error
//! that names both operations and what to write; a wait that something else implies is a warning that names
//! what does.

mod findings;

use proc_macro2::Ident;

use crate::diagnostics::Diagnostics;
use crate::lower::Lowered;
use crate::resolve::{Mark, MarkKind, Program, Sync, WaitOf};
use crate::schedule::{self, Distance, Edge, Link, OpId, Order, Schedule};
use findings::Findings;

/// A wait of the user's whose both ends are known.
pub(crate) struct Wait<'p> {
    mark: &'p Mark,
    /// The edge from the operation whose event it is to the operation that waits.
    edge: Edge,
}

/// Checks the user's events and gives the schedule that they are.
pub fn schedule(program: &Program, lowered: &Lowered, diagnostics: &mut Diagnostics) -> Schedule {
    let hazards = &lowered.hazards;
    let Sync::Manual(marks) = &program.sync else { return schedule::schedule(hazards) };
    let mut findings = Findings { program, lowered, diagnostics };
    let records = records(marks, &mut findings);
    let (waits, early) = waits(marks, &records, &mut findings);
    unused(marks, &mut findings);

    let required = schedule::required(hazards);
    let edges: Vec<Edge> = waits
        .iter()
        .map(|wait| {
            let same = required.iter().find(|edge| same_ends(edge, &wait.edge));
            Edge { causes: same.map(|edge| edge.causes.clone()).unwrap_or_default(), ..wait.edge.clone() }
        })
        .collect();
    let order = Order::new(hazards, &edges);
    for wait in &early {
        // The operation that waits comes first, by way of another wait: each is held back for the other.
        let round = order.path(wait.edge.to, wait.edge.from, Distance::Same);
        let round = round.filter(|steps| steps.iter().any(|step| step.link == Link::Wait));
        findings.too_early(wait, round.as_deref());
    }
    // A race that a misplaced wait leaves open is that wait's problem.
    if findings.diagnostics.has_errors() {
        return Schedule { waits: edges, records: Vec::new() };
    }
    // The waits of the smallest schedule imply all others, so each of them that is missing is a problem of
    // its own.
    let least = schedule::schedule(hazards);
    for edge in least.waits.iter().filter(|edge| !order.orders(edge.from, edge.to, edge.distance)) {
        findings.missing(edge, &records);
    }
    redundant(hazards, &waits, &mut findings);

    let mut records: Vec<OpId> = records.iter().map(|&(_, op)| op).collect();
    records.sort_unstable();
    records.dedup();
    let mut edges = edges;
    edges.sort_by_key(|edge| (edge.from, edge.distance, edge.to));
    edges.dedup_by(|a, b| same_ends(a, b));
    Schedule { waits: edges, records }
}

/// Each event with the operation after which it is recorded.
fn records<'p>(marks: &'p [Mark], findings: &mut Findings<'_>) -> Vec<(&'p Ident, OpId)> {
    let mut records: Vec<(&Ident, OpId)> = Vec::new();
    let mut seen: Vec<&Mark> = Vec::new();
    for mark in marks.iter().filter(|mark| mark.kind == MarkKind::Record) {
        if let Some(first) = seen.iter().find(|first| first.event == mark.event) {
            findings.recorded_twice(mark, first);
            continue;
        }
        seen.push(mark);
        match findings.op_of(mark) {
            Some(op) => records.push((&mark.event, op)),
            None => findings.records_nothing(mark),
        }
    }
    records
}

/// The waits whose both ends exist: those that stand in the right order, and those for an event of this chunk
/// that is recorded later.
fn waits<'p>(
    marks: &'p [Mark],
    records: &[(&Ident, OpId)],
    findings: &mut Findings<'_>,
) -> (Vec<Wait<'p>>, Vec<Wait<'p>>) {
    let mut waits = Vec::new();
    let mut early = Vec::new();
    for mark in marks {
        let MarkKind::Wait(of) = mark.kind else { continue };
        let from = match records.iter().find(|(event, _)| **event == mark.event) {
            Some(&(_, from)) => from,
            None => {
                // A record with no operation before it was reported.
                if !marks.iter().any(|other| other.kind == MarkKind::Record && other.event == mark.event) {
                    findings.never_recorded(mark, records);
                }
                continue;
            }
        };
        let Some(to) = findings.op_of(mark) else {
            findings.nothing_waits(mark);
            continue;
        };
        let edge = Edge { from, to, distance: distance(of), causes: Vec::new() };
        match (edge.finds_its_record(), of) {
            (true, _) => waits.push(Wait { mark, edge }),
            (false, WaitOf::This) => early.push(Wait { mark, edge }),
            (false, _) => findings.too_late(mark),
        }
    }
    (waits, early)
}

/// Reports events that no operation waits for.
fn unused(marks: &[Mark], findings: &mut Findings<'_>) {
    for mark in marks.iter().filter(|mark| mark.kind == MarkKind::Record) {
        let waited = |other: &Mark| other.kind != MarkKind::Record && other.event == mark.event;
        if !marks.iter().any(waited) && !mark.event.to_string().starts_with('_') {
            findings.never_waited_for(mark);
        }
    }
}

/// Waits that the others, or the streams themselves, imply. They are judged one after another, without those
/// already found to be redundant, so that one of two that imply each other stays.
fn redundant(hazards: &schedule::Program, waits: &[Wait<'_>], findings: &mut Findings<'_>) {
    let mut kept: Vec<bool> = vec![true; waits.len()];
    for index in (0..waits.len()).rev() {
        let others = waits.iter().enumerate().filter(|&(other, _)| kept[other] && other != index);
        let others: Vec<Edge> = others.map(|(_, wait)| wait.edge.clone()).collect();
        let order = Order::new(hazards, &others);
        let Edge { from, to, distance, .. } = waits[index].edge;
        if order.orders(from, to, distance) {
            kept[index] = false;
            findings.redundant(&waits[index], order.path(from, to, distance));
        }
    }
}

fn same_ends(a: &Edge, b: &Edge) -> bool {
    (a.from, a.to, a.distance) == (b.from, b.to, b.distance)
}

fn distance(of: WaitOf) -> Distance {
    match of {
        WaitOf::This => Distance::Same,
        WaitOf::Previous => Distance::Previous,
        WaitOf::Reuse => Distance::Reuse,
    }
}
