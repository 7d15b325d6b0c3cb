//! The conflicts of a plan, and the order that it gives for them, compared with the model that checks the
//! scheduler.

#[path = "../../../macros/compiler/tests/common/model.rs"]
mod model;

use std::cell::Cell;
use std::ops::Range;

use model::{Enqueued, conflicts, programs, runner};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use thalweg::Plan;
use thalweg::plan::{
    AccessPlan, BufferKind, BufferPlan, Conflict, Distance, EventPlan, Hazard, HazardPlan, HostPlan, Link,
    Memory, OperationKind, OperationPlan, Ordered, Priority, StreamPlan, WaitPlan,
};
use thalweg_compiler::schedule::{
    self, Cause, Edge, OpId, Program, Schedule, StorageKind, StreamKind, required,
};

const PROGRAMS: u32 = 5_000;

fn leaked<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    Vec::leak(items.into_iter().collect())
}

fn name(letter: char, index: usize) -> &'static str {
    String::leak(format!("{letter}{index}"))
}

fn distance(distance: schedule::Distance) -> Distance {
    match distance {
        schedule::Distance::Same => Distance::Same,
        schedule::Distance::Previous => Distance::Previous,
        schedule::Distance::Reuse => Distance::Reuse,
    }
}

/// Host data come first: this is how a pipeline numbers them.
fn hazards(program: &Program, causes: &[Cause]) -> Vec<HazardPlan> {
    let hazard = |cause: &Cause| {
        let hazard = match cause.hazard {
            schedule::Hazard::ReadAfterWrite => Hazard::ReadAfterWrite,
            schedule::Hazard::WriteAfterRead => Hazard::WriteAfterRead,
            schedule::Hazard::WriteAfterWrite => Hazard::WriteAfterWrite,
        };
        HazardPlan::new(name('m', cause.storage.0 as usize), hazard)
    };
    let is_host = |cause: &&Cause| program.storages[cause.storage.0 as usize] == StorageKind::Host;
    let (hosts, buffers): (Vec<_>, Vec<_>) = causes.iter().partition(is_host);
    hosts.into_iter().chain(buffers).map(hazard).collect()
}

/// The plan of a pipeline with this program. Storages keep their numbers among the hosts and the buffers.
fn plan(program: &Program, schedule: &Schedule) -> Plan {
    let numbered = || (0..program.storages.len()).map(|index| (index, name('m', index)));
    let stream = |(index, kind): (usize, &StreamKind)| {
        StreamPlan::new(name('s', index), Priority::Default, *kind == StreamKind::PerSlot, false, false)
    };
    let buffer = |(index, name)| {
        let kind =
            if program.storages[index] == StorageKind::Shared { BufferKind::Carry } else { BufferKind::Ring };
        BufferPlan::new(name, kind, 1, 1)
    };
    let operation = |(index, op): (usize, &schedule::Op)| {
        let accesses = leaked(op.accesses.iter().map(|access| {
            let storage = access.storage.0 as usize;
            let is_host = program.storages[storage] == StorageKind::Host;
            let memory = if is_host { Memory::Host(storage) } else { Memory::Buffer(storage) };
            AccessPlan::new(memory, access.reads, access.writes)
        }));
        let (stream, text) = (op.stream.0 as usize, name('o', index));
        OperationPlan::new(0, stream, text, OperationKind::Then, false, None, accesses, 1, 1)
    };
    let wait = |edge: &Edge| {
        let event = schedule.records.iter().position(|record| *record == edge.from).unwrap();
        let hazards = Vec::leak(hazards(program, &edge.causes));
        WaitPlan::new(edge.to.0 as usize, event, distance(edge.distance), hazards)
    };
    let event = |record: &OpId| EventPlan::new(name('e', record.0 as usize), record.0 as usize);
    Plan::new(
        "P",
        "p.rs",
        1,
        1,
        leaked(program.streams.iter().enumerate().map(stream)),
        &["all"],
        leaked(numbered().map(|(_, name)| HostPlan::new(name, true, true, false, 1, 1))),
        leaked(numbered().map(buffer)),
        leaked(program.ops.iter().enumerate().map(operation)),
        leaked(schedule.records.iter().map(event)),
        leaked(schedule.waits.iter().map(wait)),
    )
}

fn one(operation: &Range<usize>) -> usize {
    assert_eq!(operation.len(), 1, "nothing repeats");
    operation.start
}

/// Every conflict of the model is in the list, and the scheduler was asked to order exactly the list.
fn check_complete(program: &Program, found: &[Conflict]) -> TestCaseResult {
    const DEPTH: usize = 3;
    let has = |from, to, distance| {
        found.iter().any(|c| (one(&c.from), one(&c.to), c.distance) == (from, to, distance))
    };
    for ((from, chunk), (to, later)) in conflicts(program, DEPTH) {
        let listed = match later - chunk {
            0 => has(from, to, Distance::Same),
            1 => has(from, to, Distance::Previous),
            DEPTH => has(from, to, Distance::Reuse) || has(from, to, Distance::Previous),
            // Orders that follow from nearer ones are left out.
            _ => continue,
        };
        prop_assert!(listed, "{from} of {chunk} and {to} of {later} are in conflict");
    }
    let listed: Vec<_> =
        found.iter().map(|c| (one(&c.from), c.distance, one(&c.to), c.hazards.clone())).collect();
    let asked = required(program).into_iter().map(|edge| {
        (edge.from.0 as usize, distance(edge.distance), edge.to.0 as usize, hazards(program, &edge.causes))
    });
    prop_assert_eq!(listed, asked.collect::<Vec<_>>());
    Ok(())
}

