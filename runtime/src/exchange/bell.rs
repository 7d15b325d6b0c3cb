//! [`Bell`]: how threads tell each other that something has changed.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::host_copy::let_a_moment_pass;

/// Rung after each change, for those who look for it or sleep until then. While nobody sleeps that costs no call of the system.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicU64,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Bell {
    /// To be asked before what is then waited for.
    pub(crate) fn heard(&self) -> u64 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Something has changed.
    pub(crate) fn ring(&self) {
        // Either this sees who is about to sleep, or they see this: each writes its own before it reads the other's.
        self.rung.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) > 0 {
            // Who has looked is asleep by then.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }

    /// Looks for a change since then for so long, without sleeping; whether there was one.
    pub(crate) fn look_out(&self, heard: u64, longest: Duration) -> bool {
        let mut since = None;
        while self.heard() == heard {
            if since.get_or_insert_with(Instant::now).elapsed() >= longest {
                return false;
            }
            let_a_moment_pass();
        }
        true
    }

    /// Sleeps until something has changed since then.
    pub(crate) fn wait(&self, heard: u64) {
        self.sleep(|guard| {
            drop(
                self.wake
                    .wait_while(guard, |()| self.heard() == heard)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        });
    }

    /// Likewise, or as long as this.
    pub(crate) fn wait_for(&self, heard: u64, longest: Duration) {
        self.sleep(|guard| {
            drop(
                self.wake
                    .wait_timeout_while(guard, longest, |()| self.heard() == heard)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        });
    }

    fn sleep(&self, wait: impl FnOnce(std::sync::MutexGuard<'_, ()>)) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, Ordering::SeqCst);
        wait(guard);
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    #[test]
    fn what_was_rung_before_is_not_waited_for() {
        let bell = Bell::default();
        let heard = bell.heard();
        bell.ring();
        bell.wait(heard);
        bell.wait_for(heard, Duration::MAX);
        assert!(bell.look_out(heard, Duration::ZERO));
        assert!(!bell.look_out(bell.heard(), Duration::from_micros(20)));
        bell.wait_for(bell.heard(), Duration::from_millis(1));
    }

    /// Each of two threads waits for the other many times: a ring that is lost would be the end.
    #[test]
    fn no_ring_is_lost() {
        let (here, there, turn) =
            (Arc::new(Bell::default()), Arc::new(Bell::default()), Arc::new(AtomicBool::new(false)));
        let wait_until = |bell: &Bell, turn: &AtomicBool, wanted: bool, looks: bool| {
            loop {
                let heard = bell.heard();
                if turn.load(Ordering::SeqCst) == wanted {
                    return;
                }
                if !looks || !bell.look_out(heard, Duration::from_micros(5)) {
                    bell.wait(heard);
                }
            }
        };
        let thread = {
            let (here, there, turn) = (Arc::clone(&here), Arc::clone(&there), Arc::clone(&turn));
            thread::spawn(move || {
                for round in 0..5000 {
                    wait_until(&there, &turn, true, round % 3 == 0);
                    turn.store(false, Ordering::SeqCst);
                    here.ring();
                }
            })
        };
        for round in 0..5000 {
            turn.store(true, Ordering::SeqCst);
            there.ring();
            wait_until(&here, &turn, false, round % 2 == 0);
        }
        thread.join().expect("no panic");
    }
}
