//! Faults of kernels that run on the host: the panic, and where it was raised.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use super::running::Running;
use crate::base::unwind::panic_message;

/// What a thread of a kernel has ended with: an index out of bounds, an overflow, an assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFault {
    /// The Rust file and the line, if they are known.
    pub(crate) place: Option<(String, u32)>,
    pub(crate) thread: FaultThread,
    pub(crate) message: String,
    /// Two threads race. The message names them.
    pub(crate) is_race: bool,
}

/// The thread that has failed, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FaultThread {
    /// A GPU tells the line alone, and the message of a race names both threads.
    Unknown,
    /// The thread of an index, the axis that varies fastest last.
    OfIndex(Vec<usize>),
    /// A thread of the block of an index; `None` outside of phases, where all threads do the same.
    OfBlock(Vec<usize>, Option<usize>),
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.place {
            write!(f, "at {file}:{line}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.thread {
            FaultThread::Unknown => Ok(()),
            FaultThread::OfIndex(index) => {
                write!(f, "\n  note: it was the thread of index {}", shown(index))
            }
            FaultThread::OfBlock(block, Some(thread)) => {
                write!(f, "\n  note: it was thread {thread} of block {}", shown(block))
            }
            FaultThread::OfBlock(block, None) => {
                write!(f, "\n  note: it was block {}, outside of a phase", shown(block))
            }
        }
    }
}

/// An index as a number, or as a list if it has several axes.
pub(super) fn shown(index: &[usize]) -> String {
    match index {
        [one] => one.to_string(),
        several => format!("{several:?}"),
    }
}

thread_local! {
    /// Whether this thread runs a kernel.
    static IN_KERNEL: Cell<bool> = const { Cell::new(false) };
    /// Where the kernel's panic was raised.
    static PLACE: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

impl KernelFault {
    /// Goes on as a panic, which carries the fault.
    pub(super) fn resume(self) -> ! {
        panic::resume_unwind(Box::new(self))
    }
}

/// Calls `launch`, which runs a kernel's threads and stores the index of each before it runs.
pub(super) fn running<const D: usize>(launch: impl FnOnce(&mut [usize; D])) -> Result<(), KernelFault> {
    let mut index = [0; D];
    caught(|| launch(&mut index)).map_err(|caught| caught.fault(FaultThread::OfIndex(index.to_vec())))
}

/// Calls `launch`, which runs a kernel's block and notes each thread before it runs.
pub(super) fn in_block(block: &[usize], running: &Running, launch: impl FnOnce()) -> Result<(), KernelFault> {
    caught(launch).map_err(|caught| caught.fault(FaultThread::OfBlock(block.to_vec(), running.get())))
}

/// How a part of a launch has ended.
enum Caught {
    /// A panic: where, and what it says.
    Panic(Option<(String, u32)>, String),
    /// What is known already.
    Fault(KernelFault),
}

impl Caught {
    fn fault(self, thread: FaultThread) -> KernelFault {
        match self {
            Self::Panic(place, message) => KernelFault { place, thread, message, is_race: false },
            Self::Fault(fault) => fault,
        }
    }
}

/// Calls a part of a kernel's launch. If it panics, the outcome is where and what it says.
///
/// A panic's place is known to the process's hook alone. So the first call adds one, which notes the place of
/// a kernel's panic, prints nothing of it, since the error says it, and hands all others on.
fn caught(launch: impl FnOnce()) -> Result<(), Caught> {
    static ADD_HOOK: Once = Once::new();
    // A thread that panics already cannot change the hook.
    if !std::thread::panicking() {
        ADD_HOOK.call_once(add_hook);
    }
    let was_inside = IN_KERNEL.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(launch));
    IN_KERNEL.set(was_inside);
    outcome.map_err(|payload| match payload.downcast() {
        Ok(fault) => Caught::Fault(*fault),
        Err(payload) => Caught::Panic(PLACE.take(), panic_message(payload)),
    })
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
        let line = line!() + 3;
        let outcome = running::<2>(|index| {
            *index = [3, 4];
            assert_eq!(index[0], 7, "as the test wants");
        });
        let fault = outcome.expect_err("it panicked");
        let (file, at) = fault.place.clone().expect("a place");
        assert!(file.ends_with("fault.rs"), "{file}");
        assert_eq!((at, &fault.thread), (line, &FaultThread::OfIndex(vec![3, 4])));
        let said = fault.to_string();
        assert!(said.starts_with(&format!("at {file}:{line}: ")), "{said}");
        assert!(said.contains("as the test wants"), "{said}");
        assert!(said.ends_with("\n  note: it was the thread of index [3, 4]"), "{said}");
    }

    #[test]
    fn a_panic_outside_of_kernels_goes_to_the_hook_before() {
        running::<1>(|_| {}).expect("no fault");
        assert!(!IN_KERNEL.get());
        let outcome = panic::catch_unwind(|| panic::panic_any(5));
        assert_eq!(outcome.expect_err("it panicked").downcast_ref::<i32>(), Some(&5));
        assert_eq!(PLACE.take(), None);
    }
}
