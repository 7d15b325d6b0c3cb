//! Replay: the host runs a launch of a GPU again, on copies of what it has read, to find the thread that has
//! failed and the numbers with which it did.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::fault::{KernelFault, Known, Lacking};
use crate::base::unwind::drop_payload;

/// How much longer than its time a replay is waited for: it is asked between threads of the kernel alone.
const GRACE: Duration = Duration::from_millis(200);

/// The memory of a launch that runs on the host: the device's own, if that is the host's, or copies of it.
#[derive(Default)]
#[doc(hidden)]
pub struct Copies(Option<Vec<Copied>>);

/// A copy of a range of the device's memory.
struct Copied {
    from: u64,
    bytes: usize,
    /// The address of the first byte, which is aligned as the device's is. Its provenance is exposed, since the
    /// views of a launch are addresses.
    start: usize,
    /// Owned, and not accessed: the copy is accessed by its address.
    _memory: Vec<Line>,
}

/// The alignment of copies: that of page-locked memory, and more than that of any element.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "it is read as bytes")] [u8; LINE]);

const LINE: usize = 64;

impl Copies {
    /// No copies, for a launch whose views are copied later.
    pub(crate) fn new() -> Self {
        Self(Some(Vec::new()))
    }

    /// Adds a range of the device's memory. The result is its copy, of zeros.
    pub(crate) fn add(&mut self, from: u64, bytes: usize) -> &mut [u8] {
        let first = from as usize % LINE;
        let mut memory = vec![Line([0; LINE]); (first + bytes).div_ceil(LINE)];
        let start = memory.as_mut_ptr().expose_provenance() + first;
        self.0.get_or_insert_default().push(Copied { from, bytes, start, _memory: memory });
        // SAFETY: the bytes are within the lines, which are initialised and stay where they are. Nothing else
        // accesses them as long as `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(start), bytes) }
    }

    /// Whether the launch runs on copies.
    pub fn is_any(&self) -> bool {
        self.0.is_some()
    }

    /// Where these bytes of the device are for the launch.
    ///
    /// # Panics
    /// If the launch has copies, and these bytes are in none.
    pub(crate) fn address(&self, from: u64, bytes: usize) -> u64 {
        let Some(copies) = &self.0 else { return from };
        if bytes == 0 {
            // A slice of no elements has an address, too.
            return LINE as u64;
        }
        let offset = |copied: &Copied| {
            let offset = usize::try_from(from.checked_sub(copied.from)?).ok()?;
            (offset.checked_add(bytes)? <= copied.bytes).then(|| (copied.start + offset) as u64)
        };
        match copies.iter().find_map(offset) {
            Some(address) => address,
            None => unreachable!("a launch tells all memory that it accesses"),
        }
    }
}

impl fmt::Debug for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copies = self.0.iter().flatten();
        f.debug_list().entries(copies.map(|copied| (copied.from, copied.bytes))).finish()
    }
}

thread_local! {
    /// What the launch that runs on this thread is searched for.
    static SEARCH: RefCell<Option<Rc<Search>>> = const { RefCell::new(None) };
}

/// A search for a fault at a place.
pub(super) struct Search {
    place: (String, u32),
    until: Instant,
    /// Whether the time was up before all was run.
    is_cut: Cell<bool>,
}

/// Whether this thread searches for a fault.
pub(super) fn is_searching() -> bool {
    SEARCH.with_borrow(Option::is_some)
}

/// The search of this thread.
pub(super) fn search() -> Option<Rc<Search>> {
    SEARCH.with_borrow(Clone::clone)
}

impl Search {
    /// Runs tasks one after another, until one fails at the place, or the time is up. What fails elsewhere may
    /// have failed on the GPU, too, and the word for faults has the place of another thread.
    pub(super) fn first(
        &self,
        tasks: usize,
        run: impl Fn(usize) -> Result<(), KernelFault>,
    ) -> Option<KernelFault> {
        for task in 0..tasks {
            if Instant::now() >= self.until {
                self.is_cut.set(true);
                return None;
            }
            match run(task) {
                Err(fault) if fault.place.as_ref() == Some(&self.place) => return Some(fault),
                _ => {}
            }
        }
        None
    }
}

