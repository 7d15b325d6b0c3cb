//! Lets each kind of collective take place once, before the first run needs it.
//!
//! NCCL connects ranks, and allocates the buffers for that, when an operation first uses a connection. An
//! allocation may wait for everything on the device, and so for a kernel that waits for a rank that waits in
//! an allocation of its own.

use super::communicator::Communicator;
use crate::backends::cuda::api::{self, Api};
use crate::backends::cuda::handles::stream_handle;
use crate::backends::cuda::sys::CUstream_flags_enum;
use crate::base::collective::{Element, Operands, Reduce};
use crate::driver::collective::{Message, Shared};
use crate::driver::{DevicePtr, DriverResult};

/// The bytes that a rank gives: as few as a barrier's, and as many as are cut into pieces. NCCL sends them in
/// different ways, over different connections.
const SIZES: [usize; 2] = [256, 1 << 20];
/// The most bytes that are allocated, if a rank of so large a world need not give fewer than the first size.
const MOST: usize = 64 << 20;
/// The most ranks each of which sends to all others. In a larger world each sends to its neighbours only.
const ALL_PAIRS: usize = 64;

/// Lets each kind of collective take place once, on memory and on a stream that are given back. The context
/// is current.
///
/// # Errors
/// NCCL's or the driver's; or the communicator was given up meanwhile, as a rank is gone. Then memory may still be in
/// use, and stays.
pub(super) fn up(api: &Api, communicator: &Communicator, [rank, size]: [usize; 2]) -> DriverResult<()> {
    let sizes = SIZES.map(|bytes| bytes.min(MOST / (size + 1)).max(SIZES[0]) & !0xff);
    let mut memory = 0;
    // SAFETY: `memory` is a place for the result, and the context is current.
    let stream = unsafe {
        api.cuMemAlloc_v2(&mut memory, sizes[1] * (size + 1))?;
        api.new_stream(CUstream_flags_enum::CU_STREAM_NON_BLOCKING, 0)?
    };
    for bytes in sizes {
        for work in each_kind(DevicePtr(memory), bytes, [rank, size]) {
            // SAFETY: the context is current, the memory has room for all parts, and both stay, even after an
            // error.
            unsafe { communicator.ask(&work, stream) }?;
        }
    }
    // SAFETY: the stream is live, and the context current.
    while let Err(error) = unsafe { api.cuStreamQuery(stream_handle(stream)) } {
        if error.code != api::NOT_READY {
            return Err(error);
        }
        std::thread::yield_now();
    }
    if communicator.is_given_up() {
        // What was ended by force may have other ranks that still use the memory.
        return Err(communicator.given_up());
    }
    // SAFETY: everything on the stream is over, and nothing else uses the memory.
    unsafe {
        api.cuMemFree_v2(memory)?;
        api.cuStreamDestroy_v2(stream_handle(stream))
    }
}

/// A collective of each kind, in which a rank gives `part` bytes. The memory has room for one part of each
/// rank, and one more.
fn each_kind(at: DevicePtr, part: usize, [rank, size]: [usize; 2]) -> Vec<Shared> {
    let operands = Operands { reduce: Reduce::Sum, element: Element::F32 };
    let (bytes, others) = (part, at.offset(part));
    let is_peer = |other: &usize| {
        let apart = rank.abs_diff(*other);
        size <= ALL_PAIRS || apart <= 1 || apart == size - 1
    };
    let message = |rank: usize, at: DevicePtr| Message { rank, at, bytes };
    let peers = || (0..size).filter(is_peer);
    vec![
        Shared::AllReduce { at, bytes, operands },
        Shared::Reduce { at, bytes, operands, root: 0 },
        Shared::Broadcast { at, bytes, root: 0 },
        Shared::AllGather { from: at, to: others, bytes },
        Shared::ReduceScatter { from: others, to: at, bytes, parts: size, operands },
        Shared::Messages {
            sends: peers().map(|peer| message(peer, at)).collect(),
            receives: peers().map(|peer| message(peer, others.offset(peer * part))).collect(),
        },
        Shared::Barrier,
    ]
}
