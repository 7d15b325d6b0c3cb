//! The scheduler against a brute-force model of CUDA that shares no code with it.
//!
//! The model enqueues the chunks of a random program at concrete depths, on streams that are queues, with
//! events that are objects: a record makes the event mean that point of the stream, a wait takes what the
//! event means at that moment. Then it looks at every pair of instances that touch the same memory.

use crate::model;

use std::cell::Cell;
use std::ops::RangeInclusive;

use model::{Enqueued, chunks, conflict, conflicts, programs, runner};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use thalweg_compiler::schedule::*;

const PROGRAMS: u32 = 30_000;
const DEPTHS: RangeInclusive<usize> = 1..=4;

fn count(counter: &Cell<u64>, more: usize) {
    counter.set(counter.get() + more as u64);
}

#[test]
fn every_conflict_is_ordered_and_every_wait_is_needed() {
    let [programs_seen, conflicts_seen, waits_seen, implied_seen] = [const { Cell::new(0) }; 4];
    let check = |program: Program| -> TestCaseResult {
        let plan = schedule(&program);
        let waits: Vec<&Edge> = plan.waits.iter().collect();
        let mut needed = vec![false; waits.len()];
        for depth in DEPTHS {
            let chunks = chunks(depth);
            let conflicts = conflicts(&program, depth);
            let run = Enqueued::new(&program, &waits, &plan.records, depth, chunks);
            for &(first, second) in &conflicts {
                prop_assert!(run.is_before(first, second), "{first:?} races {second:?} at depth {depth}");
            }
            count(&conflicts_seen, conflicts.len());

            for (index, wait) in waits.iter().enumerate() {
                let distance = match wait.distance {
                    Distance::Same => 0,
                    Distance::Previous => 1,
                    Distance::Reuse => depth,
                };
                let ends = ((wait.from.0 as usize, 0), (wait.to.0 as usize, distance));
                prop_assert!(conflict(&program, depth, ends.0, ends.1), "{wait:?} orders no conflict");
                if !needed[index] {
                    let mut others = waits.clone();
                    others.remove(index);
                    let run = Enqueued::new(&program, &others, &plan.records, depth, chunks);
                    needed[index] = conflicts.iter().any(|&(first, second)| !run.is_before(first, second));
                }
            }
        }
        for (wait, needed) in waits.iter().zip(needed) {
            prop_assert!(needed, "{wait:?} can be spared at every depth");
        }
        for record in &plan.records {
            prop_assert!(waits.iter().any(|wait| wait.from == *record), "nothing waits for {record:?}");
        }
        // The event is looked up when the wait is enqueued, so it must not have been recorded anew.
        for wait in &waits {
            let in_time = match wait.distance {
                Distance::Same => wait.from < wait.to,
                Distance::Previous => wait.from >= wait.to,
                Distance::Reuse => wait.from > wait.to,
            };
            prop_assert!(in_time, "{wait:?} finds a record of the wrong chunk");
        }
        let explained = implied(&program);
        let mut all: Vec<Edge> = plan.waits.clone();
        all.extend(explained.iter().map(|implied| implied.edge.clone()));
        all.sort_by_key(|edge| (edge.from, edge.distance, edge.to));
        prop_assert_eq!(all, required(&program));
        for implied in &explained {
            check_explanation(&program, &plan.waits, implied)?;
        }
        count(&programs_seen, 1);
        count(&waits_seen, waits.len());
        count(&implied_seen, explained.len());
        Ok(())
    };
    runner(PROGRAMS).run(&programs(), check).unwrap_or_else(|failure| panic!("{failure}"));
    say!(
        "{} random programs, depths {DEPTHS:?}: {} conflicts ordered, {} events needed, {} edges implied",
        programs_seen.get(),
        conflicts_seen.get(),
        waits_seen.get(),
        implied_seen.get(),
    );
    assert!(programs_seen.get() >= 10_000);
}

