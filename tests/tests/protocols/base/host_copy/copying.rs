//! Each piece is copied once, a thread that waits for a task sees all of it, and no thread sleeps while there
//! are pieces.

use std::sync::Arc;

use loom::thread;

use super::copy::{self, Way};
use super::injector;
use super::workers::{PIECE, Task, Workers};
use crate::base::sync::give_threads;
use crate::check;

/// The threads of one execution.
#[derive(Clone, Copy)]
struct Copying(&'static Workers);

impl Copying {
    fn begin(threads: usize, tells: bool) -> Self {
        injector::begin();
        copy::begin(tells);
        let workers: &'static Workers = Box::leak(Box::default());
        workers.employ(0, threads);
        Self(workers)
    }

    /// Begins to copy this number of pieces, from this one on.
    fn start(self, first: usize, pieces: usize) -> Arc<Task> {
        let address = copy::piece(first);
        // SAFETY: only counts are copied, whose accesses loom sees.
        unsafe { self.0.start(address, address, pieces * PIECE, Way::Cached) }
    }

    /// All threads end: the sleeping ones are woken for a task that nobody does.
    fn end(self) {
        injector::end();
        drop(self.start(0, 2));
    }
}

/// Two threads and the one that waits share three pieces.
#[test]
fn each_piece_is_copied_once() {
    check(3, || {
        let copying = Copying::begin(3, false);
        copying.start(0, 3).finish();
        assert_eq!([0, 1, 2, 3].map(copy::count), [1, 1, 1, 0]);
        copying.end();
    });
}

/// Nobody helps: a thread that sleeps, or is about to, does all of each task.
#[test]
fn a_thread_is_woken_for_every_task() {
    check(2, || {
        let copying = Copying::begin(2, true);
        for first in [0, 2] {
            let _task = copying.start(first, 2);
            copy::wait_for(first + 2);
        }
        copying.end();
    });
}

/// One task wakes all threads that sleep: it may have a piece for each.
#[test]
fn every_thread_that_sleeps_is_woken() {
    check(1, || {
        let copying = Copying::begin(3, true);
        let _task = copying.start(0, 2);
        copy::wait_for(2);
        copying.end();
    });
}

/// Two threads begin tasks at once, and each has what it has begun.
#[test]
fn tasks_of_several_threads_do_not_mix() {
    check(1, || {
        let copying = Copying::begin(2, false);
        let other = thread::spawn(move || {
            copying.start(2, 2).finish();
            assert_eq!([2, 3].map(copy::count), [1, 1]);
        });
        copying.start(0, 2).finish();
        assert_eq!([0, 1].map(copy::count), [1, 1]);
        other.join().expect("no panic");
        copying.end();
    });
}

/// If the system gives no threads, the waiting thread copies alone.
#[test]
fn without_threads_who_waits_copies() {
    check(2, || {
        give_threads(0);
        let copying = Copying::begin(3, false);
        copying.start(0, 2).finish();
        assert_eq!([0, 1].map(copy::count), [1, 1]);
        copying.end();
    });
}
