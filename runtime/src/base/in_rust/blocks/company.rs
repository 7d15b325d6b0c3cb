//! [`Company`]: blocks that one thread of the host takes through a loop over all of the data together.
//!
//! One after another, each block would go through the data in steps of the whole grid, and hardly any cache line
//! would be the neighbour of the one before. Together they read a long part of the data, and then the next.
//!
//! A block is a call of the kernel, which cannot be left in its middle. So a block that comes to such a loop calls
//! the kernel for the next block, which comes to the loop in turn, and the last of them takes all through it. Then
//! the calls return, the last one first.

use std::cell::{Cell, RefCell};
use std::mem;
use std::ops::Range;
use std::ptr;
use std::rc::Rc;

use super::super::fault::{self, KernelFault};
use super::super::running::Running;
use super::Block;

/// The most blocks that go together.
const MOST: usize = 256;

/// The bytes of variables that they hand on at most, in order, so that they stay in a core's second cache.
const VARIABLES: usize = 512 << 10;

/// The bytes of shared memory that they have at most. Each accesses its own in any order, while the others wait:
/// where blocks with 16 KiB went alone, reading the data in short parts cost a tenth of a histogram. Two of them fit.
const SHARED: usize = 40 << 10;

/// The bytes of the stack that the calls take at most.
const STACK: usize = 512 << 10;

/// They take no more than one part of so many of what is left of it.
const PARTS_OF_STACK: usize = 4;

/// Blocks of a launch that may go together.
pub(in super::super) struct Company {
    /// The number of the next block to begin, and the end of these numbers.
    next: Cell<usize>,
    end: usize,
    /// Calls the kernel for a block. It is there as long as [`Company::run`] runs.
    call: Cell<Option<*const Call<'static>>>,
    /// Those that wait at the loop, in the order of their numbers.
    waiting: RefCell<Vec<Waiting>>,
    /// Whether those that have begun have gone through the loop.
    is_gone: Cell<bool>,
    /// The bytes of the stack that were left before the first call; 0 where this is not known.
    stack: usize,
    /// Those of them that the calls may take. Where they may take none, blocks go alone.
    stack_of_calls: usize,
    /// Of those that have failed, the first in the order of their numbers.
    fault: RefCell<Option<(usize, KernelFault)>>,
}

type Call<'a> = dyn Fn(usize, &Rc<Company>) -> Result<(), KernelFault> + 'a;

/// Goes on in a block's loop, and says whether something is left.
type Pass<'a> = dyn FnMut() -> bool + 'a;

/// A block that waits at a loop.
struct Waiting {
    number: usize,
    /// Its place along the axes of the grid.
    place: Vec<usize>,
    running: Rc<Running>,
    pass: *mut Pass<'static>,
}

/// The bytes of what a block keeps while it goes through a loop.
struct Room {
    variables: usize,
    shared: usize,
}

impl Room {
    fn of<const D: usize>(block: &Block<D>, bytes: usize) -> Self {
        Self { variables: bytes.saturating_mul(block.threads()), shared: block.dynamic.on_host.get() }
    }
}

impl Company {
    /// How many of a launch's blocks are a share of a thread of the host: such that all threads have as many.
    pub(super) fn size(blocks: usize, threads: usize) -> usize {
        let turns = blocks.div_ceil(threads.saturating_mul(MOST)).max(1);
        blocks.div_ceil(threads.saturating_mul(turns)).max(1)
    }

    /// The parts of a share, which go together: each has half of what is left, and the last ones are single blocks. So a
    /// thread reads long parts of the data, and nevertheless leaves some blocks to others if it is held up. One thread
    /// alone takes each share as a whole.
    pub(super) fn parts(share: usize, threads: usize) -> usize {
        if threads == 1 { 1 } else { share.ilog2() as usize + 1 }
    }

    /// The blocks of such a part.
    pub(super) fn part(share: usize, parts: usize, number: usize) -> Range<usize> {
        let left = |after: usize| if after == parts { 0 } else { share >> after };
        share - left(number)..share - left(number + 1)
    }

