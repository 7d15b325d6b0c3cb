//! [`Exchange`]: the [exchanges of slots](SlotExchange) between the thread that runs a pipeline and its
//! sources and sinks.
//!
//! A slot has one owner at a time: the run, the device (between the run's copy and its completion), or the
//! other end of a link, which never calls the driver.

use std::io::{self, ErrorKind as IoErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::chunk::Chunk;
use crate::base::error::{Detail, counted};
use crate::base::plan::Plan;
use crate::base::unwind::{contain, panic_message};
use crate::device::Device;
use crate::engine::arguments::shape::Shape;
use crate::engine::chunks::DEPTH_LIMIT;
use crate::engine::chunks::log::ChunkLog;
use crate::engine::feeds::awaited::{Wait, Waits, no_waits};
use crate::engine::feeds::failure::Failure;
use crate::exchange::{AnySink, AnySource};
use crate::exchange::{Attached, Job, SlotExchange, Trouble, Wakeup};

/// The state that the run shares with its sources and sinks.
pub(crate) struct Exchange {
    /// Notified by each side that has filled or emptied something.
    wakeup: Arc<Wakeup>,
    /// The failure of the run's functions.
    pub(crate) failure: Arc<Mutex<Option<Failure>>>,
    /// The first incomplete chunk, once the functions are done.
    lacking: AtomicUsize,
    pub(crate) ends: Vec<End>,
    /// The devices that share the run.
    devices: usize,
    /// The chunks so far of a run that ends where its sources do, and has several devices.
    log: Mutex<ChunkLog>,
    /// The time for which the run has waited for each.
    pub(crate) waits: Mutex<Vec<Waits>>,
}

/// A source or a sink.
pub(crate) struct End {
    /// Index into the plan's hosts.
    pub(crate) host: usize,
    /// Its name.
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) is_sink: bool,
    /// The operations that copy from or to it, in order.
    pub(crate) operations: Vec<usize>,
    pub(crate) link: Reached,
}

/// The other end of a link.
pub(crate) enum Reached {
    Thread(Arc<SlotExchange>),
    Caller(Arc<Attached>),
}

impl End {
    fn link(&self) -> &SlotExchange {
        match &self.link {
            Reached::Thread(link) => link,
            Reached::Caller(attached) => attached.link(),
        }
    }

    pub(crate) fn is_called(&self) -> bool {
        matches!(self.link, Reached::Caller(_))
    }

    /// Whether its thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.link().is_over()
    }

    /// The chunk that it fills or accepts next.
    pub(crate) fn chunk_at_hand(&self) -> usize {
        self.link().done()
    }
}

impl Exchange {
    /// `is_endless`: whether the run ends where its sources do. `devices`: how many share it.
    pub(crate) fn new(ends: Vec<End>, is_endless: bool, devices: usize) -> Self {
        let wakeup = Arc::<Wakeup>::default();
        for end in &ends {
            end.link().attach(&wakeup, (end.name, end.shape.per_item), is_endless);
        }
        let waits = no_waits(ends.len());
        Self {
            wakeup,
            failure: Arc::default(),
            lacking: AtomicUsize::new(usize::MAX),
            ends,
            devices,
            log: Mutex::default(),
            waits,
        }
    }

    /// Read this before checking a condition and waiting for it.
    pub(crate) fn version(&self) -> u64 {
        self.wakeup.version()
    }

    /// Waits until something has changed since `version`, at most for `longest`.
    pub(crate) fn wait(&self, version: u64, longest: Duration) {
        self.wakeup.wait_for(version, longest);
    }

    /// Waits until something has changed since `version`, or no time is left, which is asked again and again.
    pub(crate) fn wait_patiently(&self, version: u64, mut left: impl FnMut() -> Duration) {
        while self.version() == version {
            let left = left();
            if left.is_zero() {
                return;
            }
            self.wait(version, left);
        }
    }

