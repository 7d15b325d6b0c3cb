//! One thread's view of [`Wakeup`], and two threads that wait for each other; all interleavings are in the
//! tests' `protocols`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::Wakeup;

#[test]
fn what_has_changed_before_is_not_waited_for() {
    let wakeup = Wakeup::default();
    let version = wakeup.version();
    wakeup.notify();
    wakeup.wait(version);
    wakeup.wait_for(version, Duration::MAX);
    assert!(wakeup.spin(version, Duration::ZERO));
    assert!(!wakeup.spin(wakeup.version(), Duration::from_micros(20)));
    wakeup.wait_for(wakeup.version(), Duration::from_millis(1));
}

/// Each of two threads waits for the other many times: a change that nobody saw would block both for ever.
#[test]
fn no_change_is_lost() {
    let (here, there, turn) =
        (Arc::new(Wakeup::default()), Arc::new(Wakeup::default()), Arc::new(AtomicBool::new(false)));
    let wait_until = |wakeup: &Wakeup, turn: &AtomicBool, wanted: bool, looks: bool| {
        loop {
            let version = wakeup.version();
            if turn.load(Ordering::SeqCst) == wanted {
                return;
            }
            if !looks || !wakeup.spin(version, Duration::from_micros(5)) {
                wakeup.wait(version);
            }
        }
    };
    let thread = {
        let (here, there, turn) = (Arc::clone(&here), Arc::clone(&there), Arc::clone(&turn));
        thread::spawn(move || {
            for round in 0..5000 {
                wait_until(&there, &turn, true, round % 3 == 0);
                turn.store(false, Ordering::SeqCst);
                here.notify();
            }
        })
    };
    for round in 0..5000 {
        turn.store(true, Ordering::SeqCst);
        there.notify();
        wait_until(&here, &turn, false, round % 2 == 0);
    }
    thread.join().expect("no panic");
}
