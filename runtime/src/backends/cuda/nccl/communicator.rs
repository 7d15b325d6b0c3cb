//! [`Communicator`]: a rank of one device, and the calls that it makes of NCCL.
//!
//! Communicators are nonblocking: each call returns at once, and is over once `ncclCommGetAsyncError` no
//! longer says that something is in progress. Between two such questions nothing is locked. So a communicator
//! can be given up at any moment, even while it connects to ranks that never come.

use std::ptr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::handle::Handle;
use super::library::Nccl;
use super::scratch::Scratch;
use super::standing::Standing;
use super::sys::ncclComm_t;
use super::watch::{Broken, Watch, locked};
use crate::backends::cuda::api::Api;
use crate::backends::cuda::handles::stream_handle;
use crate::base::error::DriverError;
use crate::driver::collective::{Joining, RawCollective, Shared};
use crate::driver::{DriverResult, RawStream, Tag};

/// How often a call that is in progress is asked for without a pause: a kernel's launch takes some
/// microseconds.
const LOOKS: u32 = 200;
/// The pause between later questions.
const PAUSE: Duration = Duration::from_micros(20);
/// How long a communicator that is given up in peace may take.
const FAREWELL: Duration = Duration::from_secs(10);

// Note 79: NCCL's calls never block.
/// A rank of one device.
pub(super) struct Communicator {
    /// Its number in this process.
    pub(super) number: u64,
    rank: usize,
    nccl: &'static Nccl,
    /// NCCL's communicator, as a number since threads share it, and 0 once it is given up. NCCL is called
    /// under this lock, and nothing else.
    handle: Mutex<usize>,
    pub(super) watch: Mutex<Watch>,
    /// Notified when the watch has something new for the thread that looks after it.
    pub(super) changed: Condvar,
    scratch: Scratch,
    /// Whether other ranks of the world are in this process.
    has_siblings: bool,
}

impl Communicator {
    /// The rank of a communicator that was begun. It is of use once [`settle`](Self::settle) has returned.
    pub(super) fn new(handle: Handle, world: &Joining, scratch: Scratch, counts: bool) -> Self {
        let (nccl, handle) = handle.into_parts();
        Self {
            number: world.number,
            rank: world.rank,
            nccl,
            handle: Mutex::new(handle),
            watch: Mutex::new(Watch::new(counts)),
            changed: Condvar::new(),
            scratch,
            has_siblings: world.has_siblings,
        }
    }

    /// Calls NCCL with the communicator, which no other thread uses meanwhile; `None` if it is given up.
    fn with<R>(&self, call: impl FnOnce(ncclComm_t) -> R) -> Option<R> {
        let handle = locked(&self.handle);
        (*handle != 0).then(|| call(ptr::with_exposed_provenance_mut(*handle)))
    }

    /// Takes the communicator away from all later calls.
    pub(super) fn take(&self) -> Option<Handle> {
        let handle = std::mem::take(&mut *locked(&self.handle));
        (handle != 0).then(|| Handle::of(self.nccl, ptr::with_exposed_provenance_mut(handle)))
    }

    /// Whether nothing that was asked for is in progress any more.
    ///
    /// # Errors
    /// What has gone wrong, in a call or since.
    fn is_settled(&self) -> DriverResult<bool> {
        let asked = self.with(|comm| Handle::of(self.nccl, comm).is_settled());
        asked.unwrap_or_else(|| Err(self.given_up()))
    }

    /// Waits until nothing that was asked for is in progress any more.
    ///
    /// # Errors
    /// What has gone wrong, or the error of `patience`, which is called between two questions.
    pub(super) fn settle(&self, mut patience: impl FnMut() -> DriverResult<()>) -> DriverResult<()> {
        for look in 0_u32.. {
            if self.is_settled()? {
                return Ok(());
            }
            patience()?;
            if look < LOOKS { thread::yield_now() } else { thread::sleep(PAUSE) }
        }
        Ok(())
    }