/// Runs a launch again on the host, and returns the first fault in it at a place: a Rust file and a line.
/// `launch` makes the launch for the copies of its memory.
///
/// It runs on a thread of its own and has that thread alone, so that whatever the kernel does there has no
/// other effect, and is left to itself if it does not end in time.
pub(crate) fn again(
    place: (String, u32),
    copies: Copies,
    until: Instant,
    launch: impl FnOnce(&Copies) -> Option<Box<dyn FnOnce() + Send>> + Send + 'static,
) -> Result<KernelFault, Lacking> {
    let (tell, told) = mpsc::channel();
    let run = move || {
        let search = Rc::new(Search { place, until, is_cut: Cell::new(false) });
        SEARCH.set(Some(Rc::clone(&search)));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if let Some(run) = launch(&copies) {
                run();
            }
        }));
        let found = outcome.err().and_then(|payload| match payload.downcast::<KernelFault>() {
            Ok(fault) => Some(KernelFault { known: Known::Again, ..*fault }),
            Err(other) => {
                drop_payload(other);
                None
            }
        });
        let lacking = if search.is_cut.get() { Lacking::TooLong } else { Lacking::NotThere { all: true } };
        // Nobody may be waiting any more.
        let _ = tell.send(found.ok_or(lacking));
    };
    let started = thread::Builder::new().name("thalweg replay".to_owned()).spawn(run);
    if started.is_err() {
        return Err(Lacking::TooLong);
    }
    match told.recv_timeout(until.saturating_duration_since(Instant::now()) + GRACE) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => Err(Lacking::TooLong),
        Err(RecvTimeoutError::Disconnected) => Err(Lacking::NotThere { all: true }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::launch::indices;
    use super::*;
    use crate::base::threads::Grid;

    type HostRun = Box<dyn FnOnce() + Send>;

    const GRID: Grid = Grid { grid_dim: [100, 1, 1], block_dim: [256, 1, 1], shared: 0 };

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    fn launch(
        thread: impl Fn(usize) + Send + Sync + 'static,
    ) -> impl FnOnce(&Copies) -> Option<HostRun> + Send {
        |_| Some(Box::new(move || indices::<1, _>(GRID, false, || (usize::MAX, |index| thread(index.get())))))
    }

    #[test]
    fn the_first_fault_at_the_place_is_found() {
        let thread = |i: usize| {
            assert!(i % 1000 != 999, "elsewhere");
            assert!(!(5000..=6000).contains(&i), "here");
        };
        let here = (file!().to_owned(), line!() - 2);
        let fault = again(here, Copies::new(), soon(), launch(thread)).expect("it fails there");
        let said = fault.to_string();
        assert!(
            said.contains(": here\n  note: it was the thread of index 5000, thread 136 of block 19"),
            "{said}"
        );
        assert_eq!(fault.known, Known::Again);
        let nowhere = (file!().to_owned(), 1);
        let outcome = again(nowhere, Copies::new(), soon(), launch(thread));
        assert_eq!(outcome, Err(Lacking::NotThere { all: true }));
    }

    #[test]
    fn a_replay_has_an_end() {
        let place = || ("no file".to_owned(), 1);
        // Each thread is short.
        let sleeps = |_| thread::sleep(Duration::from_millis(10));
        let until = Instant::now() + Duration::from_millis(50);
        assert_eq!(again(place(), Copies::new(), until, launch(sleeps)), Err(Lacking::TooLong));
        // The first thread does not end while the replay is waited for.
        let (go, gone) = mpsc::channel::<()>();
        let gone = std::sync::Mutex::new(gone);
        let waits = move |_| drop(gone.lock().map(|gone| gone.recv()));
        let outcome =
            again(place(), Copies::new(), Instant::now(), |_| Some(Box::new(move || waits(0)) as HostRun));
        assert_eq!(outcome, Err(Lacking::TooLong));
        drop(go);
    }

    #[test]
    fn another_panic_is_no_fault() {
        let place = (file!().to_owned(), line!() + 1);
        let outcome =
            again(place, Copies::new(), soon(), |_| std::panic::resume_unwind(Box::new("not a kernel's")));
        assert_eq!(outcome, Err(Lacking::NotThere { all: true }));
    }

    #[test]
    fn copies_have_the_alignment_and_the_place_of_the_memory() {
        let mut copies = Copies::new();
        copies.add(0x1010, 100).fill(7);
        copies.add(0x2000, 64)[8] = 9;
        let address = copies.address(0x1020, 84);
        assert_eq!(address % 64, 0x20);
        // SAFETY: the copy has this byte, and `copies` is not used meanwhile.
        let byte = |address: u64| unsafe { *std::ptr::with_exposed_provenance::<u8>(address as usize) };
        assert_eq!((byte(address), byte(copies.address(0x2008, 1))), (7, 9));
        assert_eq!(copies.address(0x9999, 0), 64);
        assert_eq!(Copies::default().address(0x9999, 8), 0x9999);
        let outside = catch_unwind(|| copies.address(0x1010, 101));
        assert!(outside.is_err());
    }
}