/// The steps join, each holds, and together they are as long as the conflict; by them alone the model orders
/// the two.
fn check_path(program: &Program, schedule: &Schedule, plan: &Plan, conflict: &Conflict) -> TestCaseResult {
    let Ordered::Path(steps) = &conflict.ordered else {
        prop_assert!(false, "{conflict:?} is not ordered");
        return Ok(());
    };
    let mut at = one(&conflict.from);
    let mut crossings = Vec::new();
    let mut waits = Vec::new();
    for step in steps {
        let (from, to) = (one(&step.from), one(&step.to));
        prop_assert_eq!(from, at);
        at = to;
        crossings.extend((step.distance != Distance::Same).then_some(step.distance));
        match step.link {
            Link::Wait(index) => {
                let wait = plan.waits[index];
                let ends = (plan.events[wait.event].operation, wait.operation, wait.distance);
                prop_assert_eq!(ends, (from, to, step.distance));
                waits.push(&schedule.waits[index]);
            }
            Link::Stream(stream) => {
                prop_assert_eq!((plan.operations[from].stream, plan.operations[to].stream), (stream, stream));
                let holds = match step.distance {
                    Distance::Same => from < to,
                    Distance::Previous => program.streams[stream] == StreamKind::Fixed,
                    Distance::Reuse => true,
                    _ => false,
                };
                prop_assert!(holds, "{step:?} is not stream order");
            }
            _ => prop_assert!(false, "{step:?} is of another kind"),
        }
    }
    prop_assert_eq!(at, one(&conflict.to));
    let slot_by_chunk = conflict.distance == Distance::Reuse && crossings == [Distance::Previous];
    match conflict.distance {
        Distance::Same => prop_assert!(crossings.is_empty()),
        _ => prop_assert!(slot_by_chunk || crossings == [conflict.distance]),
    }
    let all: Vec<&Edge> = schedule.waits.iter().collect();
    for depth in 1..=4 {
        let later = match conflict.distance {
            Distance::Same => 0,
            Distance::Previous => 1,
            Distance::Reuse => depth,
            _ => unreachable!("no conflict has another distance"),
        };
        // Going round the ring needs the order from the second to the first within one chunk, too.
        let by = if slot_by_chunk { &all } else { &waits };
        let records: &[OpId] = &schedule.records;
        let run = Enqueued::new(program, by, records, depth, later + 1);
        let ordered = run.is_before((one(&conflict.from), 0), (one(&conflict.to), later));
        prop_assert!(ordered, "{conflict:?} races at depth {depth}");
        if slot_by_chunk && conflict.from != conflict.to {
            let round = run.is_before((one(&conflict.to), 0), (one(&conflict.from), 0));
            prop_assert!(round, "{conflict:?} does not go round");
        }
    }
    Ok(())
}

#[test]
fn every_conflict_is_listed_with_what_orders_it() {
    let [seen, paths, by_chunk] = [const { Cell::new(0_u32) }; 3];
    let check = |program: Program| -> TestCaseResult {
        let schedule = schedule::schedule(&program);
        let plan = plan(&program, &schedule);
        let found = plan.conflicts();
        check_complete(&program, &found)?;
        let mut own = vec![0; plan.waits.len()];
        for conflict in &found {
            if let Ordered::Wait(index) = conflict.ordered {
                let wait = plan.waits[index];
                let ends = (plan.events[wait.event].operation, wait.operation, wait.distance);
                prop_assert_eq!(ends, (one(&conflict.from), one(&conflict.to), conflict.distance));
                prop_assert_eq!(wait.hazards, &conflict.hazards[..]);
                own[index] += 1;
                continue;
            }
            check_path(&program, &schedule, &plan, conflict)?;
            paths.set(paths.get() + 1);
            if let Ordered::Path(steps) = &conflict.ordered {
                let shorter = steps.iter().any(|step| step.distance == Distance::Previous);
                by_chunk.set(by_chunk.get() + u32::from(conflict.distance == Distance::Reuse && shorter));
            }
        }
        prop_assert!(own.iter().all(|&count| count == 1), "each wait is for one conflict");
        // One paragraph for each, and two that begin the parts.
        let text = plan.explain();
        let parts = usize::from(!plan.waits.is_empty()) + usize::from(found.len() > plan.waits.len());
        prop_assert_eq!(text.matches("\n\n").count(), found.len() + parts);
        seen.set(seen.get() + 1);
        Ok(())
    };
    runner(PROGRAMS).run(&programs(), check).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(seen.get(), PROGRAMS);
    assert!(
        paths.get() > 10_000 && by_chunk.get() > 10,
        "{} paths, {} by chunks",
        paths.get(),
        by_chunk.get()
    );
}
