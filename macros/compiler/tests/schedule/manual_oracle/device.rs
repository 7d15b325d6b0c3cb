//! The model: CUDA's queues and events, carried out for a number of chunks at a given depth.
//!
//! A stream is a queue: each operation waits for all that were enqueued before it. An event is an object, one
//! for each name and ring slot: a record makes it stand for what its queue holds at that moment, and a wait
//! waits for what it stands for at that moment, which is nothing before the first record.

use std::collections::{BTreeMap, BTreeSet};

use super::pipeline::{Kind, Line, Of, Pipeline};

/// A call of the host for a chunk; calls are made in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    Op { op: usize, stream: usize },
    Wait { stream: usize, event: String, of: Of },
    Record { stream: usize, event: String },
}

/// A set of instances, one bit for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn insert(&mut self, instance: usize) {
        if self.0.len() <= instance / 64 {
            self.0.resize(instance / 64 + 1, 0);
        }
        self.0[instance / 64] |= 1 << (instance % 64);
    }

    fn contains(&self, instance: usize) -> bool {
        self.0.get(instance / 64).is_some_and(|word| word >> (instance % 64) & 1 == 1)
    }

    fn extend(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }
}

/// The result of enqueuing: for each instance, all that is complete before it starts.
#[derive(Debug, PartialEq, Eq)]
pub struct Execution {
    ops: usize,
    pub chunks: usize,
    before: Vec<Set>,
}

impl Execution {
    /// Enqueues `calls` for `chunks` chunks on a ring of `depth` slots.
    pub fn new(pipeline: &Pipeline, calls: &[Call], depth: usize, chunks: usize) -> Self {
        let ops = calls.iter().filter(|call| matches!(call, Call::Op { .. })).count();
        let mut before = vec![Set::default(); ops * chunks];
        let mut queues: BTreeMap<(usize, usize), Set> = BTreeMap::new();
        let mut events: BTreeMap<(&str, usize), Set> = BTreeMap::new();
        for chunk in 0..chunks {
            let queue = |stream: usize| {
                let per_slot = pipeline.streams[stream].per_slot;
                (stream, if per_slot { chunk % depth } else { 0 })
            };
            for call in calls {
                match call {
                    Call::Op { op, stream } => {
                        let queue = queues.entry(queue(*stream)).or_default();
                        let instance = chunk * ops + op;
                        before[instance] = queue.clone();
                        queue.insert(instance);
                    }
                    Call::Wait { stream, event, of } => {
                        // The first chunks have no chunk before them, or none that used their slot.
                        let Some(earlier) = chunk.checked_sub(of.chunks(depth)) else { continue };
                        if let Some(meant) = events.get(&(event.as_str(), earlier % depth)) {
                            queues.entry(queue(*stream)).or_default().extend(meant);
                        }
                    }
                    Call::Record { stream, event } => {
                        let queue = queues.entry(queue(*stream)).or_default();
                        events.insert((event, chunk % depth), queue.clone());
                    }
                }
            }
        }
        Self { ops, chunks, before }
    }

    /// Whether `first` is complete before `second` starts, each an operation and its chunk.
    pub fn is_before(&self, first: (usize, usize), second: (usize, usize)) -> bool {
        self.before[second.1 * self.ops + second.0].contains(first.1 * self.ops + first.0)
    }

    /// Whether `from` is before `to`, so many chunks later, for every chunk.
    pub fn orders(&self, from: usize, to: usize, later: usize) -> bool {
        (later..self.chunks).all(|chunk| self.is_before((from, chunk - later), (to, chunk)))
    }
}

/// Enough chunks for every slot to be used three times and more.
pub fn chunks(depth: usize) -> usize {
    3 * depth + 3
}

/// The pairs of operations that touch the same data such that one of them writes.
pub struct Conflicts {
    /// For each two operations, the data.
    of: Vec<Vec<Vec<usize>>>,
    kinds: Vec<Kind>,
}

impl Conflicts {
    pub fn of(pipeline: &Pipeline) -> Self {
        let accesses: Vec<_> = pipeline.ops().iter().map(|placed| placed.op.what.accesses()).collect();
        let both = |one: &[(usize, bool, bool)], other: &[(usize, bool, bool)]| {
            let mut data = BTreeSet::new();
            for &(first, _, first_writes) in one {
                for &(second, _, second_writes) in other {
                    if first == second && (first_writes || second_writes) {
                        data.insert(first);
                    }
                }
            }
            data.into_iter().collect()
        };
        let of = accesses.iter().map(|one| accesses.iter().map(|other| both(one, other)).collect()).collect();
        Self { of, kinds: pipeline.data.iter().map(|data| data.kind).collect() }
    }

    /// Whether these two, so many chunks apart, touch the same memory.
    pub fn clash(&self, first: usize, second: usize, apart: usize, depth: usize) -> bool {
        self.of[first][second].iter().any(|&data| self.is_same_memory(data, apart, depth))
    }

    /// Whether these two, so many chunks apart, touch the same memory of this data.
    pub fn clash_at(&self, data: usize, first: usize, second: usize, apart: usize, depth: usize) -> bool {
        self.of[first][second].contains(&data) && self.is_same_memory(data, apart, depth)
    }

    fn is_same_memory(&self, data: usize, apart: usize, depth: usize) -> bool {
        let kind = self.kinds[data];
        if kind.is_shared() {
            true
        } else if kind.is_ring() {
            apart.is_multiple_of(depth)
        } else {
            // Host data: each chunk has its own part.
            apart == 0
        }
    }

    /// Two instances, operation and chunk, that touch the same memory in no order.
    pub fn race(&self, run: &Execution, depth: usize) -> Option<((usize, usize), (usize, usize))> {
        for chunk in 0..run.chunks {
            for (op, others) in self.of.iter().enumerate() {
                for earlier in 0..=chunk {
                    // In the same chunk, only the operations enqueued before it count.
                    let count = if earlier == chunk { op } else { others.len() };
                    let race = (0..count).find(|&other| {
                        self.clash(other, op, chunk - earlier, depth)
                            && !run.is_before((other, earlier), (op, chunk))
                    });
                    if let Some(other) = race {
                        return Some(((other, earlier), (op, chunk)));
                    }
                }
            }
        }
        None
    }
}

/// The lines as they are written, each enqueued where it stands.
pub fn as_written(pipeline: &Pipeline) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut ops = 0;
    for stage in &pipeline.stages {
        for line in &stage.lines {
            let stream = stage.stream;
            calls.push(match line {
                Line::Op(op) => {
                    ops += 1;
                    Call::Op { op: ops - 1, stream: op.on.unwrap_or(stream) }
                }
                Line::Wait(event, of) => Call::Wait { stream, event: event.clone(), of: *of },
                Line::Record(event) => Call::Record { stream, event: event.clone() },
            });
        }
    }
    calls
}
