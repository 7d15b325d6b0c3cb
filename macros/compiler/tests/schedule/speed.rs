//! How long scheduling takes: `cargo test --test schedule speed -- --ignored --nocapture`.

use std::time::Instant;

use thalweg_compiler::schedule::*;

fn access(storage: u32, reads: bool, writes: bool) -> Access {
    Access { storage: StorageId(storage), reads, writes }
}

/// Stages in a row, each of three operations on its own stream, that hand a ring buffer on.
fn chain(stages: u32) -> Program {
    let op = |index: u32| Op {
        stream: StreamId(index / 3),
        accesses: vec![access(index, true, false), access(index + 1, false, true)],
    };
    Program {
        streams: vec![StreamKind::Fixed; stages as usize],
        storages: vec![StorageKind::Ring; 3 * stages as usize + 1],
        ops: (0..3 * stages).map(op).collect(),
    }
}

/// Operations that all update one ring buffer and one carry, on a few streams of both kinds.
fn knot(ops: u32) -> Program {
    let op = |index: u32| Op {
        stream: StreamId(index % 4),
        accesses: vec![access(0, true, true), access(1, true, true)],
    };
    Program {
        streams: vec![StreamKind::Fixed, StreamKind::PerSlot, StreamKind::Fixed, StreamKind::PerSlot],
        storages: vec![StorageKind::Ring, StorageKind::Shared],
        ops: (0..ops).map(op).collect(),
    }
}

#[test]
#[ignore = "benchmark"]
fn time_of_large_programs() {
    let programs = [
        ("chain, 20 operations", chain(7)),
        ("chain, 150 operations", chain(50)),
        ("chain, 600 operations", chain(200)),
        ("knot, 20 operations", knot(20)),
        ("knot, 150 operations", knot(150)),
        ("knot, 600 operations", knot(600)),
    ];
    for (name, program) in programs {
        let start = Instant::now();
        let plan = schedule(&program);
        let time = start.elapsed();
        println!("{name}: {} waits, {} edges implied, {time:?}", plan.waits.len(), implied(&program).len());
    }
}