    /// Asks for a collective. It is on the stream once the communicator has settled.
    ///
    /// # Safety
    /// The device's context is current; the stream and the memory are its own, and stay until the collective
    /// is over.
    pub(super) unsafe fn ask(&self, work: &Shared, stream: RawStream) -> DriverResult<()> {
        let asked = self.with(|comm| {
            let calls = Calls {
                nccl: self.nccl,
                comm,
                stream: stream_handle(stream),
                scratch: self.scratch.memory(),
            };
            // SAFETY: the caller's promise; the communicator has settled since it was last asked for
            // something.
            unsafe { calls.ask(work) }
        });
        asked.unwrap_or_else(|| Err(self.given_up()))
    }

    /// Enqueues a collective.
    ///
    /// # Errors
    /// The communicator is broken, or NCCL refuses the collective, which breaks it: other ranks wait for this
    /// one.
    ///
    /// # Safety
    /// As [`ask`](Self::ask).
    pub(super) unsafe fn post(
        &self,
        api: &Api,
        collective: &RawCollective,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let counted = self.note(stream, tag)?;
        if let Some(counted) = counted {
            // SAFETY: the caller's promise; the words are freed when the communicator is given up, after its streams
            // were waited for.
            self.heed(unsafe { self.scratch.count_begun(api, stream, counted) });
        }
        // SAFETY: the caller's promise.
        let asked = unsafe { self.ask(&collective.work, stream) };
        let enqueued = asked.and_then(|()| self.settle(|| Ok(())));
        if let Err(error) = enqueued {
            self.break_up(&self.said(&error));
            return Err(self.error(Some(tag)));
        }
        if let Some(counted) = counted {
            // SAFETY: as above.
            self.heed(unsafe { self.scratch.count_over(api, stream, counted) });
        }
        Ok(())
    }

    /// Counts no more if a stream cannot. The error does not matter: if it belongs to earlier work on the stream,
    /// waiting for the stream reports it.
    fn heed(&self, counted: DriverResult<()>) {
        if counted.is_err() {
            locked(&self.watch).counts = false;
        }
    }

    /// Notes a collective before it is enqueued, and returns its number if its stream is to count it.
    fn note(&self, stream: RawStream, tag: Tag) -> DriverResult<Option<u32>> {
        let mut watch = locked(&self.watch);
        if let Some(broken) = &watch.broken {
            return Err(broken.error(Some(tag)));
        }
        let was_idle = !watch.is_busy();
        let number = watch.note(stream, tag);
        if was_idle {
            self.changed.notify_all();
        }
        Ok(watch.counts.then_some(number))
    }

    /// An error that NCCL has found by itself.
    pub(super) fn asynchronous_error(&self) -> Option<String> {
        let asked = self.with(|comm| Handle::of(self.nccl, comm).is_settled())?;
        asked.err().map(|error| self.said(&error))
    }

    fn stands(&self, limit: Duration) -> String {
        let (rank, limit) = (self.rank, limit.as_secs_f64());
        format!(
            "rank {rank} has waited {limit} s for other ranks in a collective: one of them is stopped, or slow\n  \
             help: `World::options().limit(…)` lets ranks wait longer"
        )
    }

    fn said(&self, error: &DriverError) -> String {
        format!("NCCL has failed on rank {}: {error}", self.rank)
    }

    /// Lets everything on the communicator fail from now on. The thread that looks after it ends what is
    /// under way.
    pub(super) fn break_up(&self, why: &str) {
        let mut watch = locked(&self.watch);
        if !watch.left {
            // SAFETY: the words are freed after the communicator was left, for which this lock is taken.
            let over = unsafe { self.scratch.counted() }.over;
            watch.break_up(why.to_owned(), over);
            self.changed.notify_all();
        }
    }

    /// The error of a call that finds the communicator given up.
    #[cold]
    fn given_up(&self) -> DriverError {
        self.error(None)
    }

