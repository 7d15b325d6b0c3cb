//! [`Recorded`]: operations on their way into a graph, in the order that streams and events give them.

use crate::driver::{RawEvent, RawStream, Tag};
use crate::graph::{Recording, Work};

/// What was recorded since the last launch, and room for what comes next: a run that is like the one before allocates
/// nothing.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) nodes: Recording,
    /// For each stream the nodes that its next one comes after. Of these and of events there is a handful, looked through
    /// in order.
    streams: Vec<(RawStream, Vec<u32>)>,
    /// For each event the nodes that it stands for.
    events: Vec<(RawEvent, Vec<u32>)>,
}

impl Recorded {
    /// Adds what a stream does next.
    pub(super) fn push(&mut self, stream: RawStream, tag: Tag, work: Work) {
        let tail = entry(&mut self.streams, stream);
        let node = self.nodes.push(tag, tail, work);
        tail.clear();
        tail.push(node);
    }

    /// The event stands for what the stream has done so far.
    pub(super) fn record(&mut self, event: RawEvent, stream: RawStream) {
        let stands_for = entry(&mut self.events, event);
        stands_for.clear();
        if let Some((_, tail)) = self.streams.iter().find(|(known, _)| *known == stream) {
            stands_for.extend_from_slice(tail);
        }
    }

    /// What the stream does next comes after what the event stands for.
    pub(super) fn wait(&mut self, stream: RawStream, event: RawEvent) {
        let Some((_, stands_for)) = self.events.iter().find(|(known, _)| *known == event) else { return };
        if stands_for.is_empty() {
            return;
        }
        let tail = entry(&mut self.streams, stream);
        for &node in stands_for {
            if !tail.contains(&node) {
                tail.push(node);
            }
        }
    }

    /// Forgets everything, but for the memory it took.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.streams.iter_mut().for_each(|(_, tail)| tail.clear());
        self.events.iter_mut().for_each(|(_, nodes)| nodes.clear());
    }
}

/// The list of `key`, which is made if there is none.
fn entry<K: PartialEq>(lists: &mut Vec<(K, Vec<u32>)>, key: K) -> &mut Vec<u32> {
    let index = lists.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        lists.push((key, Vec::new()));
        lists.len() - 1
    });
    &mut lists[index].1
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recorded({} nodes)", self.nodes.len())
    }
}
