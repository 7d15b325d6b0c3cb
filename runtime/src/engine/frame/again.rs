//! Runs launches again on the host, to find a thread that has failed on a GPU.
//!
//! The thread has left its line alone. The host runs the launch on what it has read, if that is still on the
//! device: the plan tells which later operations have written it.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::base::in_rust::{Copies, KernelFault, Known, Lacking, again};
use crate::base::plan::{BufferKind, Memory, OperationPlan, Plan};
use crate::device::memory::{Direction, Transfer};
use crate::driver::{Access, DevicePtr};
use crate::engine::Pipeline;
use crate::engine::launched::Kept;
use crate::engine::pipeline::Fault;

/// The bytes of a launch that are copied at most.
const MOST_BYTES: usize = 256 << 20;

/// The time for all launches of a run together.
const TIME: Duration = Duration::from_secs(2);

impl Pipeline {
    /// A fault with the thread, the numbers and the chunk, if running the launches of the last run again shows
    /// them; else with the reason. The device has completed the run, of `chunks` chunks at most, and its
    /// memory is as the run has left it.
    pub(super) fn again(&mut self, found: Box<Fault>, chunks: usize) -> Box<Fault> {
        let Some(place) = found.fault.place.clone() else { return found };
        if found.fault.known == Known::All {
            return found;
        }
        match self.first_again(&found, &place, chunks) {
            Ok((fault, chunk)) => Box::new(Fault { fault, chunk: Some(chunk), ..*found }),
            Err(lacking) => {
                let fault = KernelFault { known: Known::Line(Some(lacking)), ..found.fault };
                Box::new(Fault { fault, ..*found })
            }
        }
    }

    /// The first fault at the place in the launches whose data are left, and its chunk.
    fn first_again(
        &self,
        found: &Fault,
        place: &(String, u32),
        chunks: usize,
    ) -> Result<(KernelFault, u64), Lacking> {
        if !found.replays {
            return Err(Lacking::Own);
        }
        let until = Instant::now() + TIME;
        let launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
        let of_operation = || launched.kept.iter().filter(|kept| kept.operation == found.operation);
        let is_left = |kept: &&Kept| !self.is_overwritten(kept, chunks);
        let mut left = of_operation().filter(is_left).peekable();
        if left.peek().is_none() {
            return Err(Lacking::Overwritten);
        }
        for kept in left {
            let (grid, bodies) = (kept.grid, kept.bodies.kept());
            let launch = move |copies: &Copies| bodies.on_copies(grid, copies);
            match again(place.clone(), self.copies(kept)?, until, launch) {
                Ok(fault) => return Ok((fault, kept.chunk)),
                Err(Lacking::NotThere { .. }) => {}
                Err(lacking) => return Err(lacking),
            }
        }
        let all = !launched.is_cut && of_operation().all(|kept| !self.is_overwritten(kept, chunks));
        Err(Lacking::NotThere { all })
    }

    /// What the launch has read, and room for what it writes.
    fn copies(&self, kept: &Kept) -> Result<Copies, Lacking> {
        let bytes = kept.accesses.iter().fold(0_usize, |sum, access| sum.saturating_add(access.bytes));
        if bytes > MOST_BYTES {
            return Err(Lacking::TooLarge);
        }
        let stream = self.streams.all().first().ok_or(Lacking::Device)?;
        let transfer = Transfer { device: &self.device, stream };
        let mut copies = Copies::new();
        for &Access { ptr: DevicePtr(address), bytes, write, .. } in &kept.accesses {
            let copy = copies.add(address, bytes);
            if !write {
                // SAFETY: the run has checked that the memory is its own, and holds it still. `copy` has as
                // many bytes, and is written by the host alone.
                let copied =
                    unsafe { transfer.staged(DevicePtr(address), copy.as_mut_ptr(), bytes, Direction::Out) };
                copied.map_err(|_| Lacking::Device)?;
            }
        }
        Ok(copies)
    }

    /// Whether an operation after the launch has written what the launch has read.
    fn is_overwritten(&self, kept: &Kept, chunks: usize) -> bool {
        is_overwritten(self.plan, (kept.operation, kept.turn), self.depth, chunks)
    }
}