    fn error(&self, tag: Option<Tag>) -> DriverError {
        let watch = locked(&self.watch);
        let left = || Broken::new("the device has left the world".to_owned());
        watch.broken.clone().unwrap_or_else(left).error(tag)
    }

    /// Notes that the host has waited for a stream.
    ///
    /// # Errors
    /// What was on it has not taken place.
    pub(super) fn waited(&self, stream: RawStream) -> DriverResult<()> {
        if !locked(&self.watch).is_on(stream) {
            return Ok(());
        }
        // Kernels of NCCL end without an error of the driver, whatever has gone wrong.
        if let Some(why) = self.asynchronous_error() {
            self.break_up(&why);
        }
        let mut watch = locked(&self.watch);
        let outcome = watch.broken.as_ref().map_or(Ok(()), |broken| Err(broken.error(None)));
        // Between GPUs of one process a rank's kernel may access the memory of another rank's collective
        // itself. When this stream has ended, such a kernel of a rank that has not yet heard of the failure
        // may still be at work. So all waits for the stream fail from now on, and its memory is given up, as
        // if the device had not answered. Ranks in other processes reach this memory only through buffers of
        // NCCL's own, which NCCL frees: no memory of a user is registered with it. When the stream has ended,
        // nothing uses its memory any more.
        if outcome.is_ok() || !self.has_siblings {
            watch.waited(stream);
        }
        outcome
    }

    /// An error if the communicator is broken while something is under way on it: what then ends is not what
    /// it should be, such as an event behind a collective that was ended by force.
    pub(super) fn looked(&self) -> DriverResult<()> {
        let watch = locked(&self.watch);
        match &watch.broken {
            Some(broken) if watch.is_busy() => Err(broken.error(None)),
            _ => Ok(()),
        }
    }

    /// Gives the communicator up: in peace, or, after an error, by force.
    ///
    /// # Safety
    /// Nothing is under way on it. The device's context is current on this thread if there is an `api`.
    pub(super) unsafe fn leave(&self, api: Option<&Api>) {
        let mut watch = locked(&self.watch);
        watch.left = true;
        let is_broken = watch.broken.is_some();
        drop(watch);
        self.changed.notify_all();
        if is_broken {
            // The thread that looks after the communicator has ended it, or is about to. Other ranks of this
            // process may still access the memory.
            if let Some(api) = api.filter(|_| !self.has_siblings) {
                // SAFETY: the caller's promise.
                unsafe { self.scratch.free(api) };
            }
            return;
        }
        let Some(handle) = self.take() else { return };
        let Some(api) = api else { return handle.abort_elsewhere() };
        if handle.end(FAREWELL) {
            // SAFETY: the caller's promise; NCCL itself has ended.
            unsafe { self.scratch.free(api) };
        }
    }
}

impl Communicator {
    /// Looks after the communicator until it is given up: asks for asynchronous errors while something is
    /// under way, and ends it by force once it is broken, or once a collective has lasted for `limit`.
    pub(super) fn look_after(self: Arc<Self>, limit: Duration) {
        const BETWEEN: Duration = Duration::from_millis(20);
        let mut standing = Standing::default();
        let mut watch = locked(&self.watch);
        loop {
            if watch.broken.is_some() {
                drop(watch);
                // Nobody waits for this thread, so it does not matter how long that takes.
                return self.take().into_iter().for_each(Handle::abort);
            }
            if watch.left {
                return;
            }
            if !watch.is_busy() {
                standing = Standing::default();
                watch = self.changed.wait(watch).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // SAFETY: the words are freed after the communicator was left, for which this lock is taken.
            let stands =
                watch.counts && standing.lasts(unsafe { self.scratch.counted() }, Instant::now()) > limit;
            drop(watch);
            if let Some(why) = self.asynchronous_error() {
                self.break_up(&why);
            } else if stands {
                self.break_up(&self.stands(limit));
            }
            watch = locked(&self.watch);
            if watch.broken.is_none() && !watch.left {
                let waited = self.changed.wait_timeout(watch, BETWEEN);
                watch = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}
