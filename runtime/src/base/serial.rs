//! Notices host bodies that are called for one thread of a launch after another, so that they run on one core.

use std::cell::Cell;

thread_local! {
    /// Whether the body that runs on this thread is one.
    static IS_SERIAL: Cell<bool> = const { Cell::new(false) };
}

/// The body that runs here is called for each thread of its launch.
#[inline]
pub(crate) fn note() {
    IS_SERIAL.set(true);
}

/// Calls a body, and says whether it was one.
pub(crate) fn notice(body: impl FnOnce()) -> bool {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_SERIAL.set(self.0);
        }
    }
    let _before = Before(IS_SERIAL.replace(false));
    body();
    IS_SERIAL.get()
}
