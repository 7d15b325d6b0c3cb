//! Collectives as calls of NCCL.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::library::Nccl;
use super::sys::{self, cudaStream_t, ncclComm_t, ncclDataType_t, ncclRedOp_t, ncclResult_t};
use crate::base::collective::{Element, Operands, Reduce};
use crate::driver::DevicePtr;
use crate::driver::DriverResult;
use crate::driver::collective::{Message, Shared};

/// A communicator and a stream, to which calls go.
#[derive(Clone, Copy)]
pub(super) struct Calls {
    pub(super) nccl: &'static Nccl,
    pub(super) comm: ncclComm_t,
    pub(super) stream: cudaStream_t,
    /// A few bytes of device memory, for barriers.
    pub(super) scratch: DevicePtr,
}

impl Calls {
    /// Asks for a collective. It is on the stream once the communicator no longer says that something is in
    /// progress.
    ///
    /// # Errors
    /// NCCL refuses it.
    ///
    /// # Safety
    /// The communicator is initialised, and no other thread uses it. Its device's context is current. The
    /// stream and the memory are of this device, and stay until the collective is over.
    pub(super) unsafe fn ask(&self, work: &Shared) -> DriverResult<()> {
        let &Self { nccl, comm, stream, scratch } = self;
        // SAFETY: the caller's promise, here and below.
        unsafe {
            match *work {
                Shared::AllReduce { at, bytes, operands } => {
                    let (count, element, reduction) = reduced(operands, bytes);
                    self.all_reduce(at, count, element, reduction)
                }
                Shared::Barrier => self.all_reduce(scratch, 1, sys::ncclUint8, sys::ncclSum),
                Shared::Reduce { at, bytes, operands, root } => {
                    let (count, element, reduction) = reduced(operands, bytes);
                    let root = number(root);
                    let code =
                        nccl.ncclReduce(from(at), to(at), count, element, reduction, root, comm, stream);
                    nccl.check("ncclReduce", code)
                }
                Shared::Broadcast { at, bytes, root } => {
                    let root = number(root);
                    let code =
                        nccl.ncclBroadcast(from(at), to(at), bytes, sys::ncclUint8, root, comm, stream);
                    nccl.check("ncclBroadcast", code)
                }
                Shared::AllGather { from: own, to: all, bytes } => {
                    let code = nccl.ncclAllGather(from(own), to(all), bytes, sys::ncclUint8, comm, stream);
                    nccl.check("ncclAllGather", code)
                }
                Shared::ReduceScatter { from: all, to: own, bytes, operands, .. } => {
                    let (count, element, reduction) = reduced(operands, bytes);
                    let code =
                        nccl.ncclReduceScatter(from(all), to(own), count, element, reduction, comm, stream);
                    nccl.check("ncclReduceScatter", code)
                }
                Shared::Messages { ref sends, ref receives } => self.messages(sends, receives),
            }
        }
    }

    /// # Safety
    /// As [`ask`](Self::ask).
    unsafe fn all_reduce(
        &self,
        at: DevicePtr,
        count: usize,
        element: ncclDataType_t,
        reduction: ncclRedOp_t,
    ) -> DriverResult<()> {
        let &Self { nccl, comm, stream, .. } = self;
        // SAFETY: the caller's promise.
        let code = unsafe { nccl.ncclAllReduce(from(at), to(at), count, element, reduction, comm, stream) };
        nccl.check("ncclAllReduce", code)
    }

    /// Messages to and from other ranks, in one group: only so do all of them make progress at once.
    ///
    /// # Safety
    /// As [`ask`](Self::ask).
    unsafe fn messages(&self, sends: &[Message], receives: &[Message]) -> DriverResult<()> {
        let &Self { nccl, comm, stream, .. } = self;
        // SAFETY: a group may be begun at any time; the thread is in none.
        nccl.check("ncclGroupStart", unsafe { nccl.ncclGroupStart() })?;
        let send = |message: &Message| {
            let (at, peer) = (from(message.at), number(message.rank));
            // SAFETY: the caller's promise.
            let code = unsafe { nccl.ncclSend(at, message.bytes, sys::ncclUint8, peer, comm, stream) };
            nccl.check("ncclSend", code)
        };
        let receive = |message: &Message| {
            let (at, peer) = (to(message.at), number(message.rank));
            // SAFETY: the caller's promise.
            let code = unsafe { nccl.ncclRecv(at, message.bytes, sys::ncclUint8, peer, comm, stream) };
            nccl.check("ncclRecv", code)
        };
        let asked = sends.iter().try_for_each(send).and_then(|()| receives.iter().try_for_each(receive));
        // The group is ended whatever has happened in it, since it is a state of the thread.
        // SAFETY: the group was begun above.
        let ended: ncclResult_t = unsafe { nccl.ncclGroupEnd() };
        asked.and_then(|()| nccl.check("ncclGroupEnd", ended))
    }
}

fn from(at: DevicePtr) -> *const c_void {
    to(at)
}

fn to(at: DevicePtr) -> *mut c_void {
    ptr::without_provenance_mut(at.0 as usize)
}

/// A rank, as NCCL has it. The size of a world fits, since NCCL was told it.
pub(super) fn number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

/// The elements of so many bytes, their type, and what is done with them.
fn reduced(operands: Operands, bytes: usize) -> (usize, ncclDataType_t, ncclRedOp_t) {
    let Operands { reduce, element } = operands;
    let reduction = match reduce {
        Reduce::Sum => sys::ncclSum,
        Reduce::Mean => sys::ncclAvg,
        Reduce::Min => sys::ncclMin,
        Reduce::Max => sys::ncclMax,
        Reduce::Product => sys::ncclProd,
    };
    (bytes / element.bytes(), data_type(element), reduction)
}

fn data_type(element: Element) -> ncclDataType_t {
    match element {
        Element::I8 => sys::ncclInt8,
        Element::U8 => sys::ncclUint8,
        Element::I32 => sys::ncclInt32,
        Element::U32 => sys::ncclUint32,
        Element::I64 => sys::ncclInt64,
        Element::U64 => sys::ncclUint64,
        Element::F16 => sys::ncclFloat16,
        Element::BF16 => sys::ncclBfloat16,
        Element::F32 => sys::ncclFloat32,
        Element::F64 => sys::ncclFloat64,
    }
}