    /// Does the same as [`wait`](Self::wait), and lets the other devices of a run go on meanwhile where their threads
    /// take turns.
    pub(crate) fn wait_aside(&self, device: &Device, version: u64, longest: Duration) {
        self.aside(device, version, || self.wait(version, longest));
    }

    /// Waits, and lets the other devices of a run go on meanwhile.
    pub(crate) fn aside(&self, device: &Device, version: u64, wait: impl FnOnce()) {
        let wakeup = Arc::clone(&self.wakeup);
        let ticket = device.driver().step_aside(Box::new(move || wakeup.version() != version));
        wait();
        if let Some(ticket) = ticket {
            device.driver().come_back(ticket);
        }
    }

    /// Tells the other devices of the run, if it has any, that this one has changed something.
    fn notify_others(&self) {
        if self.devices > 1 {
            self.wakeup.notify();
        }
    }

    /// The number of chunks that all sinks were given.
    pub(crate) fn given(&self) -> usize {
        let sinks = self.ends.iter().filter(|end| end.is_sink);
        sinks.map(|end| end.link().given()).min().unwrap_or(usize::MAX)
    }

    /// Whether a sink is to be offered a chunk now: the chunks before it, which other devices may have, were
    /// given to it, or it is not given this one either.
    pub(crate) fn is_due(&self, end: usize, chunk: usize) -> bool {
        let link = self.ends[end].link();
        link.given() >= chunk || chunk >= self.lacking() || link.trouble().is_some() || link.is_closed()
    }

