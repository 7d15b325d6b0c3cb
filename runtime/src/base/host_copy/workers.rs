//! Threads that copy between pageable and page-locked memory.
//!
//! The threads belong to the process. They start when a copy first is worth it, and sleep while there is
//! nothing to copy. Whoever waits for a copy helps. A caller with other work helps only if too few threads
//! copy. This folder's README shows that no thread sleeps while there are pieces.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::copy::{Way, copy_with};
use super::numa::Node;
use super::{CORES, Injector, Steal, let_a_moment_pass};
use crate::base::sync::{
    AtomicUsize, Builder, Condvar, Instant, Mutex, MutexGuard, Ordering, PoisonError, fence,
};

/// The bytes that one thread copies at a time.
pub(crate) const PIECE: usize = 128 << 10;

/// Devices whose wishes are added up. Those beyond share one with an earlier device.
const DEVICES: usize = 32;

/// How long a thread looks for something to do before it sleeps. Waking one takes about as long.
const PATIENCE: Duration = Duration::from_micros(50);

/// A copy that threads take pieces of.
pub(crate) struct Task {
    workers: &'static Workers,
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    way: Way,
    /// The pieces that are not done yet.
    left: AtomicUsize,
}

// SAFETY: `start`'s caller promises that both ranges may be accessed from any thread until the task is done,
// and no two pieces overlap.
unsafe impl Send for Task {}
// SAFETY: as above; a piece is handed out once.
unsafe impl Sync for Task {}

impl Task {
    pub(crate) fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Waits until the task is done, and helps meanwhile.
    pub(crate) fn finish(&self) {
        while !self.is_done() {
            self.workers.help_or_pause();
        }
    }

    /// Copies the piece that begins at this byte.
    fn copy(&self, start: usize) {
        // SAFETY: pieces are disjoint and within `bytes`, this one was taken by no one else, and the ranges
        // are valid until `left` is 0.
        unsafe {
            copy_with(self.way, self.to.add(start), self.from.add(start), PIECE.min(self.bytes - start));
        }
        self.left.fetch_sub(1, Ordering::Release);
    }
}

/// Threads that copy, and what they have to do.
#[derive(Default)]
pub(crate) struct Workers {
    /// The node that they run on, if they do not run anywhere.
    node: Option<Node>,
    /// The threads that all devices want together, without those that wait.
    wanted: AtomicUsize,
    /// The largest number that each device has wanted, by its index. Devices that begin a run at the same time
    /// need not wait for each other here, so that it has no lock.
    wanted_by: [AtomicUsize; DEVICES],
    /// The pieces to copy, each a task and the piece's first byte. The queue has no lock: there are so many
    /// pieces of 128 KiB that threads would wait for each other.
    pieces: Injector<(Arc<Task>, usize)>,
    threads: Mutex<Threads>,
    wake: Condvar,
    /// The number of threads that are awake.
    awake: AtomicUsize,
    asleep: AtomicUsize,
}

/// State under a lock, so that nobody goes to sleep while others are woken.
#[derive(Default)]
struct Threads {
    /// Threads that were started, or that could not be.
    started: usize,
}

impl Workers {
    /// Has no threads yet. They will run on this node, or anywhere.
    pub(super) fn on(node: Option<Node>) -> Self {
        Self { node, ..Self::default() }
    }

    /// The node that they run on.
    pub(super) fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    /// Has `threads` threads copy for a device from now on, if that is more than before and there are as many cores.
    /// One of them is the thread that waits. Each device has a link of its own, so theirs are in addition to those of
    /// the others.
    pub(crate) fn employ(&self, device: usize, threads: usize) {
        let own = threads.saturating_sub(1);
        let before = self.wanted_by[device % DEVICES].fetch_max(own, Ordering::Relaxed);
        if own > before {
            // Each increase of a device's number is added by the one call that made it.
            self.wanted.fetch_add(own - before, Ordering::Relaxed);
        }
    }

    /// The number of threads that are wanted and that there are cores for.
    fn most(&self) -> usize {
        let cores = self.node.as_ref().map_or(*CORES, |node| node.cores().min(*CORES));
        self.wanted.load(Ordering::Relaxed).min(cores.saturating_sub(1))
    }

