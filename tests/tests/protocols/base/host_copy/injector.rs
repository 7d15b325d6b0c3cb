//! A queue like crossbeam's, in the orderings that its users can see, or with weaker ones.

use std::cell::Cell;

use crate::base::sync::{AtomicBool, AtomicUsize, Ordering, end_thread};

std::thread_local! {
    /// Whether the threads are to end: otherwise they would go on for ever.
    static IS_OVER: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn begin() {
    IS_OVER.set(false);
}

/// From now on a thread that takes a piece ends instead.
pub(super) fn end() {
    IS_OVER.set(true);
}

/// The number of pieces that a model may have.
const PLACES: usize = 8;

pub(super) struct Injector<T> {
    places: [Place<T>; PLACES],
    head: AtomicUsize,
    tail: AtomicUsize,
}

struct Place<T> {
    piece: Cell<Option<T>>,
    is_written: AtomicBool,
}

// SAFETY: a model's threads are coroutines of one thread, which switch only in calls of loom.
unsafe impl<T: Send> Sync for Injector<T> {}

pub(super) enum Steal<T> {
    Empty,
    Success(T),
    Retry,
}

impl<T> Default for Injector<T> {
    fn default() -> Self {
        let place = |()| Place { piece: Cell::new(None), is_written: AtomicBool::new(false) };
        Self { places: [(); PLACES].map(place), head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }
}

impl<T> Injector<T> {
    pub(super) fn push(&self, piece: T) {
        let place = &self.places[self.tail.fetch_add(1, Ordering::AcqRel)];
        place.piece.set(Some(piece));
        place.is_written.store(true, Ordering::Release);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed) == self.tail.load(Ordering::Relaxed)
    }

    pub(super) fn steal(&self) -> Steal<T> {
        if IS_OVER.get() {
            end_thread();
        }
        let head = self.head.load(Ordering::Acquire);
        if head == self.tail.load(Ordering::Acquire) {
            return Steal::Empty;
        }
        if self.head.compare_exchange(head, head + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Steal::Retry;
        }
        let place = &self.places[head];
        while !place.is_written.load(Ordering::Acquire) {
            loom::thread::yield_now();
        }
        Steal::Success(place.piece.take().expect("each is taken once"))
    }
}
