//! [`RawCollective`]: a collective operation as a device enqueues it, and its arithmetic where device memory is the
//! host's.

pub(crate) mod exchanged;

use std::sync::Arc;
use std::time::Duration;

use crate::base::collective::{self, CollectiveKind, Operands, Reduce};
use crate::driver::handles::{Access, DevicePtr};

/// A world that a device is to have a part in.
pub(crate) struct Joining {
    /// The number of the communicator, which no other one of this process has, except those of other ranks that
    /// [meet](Self::meets) this one. Its upper half is that of the world.
    pub number: u64,
    pub rank: usize,
    pub size: usize,
    /// Whether all ranks have devices of one simulated machine, where they meet.
    pub meets: bool,
    /// Whether other ranks of the world are in this process.
    pub has_siblings: bool,
    /// What rank 0's device has [given out](crate::driver::Driver::identity_of_world) for all.
    pub identity: Vec<u8>,
    /// How long the device may wait for the others.
    pub limit: Duration,
    /// Why the ranks cannot come together any more, once that is so.
    pub failure: Box<dyn Fn() -> Option<String> + Send + Sync>,
    /// The way to the others, for devices on the host.
    pub exchange: Arc<dyn exchanged::Exchange>,
}

/// A communicator of one driver: a device's part in a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawCommunicator(pub u64);

/// A collective operation. All ranks of the communicator enqueue the same ones in the same order.
#[derive(Debug, Clone)]
pub(crate) struct RawCollective {
    pub communicator: RawCommunicator,
    pub kind: CollectiveKind,
    /// The operation as it is written, and its line.
    pub text: &'static str,
    pub line: u32,
    pub work: Shared,
    /// The memory of this rank that it uses.
    pub accesses: Vec<Access>,
}

/// What ranks do with their memory. Lengths are in bytes.
#[derive(Debug, Clone)]
pub(crate) enum Shared {
    /// Every rank gets the reduced elements, in place.
    AllReduce { at: DevicePtr, bytes: usize, operands: Operands },
    /// The root gets them, in place.
    Reduce { at: DevicePtr, bytes: usize, operands: Operands, root: usize },
    /// Every rank gets the root's.
    Broadcast { at: DevicePtr, bytes: usize, root: usize },
    /// Every rank gives `bytes`, and gets those of all.
    AllGather { from: DevicePtr, to: DevicePtr, bytes: usize },
    /// Every rank gives so many parts of `bytes`, one for each rank, and gets its reduced part.
    ReduceScatter { from: DevicePtr, to: DevicePtr, bytes: usize, parts: usize, operands: Operands },
    /// Every rank sends to some and receives from some, perhaps itself.
    Messages { sends: Vec<Message>, receives: Vec<Message> },
    /// Nobody goes on before all have come.
    Barrier,
}

/// Memory that goes to a rank, or comes from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    pub rank: usize,
    pub at: DevicePtr,
    pub bytes: usize,
}

impl RawCollective {
    /// NCCL's function that enqueues it.
    pub(crate) fn call(&self) -> &'static str {
        match &self.work {
            Shared::AllReduce { .. } | Shared::Barrier => "ncclAllReduce",
            Shared::Reduce { .. } => "ncclReduce",
            Shared::Broadcast { .. } => "ncclBroadcast",
            Shared::AllGather { .. } => "ncclAllGather",
            Shared::ReduceScatter { .. } => "ncclReduceScatter",
            Shared::Messages { .. } => "ncclSend",
        }
    }

    /// The bytes that this rank gives.
    pub(crate) fn bytes(&self) -> usize {
        match &self.work {
            Shared::AllReduce { bytes, .. }
            | Shared::Reduce { bytes, .. }
            | Shared::Broadcast { bytes, .. }
            | Shared::AllGather { bytes, .. } => *bytes,
            Shared::ReduceScatter { bytes, parts, .. } => bytes * parts,
            Shared::Messages { sends, .. } => sends.iter().map(|message| message.bytes).sum(),
            Shared::Barrier => 0,
        }
    }

    /// What has to be the same on all ranks, as text.
    pub(crate) fn signature(&self) -> String {
        let reduced = |operands: &Operands, bytes: usize| {
            let (element, count) = (operands.element, bytes / operands.element.bytes());
            format!("`{}` of {count} {}", self.text, element.name())
        };
        match &self.work {
            Shared::AllReduce { bytes, operands, .. } | Shared::ReduceScatter { bytes, operands, .. } => {
                reduced(operands, *bytes)
            }
            Shared::Reduce { bytes, operands, root, .. } => {
                format!("{} to rank {root}", reduced(operands, *bytes))
            }
            Shared::Broadcast { bytes, root, .. } => {
                format!("`{}` of {bytes} bytes from rank {root}", self.text)
            }
            Shared::AllGather { bytes, .. } => format!("`{}` of {bytes} bytes each", self.text),
            Shared::Messages { .. } | Shared::Barrier => format!("`{}`", self.text),
        }
    }
}

/// Combines what ranks have given, one after another, in the order of a tree: neighbours first, then pairs of
/// neighbours. So four ranks and four parts of one rank that are combined like this have the same bits.
pub(crate) fn combine_all(operands: Operands, mut parts: Vec<Vec<u8>>) -> Vec<u8> {
    let (ranks, Operands { reduce, element }) = (parts.len(), operands);
    let mut apart = 1;
    while apart < ranks {
        for lower in (0..ranks).step_by(2 * apart) {
            if lower + apart < ranks {
                let upper = std::mem::take(&mut parts[lower + apart]);
                collective::combine(reduce, element, &mut parts[lower], &upper);
            }
        }
        apart *= 2;
    }
    let mut combined = parts.into_iter().next().unwrap_or_default();
    if reduce == Reduce::Mean {
        collective::divide(element, &mut combined, ranks);
    }
    combined
}
