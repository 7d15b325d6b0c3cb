//! Random programs, mostly of loops that go through an allocation, beside a model that forgets nothing: for each byte a
//! list of all operations that use it.

use super::*;
use crate::base::error::Error;

/// The streams of a program.
const STREAMS: usize = 3;
const BYTES: u64 = 96;

/// Numbers that look random (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// For each stream, how many of its operations come before a point.
type Before = [u64; STREAMS];

/// An operation as the model knows it.
#[derive(Debug, Clone)]
struct Op {
    stream: usize,
    number: u64,
    bytes: Range<u64>,
    write: bool,
    refused: bool,
    before: Before,
}

/// A loop: a stream that uses the next part in each turn.
#[derive(Debug, Clone)]
struct Loop {
    stream: usize,
    caller: Caller,
    part: u64,
    write: bool,
    start: u64,
    /// How many other operations its stream has between two turns.
    others: u64,
}

struct Program {
    random: Random,
    streams: [Arc<Progress>; STREAMS],
    clocks: [Clock; STREAMS],
    /// What the clocks stand for.
    before: [Before; STREAMS],
    enqueued: Before,
    completed: Before,
    failed: Vec<(usize, u64)>,
    uses: Uses,
    ops: Vec<Op>,
}

impl Program {
    fn new(device: &Device, seed: u64) -> Self {
        Self {
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            streams: [(); STREAMS].map(|()| Progress::new(device)),
            clocks: [(); STREAMS].map(|()| Clock::default()),
            before: [[0; STREAMS]; STREAMS],
            enqueued: [0; STREAMS],
            completed: [0; STREAMS],
            failed: Vec::new(),
            uses: Uses::default(),
            ops: Vec::new(),
        }
    }

    fn a_loop(&mut self, callers: &[Caller]) -> Loop {
        let random = &mut self.random;
        let part = [2, 3, 4, 6, 8][random.below(5) as usize];
        Loop {
            stream: random.below(STREAMS as u64) as usize,
            caller: callers[random.below(callers.len() as u64) as usize],
            part,
            write: random.one_in(2),
            start: random.below(BYTES / part) * part,
            others: random.below(3),
        }
    }

    /// Whether an operation is known to be over.
    fn is_over(&self, op: &Op) -> bool {
        self.completed[op.stream] >= op.number
    }

    /// Makes a stream wait for all that is enqueued on another.
    fn wait(&mut self, stream: usize, other: usize) {
        let mut event = self.clocks[other].clone();
        event.advance(&self.streams[other], self.enqueued[other]);
        self.clocks[stream].join(&event);
        for of in 0..STREAMS {
            self.before[stream][of] = self.before[stream][of].max(self.before[other][of]);
        }
        let own = &mut self.before[stream][other];
        *own = (*own).max(self.enqueued[other]);
    }

    /// The host learns that the first operations of a stream are over, and so is all that they have waited for.
    fn complete(&mut self, stream: usize, number: u64) {
        let mut reached = [0; STREAMS];
        reached[stream] = number;
        for op in self.ops.iter().filter(|op| op.stream == stream && op.number <= number) {
            for (reached, before) in reached.iter_mut().zip(op.before) {
                *reached = (*reached).max(before);
            }
        }
        for (of, number) in reached.into_iter().enumerate().filter(|(_, number)| *number > 0) {
            for failed in self.completed[of] + 1..=number {
                if self.random.one_in(24) {
                    self.failed.push((of, failed));
                    let error: Error = Detail::CopyLength { from: of, to: failed as usize }.into();
                    self.streams[of].fail(failed..=failed, &error);
                }
            }
            self.streams[of].reached(number);
            self.completed[of] = self.completed[of].max(number);
        }
    }

    /// Enqueues an operation. It is refused exactly if nothing orders one that the model knows with it.
    fn enqueue(&mut self, (stream, caller): (usize, Caller), bytes: Range<u64>, write: bool) {
        self.enqueued[stream] += 1;
        let number = self.enqueued[stream];
        let mut before = self.before[stream];
        before[stream] = number - 1;
        let races = self.ops.iter().any(|op| {
            let meets = op.bytes.start < bytes.end && bytes.start < op.bytes.end;
            meets && (write || op.write) && !self.is_over(op) && before[op.stream] < op.number
        });
        let next = Next { progress: &self.streams[stream], clock: &self.clocks[stream], number, caller };
        let mut replaced = Vec::new();
        let noted = self.uses.note(&bytes, (&next, write), true, (0, &mut replaced));
        assert_eq!(noted.is_err(), races, "{stream}.{number} on {bytes:?}, which it writes: {write}");
        let Ok(has_failed) = noted else {
            assert!(replaced.is_empty());
            return;
        };
        let op = Op { stream, number, bytes: bytes.clone(), write, refused: false, before };
        match self.random.below(40) {
            0 => {
                self.uses.put_back(replaced.iter());
                self.uses.forget(&bytes, &next);
            }
            1 => {
                self.uses.put_back(replaced.iter());
                self.uses.is_refused(&bytes, &next);
                self.ops.push(Op { refused: true, ..op });
            }
            _ => {
                if has_failed && write {
                    self.uses.are_written_anew(&bytes);
                }
                self.ops.push(op);
            }
        }
    }

