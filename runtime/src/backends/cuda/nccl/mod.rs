//! NCCL, which carries out collectives between GPUs.
//!
//! A device that joins a world has a [`communicator`] in it: [`join`] connects it with those of the other
//! ranks and [`warm`]s it up. [`calls`] makes calls of NCCL of collectives, in the order in which they are
//! enqueued on streams. [`watch`] knows what is under way. A thread for each communicator asks for NCCL's
//! asynchronous errors meanwhile, and after such an error, or when the world says that a rank is gone, ends
//! what is under way by force. Nothing is linked: [`library`] looks for NCCL when a device first joins, and
//! [`sys`] has the table of its functions.

mod aside;
mod calls;
mod communicator;
mod handle;
#[cfg(test)]
mod header;
mod join;
mod library;
mod patience;
mod scratch;
mod slot;
mod standing;
mod sys;
mod warm;
mod watch;

use std::sync::{Arc, Mutex};

use self::communicator::Communicator;
use self::library::Nccl;
use self::watch::locked;
use crate::backends::cuda::api::Api;
use crate::backends::cuda::context::Context;
use crate::base::error::Error;
use crate::base::handles::Handles;
use crate::base::sync::{AtomicBool, Ordering};
use crate::driver::collective::{Joining, RawCollective, RawCommunicator};
use crate::driver::fault::invalid_handle;
use crate::driver::{DriverResult, RawStream, Tag};

/// What rank 0's device gives out for all others: a unique id of NCCL.
///
/// # Errors
/// There is no NCCL, it is too old, or it finds no network.
pub(super) fn identity() -> Result<Vec<u8>, Error> {
    join::identity()
}

/// Whether NCCL is there.
///
/// # Errors
/// It is not, or it is too old.
pub(super) fn is_there() -> Result<(), Error> {
    Nccl::get().map(drop).map_err(Error::from)
}

/// The communicators of one device.
pub(super) struct Communicators {
    known: Mutex<Handles<Arc<Communicator>>>,
    /// Whether there are any. It is read without the lock, and written under it.
    is_any: AtomicBool,
}

impl Communicators {
    pub(super) fn new() -> Self {
        Self { known: Mutex::default(), is_any: AtomicBool::new(false) }
    }

    /// Lets the device be a rank of a world, once all ranks are there.
    ///
    /// # Errors
    /// NCCL is missing or refuses something; a rank is gone, or does not come within the world's limit.
    pub(super) fn join(&self, context: &Arc<Context>, world: &Joining) -> Result<RawCommunicator, Error> {
        let communicator = join::join(context.enter()?, context, world)?;
        let mut known = locked(&self.known);
        self.is_any.store(true, Ordering::Release);
        Ok(RawCommunicator(known.insert(communicator)))
    }

    /// Gives a communicator up. Without an interface to the driver, memory of it stays.
    ///
    /// # Safety
    /// Nothing is under way on it. The device's context is current on this thread if there is an `api`.
    pub(super) unsafe fn leave(&self, communicator: RawCommunicator, api: Option<&Api>) {
        let mut known = locked(&self.known);
        let left = known.remove(communicator.0);
        self.is_any.store(known.iter().next().is_some(), Ordering::Release);
        drop(known);
        if let Some(left) = left {
            // SAFETY: the caller's promise.
            unsafe { left.leave(api) };
        }
    }

    /// Ends everything on the communicator with this number, now and from now on.
    pub(super) fn abort(&self, number: u64, why: &str) {
        self.all().iter().filter(|known| known.number == number).for_each(|known| known.break_up(why));
    }

    /// Enqueues a collective.
    ///
    /// # Errors
    /// The communicator is broken, or NCCL refuses the collective.
    ///
    /// # Safety
    /// The device's context is current; the stream and the memory are its own, and stay until the collective
    /// is over.
    pub(super) unsafe fn post(
        &self,
        api: &Api,
        collective: &RawCollective,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let known = locked(&self.known).get(collective.communicator.0).cloned();
        let Some(known) = known else { return Err(invalid_handle(collective.call(), "communicator")) };
        // SAFETY: the caller's promise.
        unsafe { known.post(api, collective, stream, tag) }
    }

    /// Adds to the outcome of a wait, for a stream or for something else, what the driver does not know:
    /// collectives that have not taken place.
    #[inline]
    pub(super) fn waited(&self, stream: Option<RawStream>, outcome: DriverResult<()>) -> DriverResult<()> {
        if outcome.is_err() || !self.is_any.load(Ordering::Acquire) {
            return outcome;
        }
        self.looked(stream)
    }

    #[inline(never)]
    fn looked(&self, stream: Option<RawStream>) -> DriverResult<()> {
        let look = |known: Arc<Communicator>| match stream {
            Some(stream) => known.waited(stream),
            None => known.looked(),
        };
        // Each of them is told of the wait.
        self.all().into_iter().map(look).fold(Ok(()), Result::and)
    }

    fn all(&self) -> Vec<Arc<Communicator>> {
        locked(&self.known).iter().map(|(_, known)| Arc::clone(known)).collect()
    }
}
