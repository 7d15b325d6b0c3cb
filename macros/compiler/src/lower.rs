//! From names to hazards: the [`Program`] as the scheduler sees it, ids only.

use std::ops::Range;

use crate::resolve::{Buffer, BufferId, Mode, Operation, OperationKind, Program};
use crate::schedule::{
    Access, Edge, Op, OpId, Program as Hazards, Schedule, StorageId, StorageKind, StreamId, StreamKind,
};

/// A program as the scheduler sees it.
pub struct Lowered {
    pub hazards: Hazards,
    /// The operations that each of the scheduler's stands for: one, or everything in a `repeat`.
    pub groups: Vec<Range<usize>>,
}

// Note 5: waits and records stand outside of `if` and `repeat`.
/// Host data come first, device buffers after them. The last storage is the [order of
/// collectives](order_of_collectives), if there are any.
///
/// The operations of an `if` count as if they always ran, since their waits and records stand outside and
/// always do.
pub fn lower(program: &Program) -> Lowered {
    let hosts = program.hosts.len();
    let streams = program
        .streams
        .iter()
        .map(|s| if s.per_slot { StreamKind::PerSlot } else { StreamKind::Fixed })
        .collect();
    // Note 13: data in place are the host's to the scheduler.
    let kind = |(index, buffer): (usize, &Buffer)| match buffer.in_place() {
        Some(_) => StorageKind::Host,
        None if buffer.is_shared() && !program.is_per_slot(BufferId(index)) => StorageKind::Shared,
        None => StorageKind::Ring,
    };
    let buffers = program.buffers.iter().enumerate().map(kind);
    let order = order_of_collectives(program);
    let together = order.map(|_| StorageKind::Shared);
    let storages = program.hosts.iter().map(|_| StorageKind::Host).chain(buffers).chain(together).collect();
    let groups = groups(program);
    let access = |storage: usize, mode: Mode| Access {
        storage: StorageId(storage as u32),
        reads: mode.reads(),
        writes: mode.writes(),
    };
    let op = |group: &Range<usize>| {
        let operations = &program.operations[group.clone()];
        let accesses = operations.iter().flat_map(|operation| {
            let host = operation.host().map(|(id, mode)| access(id.0, mode));
            let buffers = operation.buffers().into_iter();
            let order = order.filter(|_| is_collective(operation));
            host.into_iter()
                .chain(buffers.map(|usage| access(hosts + usage.buffer.0, usage.mode)))
                .chain(order.map(|storage| Access { storage, reads: false, writes: true }))
        });
        Op { stream: StreamId(operations[0].stream.0 as u32), accesses: accesses.collect() }
    };
    let ops = groups.iter().map(op).collect();
    Lowered { hazards: Hazards { streams, storages, ops }, groups }
}

// Note 76: every collective writes one more storage.
/// The storage that orders the collectives among each other, on all streams and in all chunks: each of them
/// writes it. A pipeline without collectives has none.
pub fn order_of_collectives(program: &Program) -> Option<StorageId> {
    let storages = program.hosts.len() + program.buffers.len();
    program.operations.iter().any(is_collective).then_some(StorageId(storages as u32))
}

fn is_collective(operation: &Operation) -> bool {
    matches!(operation.kind, OperationKind::Collective(_))
}

fn groups(program: &Program) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (index, operation) in program.operations.iter().enumerate() {
        let repeat = program.repeat_around(operation);
        match groups.last_mut() {
            Some(group) if repeat.is_some() && repeat == last => group.end = index + 1,
            _ => groups.push(index..index + 1),
        }
        last = repeat;
    }
    groups
}

impl Lowered {
    /// The scheduler's number of the operation that stands for this one.
    pub fn op_of(&self, operation: usize) -> OpId {
        OpId(self.groups.partition_point(|group| group.end <= operation) as u32)
    }

    /// The schedule with operations of the program: the first of a group waits, and the last is waited for.
    pub fn raise(&self, schedule: Schedule) -> Schedule {
        let first = |OpId(op)| OpId(self.groups[op as usize].start as u32);
        let last = |OpId(op)| OpId(self.groups[op as usize].end as u32 - 1);
        let edge = |edge: Edge| Edge { from: last(edge.from), to: first(edge.to), ..edge };
        Schedule {
            waits: schedule.waits.into_iter().map(edge).collect(),
            records: schedule.records.into_iter().map(last).collect(),
        }
    }
}

/// The name of a storage that [`lower`] numbered.
pub fn storage_name(program: &Program, StorageId(id): StorageId) -> String {
    let id = id as usize;
    let hosts = program.hosts.iter().map(|host| &host.name);
    let mut names = hosts.chain(program.buffers.iter().map(|buffer| &buffer.name));
    names.nth(id).map_or_else(|| "the order of collectives".to_owned(), ToString::to_string)
}