    /// Whether a caller with other work had better help: some threads sleep, or there are fewer than are
    /// wanted.
    fn are_few(&self) -> bool {
        self.awake.load(Ordering::Relaxed) < self.wanted.load(Ordering::Relaxed)
    }

    /// Begins to copy.
    ///
    /// # Safety
    /// `from` is valid for reads and `to` for writes of `bytes`, they do not overlap, and nothing else writes
    /// them, or reads `to`, until the task is done.
    pub(crate) unsafe fn start(
        &'static self,
        to: *mut u8,
        from: *const u8,
        bytes: usize,
        way: Way,
    ) -> Arc<Task> {
        let pieces = bytes.div_ceil(PIECE);
        let task = Arc::new(Task { workers: self, to, from, bytes, way, left: AtomicUsize::new(pieces) });
        if pieces == 1 {
            // The calling thread copies one piece before another thread could begin.
            task.copy(0);
        } else if pieces > 1 {
            self.push(&task);
        }
        task
    }

    /// Copies. The copy is done when it returns.
    ///
    /// # Safety
    /// As `copy_nonoverlapping`.
    pub(crate) unsafe fn copy(&'static self, to: *mut u8, from: *const u8, bytes: usize, way: Way) {
        // SAFETY: the caller's promise; the task is done when this returns.
        unsafe { self.start(to, from, bytes, way) }.finish();
    }

    /// Copies a piece if there is one, and otherwise lets a moment pass. It is called while waiting for
    /// something else.
    pub(crate) fn help_or_pause(&self) {
        if !self.help() {
            let_a_moment_pass();
        }
    }

    /// Copies a piece if too few threads copy, and returns whether it did. It is for callers whose other work
    /// begins as soon as what they wait for is there, since a piece takes as long as several calls of the
    /// driver.
    pub(crate) fn help_if_few(&self) -> bool {
        self.are_few() && self.help()
    }

    /// Threads that were started, or that could not be.
    #[cfg(test)]
    pub(super) fn started(&self) -> usize {
        self.threads().started
    }

    /// Keeps threads from starting and from going to sleep.
    #[cfg(test)]
    pub(super) fn hold(&self) -> impl Sized + '_ {
        self.threads()
    }

    /// The threads that all devices want together, without those that wait.
    #[cfg(test)]
    pub(super) fn wanted(&self) -> usize {
        self.wanted.load(Ordering::Relaxed)
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        // Nothing under the lock panics.
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&'static self, task: &Arc<Task>) {
        for start in (0..task.bytes).step_by(PIECE) {
            self.pieces.push((Arc::clone(task), start));
        }
        // Either this thread sees the sleeper, or the sleeper sees the pieces.
        fence(Ordering::SeqCst);
        let most = self.most();
        if self.asleep.load(Ordering::Relaxed) == 0 && self.awake.load(Ordering::Relaxed) >= most {
            return;
        }
        let mut threads = self.threads();
        self.wake.notify_all();
        while threads.started < most {
            threads.started += 1;
            let thread = Builder::new().name("thalweg-copy".to_owned());
            // Without threads, whoever waits copies alone.
            let _ = thread.spawn(|| self.work());
        }
    }

    /// Copies a piece that waits to be copied; `false` if there is none.
    pub(crate) fn help(&self) -> bool {
        loop {
            match self.pieces.steal() {
                Steal::Success((task, start)) => {
                    task.copy(start);
                    return true;
                }
                Steal::Empty => return false,
                Steal::Retry => {}
            }
        }
    }

    fn work(&self) {
        self.awake.fetch_add(1, Ordering::Relaxed);
        if let Some(node) = &self.node {
            node.settle();
        }
        let mut idle_since = Instant::now();
        loop {
            if self.help() {
                idle_since = Instant::now();
            } else if *CORES > 2 && idle_since.elapsed() < PATIENCE {
                std::hint::spin_loop();
            } else {
                let mut threads = self.threads();
                self.awake.fetch_sub(1, Ordering::Relaxed);
                self.asleep.fetch_add(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                while self.pieces.is_empty() {
                    threads = self.wake.wait(threads).unwrap_or_else(PoisonError::into_inner);
                }
                self.asleep.fetch_sub(1, Ordering::Relaxed);
                self.awake.fetch_add(1, Ordering::Relaxed);
                drop(threads);
                idle_since = Instant::now();
            }
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workers({})", self.wanted.load(Ordering::Relaxed))
    }
}
