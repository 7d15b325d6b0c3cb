//! [`Recorded`]: commands recorded for a graph, in the order that streams and events give them.

use crate::driver::command::recording::{NotInGraph, Recording};
use crate::driver::{Command, Tag};

/// The commands recorded since the last launch, and room for the next ones: a run that is like the one before
/// allocates nothing.
///
/// Usually they are exactly the commands launched at the same position the last time. As long as they are,
/// only their number is noted.
#[derive(Default)]
pub(crate) struct Recorded {
    /// The commands, once they have turned out to differ.
    nodes: Recording,
    /// Until then: the number of nodes that agree with those launched the last time.
    same: Option<usize>,
    /// For each of the pipeline's streams, the few nodes that its next node comes after.
    streams: Vec<Vec<u32>>,
    /// For each of the pipeline's events, the nodes for which it stands.
    events: Vec<Vec<u32>>,
}

impl Recorded {
    /// Makes room for the order of so many streams and events.
    pub(crate) fn reserve(&mut self, streams: usize, events: usize) {
        self.streams.resize_with(streams, Vec::new);
        self.events.resize_with(events, Vec::new);
    }

    /// The number of commands.
    pub(crate) fn len(&self) -> usize {
        self.same.unwrap_or(self.nodes.len())
    }

    /// Adds a stream's next command. `before`: the commands launched at this position the last time; the same
    /// until the next launch.
    ///
    /// # Errors
    /// No graph can contain the command.
    ///
    /// # Safety
    /// Those of [`Recording::push`].
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
    /// Those of [`push`](Self::push).
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

    /// Whether the commands are all of those launched the last time.
    pub(crate) fn is_all_of(&self, before: &Recording) -> bool {
        self.same == Some(before.len())
    }

    /// Called when the commands differ, or will differ, from those launched the last time: copies the ones
    /// that agreed so far.
    pub(crate) fn differ(&mut self, before: Option<&Recording>) {
        if let (Some(same), Some(before)) = (self.same.take(), before) {
            self.nodes.begin_as(before, same);
        }
    }

    /// The commands, once they [`differ`](Self::differ) from those of the last time.
    pub(crate) fn nodes(&mut self) -> &mut Recording {
        &mut self.nodes
    }

    /// Makes the event stand for everything on the stream so far.
    pub(crate) fn record(&mut self, event: usize, stream: usize) {
        let stands_for = &mut self.events[event];
        stands_for.clear();
        // One by one, because there is usually only one.
        self.streams[stream].iter().for_each(|&node| stands_for.push(node));
    }

    /// Makes the stream's next command come after the nodes for which the event stands.
    pub(crate) fn wait(&mut self, stream: usize, event: usize) {
        let tail = &mut self.streams[stream];
        for &node in &self.events[event] {
            // `contains` is made for long lists.
            if tail.iter().all(|&known| known != node) {
                tail.push(node);
            }
        }
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        if self.same == Some(0) {
            // There are no commands, and so no order.
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

    /// Sizes of parameters in bytes: words, smaller and larger ones, and nothing.
    const SIZES: [usize; 9] = [4, 8, 16, 1, 3, 12, 17, 33, 0];

    /// Numbers below `n`, the same in every run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % n
        }
    }

    /// A step of a run.
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
                    // SAFETY: it is not a launch.
                    unsafe { recorded.push(stream, tag, &copy, before) }.unwrap();
                }
                Step::Fill { value, length, count } => {
                    let pattern = vec![value; length];
                    let fill = Command::Fill { to: DevicePtr(512), pattern: &pattern, count };
                    // SAFETY: it is not a launch.
                    unsafe { recorded.push(stream, tag, &fill, before) }.unwrap();
                }
                Step::Launch { first, second, value, bytes } => {
                    let mut first_value = [7_u8; 40];
                    let mut second_value = [value; 40];
                    // Bytes beyond the parameter do not count.
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

    /// Records the steps without a recording to compare with.
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

    /// Whatever was launched before, the recorded commands are those of a fresh recording.
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
