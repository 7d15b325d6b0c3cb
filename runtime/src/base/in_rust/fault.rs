//! Faults of kernels that run on the host: the panic, and where it was raised.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use super::given::TooLittle;
use super::running::Running;
use crate::base::unwind::panic_message;

/// What a thread of a kernel has ended with: an index out of bounds, an overflow, an assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFault {
    /// The Rust file and the line, if they are known.
    pub(crate) place: Option<(String, u32)>,
    pub(crate) thread: FaultThread,
    pub(crate) message: String,
    pub(crate) known: Known,
    /// Two threads race. The message names them.
    pub(crate) is_race: bool,
}

/// The thread that has failed, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FaultThread {
    /// A GPU tells the line alone, and the message of a race names both threads. Where shared memory is lacking, it
    /// is so for all of a block.
    Unknown,
    /// The thread of an index, the axis that varies fastest last; and the threads of a block, as `[x, y, z]`.
    OfIndex(Vec<usize>, [u32; 3]),
    /// A thread of the block of an index; `None` outside of phases, where all threads do the same.
    OfBlock(Vec<usize>, Option<usize>),
}

/// Where the thread and the message of a fault come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// The kernel has run on the host, or a GPU has told all that there is to know.
    All,
    /// A GPU has told the line. The host has run the launch again, and a thread has failed at that line.
    Again,
    /// A GPU has told the line; and why running the launch again has told no more, if that was tried.
    Line(Option<Lacking>),
}

/// Why running a launch again does not tell the thread that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// What own elements hold decides whether a thread fails, and the kernel has changed them.
    Own,
    /// What the launches have read was overwritten since.
    Overwritten,
    /// The launch has more memory than is copied for this.
    TooLarge,
    /// The device has not given back what the launch has read.
    Device,
    /// It takes too long.
    TooLong,
    /// No thread fails there in the launches that are left, which may be fewer than there were.
    NotThere { all: bool },
}

