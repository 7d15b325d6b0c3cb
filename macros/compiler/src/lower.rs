//! From names to hazards: the [`Program`] as the scheduler sees it, ids only.

use crate::resolve::Program;
use crate::schedule::{Access, Op, Program as Hazards, StorageId, StorageKind, StreamId, StreamKind};

/// Host data come first, device buffers after them.
pub fn lower(program: &Program) -> Hazards {
    let hosts = program.hosts.len();
    let streams = program
        .streams
        .iter()
        .map(|s| if s.per_slot { StreamKind::PerSlot } else { StreamKind::Fixed })
        .collect();
    let storages = program
        .hosts
        .iter()
        .map(|_| StorageKind::Host)
        .chain(
            program
                .buffers
                .iter()
                .map(|buffer| if buffer.is_shared() { StorageKind::Shared } else { StorageKind::Ring }),
        )
        .collect();
    let access = |storage: usize, mode: crate::resolve::Mode| Access {
        storage: StorageId(storage as u32),
        reads: mode.reads(),
        writes: mode.writes(),
    };
    let ops = program
        .operations
        .iter()
        .map(|operation| {
            let host = operation.host().map(|(id, mode)| access(id.0, mode));
            let buffers = operation.buffers();
            let buffers = buffers.iter().map(|usage| access(hosts + usage.buffer.0, usage.mode));
            Op {
                stream: StreamId(operation.stream.0 as u32),
                accesses: host.into_iter().chain(buffers).collect(),
            }
        })
        .collect();
    Hazards { streams, storages, ops }
}

/// The name of a storage that [`lower`] numbered.
pub fn storage_name(program: &Program, StorageId(id): StorageId) -> String {
    let id = id as usize;
    let hosts = program.hosts.iter().map(|host| &host.name);
    let mut names = hosts.chain(program.buffers.iter().map(|buffer| &buffer.name));
    names.nth(id).map(ToString::to_string).unwrap_or_default()
}
