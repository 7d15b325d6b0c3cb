//! [`Recorded`]: commands on their way into a graph, in the order that streams and events give them.

use crate::driver::command::recording::{NotInGraph, Recording};
use crate::driver::{Command, Tag};

/// What was recorded since the last launch, and room for what comes next: a run that is like the one before allocates
/// nothing.
///
/// Mostly it is exactly what was launched in its place the last time. As long as it is, that is all that is noted.
#[derive(Default)]
pub(crate) struct Recorded {
    /// What was recorded, once it has turned out to be something else.
    nodes: Recording,
    /// Until then: so many of the nodes that were launched the last time.
    same: Option<usize>,
    /// For each of the pipeline's streams the nodes that its next one comes after: a handful.
    streams: Vec<Vec<u32>>,
    /// For each of the pipeline's events the nodes that it stands for.
    events: Vec<Vec<u32>>,
}

impl Recorded {
    /// Makes room for the order of so many streams and events.
    pub(crate) fn reserve(&mut self, streams: usize, events: usize) {
        self.streams.resize_with(streams, Vec::new);
        self.events.resize_with(events, Vec::new);
    }

    /// How many commands there are.
    pub(crate) fn len(&self) -> usize {
        self.same.unwrap_or(self.nodes.len())
    }

    /// Adds what a stream does next. `before`: what was launched in this place the last time, until the next launch.
    ///
    /// # Errors
    /// No graph can have it.
    ///
    /// # Safety
    /// As [`Recording::push`].
    #[inline(always)]
    pub(crate) unsafe fn push(
        &mut self,
        stream: usize,
        tag: Tag,
        command: &Command<'_>,
        before: Option<&Recording>,
    ) -> Result<(), NotInGraph> {
        let tail = &self.streams[stream];
        let node = match (self.same, before) {
            // SAFETY: the caller's promise.
            (Some(same), Some(before)) if unsafe { before.has(same, tag, tail, command) } => {
                self.same = Some(same + 1);
                same as u32
            }
            // SAFETY: the caller's promise.
            _ => unsafe { self.push_different(stream, tag, command, before)? },
        };
        let tail = &mut self.streams[stream];
        tail.clear();
        tail.push(node);
        Ok(())
    }

    /// # Safety
    /// As [`push`](Self::push).
    #[inline(never)]
    unsafe fn push_different(
        &mut self,
        stream: usize,
        tag: Tag,
        command: &Command<'_>,
        before: Option<&Recording>,
    ) -> Result<u32, NotInGraph> {
        self.differ(before);
        // SAFETY: the caller's promise.
        unsafe { self.nodes.push(tag, &self.streams[stream], command) }
    }

    /// Whether it is all of what was launched the last time.
    pub(crate) fn is_all_of(&self, before: &Recording) -> bool {
        self.same == Some(before.len())
    }

    /// It is, or will be, something else than what was launched the last time: takes from that what has been the same so
    /// far.
    pub(crate) fn differ(&mut self, before: Option<&Recording>) {
        if let (Some(same), Some(before)) = (self.same.take(), before) {
            self.nodes.begin_as(before, same);
        }
    }

    /// The commands, once they [`differ`](Self::differ) from those of the last time.
    pub(crate) fn nodes(&mut self) -> &mut Recording {
        &mut self.nodes
    }

    /// The event stands for what the stream has done so far.
    pub(crate) fn record(&mut self, event: usize, stream: usize) {
        let stands_for = &mut self.events[event];
        stands_for.clear();
        // One by one: there is one, mostly.
        self.streams[stream].iter().for_each(|&node| stands_for.push(node));
    }

    /// What the stream does next comes after what the event stands for.
    pub(crate) fn wait(&mut self, stream: usize, event: usize) {
        let tail = &mut self.streams[stream];
        for &node in &self.events[event] {
            // Not `contains`, which is made for long lists.
            if tail.iter().all(|&known| known != node) {
                tail.push(node);
            }
        }
    }

    /// Forgets everything, but for the memory it took.
    pub(crate) fn clear(&mut self) {
        if self.same == Some(0) {
            // There is nothing, nor any order of it.
            return;
        }
        self.nodes.clear();
        self.same = Some(0);
        self.streams.iter_mut().for_each(Vec::clear);
        self.events.iter_mut().for_each(Vec::clear);
    }
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recorded({} nodes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Access, DevicePtr, HostBodies, RawFunction, RawLaunch};

    const STREAMS: usize = 3;

    /// Sizes of parameters in bytes: words, what is smaller and larger, and nothing.
    const SIZES: [usize; 9] = [4, 8, 16, 1, 3, 12, 17, 33, 0];