    /// Who waits for the memory waits for all that the model knows to be pending.
    fn check_what_is_waited_for(&self) {
        for writes_only in [true, false] {
            let (last, _) = self.uses.last(writes_only);
            for op in self.ops.iter().filter(|op| (op.write || !writes_only) && !self.is_over(op)) {
                let is_waited_for = last.iter().any(|left| {
                    let of = self.streams.iter().position(|stream| Arc::ptr_eq(stream, &left.progress));
                    let of = of.expect("a stream of the program");
                    let number = left.operation.number;
                    let its = self.ops.iter().find(|op| (op.stream, op.number) == (of, number));
                    let its = its.expect("an operation that was noted");
                    (of == op.stream && number >= op.number) || its.before[op.stream] >= op.number
                });
                assert!(is_waited_for, "{op:?}, of {last:?}");
            }
        }
        let is_pending = |write: bool| self.ops.iter().any(|op| (op.write || !write) && !self.is_over(op));
        assert!(self.uses.is_written() || !is_pending(true));
        assert!(self.uses.is_used() || !is_pending(false));
    }

    /// When all is over, nothing is left but the failures of what was written last.
    fn check_the_end(&mut self) {
        for stream in 0..STREAMS {
            self.complete(stream, self.enqueued[stream]);
        }
        self.uses.prune();
        assert!(!self.uses.is_used());
        let known = self.uses.locked();
        assert!(known.segments.is_empty() && known.series.is_empty());
        for byte in 0..BYTES {
            let last = self.ops.iter().rev().find(|op| op.write && !op.refused && op.bytes.contains(&byte));
            let has_failed = last.is_some_and(|op| self.failed.contains(&(op.stream, op.number)));
            assert_eq!(known.failures.first(&(byte..byte + 1)).is_some(), has_failed, "{byte}: {last:?}");
        }
    }
}

#[test]
fn random_loops_are_known_as_exactly_as_by_a_list_of_all_operations() {
    let device = Device::simulated(Simulation::default());
    let callers = [caller(), caller()];
    let (mut turns, mut of_series) = (0_u64, 0);
    for seed in 1..=4_000 {
        let mut program = Program::new(&device, seed);
        let mut loops = [(); 2].map(|()| program.a_loop(&callers));
        for _ in 0..64 {
            turns += 1;
            if !program.random.one_in(4) {
                // What alternates as much as this has no series otherwise.
                program.uses.locked().series.begin_anew();
            }
            match program.random.below(16) {
                0 => {
                    let [one, other] = [(); 2].map(|()| program.random.below(STREAMS as u64) as usize);
                    program.wait(one, other);
                }
                1 => {
                    let stream = program.random.below(STREAMS as u64) as usize;
                    let number = program.random.below(program.enqueued[stream] + 1);
                    program.complete(stream, number);
                }
                2 => {
                    let [one, other] = [(); 2].map(|()| program.random.below(BYTES));
                    let stream = program.random.below(STREAMS as u64) as usize;
                    let write = program.random.one_in(2);
                    program.enqueue((stream, callers[0]), one.min(other)..one.max(other) + 1, write);
                }
                3 => program.uses.prune(),
                4 => program.check_what_is_waited_for(),
                5 => {
                    let index = program.random.below(2) as usize;
                    loops[index] = program.a_loop(&callers);
                }
                _ => {
                    // Several turns of one loop, each after all that it may race with.
                    let index = program.random.below(2) as usize;
                    let Loop { stream, caller, part, write, others, .. } = loops[index];
                    for _ in 0..program.random.below(24) {
                        if !program.random.one_in(8) {
                            (0..STREAMS).for_each(|other| program.wait(stream, other));
                        }
                        let start = loops[index].start;
                        program.enqueued[stream] += others;
                        program.enqueue((stream, caller), start..start + part, write);
                        loops[index].start = (start + part) % BYTES;
                    }
                }
            }
            of_series += u64::from(!program.uses.locked().series.is_empty());
        }
        program.check_the_end();
    }
    assert!(of_series > turns / 4, "series in {of_series} of {turns} turns");
}
