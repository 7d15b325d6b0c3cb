//! [`Communicator`]: a rank of one device, and the calls that it makes of NCCL.
//!
//! A rank has two communicators of NCCL, with the same ranks, resources and flag that ends everything. The calls of the
//! *guard* return at once, so that it can be given up at any moment, even while it connects to ranks that never come. The
//! calls of the *worker*, which is split off it, wait until what they ask for is enqueued: collectives are asked for
//! there, since NCCL starts a thread for each call that returns at once. A call of the worker may wait for a stream that
//! stands still. It ends when the guard is aborted, which no call uses then.

use std::ptr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::aside::{aside, named_thread};
use super::calls::Calls;
use super::handle::Handle;
use super::library::Nccl;
use super::scratch::Scratch;
use super::slot::Slot;
use super::standing::Standing;
use super::sys::ncclComm_t;
use super::watch::{Broken, Watch, locked};
use crate::backends::cuda::api::Api;
use crate::backends::cuda::context::Context;
use crate::backends::cuda::handles::stream_handle;
use crate::base::error::DriverError;
use crate::driver::collective::{Joining, RawCollective, Shared};
use crate::driver::{DriverResult, RawStream, Tag};

/// How often a call that is in progress is asked for without a pause: a kernel's launch takes some
/// microseconds.
const LOOKS: u32 = 200;
/// The pause between later questions.
const PAUSE: Duration = Duration::from_micros(20);
/// How long each communicator that is given up in peace may take, and how long is waited for those that are ended by force.
const FAREWELL: Duration = Duration::from_secs(10);
/// How long a call of the worker may take before it counts as one that waits for a stream.
const CALL: Duration = Duration::from_millis(100);

// Note 79: collectives are asked for where calls wait, and aborted where they do not.
/// A rank of one device.
pub(super) struct Communicator {
    /// Its number in this process.
    pub(super) number: u64,
    rank: usize,
    nccl: &'static Nccl,
    /// It is made current on each thread that calls NCCL: on one without a context NCCL would make that of GPU 0.
    pub(super) context: Arc<Context>,
    guard: Slot,
    worker: Slot,
    pub(super) watch: Mutex<Watch>,
    /// Notified when the watch has something new for the thread that looks after it.
    pub(super) changed: Condvar,
    scratch: Scratch,
    /// Whether other ranks of the world are in this process.
    has_siblings: bool,
}

