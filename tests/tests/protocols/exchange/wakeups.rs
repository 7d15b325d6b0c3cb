//! Nobody sleeps if something has changed.

use std::sync::Arc;
use std::time::Duration;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::wakeup::Wakeup;
use crate::base::sync::expire;
use crate::check;

/// A value that changes, and the wakeup that reports it.
#[derive(Default)]
struct Shared {
    wakeup: Wakeup,
    /// The order is relaxed: the wakeup orders it.
    value: AtomicUsize,
}

impl Shared {
    fn advance(&self) {
        self.value.fetch_add(1, Ordering::Relaxed);
        self.wakeup.notify();
    }

    fn wait_for(&self, value: usize, wait: impl Fn(&Wakeup, u64)) {
        loop {
            let version = self.wakeup.version();
            if self.value.load(Ordering::Relaxed) >= value {
                return;
            }
            wait(&self.wakeup, version);
        }
    }
}

fn shared() -> [Arc<Shared>; 2] {
    let shared = Arc::<Shared>::default();
    [Arc::clone(&shared), shared]
}

/// One thread waits for two changes, by two threads.
#[test]
fn one_sleeper_hears_of_every_change() {
    check(2, || {
        let [here, there] = shared();
        let also_there = Arc::clone(&there);
        thread::spawn(move || there.advance());
        thread::spawn(move || also_there.advance());
        here.wait_for(2, Wakeup::wait);
    });
}

/// One change wakes both sleeping threads.
#[test]
fn every_sleeper_is_woken() {
    check(2, || {
        let [here, there] = shared();
        let also_there = Arc::clone(&there);
        thread::spawn(move || there.wait_for(1, Wakeup::wait));
        thread::spawn(move || also_there.wait_for(1, Wakeup::wait));
        here.advance();
    });
}

/// A thread that looks before it sleeps, or sleeps only for a while, misses nothing either.
#[test]
fn who_looks_or_sleeps_for_a_while_misses_nothing() {
    for timeouts in 0..2 {
        check(2, move || {
            expire(timeouts);
            let [here, there] = shared();
            thread::spawn(move || {
                there.advance();
                there.wait_for(2, |wakeup, version| {
                    if !wakeup.spin(version, Duration::ZERO) {
                        wakeup.wait(version);
                    }
                });
            });
            here.wait_for(1, |wakeup, version| wakeup.wait_for(version, Duration::ZERO));
            here.advance();
        });
    }
}
