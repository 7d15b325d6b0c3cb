//! Panics of the user's code in places that must not unwind.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// Payloads that cannot be dropped.
static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// Drops a panic's payload. The payload may be of any type, and its destructor may panic in turn, with a
/// payload that does so again: that one is kept for good.
pub(crate) fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(again);
    }
}

/// Calls `work`, and catches a panic of it. Nobody may use anything that a panic leaves half-done.
pub(crate) fn contain(work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
        drop_payload(payload);
    }
}

/// The message that a panic was raised with.
pub(crate) fn panic_message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
    drop_payload(panic);
    message.unwrap_or_else(|| "it panicked".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_panic_gets_out() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("in a payload's destructor");
            }
        }
        let mut reached = 0;
        contain(|| reached += 1);
        contain(|| panic!("plain"));
        contain(|| std::panic::panic_any(Bomb));
        assert_eq!(reached, 1);
    }
}
