//! Work is done once or dropped once. The interleavings are in the tests' `protocols`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::callbacks::{Owner, Ticket, called};
use crate::driver::HostJob;

fn call(ticket: Ticket) {
    // SAFETY: the function takes any number.
    unsafe { called(ticket.argument()) };
}

/// Work that counts its calls. Its strong count tells whether it still exists.
fn counting(calls: &Arc<AtomicUsize>) -> HostJob {
    let calls = Arc::clone(calls);
    Box::new(move || {
        calls.fetch_add(1, Ordering::Relaxed);
    })
}

#[test]
fn work_is_done_once_or_dropped_once() {
    let (owner, calls) = (Owner::new(), Arc::new(AtomicUsize::new(0)));
    let [first, second, third] = [(); 3].map(|()| owner.expect(counting(&calls)));
    call(first);
    call(first);
    assert_eq!((calls.load(Ordering::Relaxed), Arc::strong_count(&calls)), (1, 3));
    drop(second.take().expect("it was not called"));
    call(second);
    assert_eq!((calls.load(Ordering::Relaxed), Arc::strong_count(&calls)), (1, 2));
    owner.forget_all();
    call(third);
    assert_eq!((calls.load(Ordering::Relaxed), Arc::strong_count(&calls)), (1, 1));
}

#[test]
fn owners_keep_apart() {
    let (mine, other, calls) = (Owner::new(), Owner::new(), Arc::new(AtomicUsize::new(0)));
    let (_, kept) = (mine.expect(counting(&calls)), other.expect(counting(&calls)));
    mine.forget_all();
    assert_eq!(Arc::strong_count(&calls), 2);
    call(kept);
    assert_eq!((calls.load(Ordering::Relaxed), Arc::strong_count(&calls)), (1, 1));
}

#[test]
fn no_panic_reaches_the_driver() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    let owner = Owner::new();
    call(owner.expect(Box::new(|| panic!("in the work"))));
    let bomb = Bomb;
    owner.expect(Box::new(move || drop(bomb)));
    owner.forget_all();
}
