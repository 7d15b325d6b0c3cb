//! Random programs, and a brute-force model of CUDA that enqueues them.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use thalweg_compiler::schedule::*;

/// The instances that were enqueued, and those that must be complete before each of them starts.
pub struct Enqueued {
    ops: usize,
    /// For each instance, one bit for each instance before it.
    before: Vec<u128>,
}

impl Enqueued {
    /// Enqueues `chunks` chunks of `program` on a ring of `depth` slots.
    pub fn new(program: &Program, waits: &[&Edge], records: &[OpId], depth: usize, chunks: usize) -> Self {
        let ops = program.ops.len();
        assert!(ops * chunks <= 128, "an instance needs its bit");
        let mut before: Vec<u128> = Vec::new();
        let mut tails: HashMap<(u32, usize), usize> = HashMap::new();
        let mut events: HashMap<(OpId, usize), usize> = HashMap::new();
        for chunk in 0..chunks {
            for (index, op) in program.ops.iter().enumerate() {
                let (id, instance) = (OpId(index as u32), chunk * ops + index);
                let mut done = 0;
                for wait in waits.iter().filter(|wait| wait.to == id) {
                    let slot = match wait.distance {
                        Distance::Same | Distance::Reuse => chunk % depth,
                        Distance::Previous => (chunk + depth - 1) % depth,
                    };
                    // A wait for an event that was never recorded does nothing.
                    if let Some(&recorded) = events.get(&(wait.from, slot)) {
                        done |= before[recorded] | 1 << recorded;
                    }
                }
                let queue = match program.streams[op.stream.0 as usize] {
                    StreamKind::Fixed => 0,
                    StreamKind::PerSlot => chunk % depth,
                };
                if let Some(tail) = tails.insert((op.stream.0, queue), instance) {
                    done |= before[tail] | 1 << tail;
                }
                before.push(done);
                if records.contains(&id) {
                    events.insert((id, chunk % depth), instance);
                }
            }
        }
        Self { ops, before }
    }

    pub fn is_before(&self, first: (usize, usize), second: (usize, usize)) -> bool {
        let instance = |(op, chunk)| chunk * self.ops + op;
        self.before[instance(second)] >> instance(first) & 1 == 1
    }
}

/// Whether two instances `(op, chunk)` touch the same memory and one writes it.
pub fn conflict(program: &Program, depth: usize, first: (usize, usize), second: (usize, usize)) -> bool {
    let accesses = |(op, chunk): (usize, usize)| {
        program.ops[op].accesses.iter().map(move |access| {
            let part = match program.storages[access.storage.0 as usize] {
                StorageKind::Ring => chunk % depth,
                StorageKind::Shared => 0,
                StorageKind::Host => chunk,
            };
            (access.storage, part, access)
        })
    };
    accesses(first).any(|(storage, part, one)| {
        accesses(second).any(|(other_storage, other_part, other)| {
            let either_writes = one.writes || other.writes;
            (storage, part) == (other_storage, other_part)
                && either_writes
                && (one.reads || one.writes)
                && (other.reads || other.writes)
        })
    })
}

pub fn chunks(depth: usize) -> usize {
    3 * depth + 3
}

/// All pairs of conflicting instances, in the order in which they are enqueued.
pub fn conflicts(program: &Program, depth: usize) -> Vec<((usize, usize), (usize, usize))> {
    let instances = || (0..chunks(depth)).flat_map(|chunk| (0..program.ops.len()).map(move |op| (op, chunk)));
    let mut found = Vec::new();
    for (place, first) in instances().enumerate() {
        for second in instances().skip(place + 1) {
            if conflict(program, depth, first, second) {
                found.push((first, second));
            }
        }
    }
    found
}

pub fn programs() -> impl Strategy<Value = Program> {
    let streams = vec(prop_oneof![Just(StreamKind::Fixed), Just(StreamKind::PerSlot)], 1..=4);
    let kinds = prop_oneof![
        3 => Just(StorageKind::Ring),
        2 => Just(StorageKind::Shared),
        1 => Just(StorageKind::Host),
    ];
    let storages = vec(kinds, 1..=5);
    let access = (any::<prop::sample::Index>(), 0..4u8);
    let op = (any::<prop::sample::Index>(), vec(access, 0..=3));
    (streams, storages, vec(op, 1..=8)).prop_map(|(streams, storages, ops)| {
        let ops = ops
            .into_iter()
            .map(|(stream, accesses)| Op {
                stream: StreamId(stream.index(streams.len()) as u32),
                accesses: accesses
                    .into_iter()
                    .map(|(storage, how)| Access {
                        storage: StorageId(storage.index(storages.len()) as u32),
                        reads: how % 2 == 0,
                        writes: how >= 2,
                    })
                    .collect(),
            })
            .collect();
        Program { streams, storages, ops }
    })
}

/// The same programs on every run, so that a failure is one for everybody.
pub fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}
