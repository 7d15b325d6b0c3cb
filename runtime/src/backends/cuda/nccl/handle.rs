//! [`Handle`]: NCCL's communicator in one thread's hands.

use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use super::calls::number;
use super::library::Nccl;
use super::sys::{self, ncclComm_t, ncclConfig_t, ncclUniqueId};
use crate::driver::DriverResult;

/// The pause between two questions.
const PAUSE: Duration = Duration::from_micros(20);

/// NCCL's communicator, as long as no other thread uses it.
pub(super) struct Handle {
    nccl: &'static Nccl,
    handle: usize,
}

impl Handle {
    /// Begins to connect a rank with the others.
    ///
    /// # Errors
    /// NCCL refuses it.
    ///
    /// # Safety
    /// The device's context is current.
    pub(super) unsafe fn begin(
        nccl: &'static Nccl,
        id: ncclUniqueId,
        [rank, size]: [usize; 2],
    ) -> DriverResult<Self> {
        let mut comm: ncclComm_t = ptr::null_mut();
        let mut config = ncclConfig_t::of_guard();
        // SAFETY: both are places that NCCL uses during the call only, and the device's context is current.
        let code =
            unsafe { nccl.ncclCommInitRankConfig(&mut comm, number(size), id, number(rank), &mut config) };
        nccl.check("ncclCommInitRankConfig", code)?;
        Ok(Self::of(nccl, comm))
    }

    /// Begins to split a communicator of the same ranks off, whose calls wait until what they ask for is enqueued. It is
    /// at its place once this one has settled.
    ///
    /// # Errors
    /// NCCL refuses it.
    ///
    /// # Safety
    /// The communicator has settled, and no other thread uses it. NCCL writes to `place` until it has settled again or
    /// is given up.
    pub(super) unsafe fn begin_split(&self, rank: usize, place: *mut ncclComm_t) -> DriverResult<()> {
        let mut config = ncclConfig_t::of_worker();
        // SAFETY: the caller's promise; NCCL uses the configuration during the call only.
        let code = unsafe { self.nccl.ncclCommSplit(self.comm(), 0, number(rank), place, &mut config) };
        self.nccl.check("ncclCommSplit", code)
    }

    /// The communicator as a number.
    pub(super) fn into_number(self) -> usize {
        self.handle
    }

    pub(super) fn of(nccl: &'static Nccl, comm: ncclComm_t) -> Self {
        Self { nccl, handle: comm.expose_provenance() }
    }

    pub(super) fn comm(&self) -> ncclComm_t {
        ptr::with_exposed_provenance_mut(self.handle)
    }

    /// Whether nothing that was asked for is in progress any more.
    ///
    /// # Errors
    /// What has gone wrong, in a call or since.
    pub(super) fn is_settled(&self) -> DriverResult<bool> {
        let mut state = sys::ncclSuccess;
        // SAFETY: the communicator is live, no other thread uses it, and `state` is a place for the result.
        let code = unsafe { self.nccl.ncclCommGetAsyncError(self.comm(), &mut state) };
        match (code, state) {
            (sys::ncclSuccess, sys::ncclSuccess) => Ok(true),
            (sys::ncclSuccess, sys::ncclInProgress) => Ok(false),
            (sys::ncclSuccess, state) => Err(self.nccl.error("ncclCommGetAsyncError", state)),
            (code, _) => Err(self.nccl.error("ncclCommGetAsyncError", code)),
        }
    }

    /// Ends one whose calls wait, in peace, or by force if that fails. It may wait for streams.
    ///
    /// # Errors
    /// NCCL's.
    pub(super) fn end_waiting(self) -> DriverResult<()> {
        if let Err(error) = self.finalize(|| true) {
            self.abort();
            return Err(error);
        }
        self.destroy()
    }

    /// Ends one whose calls return at once, in peace. After an error, or if that takes longer than `limit`, it is still
    /// there.
    pub(super) fn end(self, limit: Duration) -> Result<(), Self> {
        let began = Instant::now();
        if self.finalize(|| began.elapsed() <= limit).is_err() {
            return Err(self);
        }
        // NCCL has forgotten one that it does not destroy.
        let _ = self.destroy();
        Ok(())
    }

    /// Waits until nothing is in progress on the communicator, as long as there is `patience`.
    fn finalize(&self, patience: impl Fn() -> bool) -> DriverResult<()> {
        // SAFETY: the communicator is live, no other thread uses it, and nothing is under way on it.
        self.nccl.check("ncclCommFinalize", unsafe { self.nccl.ncclCommFinalize(self.comm()) })?;
        while !self.is_settled()? {
            if !patience() {
                return Err(self.nccl.error("ncclCommFinalize", sys::ncclInProgress));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Gives back what a finalized communicator has.
    fn destroy(self) -> DriverResult<()> {
        // SAFETY: the communicator is live, no other thread uses it, and it is not used again.
        self.nccl.check("ncclCommDestroy", unsafe { self.nccl.ncclCommDestroy(self.comm()) })
    }

    /// Ends it by force. That may wait for a stream, and for ever if other ranks are gone in a bad moment.
    pub(super) fn abort(self) {
        // Nobody here could use an error: nothing on the communicator counts any more. SAFETY: the
        // communicator is live, and no other thread uses it. NCCL lets its kernels and threads end first.
        let _ = unsafe { self.nccl.ncclCommAbort(self.comm()) };
    }
}