    /// Numbers below `n`, the same in every run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % n
        }
    }

    /// What a run does, step by step.
    #[derive(Clone, Copy)]
    enum Step {
        Copy { bytes: usize },
        Fill { value: u8, length: usize, count: usize },
        Launch { first: usize, second: usize, value: u8, bytes: usize },
        Record(usize),
        Wait(usize),
    }

    fn step(numbers: &mut Numbers) -> (usize, u32, Step) {
        let step = match numbers.below(6) {
            0 => Step::Copy { bytes: numbers.below(3) },
            1 => Step::Fill {
                value: numbers.below(2) as u8,
                length: numbers.below(3),
                count: numbers.below(3),
            },
            2 | 3 => Step::Launch {
                first: numbers.below(SIZES.len()),
                second: numbers.below(SIZES.len()),
                value: numbers.below(2) as u8,
                bytes: numbers.below(2),
            },
            4 => Step::Record(numbers.below(STREAMS)),
            _ => Step::Wait(numbers.below(STREAMS)),
        };
        (numbers.below(STREAMS), numbers.below(2) as u32, step)
    }

    fn record(recorded: &mut Recorded, steps: &[(usize, u32, Step)], before: Option<&Recording>) {
        for &(stream, operation, step) in steps {
            let tag = Tag { pipeline: 0, operation, chunk: 0 };
            match step {
                Step::Record(event) => recorded.record(event, stream),
                Step::Wait(event) => recorded.wait(stream, event),
                Step::Copy { bytes } => {
                    let from = std::ptr::without_provenance(64);
                    let copy = Command::CopyToDevice { to: DevicePtr(256), from, bytes };
                    // SAFETY: it is no launch.
                    unsafe { recorded.push(stream, tag, &copy, before) }.unwrap();
                }
                Step::Fill { value, length, count } => {
                    let pattern = vec![value; length];
                    let fill = Command::Fill { to: DevicePtr(512), pattern: &pattern, count };
                    // SAFETY: it is no launch.
                    unsafe { recorded.push(stream, tag, &fill, before) }.unwrap();
                }
                Step::Launch { first, second, value, bytes } => {
                    let mut first_value = [7_u8; 40];
                    let mut second_value = [value; 40];
                    // Beyond the parameter nothing counts.
                    second_value[SIZES[second]..].fill(recorded.len() as u8);
                    let params = [first_value.as_mut_ptr().cast(), second_value.as_mut_ptr().cast()];
                    let launch = RawLaunch {
                        function: RawFunction::plain(7, 1, 0),
                        grid: [1; 3],
                        block: [1; 3],
                        shared: 0,
                        params: &params,
                        sizes: &[SIZES[first], SIZES[second]],
                        accesses: &[Access { ptr: DevicePtr(0), bytes, write: true, anew: false }],
                        bodies: HostBodies::One(&|| Box::new(|| {})),
                    };
                    // SAFETY: each parameter has 40 bytes, which are more than its size.
                    unsafe { recorded.push(stream, tag, &Command::Launch(&launch), before) }.unwrap();
                }
            }
        }
    }

    /// With nothing to compare with.
    fn fresh(steps: &[(usize, u32, Step)]) -> Recording {
        let mut recorded = Recorded::default();
        recorded.reserve(STREAMS, STREAMS);
        record(&mut recorded, steps, None);
        std::mem::take(recorded.nodes())
    }

    fn is_same(one: &Recording, other: &Recording) -> bool {
        let accesses = |recording: &Recording| -> Vec<_> {
            let accesses = |node: &crate::driver::command::recording::Node| {
                recording.command(node, &mut Vec::new(), |command| match command {
                    Some(Command::Launch(launch)) => launch.accesses.iter().map(|a| a.bytes).collect(),
                    _ => Vec::new(),
                })
            };
            recording.nodes().iter().map(|node| (node.tag, accesses(node))).collect()
        };
        one.changes(other) == Some(Vec::new()) && accesses(one) == accesses(other)
    }

    /// Whatever the last time was like, what is recorded is what a fresh recording has.
    #[test]
    fn what_was_launched_before_makes_no_difference() {
        let mut numbers = Numbers(5);
        let mut recorded = Recorded::default();
        recorded.reserve(STREAMS, STREAMS);
        let (mut same, mut other) = (0, 0);
        for _ in 0..4000 {
            let first: Vec<_> = (0..numbers.below(12)).map(|_| step(&mut numbers)).collect();
            let mut second = first.clone();
            match numbers.below(4) {
                0 => second.truncate(numbers.below(12)),
                1 => second.extend([step(&mut numbers)]),
                2 if !first.is_empty() => second[numbers.below(first.len())] = step(&mut numbers),
                _ => {}
            }
            let before = fresh(&first);
            recorded.clear();
            record(&mut recorded, &second, Some(&before));
            let expected = fresh(&second);
            assert_eq!(recorded.len(), expected.len());
            if recorded.is_all_of(&before) {
                assert!(is_same(&before, &expected), "{before:?} is taken for {expected:?}");
                same += 1;
            } else {
                recorded.differ(Some(&before));
                assert!(is_same(recorded.nodes(), &expected), "{:?}, not {expected:?}", recorded.nodes);
                other += 1;
            }
        }
        assert!(same > 500 && other > 500, "{same}, {other}");
    }
}