/// Whether the path is one: its steps join, and each is stream order or a wait of the schedule.
fn check_explanation(program: &Program, waits: &[Edge], implied: &Implied) -> TestCaseResult {
    let Edge { from, to, distance, .. } = implied.edge;
    let own = [Step { from, to, distance, link: Link::Stream }];
    let path = match &implied.why {
        Why::Stream => &own[..],
        Why::Path(path) => path,
    };
    let mut at = from;
    let mut crossings = Vec::new();
    for step in path {
        prop_assert_eq!(step.from, at);
        at = step.to;
        crossings.extend((step.distance != Distance::Same).then_some(step.distance));
        let stream = |op: OpId| program.ops[op.0 as usize].stream;
        let fixed = program.streams[stream(step.from).0 as usize] == StreamKind::Fixed;
        let holds = match step.link {
            Link::Wait => waits
                .iter()
                .any(|wait| (wait.from, wait.to, wait.distance) == (step.from, step.to, step.distance)),
            Link::Stream => {
                stream(step.from) == stream(step.to)
                    && match step.distance {
                        Distance::Same => step.from < step.to,
                        Distance::Previous => fixed,
                        Distance::Reuse => true,
                    }
            }
        };
        prop_assert!(holds, "{step:?} of {implied:?} does not hold");
    }
    prop_assert_eq!(at, to);
    let adds_up = match distance {
        Distance::Same => crossings.is_empty(),
        Distance::Previous => crossings == [Distance::Previous],
        Distance::Reuse => crossings == [Distance::Reuse] || crossings == [Distance::Previous],
    };
    prop_assert!(adds_up, "{implied:?} is not as long as its edge");
    Ok(())
}

/// Any waits that find the record they name, as a user might write them.
fn programs_with_waits() -> impl Strategy<Value = (Program, Vec<Edge>)> {
    let wait = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3u8);
    (programs(), vec(wait, 0..=6)).prop_map(|(mut program, waits)| {
        program.ops.truncate(6);
        let ops = program.ops.len();
        let edges = waits
            .into_iter()
            .filter_map(|(one, other, distance)| {
                let (one, other) = (OpId(one.index(ops) as u32), OpId(other.index(ops) as u32));
                let (low, high) = (one.min(other), one.max(other));
                let edge = |from, to, distance| Edge { from, to, distance, causes: Vec::new() };
                match distance {
                    0 if low < high => Some(edge(low, high, Distance::Same)),
                    1 => Some(edge(high, low, Distance::Previous)),
                    2 if low < high => Some(edge(high, low, Distance::Reuse)),
                    _ => None,
                }
            })
            .collect();
        (program, edges)
    })
}

#[test]
fn order_is_what_every_depth_has_in_common() {
    const CASES: u32 = 3_000;
    const DEPTHS: RangeInclusive<usize> = 1..=7;

    let [cases_seen, ordered_seen, unordered_seen, redundant_seen] = [const { Cell::new(0) }; 4];
    let ordered_at_every_depth = |program: &Program, edges: &[&Edge], from: usize, to: usize, distance| {
        let records: Vec<OpId> = (0..program.ops.len() as u32).map(OpId).collect();
        DEPTHS.into_iter().all(|depth| {
            let later = match distance {
                Distance::Same => 0,
                Distance::Previous => 1,
                Distance::Reuse => depth,
            };
            let run = Enqueued::new(program, edges, &records, depth, later + 1);
            run.is_before((from, 0), (to, later))
        })
    };
    let check = |(program, edges): (Program, Vec<Edge>)| -> TestCaseResult {
        let order = Order::new(&program, &edges);
        let waits: Vec<&Edge> = edges.iter().collect();
        for from in 0..program.ops.len() {
            for to in 0..program.ops.len() {
                for distance in [Distance::Same, Distance::Previous, Distance::Reuse] {
                    let claimed = order.orders(OpId(from as u32), OpId(to as u32), distance);
                    let itself = distance == Distance::Same && from == to;
                    let found = itself || ordered_at_every_depth(&program, &waits, from, to, distance);
                    prop_assert_eq!(claimed, found, "{} -> {} at {:?}", from, to, distance);
                    count(if claimed { &ordered_seen } else { &unordered_seen }, 1);
                }
            }
        }
        for wait in &edges {
            let twin =
                |other: &&Edge| (other.from, other.to, other.distance) == (wait.from, wait.to, wait.distance);
            let others: Vec<&Edge> = edges.iter().filter(|other| !twin(other)).collect();
            let claimed = order.implies(wait.from, wait.to, wait.distance);
            let (from, to) = (wait.from.0 as usize, wait.to.0 as usize);
            let found = ordered_at_every_depth(&program, &others, from, to, wait.distance);
            prop_assert_eq!(claimed, found, "redundancy of {:?}", wait);
            count(&redundant_seen, usize::from(claimed));
        }
        count(&cases_seen, 1);
        Ok(())
    };
    runner(CASES).run(&programs_with_waits(), check).unwrap_or_else(|failure| panic!("{failure}"));
    say!(
        "{} random sets of waits, depths {DEPTHS:?}: {} pairs ordered, {} not, {} waits redundant",
        cases_seen.get(),
        ordered_seen.get(),
        unordered_seen.get(),
        redundant_seen.get(),
    );
    assert!(cases_seen.get() >= 3_000);
}
