//! [`Recorded`]: operations on their way into a graph, in the order that streams and events give them.

use crate::driver::Tag;
use crate::graph::{New, Recording};

/// What was recorded since the last launch, and room for what comes next: a run that is like the one before allocates
/// nothing.
///
/// Mostly it is exactly what was launched in its place the last time. As long as it is, that is all that is noted.
#[derive(Default)]
pub(super) struct Recorded {
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
    pub(super) fn reserve(&mut self, streams: usize, events: usize) {
        self.streams.resize_with(streams, Vec::new);
        self.events.resize_with(events, Vec::new);
    }

    /// How many operations there are.
    pub(super) fn len(&self) -> usize {
        self.same.unwrap_or(self.nodes.len())
    }

    /// Adds what a stream does next. `before`: what was launched in this place the last time, until the next launch.
    ///
    /// # Safety
    /// As [`Recording::work`].
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, stream: usize, tag: Tag, new: &New<'_>, before: Option<&Recording>) {
        let tail = &self.streams[stream];
        let node = match (self.same, before) {
            // SAFETY: the caller's promise.
            (Some(same), Some(before)) if unsafe { before.has(same, tag, tail, new) } => {
                self.same = Some(same + 1);
                same as u32
            }
            // SAFETY: the caller's promise.
            _ => unsafe { self.push_different(stream, tag, new, before) },
        };
        let tail = &mut self.streams[stream];
        tail.clear();
        tail.push(node);
    }

    /// # Safety
    /// As [`push`](Self::push).
    #[inline(never)]
    unsafe fn push_different(
        &mut self,
        stream: usize,
        tag: Tag,
        new: &New<'_>,
        before: Option<&Recording>,
    ) -> u32 {
        self.differ(before);
        // SAFETY: the caller's promise.
        let work = unsafe { self.nodes.work(new) };
        self.nodes.push(tag, &self.streams[stream], work)
    }

    /// Whether it is all of what was launched the last time.
    pub(super) fn is_all_of(&self, before: &Recording) -> bool {
        self.same == Some(before.len())
    }

    /// It is, or will be, something else than what was launched the last time: takes from that what has been the same so
    /// far.
    pub(super) fn differ(&mut self, before: Option<&Recording>) {
        if let (Some(same), Some(before)) = (self.same.take(), before) {
            self.nodes.begin_as(before, same);
        }
    }

    /// The operations, once they [`differ`](Self::differ) from those of the last time.
    pub(super) fn nodes(&mut self) -> &mut Recording {
        &mut self.nodes
    }

    /// The event stands for what the stream has done so far.
    pub(super) fn record(&mut self, event: usize, stream: usize) {
        let stands_for = &mut self.events[event];
        stands_for.clear();
        // One by one: there is one, mostly.
        self.streams[stream].iter().for_each(|&node| stands_for.push(node));
    }

    /// What the stream does next comes after what the event stands for.
    pub(super) fn wait(&mut self, stream: usize, event: usize) {
        let tail = &mut self.streams[stream];
        for &node in &self.events[event] {
            // Not `contains`, which is made for long lists.
            if tail.iter().all(|&known| known != node) {
                tail.push(node);
            }
        }
    }

    /// Forgets everything, but for the memory it took.
    pub(super) fn clear(&mut self) {
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