    /// Calls `call` for each of some blocks of a launch. The outcome is that of the first that fails.
    pub(super) fn run(blocks: Range<usize>, call: &Call<'_>) -> Result<(), KernelFault> {
        /// A block that still has the company calls nothing through it any more.
        struct Over<'a>(&'a Company);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.call.set(None);
            }
        }

        let call: *const Call<'_> = ptr::from_ref(call);
        // SAFETY: the two types differ in a lifetime alone, which says nothing of a pointer.
        let call = unsafe { mem::transmute::<*const Call<'_>, *const Call<'static>>(call) };
        let stack = stacker::remaining_stack().unwrap_or(0);
        let company = Rc::new(Self {
            next: Cell::new(blocks.start),
            end: blocks.end,
            call: Cell::new(Some(call)),
            waiting: RefCell::new(Vec::new()),
            is_gone: Cell::new(false),
            stack,
            stack_of_calls: STACK.min(stack / PARTS_OF_STACK),
            fault: RefCell::new(None),
        });
        let _over = Over(&company);
        while company.begin_next() {
            if let Some((_, fault)) = company.fault.take() {
                return Err(fault);
            }
            company.is_gone.set(false);
        }
        Ok(())
    }

    /// Calls the kernel for the next block, if there is one.
    fn begin_next(self: &Rc<Self>) -> bool {
        let number = self.next.get();
        let Some(call) = self.call.get().filter(|_| number < self.end) else { return false };
        self.next.set(number + 1);
        // SAFETY: `run` has what it points to borrowed until it takes `call` away.
        let outcome = unsafe { (*call)(number, self) };
        if let Err(fault) = outcome {
            self.note(number, fault);
        }
        true
    }

    /// Notes that a block has failed.
    fn note(&self, number: usize, fault: KernelFault) {
        let mut first = self.fault.borrow_mut();
        if first.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
            *first = Some((number, fault));
        }
    }

    /// Whether a block that comes to a loop has others beside it. `bytes` are those of each thread's variables.
    pub(in super::super) fn is_any<const D: usize>(&self, block: &Block<D>, bytes: usize) -> bool {
        let is_waited_for = !self.is_gone.get() && !self.waiting.borrow().is_empty();
        is_waited_for || (self.next.get() < self.end && self.has_room(&Room::of(block, bytes)))
    }

    /// Takes a block through its loop, and others with it, where each thread of the block has so many bytes of
    /// variables.
    ///
    /// # Panics
    /// If the block fails in the loop, or one before it. A fault of a later block is that block's own.
    pub(in super::super) fn join<const D: usize>(
        self: &Rc<Self>,
        block: &Block<D>,
        bytes: usize,
        pass: &mut Pass<'_>,
    ) {
        /// Nobody waits any more, also after a panic.
        struct Over<'a>(&'a Company);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.is_gone.set(true);
                self.0.waiting.borrow_mut().clear();
            }
        }

        let number = block.number();
        let pass: *mut Pass<'_> = ptr::from_mut(pass);
        // SAFETY: the two types differ in a lifetime alone, which says nothing of a pointer.
        let pass = unsafe { mem::transmute::<*mut Pass<'_>, *mut Pass<'static>>(pass) };
        let over = Over(self);
        let (place, running) = (block.place()[3 - D..].to_vec(), Rc::clone(&block.running));
        self.waiting.borrow_mut().push(Waiting { number, place, running, pass });
        let room = Room::of(block, bytes);
        while self.has_room(&room) && self.begin_next() {}
        if !self.is_gone.replace(true) {
            self.go();
        }
        drop(over);
        // A fault of a block before this one is the outcome, whatever this one does.
        let fault = self
            .fault
            .borrow()
            .as_ref()
            .filter(|(first, _)| *first <= number)
            .map(|(_, fault)| fault.clone());
        if let Some(fault) = fault {
            fault.resume();
        }
    }

    /// Whether another block may come to the loop, beside those that wait there, if each takes so much.
    fn has_room(&self, of_block: &Room) -> bool {
        let members = self.waiting.borrow().len().max(1) + 1;
        let taken = self.stack.saturating_sub(stacker::remaining_stack().unwrap_or(0));
        !self.is_gone.get()
            && members <= MOST
            && of_block.variables.saturating_mul(members) <= VARIABLES
            && of_block.shared.saturating_mul(members) <= SHARED
            && taken + taken / (members - 1) < self.stack_of_calls
            && self.fault.borrow().is_none()
    }

    /// Takes all that wait through their loops. If one fails, those before it go on.
    fn go(&self) {
        let mut members = self.waiting.take();
        let at = Cell::new(0);
        loop {
            let pass_of_all = || {
                members.iter().enumerate().fold(false, |more, (place, member)| {
                    at.set(place);
                    // SAFETY: the call of `join` that has this pass borrowed waits for the one that runs here, and
                    // does nothing with it meanwhile.
                    more | unsafe { (*member.pass)() }
                })
            };
            let failed = || {
                let member = &members[at.get()];
                (&*member.place, &*member.running)
            };
            match fault::in_blocks(|| while pass_of_all() {}, failed) {
                Ok(()) => return,
                Err(fault) => self.note(members[at.get()].number, fault),
            }
            members.truncate(at.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::super::rounds::OfGrid;
    use super::super::super::turns::ByCopy;
    use super::super::*;
    use super::*;

    #[test]
    fn all_threads_have_as_many_blocks() {
        for (blocks, threads, size) in [
            (264, 2, 132),
            (264, 16, 17),
            (264, 1, 132),
            (1, 8, 1),
            (0, 8, 1),
            (7, 8, 1),
            (512, 2, 256),
            (513, 2, 129),
        ] {
            assert_eq!(Company::size(blocks, threads), size, "{blocks} blocks, {threads} threads");
        }
        assert_eq!(Company::size(usize::MAX, usize::MAX), 1);
    }

    #[test]
    fn a_share_is_halved_again_and_again() {
        let parts = |share, threads| {
            let parts = Company::parts(share, threads);
            (0..parts).map(|number| Company::part(share, parts, number)).collect::<Vec<_>>()
        };
        assert_eq!(parts(17, 16), [0..9, 9..13, 13..15, 15..16, 16..17]);
        assert_eq!(parts(2, 2), [0..1, 1..2]);
        assert_eq!((parts(1, 2).len(), parts(256, 1).len(), parts(256, 2).len()), (1, 1, 9));
        assert_eq!((parts(1, 2)[0].clone(), parts(256, 1)[0].clone()), (0..1, 0..256));
        assert_eq!(parts(256, 2)[7..], [254..255, 255..256]);
    }

    /// What happens in a launch of blocks of two threads: the number of the block, and the element or where it is.
    /// A block of such a number fails at such a place.
    fn launch(
        blocks: u32,
        elements: usize,
        fails: &[(usize, &str)],
    ) -> (Vec<(usize, String)>, Option<String>) {
        let seen = Mutex::new(Vec::new());
        let see = |block: usize, what: String| {
            let fails = fails.contains(&(block, &*what));
            seen.lock().expect("no panic holds it").push((block, what));
            assert!(!fails, "as the test wants");
        };
        let of = Grid { grid_dim: [blocks, 1, 1], block_dim: [2, 1, 1], shared: 0 };
        let run = |number, company: &Rc<Company>| {
            run(of, number, Some(company), &|| {
                |block: Block| {
                    let number = block.number();
                    see(number, "begins".to_owned());
                    let sum = block.reduce_in_rounds(
                        OfGrid,
                        ByCopy,
                        elements,
                        |_, _| (),
                        |_| (0, elements),
                        |sum, _, turn| {
                            see(number, turn.at.get().to_string());
                            sum + turn.at.get()
                        },
                        |sum, _| sum,
                        |a, b| a + b,
                    );
                    let own = (0..elements).filter(|i| i / 2 % blocks as usize == number);
                    assert_eq!(sum, own.sum::<usize>());
                    see(number, "ends".to_owned());
                }
            })
        };
        let outcome = Company::run(0..blocks as usize, &run);
        (seen.into_inner().expect("no panic holds it"), outcome.err().map(|fault| fault.to_string()))
    }

    fn numbers(seen: &[(usize, String)], what: &str) -> Vec<usize> {
        seen.iter().filter(|(_, which)| which == what).map(|(block, _)| *block).collect()
    }

    #[test]
    fn blocks_go_through_a_long_loop_together() {
        let (seen, fault) = launch(3, 47, &[]);
        assert_eq!((numbers(&seen, "begins"), numbers(&seen, "ends")), (vec![0, 1, 2], vec![2, 1, 0]));
        assert_eq!(fault, None);
        // Four rounds of each, and then the rest, round by round.
        let elements = seen.iter().filter_map(|(_, what)| what.parse::<usize>().ok());
        let mut elements: Vec<_> = elements.collect();
        assert_eq!(elements[..10], [0, 6, 12, 18, 1, 7, 13, 19, 2, 8]);
        elements.sort_unstable();
        assert_eq!(elements, Vec::from_iter(0..47));
    }

    #[test]
    fn blocks_with_little_to_do_run_one_after_another() {
        let (seen, _) = launch(3, 12, &[]);
        assert_eq!(numbers(&seen, "ends"), [0, 1, 2]);
    }

    #[test]
    fn more_blocks_than_may_go_together_go_in_parts() {
        let (seen, fault) = launch(600, 2 * 600 * 5, &[]);
        let mut ends = numbers(&seen, "ends");
        let parts: Vec<_> = ends.chunk_by(|earlier, later| earlier > later).map(<[usize]>::len).collect();
        // How many there are depends on the stack that a call takes.
        assert!(parts.len() > 1 && parts[0] > 4 && parts.iter().all(|part| *part <= MOST), "{parts:?}");
        ends.sort_unstable();
        assert_eq!((ends, fault), (Vec::from_iter(0..600), None));
    }

    #[test]
    fn the_first_block_that_fails_is_the_outcome() {
        // Elements of block 1 of 3 are 2, 3, 8, 9, …
        for (fails, block) in [
            (&[(0, "begins"), (1, "begins")][..], 0),
            (&[(1, "begins"), (2, "begins")], 1),
            (&[(2, "begins"), (1, "ends")], 1),
            (&[(2, "4"), (1, "44")], 1),
            (&[(2, "4"), (1, "ends")], 1),
            (&[(2, "4"), (1, "9"), (0, "ends")], 0),
            (&[(1, "2"), (2, "ends")], 1),
            (&[(2, "ends")], 2),
            (&[(2, "begins"), (0, "42")], 0),
        ] {
            let (_, fault) = launch(3, 47, fails);
            let fault = fault.unwrap_or_else(|| panic!("{fails:?}"));
            assert!(fault.contains("as the test wants"), "{fails:?}: {fault}");
            assert!(
                fault.ends_with(&format!("of block {block}")) || fault.contains(&format!("block {block}, ")),
                "{fails:?}: {fault}"
            );
        }
    }
}