impl Lacking {
    fn said(self) -> &'static str {
        match self {
            Self::Own => {
                "the launch cannot be run again on the host: what its own elements held decides whether a \
                 thread fails, and it has changed them"
            }
            Self::Overwritten => {
                "the launch cannot be run again on the host: what it has read was overwritten since"
            }
            Self::TooLarge => "the launch is not run again on the host: it has too much memory",
            Self::Device => {
                "the launch cannot be run again on the host: the device does not give back what it has read"
            }
            Self::TooLong => {
                "the host has run the launch again for some time, and has not come to the thread"
            }
            Self::NotThere { all: true } => "the host has run the launch again, and no thread failed there",
            Self::NotThere { all: false } => {
                "the host has run again the launches whose data are left, and no thread failed there"
            }
        }
    }
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.place {
            write!(f, "at {file}:{line}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.thread {
            FaultThread::Unknown => Ok(()),
            FaultThread::OfIndex(index, threads) => of_index(index, *threads, f),
            FaultThread::OfBlock(block, Some(thread)) => {
                write!(f, "\n  note: it was thread {thread} of block {}", shown(block))
            }
            FaultThread::OfBlock(block, None) => {
                write!(f, "\n  note: it was block {}, outside of a phase", shown(block))
            }
        }?;
        match self.known {
            Known::All => Ok(()),
            Known::Again => f.write_str(
                "\n  note: a GPU tells the line alone; the host has run the launch again, and this is the first \
                 thread that fails there",
            ),
            Known::Line(lacking) => {
                f.write_str(
                    "\n  note: a GPU tells the line alone: the simulated device tells the thread and the \
                     numbers, too",
                )?;
                lacking.map_or(Ok(()), |lacking| write!(f, "\n  note: {}", lacking.said()))
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

/// The thread of an index, whose last axis is CUDA's x, and its place in its block, as `(x, y, z)`.
fn of_index(index: &[usize], threads: [u32; 3], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let axes = || index.iter().rev().zip(threads.map(|threads| threads as usize));
    let shown = |axes: Vec<usize>| match &axes[..] {
        [one] => one.to_string(),
        several => {
            let several: Vec<_> = several.iter().map(usize::to_string).collect();
            format!("({})", several.join(", "))
        }
    };
    let thread = shown(axes().map(|(at, threads)| at % threads).collect());
    let block = shown(axes().map(|(at, threads)| at / threads).collect());
    match index {
        [one] => write!(f, "\n  note: it was the thread of index {one}")?,
        several => write!(f, "\n  note: it was the thread of index {several:?}")?,
    }
    write!(f, ", thread {thread} of block {block}")
}

thread_local! {
    /// Whether this thread runs a kernel.
    static IN_KERNEL: Cell<bool> = const { Cell::new(false) };
    /// Where the kernel's panic was raised.
    static PLACE: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

impl KernelFault {
    /// What a GPU tells: the Rust file and the line, if they are known.
    pub(super) fn of_line(place: Option<(String, u32)>) -> Self {
        let message =
            "an index out of bounds, an overflow, a division by zero or a false assertion".to_owned();
        Self { place, thread: FaultThread::Unknown, message, known: Known::Line(None), is_race: false }
    }

    /// A GPU tells all of this: each block of the launch has too little shared memory.
    pub(super) fn of_shared(place: (String, u32), lacking: &TooLittle) -> Self {
        let message = lacking.to_string();
        Self { place: Some(place), thread: FaultThread::Unknown, message, known: Known::All, is_race: false }
    }

    /// Goes on as a panic, which carries the fault.
    pub(super) fn resume(self) -> ! {
        panic::resume_unwind(Box::new(self))
    }
}

/// Calls `launch`, which runs a kernel's threads and stores the index of each before it runs. `threads` are
/// those of a block, as `[x, y, z]`.
pub(super) fn running<const D: usize>(
    threads: [u32; 3],
    launch: impl FnOnce(&mut [usize; D]),
) -> Result<(), KernelFault> {
    let mut index = [0; D];
    caught(|| launch(&mut index)).map_err(|caught| {
        let thread = FaultThread::OfIndex(index.to_vec(), threads);
        caught.fault(thread)
    })
}

/// Calls `launch`, which runs a kernel's block and notes each thread before it runs.
pub(super) fn in_block(block: &[usize], running: &Running, launch: impl FnOnce()) -> Result<(), KernelFault> {
    in_blocks(launch, || (block, running))
}

/// Calls `launch`, which runs several blocks. `which` says the one that ran.
pub(super) fn in_blocks<'a>(
    launch: impl FnOnce(),
    which: impl FnOnce() -> (&'a [usize], &'a Running),
) -> Result<(), KernelFault> {
    caught(launch).map_err(|caught| {
        let (block, running) = which();
        caught.fault(FaultThread::OfBlock(block.to_vec(), running.get()))
    })
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
            Self::Panic(place, message) => {
                KernelFault { place, thread, message, known: Known::All, is_race: false }
            }
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
        let outcome = running::<2>([4, 2, 1], |index| {
            *index = [3, 4];
            assert_eq!(index[0], 7, "as the test wants");
        });
        let fault = outcome.expect_err("it panicked");
        let (file, at) = fault.place.clone().expect("a place");
        assert!(file.ends_with("fault.rs"), "{file}");
        assert_eq!((at, &fault.thread), (line, &FaultThread::OfIndex(vec![3, 4], [4, 2, 1])));
        let said = fault.to_string();
        assert!(said.starts_with(&format!("at {file}:{line}: ")), "{said}");
        assert!(said.contains("as the test wants"), "{said}");
        let of = "\n  note: it was the thread of index [3, 4], thread (0, 1) of block (1, 1)";
        assert!(said.ends_with(of), "{said}");
    }

    #[test]
    fn what_a_gpu_does_not_tell_is_said() {
        let line = KernelFault::of_line(Some(("k.rs".to_owned(), 7)));
        let first = "at k.rs:7: an index out of bounds, an overflow, a division by zero or a false assertion\n  \
                     note: a GPU tells the line alone: ";
        assert!(line.to_string().starts_with(first), "{line}");
        let cause = |lacking| KernelFault { known: Known::Line(Some(lacking)), ..line.clone() }.to_string();
        assert!(cause(Lacking::Overwritten).ends_with("was overwritten since"));
        assert!(cause(Lacking::NotThere { all: false }).ends_with("are left, and no thread failed there"));
        let thread = FaultThread::OfIndex(vec![70], [32, 1, 1]);
        let again = KernelFault { known: Known::Again, thread, message: "why".to_owned(), ..line };
        let said = again.to_string();
        assert!(
            said.starts_with("at k.rs:7: why\n  note: it was the thread of index 70, thread 6 of block 2\n")
        );
        assert!(said.ends_with("this is the first thread that fails there"), "{said}");
    }

    #[test]
    fn a_panic_outside_of_kernels_goes_to_the_hook_before() {
        running::<1>([1; 3], |_| {}).expect("no fault");
        assert!(!IN_KERNEL.get());
        let outcome = panic::catch_unwind(|| panic::panic_any(5));
        assert_eq!(outcome.expect_err("it panicked").downcast_ref::<i32>(), Some(&5));
        assert_eq!(PLACE.take(), None);
    }
}
