//! Copies as counts: how often each piece was copied.

use std::cell::RefCell;
use std::rc::Rc;

use loom::cell::UnsafeCell;
use loom::sync::{Condvar, Mutex};

use super::workers::PIECE;

#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Cached,
}

/// The pieces of the memory that is copied to.
const PIECES: usize = 4;

/// Only its addresses matter.
static TO: [u8; PIECES * PIECE] = [0; PIECES * PIECE];

/// How often each piece was copied, and the number of copies.
struct Copies {
    counts: [UnsafeCell<usize>; PIECES],
    tells: bool,
    total: Mutex<usize>,
    changed: Condvar,
}

std::thread_local! {
    /// The counts of this execution.
    static COPIES: RefCell<Option<Rc<Copies>>> = const { RefCell::new(None) };
}

fn copies() -> Rc<Copies> {
    COPIES.with_borrow(|copies| Rc::clone(copies.as_ref().expect("the execution has begun")))
}

/// `tells`: whether a waiting thread is notified of each copy, which orders more than the copies themselves
/// do.
pub(super) fn begin(tells: bool) {
    let counts = [(); PIECES].map(|()| UnsafeCell::new(0));
    let copies = Copies { counts, tells, total: Mutex::new(0), changed: Condvar::new() };
    COPIES.set(Some(Rc::new(copies)));
}

/// The address of a piece.
pub(super) fn piece(index: usize) -> *mut u8 {
    TO[index * PIECE..].as_ptr().cast_mut()
}

/// How often a piece was copied. No thread may be copying it.
pub(super) fn count(index: usize) -> usize {
    // SAFETY: nobody writes it at the same time, or loom reports that first.
    copies().counts[index].with(|count| unsafe { *count })
}

/// Waits, without helping, until this number of pieces were copied.
pub(super) fn wait_for(pieces: usize) {
    let copies = copies();
    let mut total = copies.total.lock().expect("no panic");
    while *total < pieces {
        total = copies.changed.wait(total).expect("no panic");
    }
}

pub(super) unsafe fn copy_with(_: Way, to: *mut u8, _: *const u8, bytes: usize) {
    assert_eq!(bytes, PIECE);
    let (index, copies) = ((to.addr() - TO.as_ptr().addr()) / PIECE, copies());
    // SAFETY: nobody accesses it at the same time, or loom reports that first.
    copies.counts[index].with_mut(|count| unsafe { *count += 1 });
    if copies.tells {
        *copies.total.lock().expect("no panic") += 1;
        copies.changed.notify_all();
    }
}
