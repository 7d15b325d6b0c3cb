//! [`Registry`]: what a device knows of the streams and the memory that users have in their own hands.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::allocations::Allocations;
use super::core::{Kind, StreamCore, Used};
use super::uses::{Caller, Memory, Uses, is_same};
use crate::base::error::{Detail, DriverError, Error, ErrorKind, Place, Result, Touch};
use crate::base::unwind::contain;
use crate::device::Device;
use crate::driver::{DevicePtr, Driver, HostJob, Tag};

thread_local!(static CALLBACK: Cell<bool> = const { Cell::new(false) });

/// Whether the calling thread is the one that runs callbacks.
pub(crate) fn is_callback() -> bool {
    CALLBACK.get()
}

/// One for each device.
#[derive(Default)]
pub(crate) struct Registry {
    streams: Mutex<Vec<(Kind, Weak<StreamCore>)>>,
    /// Held while somebody looks for a stream of which there is one, and makes it.
    only: Mutex<()>,
    /// Held while something is enqueued on a stream that the null stream waits for, or on that.
    legacy: Mutex<()>,
    memory: Mutex<Allocations>,
    /// Whether some of it has bytes in common, to look at without the lock.
    overlap: AtomicBool,
    callers: Mutex<Callers>,
    /// What went wrong first in a stream that is gone, and that nobody was told.
    untold: Mutex<Option<Error>>,
    callbacks: Mutex<Option<Callbacks>>,
}

/// The thread for callbacks.
pub(crate) type Callbacks = mpsc::Sender<Message>;

/// What that thread is told.
pub(crate) enum Message {
    /// To be done now.
    Do(HostJob),
    /// Something is to be done when the stream has carried out so many operations. Of a device that gets on while somebody waits
    /// for it, somebody must.
    Expect(Weak<StreamCore>, u64),
}

#[derive(Default)]
struct Callers {
    all: Vec<Caller>,
    numbers: HashMap<(usize, usize), u32>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing of the user's runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    pub(crate) fn add_stream(&self, stream: &Arc<StreamCore>) {
        locked(&self.streams).push((stream.kind, Arc::downgrade(stream)));
    }

    pub(crate) fn remove_stream(&self, stream: &StreamCore) {
        locked(&self.streams).retain(|(_, other)| !std::ptr::eq(other.as_ptr(), stream));
    }

    /// Those that there are, of some kinds. To be dropped where no lock is held: the last handle of a stream waits for it.
    fn streams_of(&self, is_one: impl Fn(Kind) -> bool) -> Vec<Arc<StreamCore>> {
        let streams = locked(&self.streams);
        streams.iter().filter(|(kind, _)| is_one(*kind)).filter_map(|(_, stream)| stream.upgrade()).collect()
    }

    /// Those that there are.
    pub(crate) fn streams(&self) -> Vec<Arc<StreamCore>> {
        self.streams_of(|_| true)
    }

    /// Those that the null stream waits for, and that itself.
    pub(crate) fn legacy_streams(&self) -> Vec<Arc<StreamCore>> {
        self.streams_of(Kind::is_legacy)
    }

    /// The only stream of its kind, which `make` makes.
    pub(crate) fn only(
        &self,
        kind: Kind,
        make: impl FnOnce() -> Result<Arc<StreamCore>>,
    ) -> Result<Arc<StreamCore>> {
        let _only = locked(&self.only);
        self.streams_of(|other| other == kind).pop().map_or_else(make, Ok)
    }

    pub(crate) fn legacy(&self) -> MutexGuard<'_, ()> {
        locked(&self.legacy)
    }

    /// Adds memory that operations may use, and returns its number. Operations that are pending on other
    /// memory with common bytes are pending on it, too.
    pub(crate) fn add_memory(&self, start: DevicePtr, bytes: usize, memory: &Arc<dyn Memory>) -> u64 {
        let bytes = start.range(bytes);
        let mut all = locked(&self.memory);
        let number = all.add(bytes.clone(), Arc::downgrade(memory));
        self.overlap.store(all.overlap(), Ordering::Release);
        let others = if all.overlap() { all.overlapping(&bytes) } else { Vec::new() };
        drop(all);
        for (other, _) in others.iter().filter(|(other, _)| !is_same(other, memory)) {
            memory.uses().adopt(other.uses(), &bytes);
        }
        number
    }

    /// Removes the memory of this number, which begins at `start`.
    pub(crate) fn remove_memory(&self, start: DevicePtr, number: u64) {
        let mut all = locked(&self.memory);
        all.remove(start.0, number);
        self.overlap.store(all.overlap(), Ordering::Release);
    }

    /// The memory that all these bytes are in.
    pub(crate) fn memory_of(&self, bytes: &Range<u64>) -> Option<Arc<dyn Memory>> {
        locked(&self.memory).holding(bytes)
    }

    /// The memory that an operation uses, with all other memory that has some of the same bytes, because it
    /// was lent more than once. `None` if no memory overlaps.
    pub(crate) fn with_overlaps(&self, used: &[Used]) -> Option<Vec<Used>> {
        if !self.overlap.load(Ordering::Acquire) {
            return None;
        }
        let mut all = used.to_vec();
        for Used { memory, bytes, write, anew } in used.iter().filter(|used| !used.memory.is_on_host()) {
            let found = locked(&self.memory).overlapping(bytes);
            for (other, its) in found.into_iter().filter(|(other, _)| !is_same(other, memory)) {
                let bytes = bytes.start.max(its.start)..bytes.end.min(its.end);
                all.push(Used { memory: other, bytes, write: *write, anew: *anew });
            }
        }
        Some(all)
    }

    /// Notes that something other than a stream by hand has written these bytes of some memory. Earlier
    /// failures there no longer count.
    pub(crate) fn is_written_anew(&self, uses: &Uses, bytes: &Range<u64>) {
        uses.are_written_anew(bytes);
        if self.overlap.load(Ordering::Acquire) {
            let found = locked(&self.memory).overlapping(bytes);
            found.iter().for_each(|(other, _)| other.uses().are_written_anew(bytes));
        }
    }

    /// A stream goes whose error nobody was told.
    pub(crate) fn not_told(&self, error: Error) {
        locked(&self.untold).get_or_insert(error);
    }

    /// What has gone wrong in streams and that nobody was told: of those that are gone, and of those that are there.
    pub(crate) fn take_untold(&self) -> Option<Error> {
        let of_streams = || self.streams().iter().find_map(|stream| stream.take_kept());
        let untold = locked(&self.untold).take();
        untold.or_else(of_streams)
    }

    /// What the simulated device, and one that waits for each operation, names an operation by.
    pub(crate) fn tag(&self, driver: &dyn Driver, caller: Caller, number: u64) -> Tag {
        if !(driver.info().simulated || driver.is_synchronous()) {
            return Tag { pipeline: Tag::BY_HAND, operation: 0, chunk: number };
        }
        let mut callers = locked(&self.callers);
        let key = (std::ptr::from_ref(caller.at).addr(), caller.what.as_ptr().addr());
        let Callers { all, numbers } = &mut *callers;
        let operation = *numbers.entry(key).or_insert_with(|| {
            all.push(caller);
            all.len() as u32 - 1
        });
        Tag { pipeline: Tag::BY_HAND, operation, chunk: number }
    }

    fn caller(&self, tag: Tag) -> Option<Caller> {
        let callers = locked(&self.callers);
        tag.is_by_hand().then(|| callers.all.get(tag.operation as usize).copied()).flatten()
    }

    /// Has the thread for callbacks do something: one thing after another.
    pub(crate) fn call_back(&self, job: HostJob) -> Result<()> {
        // The thread ends when the last sender is dropped.
        let _ = self.callbacks()?.send(Message::Do(job));
        Ok(())
    }

    /// Where callbacks are sent to.
    pub(crate) fn callbacks(&self) -> Result<Callbacks> {
        let mut callbacks = locked(&self.callbacks);
        match &*callbacks {
            Some(sender) => Ok(sender.clone()),
            None => Ok(callbacks.insert(start_thread()?).clone()),
        }
    }
}