    /// The first chunk that sinks are not given, since it is not complete.
    fn lacking(&self) -> usize {
        let failed =
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|of| of.lacking);
        failed.unwrap_or(usize::MAX).min(self.lacking.load(Ordering::Relaxed))
    }

    /// Whether a caller must be answered at once.
    pub(crate) fn is_called(&self) -> bool {
        self.ends.iter().any(End::is_called)
    }

    /// Whether a caller waits for a result that it was not given.
    pub(crate) fn is_wanted(&self) -> bool {
        self.ends.iter().any(|end| end.is_sink && end.link().is_wanted())
    }

    /// The chunks so far of a run that has several devices.
    pub(crate) fn log(&self) -> MutexGuard<'_, ChunkLog> {
        // Nothing unwinds under the lock.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the next chunk to the log, if it is this one. The sources have filled it with so many items.
    pub(crate) fn has_had(&self, chunk: Chunk, items: usize) -> Option<Chunk> {
        let mut log = self.log();
        let is_next = log.next().index == chunk.index;
        let had = is_next.then(|| log.push(items))?;
        drop(log);
        self.notify_others();
        Some(had)
    }

    /// Whether all sources have announced their ends.
    pub(crate) fn has_ended(&self) -> bool {
        let mut sources = self.sources().peekable();
        sources.peek().is_some() && sources.all(|(_, end)| end.link().has_an_end())
    }

    /// Each source, and its number.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (usize, &End)> {
        self.ends.iter().enumerate().filter(|(_, end)| !end.is_sink)
    }

    /// Lets results wait for callers outside of their slots. Returns whether all of them do.
    pub(crate) fn keep(&self) -> bool {
        let called = self.ends.iter().filter(|end| end.is_sink && end.is_called());
        called.filter(|end| !end.link().keep()).count() == 0
    }

    fn job(&self, end: usize, chunk: Chunk, slot: *mut u8, more: Vec<*mut u8>) -> Job {
        let shape = self.ends[end].shape;
        let items = shape.items(chunk.len);
        // There may be any number of elements without bytes.
        let (elements, bytes) = (items.saturating_mul(shape.per_item), items.saturating_mul(shape.bytes()));
        Job { chunk, elements, bytes, slot, more }
    }

    /// Gives a source the slots for its next chunk, all of which receive the same data.
    ///
    /// # Safety
    /// Each slot is as long as the chunk, initialised, aligned for the elements, and accessed by nobody else
    /// until the source has [filled](Self::has_filled) the chunk, its thread is over, or [`Closes`] is
    /// dropped.
    pub(crate) unsafe fn ask(&self, end: usize, chunk: Chunk, slot: *mut u8, more: Vec<*mut u8>) {
        let job = self.job(end, chunk, slot, more);
        // SAFETY: the caller's promise.
        let _ = unsafe { self.ends[end].link().give(job, false) };
        self.notify_others();
    }

    /// Gives a sink the slot with its next chunk; `false` if it accepts no more.
    ///
    /// # Safety
    /// The conditions of [`ask`](Self::ask), until the sink has [accepted](Self::accepted) it.
    pub(crate) unsafe fn offer(&self, end: usize, chunk: Chunk, slot: *mut u8) -> bool {
        // Chunks after a function's failure are not complete.
        if chunk.index >= self.lacking() {
            return false;
        }
        let job = self.job(end, chunk, slot, Vec::new());
        // Chunks are given in order with none left out, whatever has failed.
        // SAFETY: the caller's promise.
        let takes = unsafe { self.ends[end].link().give(job, true) };
        self.notify_others();
        takes
    }

    /// The chunk for which a source is asked next. After its end a source has no more chunks, but does not
    /// answer either: the commands for the device do not depend on the speed of its thread.
    pub(crate) fn next(&self, end: usize) -> usize {
        let link = self.ends[end].link();
        // A source that has stopped receives no more slots.
        if link.trouble().is_some() { usize::MAX } else { link.given() }
    }

    /// Whether a source has filled a chunk, if only in part.
    pub(crate) fn has_filled(&self, end: usize, chunk: usize) -> bool {
        self.ends[end].link().has_filled(chunk)
    }

    /// Whether a sink is done with a chunk, because it has accepted it or accepts no more.
    pub(crate) fn is_through(&self, end: usize, chunk: usize) -> bool {
        let link = self.ends[end].link();
        chunk < link.done() || link.is_over()
    }

    /// The number of items with which a source has filled a chunk: all, or fewer.
    pub(crate) fn items(&self, end: usize, chunk: Chunk) -> usize {
        // Sources are asked in order, so that no device is further behind another than by the slots of all.
        let behind = if self.devices == 1 { 0 } else { self.devices.saturating_mul(DEPTH_LIMIT + 1) };
        self.ends[end].link().items(chunk, behind)
    }

    /// Whether no source has chunks from this one on.
    pub(crate) fn ends_before(&self, chunk: usize) -> bool {
        self.sources().all(|(_, end)| end.link().ends_before(chunk))
    }

    /// The number of chunks that all sinks have accepted.
    pub(crate) fn accepted_by_all(&self) -> Option<usize> {
        self.ends.iter().filter(|end| end.is_sink).map(|end| end.link().done()).min()
    }

    /// The number of chunks that the sink of this host has accepted; `None` if it is not a sink.
    pub(crate) fn accepted(&self, host: usize) -> Option<usize> {
        let end = self.ends.iter().find(|end| end.host == host && end.is_sink)?;
        Some(end.link().done())
    }

    /// The sink that has stopped, or the source that is waited for and has stopped, with the reason: a source
    /// may have stopped chunks ahead.
    pub(crate) fn trouble(&self, before: usize) -> Option<(&End, Trouble)> {
        self.ends.iter().find_map(|end| {
            let trouble = end.link().trouble()?;
            let matters = end.is_sink || trouble.chunk.is_none_or(|chunk| chunk < before);
            matters.then_some((end, trouble))
        })
    }

    /// Whether a function of the run has failed.
    pub(crate) fn function_has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Notes, after the functions are done, the first chunk in which their work is missing, or that a device does
    /// not have.
    pub(crate) fn lacks(&self, chunk: usize) {
        self.lacking.fetch_min(chunk, Ordering::Relaxed);
        self.notify_others();
    }

    /// Asks sources for nothing more, or gives sinks nothing more.
    pub(crate) fn close(&self, sinks: bool) {
        self.ends.iter().filter(|end| end.is_sink == sinks).for_each(|end| end.link().close());
    }

    /// Waits until the sinks have written everything that they were given. Results given to callers are kept
    /// for them.
    pub(crate) fn finish_sinks(&self, plan: &'static Plan) {
        self.close(true);
        let mut wait = Wait::new(self, plan);
        loop {
            let version = self.version();
            let all_kept = self.keep();
            let mut threads = self.ends.iter().filter(|end| end.is_sink && !end.is_called());
            if all_kept && threads.all(|end| end.link().is_over()) {
                return;
            }
            wait.goes_on(|_, end| end.is_sink && !end.is_over());
            // Results that cannot be kept are waited for.
            self.wait(version, if all_kept { LOOKING } else { KEEPING });
        }
    }

    /// The work of a source's thread.
    pub(crate) fn read(&self, end: usize, mut source: Box<dyn AnySource + '_>) {
        let link = self.ends[end].link();
        let per_item = self.ends[end].shape.per_item;
        while let Some(job) = link.wait_for_job(false) {
            let Job { chunk, elements, bytes, slot, .. } = job;
            let items = guarded(|| {
                // SAFETY: `ask`'s caller has promised that the slot is this thread's until the answer.
                let filled = unsafe { source.read(chunk, slot, elements)? };
                if filled > elements {
                    let message =
                        format!("it says that it has filled {} of {elements}", counted(filled, "element"));
                    return Err(io::Error::new(IoErrorKind::InvalidData, message));
                }
                let rest = filled % per_item;
                if rest != 0 {
                    let message = format!("it ended {} into an item of {per_item}", counted(rest, "element"));
                    return Err(io::Error::new(IoErrorKind::UnexpectedEof, message));
                }
                Ok(filled / per_item)
            });
            // SAFETY: as above.
            unsafe { job.fill_others(bytes) };
            match items {
                Ok(items) => {
                    let is_last = items < chunk.len;
                    link.filled(chunk, items, is_last);
                    if is_last {
                        break;
                    }
                }
                Err(error) => {
                    link.failed(Some(chunk.index), error);
                    break;
                }
            }
        }
        contain(|| drop(source));
        link.finished();
    }

    /// The work of a sink's thread.
    pub(crate) fn write(&self, end: usize, mut sink: Box<dyn AnySink + '_>) {
        let link = self.ends[end].link();
        let mut goes_on = true;
        while goes_on && let Some(Job { chunk, elements, slot, .. }) = link.wait_for_job(true) {
            // SAFETY: `offer`'s caller has promised that the slot is this thread's until the answer.
            match guarded(|| unsafe { sink.write(chunk, slot, elements) }) {
                Ok(()) => link.accepted(chunk),
                Err(error) => {
                    link.failed(Some(chunk.index), error);
                    goes_on = false;
                }
            }
        }
        if goes_on && let Err(error) = guarded(|| sink.finish()) {
            link.failed(None, error);
        }
        contain(|| drop(sink));
        link.finished();
    }
}

/// The longest sleep of a run while sinks write. The message that it waits may be late by this much.
const LOOKING: Duration = Duration::from_secs(1);

/// The time after which a run without memory to keep results in tries again.
const KEEPING: Duration = Duration::from_millis(20);

/// The result of the user's code; its panic is an error like any other.
pub(crate) fn guarded<R>(call: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(io::Error::other(format!("it panicked: {}", panic_message(panic)))))
}

/// The error of a source or a sink.
pub(crate) fn kind_of(trouble: &Trouble, host: &'static str, is_sink: bool) -> Detail {
    let error = Arc::clone(&trouble.error);
    if is_sink { Detail::Sink { host, error } } else { Detail::Source { host, error } }
}

/// Ends the threads of sources and sinks when it is dropped, and takes all slots back from callers: however
/// the run ends, it can wait for the threads, and callers keep no access.
pub(crate) struct Closes<'e>(pub(crate) &'e Exchange);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.0.close(false);
        self.0.close(true);
        self.0.ends.iter().filter(|end| end.is_called()).for_each(|end| end.link().take_back());
    }
}