/// Whether an operation of a chunk may have been followed by another that has written what it reads, on a device
/// with so many chunks. Conflicting operations are carried out in the order of the plan.
fn is_overwritten(plan: &Plan, (index, chunk): (usize, u64), depth: usize, chunks: usize) -> bool {
    let operation = &plan.operations[index];
    // The number of chunks after this one.
    let after = (chunks as u64).saturating_sub(chunk + 1);
    let read = operation.accesses.iter().filter(|access| access.reads && !access.writes);
    read.map(|access| access.memory).any(|memory| {
        let Memory::Buffer(buffer) = memory else { return false };
        // The first chunk after this one that uses the same memory.
        let next = match plan.buffers[buffer].kind {
            BufferKind::Ring | BufferKind::HostScratch | BufferKind::CarryPerSlot => depth as u64,
            BufferKind::Resident | BufferKind::Carry | BufferKind::InPlace { .. } => 1,
        };
        let writes = |operation: &OperationPlan| {
            operation.accesses.iter().any(|access| access.writes && access.memory == memory)
        };
        plan.operations.iter().enumerate().any(|(other, of)| {
            let is_in_turn = other != index && operation.repeat.is_some() && of.repeat == operation.repeat;
            writes(of) && (other > index || is_in_turn || after >= next)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::plan::{AccessPlan, BufferPlan, OperationKind};

    const fn access(buffer: usize, writes: bool) -> AccessPlan {
        AccessPlan { memory: Memory::Buffer(buffer), reads: !writes, writes }
    }

    const fn operation(accesses: &'static [AccessPlan]) -> OperationPlan {
        OperationPlan {
            stage: 0,
            stream: 0,
            text: "",
            kind: OperationKind::Launch { kernel: "k" },
            conditional: false,
            repeat: None,
            accesses,
            line: 1,
            column: 1,
        }
    }

    const fn buffer(kind: BufferKind) -> BufferPlan {
        BufferPlan { name: "b", kind, line: 1, column: 1 }
    }

    const COPY: OperationPlan = operation(&[access(0, true)]);
    const LAUNCH: OperationPlan = operation(&[access(0, false), access(1, false), access(2, true)]);
    const WRITE: OperationPlan = operation(&[access(2, true)]);
    static PLAN: Plan = Plan {
        pipeline: "P",
        file: "src/main.rs",
        line: 1,
        column: 1,
        streams: &[],
        stages: &["all"],
        hosts: &[],
        buffers: &[buffer(BufferKind::Ring), buffer(BufferKind::Resident), buffer(BufferKind::Ring)],
        operations: &[COPY, LAUNCH],
        events: &[],
        waits: &[],
    };

    /// Of five chunks, those whose launch can run again.
    fn left(plan: &Plan, depth: usize) -> Vec<u64> {
        (0..5).filter(|&chunk| !is_overwritten(plan, (1, chunk), depth, 5)).collect()
    }

    #[test]
    fn a_ring_slot_is_written_by_the_next_chunk_in_it() {
        assert_eq!(left(&PLAN, 1), [4]);
        assert_eq!(left(&PLAN, 2), [3, 4]);
        assert_eq!(left(&PLAN, 9), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_is_read_may_be_written_later_in_the_chunk() {
        let after = Plan { operations: const { &[COPY, LAUNCH, COPY] }, ..PLAN };
        assert!(left(&after, 3).is_empty());
        // What the launch writes itself does not count, nor do other buffers.
        let other = Plan { operations: const { &[COPY, LAUNCH, WRITE] }, ..PLAN };
        assert_eq!(left(&other, 3), [2, 3, 4]);
        // In a `repeat`, what comes before comes after, too.
        const TURNS: [OperationPlan; 2] =
            [OperationPlan { repeat: Some(0), ..COPY }, OperationPlan { repeat: Some(0), ..LAUNCH }];
        let operations = const { &TURNS };
        assert!(left(&Plan { operations, ..PLAN }, 3).is_empty());
    }

    #[test]
    fn what_all_chunks_share_is_written_by_the_next() {
        let buffers =
            const { &[buffer(BufferKind::Carry), buffer(BufferKind::Resident), buffer(BufferKind::Ring)] };
        assert_eq!(left(&Plan { buffers, ..PLAN }, 3), [4]);
        let only = Plan { operations: const { &[LAUNCH, LAUNCH] }, ..PLAN };
        assert_eq!(left(&only, 1), [0, 1, 2, 3, 4]);
    }
}