impl Communicator {
    /// The rank of a guard that was begun. It is of use once it is [connected](Self::connect).
    pub(super) fn new(
        (nccl, guard): (&'static Nccl, Handle),
        context: &Arc<Context>,
        world: &Joining,
        scratch: Scratch,
        counts: bool,
    ) -> Self {
        let rank = Self {
            number: world.number,
            rank: world.rank,
            nccl,
            context: Arc::clone(context),
            guard: Slot::empty(nccl),
            worker: Slot::empty(nccl),
            watch: Mutex::new(Watch::new(counts)),
            changed: Condvar::new(),
            scratch,
            has_siblings: world.has_siblings,
        };
        rank.guard.put(guard);
        rank
    }

    /// Waits until the guard has connected with the other ranks, and splits the worker off it. The device's context is
    /// current.
    ///
    /// # Errors
    /// NCCL's, or the error of `patience`, which is called again and again.
    pub(super) fn connect(&self, patience: impl Fn() -> DriverResult<()>) -> DriverResult<()> {
        self.settle(&self.guard, &patience)?;
        // If it is given up meanwhile, NCCL may still write there, so this memory stays then.
        let place: *mut ncclComm_t = Box::into_raw(Box::new(ptr::null_mut()));
        // SAFETY: the guard has settled, and the memory stays until it has settled again.
        let begun = self.guard.with(|guard| unsafe { guard.begin_split(self.rank, place) });
        begun.unwrap_or_else(|| Err(self.given_up()))?;
        self.settle(&self.guard, &patience)?;
        // SAFETY: NCCL has written to it, and does so no more.
        let worker = *unsafe { Box::from_raw(place) };
        self.worker.put(Handle::of(self.nccl, worker));
        Ok(())
    }

    /// Waits until nothing that was asked for is in progress any more.
    ///
    /// # Errors
    /// What has gone wrong, or the error of `patience`, which is called between two questions.
    fn settle(&self, slot: &Slot, patience: impl Fn() -> DriverResult<()>) -> DriverResult<()> {
        for look in 0_u32.. {
            if slot.with(Handle::is_settled).unwrap_or_else(|| Err(self.given_up()))? {
                return Ok(());
            }
            patience()?;
            if look < LOOKS { thread::yield_now() } else { thread::sleep(PAUSE) }
        }
        Ok(())
    }

    /// Asks for a collective, and waits until it is on the stream. The call itself does that, unless the user has told
    /// NCCL that no call is to wait.
    ///
    /// # Safety
    /// The device's context is current; the stream and the memory are its own, and stay until the collective
    /// is over.
    pub(super) unsafe fn ask(&self, work: &Shared, stream: RawStream) -> DriverResult<()> {
        let asked = self.worker.with(|worker| {
            let calls = Calls {
                nccl: self.nccl,
                comm: worker.comm(),
                stream: stream_handle(stream),
                scratch: self.scratch.memory(),
            };
            // SAFETY: the caller's promise; the communicator has settled since it was last asked for
            // something.
            unsafe { calls.ask(work) }
        });
        asked.unwrap_or_else(|| Err(self.given_up()))?;
        self.settle(&self.worker, || Ok(()))
    }

    /// Whether the communicators were given up: the guard goes before either of them is aborted.
    pub(super) fn is_given_up(&self) -> bool {
        self.guard.with(|_| ()).is_none()
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
            // SAFETY: the caller's promise; the words are freed when the communicator is given up, after the stream that
            // writes them was waited for.
            self.heed(unsafe { self.scratch.count_begun(api, stream, counted) });
        }
        // SAFETY: the caller's promise.
        if let Err(error) = unsafe { self.ask(&collective.work, stream) } {
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

    /// Breaks up if NCCL has found an error by itself. Those that no call returns are of both communicators, and another
    /// thread may be in a call of the worker for as long as a stream stands still.
    fn heed_errors(&self) {
        let asked = self.worker.try_with(Handle::is_settled);
        if let Some(Err(error)) = asked.or_else(|| self.guard.with(Handle::is_settled)) {
            self.break_up(&self.said(&error));
        }
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

    /// The error of a call that finds the communicators given up.
    #[cold]
    pub(super) fn given_up(&self) -> Box<DriverError> {
        self.error(None)
    }

    fn error(&self, tag: Option<Tag>) -> Box<DriverError> {
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
        self.heed_errors();
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

    /// Waits until a thread has ended the communicators by force, but not for ever. A process that ended meanwhile would
    /// take CUDA away from that thread.
    fn has_ended(&self) -> bool {
        let watch = self.changed.wait_timeout_while(locked(&self.watch), FAREWELL, |watch| !watch.ended);
        watch.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    /// Gives the communicator up: in peace, or, after an error, by force.
    ///
    /// # Safety
    /// Nothing is under way on it. The device's context is current on this thread if there is an `api`.
    pub(super) unsafe fn leave(self: Arc<Self>, api: Option<&Api>) {
        let mut watch = locked(&self.watch);
        watch.left = true;
        let is_broken = watch.broken.is_some();
        drop(watch);
        self.changed.notify_all();
        if is_broken {
            // Other ranks of this process may still access the memory.
            if let Some(api) = api.filter(|_| self.has_ended() && !self.has_siblings) {
                // SAFETY: the caller's promise.
                unsafe { self.scratch.free(api) };
            }
            return;
        }
        match api.filter(|_| self.ends_in_peace()) {
            // SAFETY: the caller's promise; NCCL itself has ended.
            Some(api) => unsafe { self.scratch.free(api) },
            None => self.end_aside(),
        }
    }

    /// Ends both communicators in peace, if that is possible and does not take too long. Otherwise what is left of them
    /// is still there.
    fn ends_in_peace(&self) -> bool {
        let Some(worker) = self.worker.take() else { return false };
        let (context, began) = (Arc::clone(&self.context), Instant::now());
        let work = move || context.enter().and_then(|_| worker.end_waiting());
        let patience = || if began.elapsed() < FAREWELL { Ok(()) } else { Err(self.given_up()) };
        if aside("ncclCommFinalize", work, patience).is_err() {
            return false;
        }
        let Some(guard) = self.guard.take() else { return false };
        guard.end(FAREWELL).map_err(|guard| self.guard.put(guard)).is_ok()
    }
}

impl Communicator {
    /// Ends everything by force, on a thread of its own, since that may wait for ever. Without such a thread all of it
    /// stays.
    pub(super) fn end_aside(self: &Arc<Self>) {
        let its = Arc::clone(self);
        if named_thread().spawn(move || its.end_by_force()).is_ok() {
            self.has_ended();
        }
    }

    /// Ends everything by force, whatever other threads are in a call of. That may wait for ever if other ranks are gone
    /// in a bad moment.
    fn end_by_force(&self) {
        // Nobody here could use an error.
        let _ = self.context.enter();
        // A call that waits for a stream that stands still ends once the flag is set that both share. No thread is in a
        // call of the guard for long.
        let idle = self.worker.take_within(CALL);
        idle.into_iter().chain(self.guard.take()).for_each(Handle::abort);
        self.worker.take().into_iter().for_each(Handle::abort);
        locked(&self.watch).ended = true;
        self.changed.notify_all();
    }

    /// Looks after the communicator until it is given up: asks for asynchronous errors while something is
    /// under way, and ends it by force once it is broken, or once a collective has lasted for `limit`.
    pub(super) fn look_after(self: Arc<Self>, limit: Duration) {
        const BETWEEN: Duration = Duration::from_millis(20);
        let mut standing = Standing::default();
        let mut watch = locked(&self.watch);
        loop {
            if watch.broken.is_some() {
                drop(watch);
                return self.end_by_force();
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
            self.heed_errors();
            if stands {
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
