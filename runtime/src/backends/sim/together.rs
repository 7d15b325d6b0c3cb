//! What a collective does with the memory of all ranks, where one thread can reach all of it.

use crate::driver::collective::{Message, RawCollective, Shared, combine_all};
use crate::driver::{DevicePtr, HostBody};

/// Why these, one of each rank, are not the parts of one collective, if they are not. `chunks`: the chunk of each.
pub(super) fn disagreement(parts: &[&RawCollective], chunks: &[u64]) -> Option<String> {
    let signatures: Vec<_> = parts.iter().map(|part| part.signature()).collect();
    let first = signatures.first()?;
    if let Some(rank) = signatures.iter().position(|signature| signature != first) {
        return Some(format!("rank 0 is in {first}, and rank {rank} in {}", signatures[rank]));
    }
    if let Some(rank) = chunks.iter().position(|chunk| *chunk != chunks[0]) {
        return Some(format!(
            "rank 0 is in {first} of chunk {}, and rank {rank} in that of chunk {}",
            chunks[0], chunks[rank]
        ));
    }
    let messages: Vec<_> = parts.iter().filter_map(|part| messages(&part.work)).collect();
    if messages.is_empty() {
        return None;
    }
    for (from, (sends, _)) in messages.iter().enumerate() {
        for (to, (_, receives)) in messages.iter().enumerate() {
            let sent: Vec<usize> = between(sends, to).map(|message| message.bytes).collect();
            let received: Vec<usize> = between(receives, from).map(|message| message.bytes).collect();
            if sent != received {
                return Some(format!(
                    "in {first}, rank {from} sends {sent:?} bytes to rank {to}, which receives {received:?}"
                ));
            }
        }
    }
    None
}

fn messages(work: &Shared) -> Option<(&[Message], &[Message])> {
    if let Shared::Messages { sends, receives } = work { Some((sends, receives)) } else { None }
}

/// The messages to or from a rank.
fn between(messages: &[Message], rank: usize) -> impl Iterator<Item = &Message> {
    messages.iter().filter(move |message| message.rank == rank)
}

/// Carries out a collective, given the part of each rank, which [agree](disagreement).
pub(super) fn body(parts: Vec<Shared>) -> HostBody {
    Box::new(move || {
        // What all give is read before anything is written: ranges of different ranks are in different allocations, but
        // a rank may receive into memory that it also sends.
        let written: Vec<(DevicePtr, Vec<u8>)> = results(&parts);
        for (to, bytes) in written {
            // SAFETY: as in `read`; and no other work is carried out meanwhile.
            unsafe { to.host().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    })
}

fn read(from: DevicePtr, bytes: usize) -> Vec<u8> {
    // SAFETY: each range was checked to lie in a live allocation of its device when the collective was enqueued,
    // and cannot be freed before the host has waited for it. All bytes of it are initialised.
    unsafe { std::slice::from_raw_parts(from.host(), bytes) }.to_vec()
}

/// What is to be written, and where.
fn results(parts: &[Shared]) -> Vec<(DevicePtr, Vec<u8>)> {
    let Some(first) = parts.first() else { return Vec::new() };
    match *first {
        Shared::AllReduce { operands, .. } => {
            let combined = combine_all(operands, parts.iter().map(given).collect());
            parts.iter().filter_map(place).map(|at| (at, combined.clone())).collect()
        }
        Shared::Reduce { operands, root, .. } => {
            let combined = combine_all(operands, parts.iter().map(given).collect());
            parts.get(root).and_then(place).map(|at| (at, combined)).into_iter().collect()
        }
        Shared::Broadcast { root, .. } => {
            let Some(given) = parts.get(root).map(given) else { return Vec::new() };
            parts.iter().filter_map(place).map(|at| (at, given.clone())).collect()
        }
        Shared::AllGather { .. } => {
            let all: Vec<u8> = parts.iter().flat_map(given).collect();
            parts.iter().filter_map(place).map(|at| (at, all.clone())).collect()
        }
        Shared::ReduceScatter { bytes, operands, .. } => {
            let all: Vec<_> = parts.iter().map(given).collect();
            let part = |rank: usize| {
                let of_rank = |all: &Vec<u8>| all[rank * bytes..][..bytes].to_vec();
                combine_all(operands, all.iter().map(of_rank).collect())
            };
            parts.iter().enumerate().filter_map(|(rank, to)| Some((place(to)?, part(rank)))).collect()
        }
        Shared::Messages { .. } => {
            let messages: Vec<_> = parts.iter().filter_map(messages).collect();
            let mut results = Vec::new();
            for (from, (sends, _)) in messages.iter().enumerate() {
                for (to, (_, receives)) in messages.iter().enumerate() {
                    let pairs = between(sends, to).zip(between(receives, from));
                    results.extend(pairs.map(|(sent, received)| (received.at, read(sent.at, sent.bytes))));
                }
            }
            results
        }
        Shared::Barrier => Vec::new(),
    }
}

/// What a rank gives.
fn given(part: &Shared) -> Vec<u8> {
    match *part {
        Shared::AllReduce { at, bytes, .. }
        | Shared::Reduce { at, bytes, .. }
        | Shared::Broadcast { at, bytes, .. } => read(at, bytes),
        Shared::AllGather { from, bytes, .. } => read(from, bytes),
        Shared::ReduceScatter { from, bytes, parts, .. } => read(from, bytes * parts),
        Shared::Messages { .. } | Shared::Barrier => Vec::new(),
    }
}

/// Where a rank gets its result.
fn place(part: &Shared) -> Option<DevicePtr> {
    match *part {
        Shared::AllReduce { at, .. } | Shared::Reduce { at, .. } | Shared::Broadcast { at, .. } => Some(at),
        Shared::AllGather { to, .. } | Shared::ReduceScatter { to, .. } => Some(to),
        Shared::Messages { .. } | Shared::Barrier => None,
    }
}
