//! Faults of kernels that run on the host: the panic, and where it was raised.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use crate::base::unwind::panic_message;

/// What a thread of a kernel has ended with: an index out of bounds, an overflow, an assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFault {
    /// The Rust file and the line, if they are known.
    pub(crate) place: Option<(String, u32)>,
    /// The thread's index, the axis that varies fastest last.
    pub(crate) index: Vec<usize>,
    pub(crate) message: String,
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.place {
            write!(f, "at {file}:{line}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.index[..] {
            [] => Ok(()),
            [one] => write!(f, "\n  note: it was the thread of index {one}"),
            several => write!(f, "\n  note: it was the thread of index {several:?}"),
        }
    }
}

thread_local! {
    /// Whether this thread runs a kernel.
    static IN_KERNEL: Cell<bool> = const { Cell::new(false) };
    /// Where the kernel's panic was raised.
    static PLACE: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// Calls `launch`, which runs a kernel's threads and stores the index of each before it runs. A panic goes on
/// as a [`KernelFault`].
///
/// A panic's place is known to the process's hook alone. So the first call adds one, which notes the place of
/// a kernel's panic, prints nothing of it, since the error says it, and hands all others on.
pub(super) fn running<const D: usize>(launch: impl FnOnce(&mut [usize; D])) {
    static ADD_HOOK: Once = Once::new();
    // A thread that panics already cannot change the hook.
    if !std::thread::panicking() {
        ADD_HOOK.call_once(add_hook);
    }
    let mut index = [0; D];
    let was_inside = IN_KERNEL.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| launch(&mut index)));
    IN_KERNEL.set(was_inside);
    if let Err(payload) = outcome {
        let place = PLACE.take();
        let index = index.to_vec();
        panic::resume_unwind(Box::new(KernelFault { place, index, message: panic_message(payload) }));
    }
}

fn add_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        if IN_KERNEL.get() {
            PLACE.set(panic.location().map(|place| (place.file().to_owned(), place.line())));
        } else {
            before(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_where_and_which_thread() {
        let line = line!() + 4;
        let outcome = panic::catch_unwind(|| {
            running::<2>(|index| {
                *index = [3, 4];
                assert_eq!(index[0], 7, "as the test wants");
            });
        });
        let payload = outcome.expect_err("it panicked");
        let fault = payload.downcast_ref::<KernelFault>().expect("a kernel's fault");
        let (file, at) = fault.place.clone().expect("a place");
        assert!(file.ends_with("fault.rs"), "{file}");
        assert_eq!((at, &fault.index[..]), (line, &[3, 4][..]));
        let said = fault.to_string();
        assert!(said.starts_with(&format!("at {file}:{line}: ")), "{said}");
        assert!(said.contains("as the test wants"), "{said}");
        assert!(said.ends_with("\n  note: it was the thread of index [3, 4]"), "{said}");
    }

    #[test]
    fn a_panic_outside_of_kernels_goes_to_the_hook_before() {
        running::<1>(|_| {});
        assert!(!IN_KERNEL.get());
        let outcome = panic::catch_unwind(|| panic::panic_any(5));
        assert_eq!(outcome.expect_err("it panicked").downcast_ref::<i32>(), Some(&5));
        assert_eq!(PLACE.take(), None);
    }
}