/// How long nobody waits for a device before the thread for callbacks does. A program that waits itself is not interfered with:
/// it runs the same each time.
const PATIENCE: Duration = Duration::from_millis(10);

fn start_thread() -> Result<Callbacks> {
    let (sender, messages) = mpsc::channel();
    let work = move || {
        CALLBACK.set(true);
        let mut expected: VecDeque<(Instant, Weak<StreamCore>, u64)> = VecDeque::new();
        loop {
            // Whatever has come meanwhile need not be waited for.
            while expected.front().is_some_and(|(_, stream, number)| {
                stream.upgrade().is_none_or(|stream| stream.progress.has_reached(*number))
            }) {
                expected.pop_front();
            }
            let since = expected.front().map(|(since, ..)| since.elapsed());
            let patience = since.map_or(Duration::MAX, |since| PATIENCE.saturating_sub(since));
            match messages.recv_timeout(patience) {
                Ok(Message::Do(job)) => contain(job),
                Ok(Message::Expect(stream, number)) => expected.push_back((Instant::now(), stream, number)),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if let Some((_, stream, number)) = expected.pop_front() {
                        // It keeps what goes wrong.
                        let _ = stream.upgrade().map(|stream| stream.wait_for(number));
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
    };
    let thread = thread::Builder::new().name("thalweg callbacks".to_owned()).spawn(work);
    thread.map_err(|error| ErrorKind::NoThread { message: error.to_string() })?;
    Ok(sender)
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("streams", &self.streams().len()).finish_non_exhaustive()
    }
}

/// Not where a function of a stream's runs. To be asked before anything is locked: whoever has the lock may wait, in the driver, for
/// the function.
pub(crate) fn may_wait(device: &Device, caller: Option<Caller>) -> Result<()> {
    device.driver().may_wait().map_err(|error| explain(device.registry(), error, caller))
}

/// An error with the places of the operations that it is about, as far as they are known.
pub(crate) fn explain(registry: &Registry, error: DriverError, caller: Option<Caller>) -> Error {
    let of = |tag| registry.caller(tag);
    let at = error.tag.map(|(operation, chunk)| Tag { pipeline: error.pipeline, operation, chunk });
    // What went wrong on the device may be of any operation before.
    let caller = at.and_then(of).or(caller.filter(|_| !error.is_asynchronous()));
    let place = caller.map_or_else(Place::default, Caller::place);
    let touch = |tag, writes| Touch { place: of(tag).map_or_else(Place::default, Caller::place), writes };
    let kind = match (error.detail.as_deref(), caller) {
        (Some(Detail::HostBody(message)), Some(caller)) => {
            ErrorKind::HostBody { kernel: caller.what, message: message.clone() }
        }
        (Some(Detail::Unwritten(unwritten)), Some(caller)) => unwritten.by(caller.what),
        (Some(&Detail::Race { writes, earlier, earlier_writes }), _) => ErrorKind::Race {
            earlier: Box::new(touch(earlier, earlier_writes)),
            later: Box::new(Touch { place, writes }),
        },
        (Some(Detail::Users(users)), _) => {
            let operations = users.iter().map(|&tag| touch(tag, false).place).collect();
            ErrorKind::MemoryInUse { operations }
        }
        (Some(Detail::Forked), _) => ErrorKind::Forked,
        _ => ErrorKind::Driver(error),
    };
    Error::new(kind).at(place)
}
