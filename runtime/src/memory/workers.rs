//! Threads that copy between pageable and page-locked memory.
//!
//! They are the process's, started when something is first copied that is worth it, and sleep while there is nothing to
//! do. Whoever waits for a copy helps.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::copy::{Way, copy_with};

/// What one thread copies at a time.
const PIECE: usize = 128 << 10;

/// More threads than memory of one socket can feed, with the one that waits.
const MOST: usize = 12;

/// How long a thread looks for something to do before it sleeps. Waking one takes about as long.
const PATIENCE: Duration = Duration::from_micros(50);

/// A copy that threads take pieces of.
pub(crate) struct Task {
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    way: Way,
    /// The piece to be taken next.
    next: AtomicUsize,
    /// The pieces that are not done yet.
    left: AtomicUsize,
}

// SAFETY: `start`'s caller promises that both ranges may be accessed from any thread until the task is done, and no two
// pieces overlap.
unsafe impl Send for Task {}
// SAFETY: as above; a piece is handed out once.
unsafe impl Sync for Task {}

impl Task {
    pub(crate) fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Takes a piece and copies it; `false` if none was left to take.
    fn take(&self) -> bool {
        let piece = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(start) = piece.checked_mul(PIECE).filter(|&start| start < self.bytes) else { return false };
        // SAFETY: pieces are disjoint and within `bytes`, this one was taken by no one else, and the ranges are valid
        // until `left` is 0.
        unsafe {
            copy_with(self.way, self.to.add(start), self.from.add(start), PIECE.min(self.bytes - start));
        }
        self.left.fetch_sub(1, Ordering::Release);
        true
    }
}

/// Begins to copy.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `bytes`, they do not overlap, and nothing else writes them, or reads
/// `to`, until the task is done.
pub(crate) unsafe fn start(to: *mut u8, from: *const u8, bytes: usize, way: Way) -> Arc<Task> {
    let pieces = bytes.div_ceil(PIECE);
    let task = Task { to, from, bytes, way, next: AtomicUsize::new(0), left: AtomicUsize::new(pieces) };
    let task = Arc::new(task);
    if pieces == 1 {
        // No other thread could begin sooner than this one is done.
        task.take();
    } else if pieces > 1 {
        WORKERS.push(Arc::clone(&task));
    }
    task
}

/// Waits until a task is done, and helps meanwhile.
pub(crate) fn finish(task: &Task) {
    while !task.is_done() {
        help_or_pause();
    }
}

/// What to do while waiting for something else: a piece of what is to be copied, or if there is nothing, lets a moment pass.
pub(crate) fn help_or_pause() {
    if WORKERS.help() {
        return;
    }
    if *CORES > 2 { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// Of the machine, for this process.
pub(super) static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

static WORKERS: LazyLock<&'static Workers> = LazyLock::new(|| {
    let workers: &'static Workers = Box::leak(Box::default());
    for _ in 1..(*CORES).min(MOST) {
        let thread = std::thread::Builder::new().name("thalweg-copy".to_owned());
        // Without threads whoever waits copies alone.
        let _ = thread.spawn(|| workers.work());
    }
    workers
});

#[derive(Default)]
struct Workers {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// As many as are in the queue, to look at without the lock.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Arc<Task>>,
    asleep: usize,
}

impl Workers {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing under the lock panics.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, task: Arc<Task>) {
        let mut queue = self.queue();
        queue.tasks.push_back(task);
        self.waiting.store(queue.tasks.len(), Ordering::Relaxed);
        if queue.asleep > 0 {
            self.wake.notify_all();
        }
    }

    /// The task that waits longest.
    fn first(&self) -> Option<Arc<Task>> {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.queue().tasks.front().map(Arc::clone)
    }

    /// Nothing of the task is left to take.
    fn remove(&self, task: &Arc<Task>) {
        let mut queue = self.queue();
        queue.tasks.retain(|other| !Arc::ptr_eq(other, task));
        self.waiting.store(queue.tasks.len(), Ordering::Relaxed);
    }

    /// Copies a piece of what is waiting to be copied; `false` if there is nothing.
    fn help(&self) -> bool {
        let Some(task) = self.first() else { return false };
        if !task.take() {
            self.remove(&task);
        }
        true
    }

    fn work(&self) {
        let mut idle_since = Instant::now();
        loop {
            if let Some(task) = self.first() {
                while task.take() {}
                self.remove(&task);
                idle_since = Instant::now();
            } else if *CORES > 2 && idle_since.elapsed() < PATIENCE {
                std::hint::spin_loop();
            } else {
                let mut queue = self.queue();
                queue.asleep += 1;
                while queue.tasks.is_empty() {
                    queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                queue.asleep -= 1;
                drop(queue);
                idle_since = Instant::now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_copied_once_done_whatever_the_length() {
        for (index, bytes) in [0, 1, 63, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 17].into_iter().enumerate()
        {
            for way in [Way::Cached, Way::PastCache] {
                let from: Vec<u8> = (0..bytes).map(|i| (i * 31 + index) as u8).collect();
                let mut to = vec![0_u8; bytes + 2];
                // SAFETY: both are that long, at an odd address, and are left alone until it is done.
                let task = unsafe { start(to.as_mut_ptr().add(1), from.as_ptr(), bytes, way) };
                finish(&task);
                assert!(task.is_done());
                assert_eq!(to[1..=bytes], from);
                assert_eq!((to[0], to[bytes + 1]), (0, 0));
            }
        }
    }

    #[test]
    fn several_threads_may_have_tasks_at_once() {
        std::thread::scope(|scope| {
            for seed in 0..4_u8 {
                scope.spawn(move || {
                    for round in 0..20 {
                        let from = vec![seed.wrapping_mul(20).wrapping_add(round); 3 * PIECE + 5];
                        let mut to = vec![!from[0]; from.len()];
                        // SAFETY: as above.
                        let task =
                            unsafe { start(to.as_mut_ptr(), from.as_ptr(), from.len(), Way::PastCache) };
                        finish(&task);
                        assert_eq!(to, from);
                    }
                });
            }
        });
    }
}
