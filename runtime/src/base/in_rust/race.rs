//! Accesses that are watched: who has read and who has written each element, so that a race is found.
//!
//! The threads of a launch run one after another on the host, in the order of their numbers, so a race does no
//! harm here. It is two accesses of one element, of which one writes, of two threads that nothing orders.

use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

use super::fault::{FaultThread, KernelFault, Known};
use super::running::{Now, Running, Turn};

/// The bits of an access that are its line.
const LINE_BITS: u32 = 16;

/// A turn and a line; 0 is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Access(u64);

impl Access {
    fn new(turn: Turn, line: u16) -> Self {
        Self(turn.0 << LINE_BITS | u64::from(line))
    }

    fn turn(self) -> Option<Turn> {
        (self.0 != 0).then_some(Turn(self.0 >> LINE_BITS))
    }

    /// The access, if nothing orders it before what runs now.
    fn beside(self, now: &Now) -> Option<Self> {
        self.turn().filter(|turn| now.is_beside(*turn)).map(|_| self)
    }

    fn line(self) -> u16 {
        (self.0 & ((1 << LINE_BITS) - 1)) as u16
    }
}

/// What is known of an element, in 24 bytes. That is enough to find a race whenever there is one: what came
/// before the last write is ordered before it, or was a race itself, and of the reads since then a write can
/// be beside any only if it is beside one of these two.
#[derive(Debug, Clone, Copy, Default)]
struct Accesses {
    write: Access,
    /// The last read since then.
    read: Access,
    /// A read of another block, or else of another thread in the phase of the last.
    other: Access,
}

impl Accesses {
    /// Notes a read. The result is a write that it races with.
    fn read(&mut self, now: &Now, line: u16) -> Option<Access> {
        let before = std::mem::replace(&mut self.read, Access::new(now.turn, line));
        let keeps = self.other.turn().is_some_and(|turn| now.is_of_another_block(turn));
        if !keeps && before.beside(now).is_some() {
            self.other = before;
        }
        self.write.beside(now)
    }

    /// Notes a write. The result is an access that it races with, and whether that writes.
    fn write(&mut self, now: &Now, line: u16) -> Option<(Access, bool)> {
        let written = self.write.beside(now).map(|access| (access, true));
        let read = self.read.beside(now).or_else(|| self.other.beside(now)).map(|access| (access, false));
        *self = Self { write: Access::new(now.turn, line), ..Self::default() };
        written.or(read)
    }
}

/// The accesses to a parameter or a shared array.
#[derive(Debug)]
pub(super) struct Memory {
    running: Rc<Running>,
    name: &'static str,
    /// The length of a row, if elements have a row and a column.
    columns: Option<usize>,
    elements: RefCell<Vec<Accesses>>,
}

impl Memory {
    pub(super) fn new(
        running: &Rc<Running>,
        name: &'static str,
        length: usize,
        columns: Option<usize>,
    ) -> Rc<Self> {
        let elements = RefCell::new(vec![Accesses::default(); length]);
        Rc::new(Self { running: Rc::clone(running), name, columns, elements })
    }

    /// Notes a read of an element. A race ends the launch.
    pub(super) fn read(&self, place: usize, line: &'static Location<'static>) {
        let Some(now) = self.running.now() else { return };
        let number = self.running.line(line);
        let race = self.elements.borrow_mut()[place].read(&now, number);
        if let Some(earlier) = race {
            self.race(place, (earlier, true), (now.turn, false), line);
        }
    }

    /// Notes a write of an element, or a reference through which it may be written.
    pub(super) fn write(&self, place: usize, line: &'static Location<'static>) {
        let Some(now) = self.running.now() else { return };
        let number = self.running.line(line);
        let race = self.elements.borrow_mut()[place].write(&now, number);
        if let Some(earlier) = race {
            self.race(place, earlier, (now.turn, true), line);
        }
    }

    #[cold]
    fn race(
        &self,
        place: usize,
        (earlier, earlier_writes): (Access, bool),
        (later, later_writes): (Turn, bool),
        line: &'static Location<'static>,
    ) -> ! {
        let element = match self.columns {
            Some(columns) => format!("{}[{}][{}]", self.name, place / columns, place % columns),
            None => format!("{}[{place}]", self.name),
        };
        let what = match earlier_writes && later_writes {
            true => format!("two threads write `{element}`, and nothing orders them"),
            false => format!("a thread writes `{element}`, another reads it, and nothing orders them"),
        };
        let running = &self.running;
        let touch = |turn: Turn, writes: bool, line: Option<&Location<'_>>| {
            let (who, does) = (running.named(turn), if writes { "writes" } else { "reads" });
            let place = line.map(|line| format!(" at {}:{}", line.file(), line.line()));
            format!("\n  note: {who} {does} it{}", place.unwrap_or_default())
        };
        let first = earlier.turn().map(|turn| touch(turn, earlier_writes, running.line_of(earlier.line())));
        let second = touch(later, later_writes, Some(line));
        let why = match running.is_in_blocks() {
            true => "the end of a phase orders the threads of a block, and nothing orders two blocks",
            false => "the threads of a launch run in any order",
        };
        let message = format!("{what}{}{second}\n  note: {why}", first.unwrap_or_default());
        let place = Some((line.file().to_owned(), line.line()));
        KernelFault { place, thread: FaultThread::Unknown, message, known: Known::All, is_race: true }
            .resume()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An access of a random program.
    #[derive(Debug, Clone, Copy)]
    struct Touch {
        block: usize,
        phase: usize,
        thread: usize,
        writes: bool,
    }

    impl Touch {
        /// Whether the two are a race, by the definition.
        fn races(self, other: Self) -> bool {
            let ordered =
                self.block == other.block && (self.phase != other.phase || self.thread == other.thread);
            (self.writes || other.writes) && !ordered
        }
    }

    /// Programs of one element: a race is found at the first access that has one, and nowhere else.
    #[test]
    fn the_first_race_is_found_whatever_came_before() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let (mut racing, mut clean) = (0, 0);
        for _ in 0..20_000 {
            let running = Running::of_blocks([1, 1, 2], 1, 3);
            let mut touches: Vec<Touch> = Vec::new();
            let mut known = Accesses::default();
            let mut found = None;
            let rarely = 1 + next(6);
            for block in 0..1 + next(2) as usize {
                running.begin_block();
                for phase in 0..1 + next(3) as usize {
                    for thread in 0..3 {
                        for _ in 0..next(3) {
                            let touch = Touch { block, phase, thread, writes: next(1 + rarely) == 0 };
                            running.set(Some(thread));
                            let now = running.now().expect("in a phase");
                            let race = match touch.writes {
                                true => known.write(&now, 0).is_some(),
                                false => known.read(&now, 0).is_some(),
                            };
                            touches.push(touch);
                            found = found.or(race.then_some(touches.len() - 1));
                        }
                    }
                    running.end_phase();
                }
            }
            let is_late = |at: &usize| touches[..*at].iter().any(|earlier| earlier.races(touches[*at]));
            let expected = (0..touches.len()).find(is_late);
            assert_eq!(found, expected, "{touches:?}");
            if expected.is_some() { racing += 1 } else { clean += 1 }
        }
        assert!(racing > 2000 && clean > 2000, "{racing} and {clean}");
    }
}
