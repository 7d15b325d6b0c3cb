//! Estimates when the operations of untimed chunks ran, from the timed chunks around them.
//!
//! Work that repeats from chunk to chunk does so at a pace. The ends of one operation, the one of which most
//! is known, give each chunk its time; the others end before or after it as in the timed chunks before and
//! behind. The time of each for its bytes is the average of the timed ones.

use std::collections::BTreeMap;

use crate::driver::Nanos;
use crate::engine::targets::timed::{Timed, Untimed, copies};

/// One of the plan's operations, and the index of its part in a chunk.
type Part = (u32, usize);

/// Adds the untimed operations to the timed ones. For some of them the end is known. `depth`: the ring slots.
pub(crate) fn fill(timed: &mut Vec<Timed>, untimed: &[(Untimed, Option<Nanos>)], depth: usize) {
    let mut parts = Parts::default();
    for timed in &*timed {
        let known = parts.of((timed.tag.operation, timed.part));
        known.ends.push((timed.tag.chunk, timed.end));
        known.took(timed, depth);
    }
    for (untimed, end) in untimed {
        if let Some(end) = *end {
            parts.of((untimed.tag.operation, untimed.part)).ends.push((untimed.tag.chunk, end));
        }
    }
    parts.sort();
    let times = parts.times();
    for &(Untimed { what, stream, tag, part, begun, enqueued }, end) in untimed {
        let like = |is_known: fn(&Known) -> bool| parts.like((tag.operation, part), is_known);
        let known = like(|known| !known.ends.is_empty());
        let before = known.and_then(|known| Some(times.at(tag.chunk)? + known.offset(tag.chunk, &times)?));
        let pace = like(|known| known.pace().is_some()).and_then(Known::pace).unwrap_or_default();
        let time = pace * what.bytes.max(1) as f64;
        // It did not begin before the host began to enqueue it.
        let end = end.unwrap_or_else(|| before.unwrap_or_default().max(begun + time)).max(enqueued);
        let start = (end - time).max(begun);
        timed.push(Timed { what, stream, tag, part, enqueued, start, end, estimated: true });
    }
}

/// The measurements of each part.
#[derive(Default)]
struct Parts {
    known: BTreeMap<Part, Known>,
}

/// The time of an operation is best measured in a chunk whose predecessor was timed, too. While the ring
/// fills, the operation shares the device with less; and after an untimed operation, it may have begun later
/// than it seems.
const RANKS: usize = 3;

#[derive(Default)]
struct Known {
    /// Chunks, and the times of their ends.
    ends: Vec<(u64, Nanos)>,
    /// The last timed chunk.
    last: Option<u64>,
    /// Nanoseconds, and their number of bytes, by significance: `RANKS`.
    took: [(Nanos, f64); RANKS],
}

impl Parts {
    fn of(&mut self, part: Part) -> &mut Known {
        self.known.entry(part).or_default()
    }

    /// The measurements of a part, or else of one before it: a chunk may have more parts than any timed
    /// chunk.
    fn like(&self, part: Part, is_known: fn(&Known) -> bool) -> Option<&Known> {
        let of_it = self.known.range((part.0, 0)..=part).rev();
        of_it.map(|(_, known)| known).find(|known| is_known(known))
    }

    fn sort(&mut self) {
        for known in self.known.values_mut() {
            known.ends.sort_by_key(|&(chunk, _)| chunk);
            known.ends.dedup_by_key(|&mut (chunk, _)| chunk);
        }
    }

    /// The times of chunks: the ends of the part that is known up to the latest chunk, and of such parts the
    /// one with most measurements.
    fn times(&self) -> Times {
        let reach = |known: &&Known| (known.ends.last().map(|&(chunk, _)| chunk), known.ends.len());
        Times(self.known.values().max_by_key(reach).map_or(Vec::new(), |known| known.ends.clone()))
    }
}

impl Known {
    /// The time from a chunk's time to the end of this part.
    fn offset(&self, chunk: u64, times: &Times) -> Option<Nanos> {
        let after = |&(chunk, end): &(u64, Nanos)| Some(end - times.at(chunk)?);
        let behind = self.ends.partition_point(|&(other, _)| other < chunk);
        match (behind.checked_sub(1).map(|before| &self.ends[before]), self.ends.get(behind)) {
            (Some(before), Some(behind)) => {
                Some(between((before.0, after(before)?), (behind.0, after(behind)?), chunk))
            }
            (one, other) => after(one.or(other)?),
        }
    }

    fn took(&mut self, timed: &Timed, depth: usize) {
        if timed.what.bytes == 0 && copies(timed.what.engine) {
            // A copy at an edge shows nothing about copies with bytes.
            return;
        }
        let follows = self.last.is_some_and(|last| last + 1 == timed.tag.chunk);
        self.last = Some(timed.tag.chunk);
        let rank = match follows {
            true => usize::from(timed.tag.chunk < depth as u64),
            false => RANKS - 1,
        };
        let (time, bytes) = &mut self.took[rank];
        *time += timed.end - timed.start;
        *bytes += timed.what.bytes.max(1) as f64;
    }

    /// Nanoseconds for each byte, if that is known.
    fn pace(&self) -> Option<f64> {
        self.took.iter().find(|(_, bytes)| *bytes > 0.0).map(|(time, bytes)| time / bytes)
    }
}

/// The approximate times of chunks.
struct Times(Vec<(u64, Nanos)>);

impl Times {
    fn at(&self, chunk: u64) -> Option<Nanos> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        let behind = self.0.partition_point(|&(other, _)| other < chunk);
        match (behind.checked_sub(1).map(|before| self.0[before]), self.0.get(behind)) {
            (Some(before), Some(&behind)) => Some(between(before, behind, chunk)),
            // Beyond the known chunks the average pace goes on.
            _ if first.0 == last.0 => Some(first.1),
            _ => Some(between(*first, *last, chunk)),
        }
    }
}

/// The value on the straight line through two points.
fn between((from, start): (u64, Nanos), (to, end): (u64, Nanos), at: u64) -> Nanos {
    start + (end - start) * (at as f64 - from as f64) / (to as f64 - from as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::memory::NO_OPERATION;
    use crate::driver::Tag;
    use crate::engine::targets::what::What;
    use crate::observe::timeline::Engine;

    /// Operation 0 ends 10 us after the beginning of its chunk, which takes 20 us, and takes 8; operation 1
    /// has two parts, each 4 us later, which take 3.
    fn of_chunk(chunk: u64) -> [Timed; 3] {
        let begin = chunk as f64 * 20e3;
        let all = [(0, 0, 10e3, 8e3, 800), (1, 0, 14e3, 3e3, 30), (1, 1, 18e3, 3e3, 30)];
        all.map(|(operation, part, end, time, bytes)| Timed {
            what: What::new(Engine::Compute, bytes),
            stream: 0,
            tag: Tag { operation, chunk, ..NO_OPERATION },
            part,
            enqueued: 0.0,
            start: begin + end - time,
            end: begin + end,
            estimated: false,
        })
    }

    fn untimed(of: Timed) -> Untimed {
        let Timed { what, stream, tag, part, enqueued, .. } = of;
        Untimed { what, stream, tag, part, begun: enqueued, enqueued }
    }

    #[test]
    fn what_was_not_timed_is_as_what_was() {
        let is_timed = |chunk: u64| chunk < 3 || (20..23).contains(&chunk);
        let mut timed: Vec<_> = (0..40).filter(|&chunk| is_timed(chunk)).flat_map(of_chunk).collect();
        // The end of the last operation of the last chunk is known.
        let of_others = (0..40).filter(|&chunk| !is_timed(chunk)).flat_map(of_chunk);
        let end =
            |timed: &Timed| (timed.tag.chunk == 39 && timed.end > 39.0 * 20e3 + 15e3).then_some(timed.end);
        let others: Vec<_> = of_others.map(|timed| (untimed(timed), end(&timed))).collect();
        fill(&mut timed, &others, 2);
        assert_eq!(timed.len(), 120);
        timed.sort_by(|a, b| a.end.total_cmp(&b.end));
        for (timed, whole) in timed.iter().zip((0..40).flat_map(of_chunk)) {
            assert_eq!(timed.tag, whole.tag);
            assert_eq!(timed.estimated, !is_timed(timed.tag.chunk));
            assert!((timed.start - whole.start).abs() < 1.0, "{timed:?}, {whole:?}");
            assert!((timed.end - whole.end).abs() < 1.0, "{timed:?}, {whole:?}");
        }
    }

    #[test]
    fn nothing_begins_before_it_was_enqueued() {
        let mut late = untimed(of_chunk(5)[0]);
        (late.begun, late.enqueued) = (1e6, 1e6);
        let mut timed = Vec::from(of_chunk(0));
        fill(&mut timed, &[(late, None)], 2);
        assert_eq!((timed[3].start, timed[3].end), (1e6, 1.008e6));
        // A part without measurements is like the one before it.
        let mut more = untimed(of_chunk(1)[2]);
        more.part = 7;
        let mut timed = Vec::from(of_chunk(0));
        fill(&mut timed, &[(more, Some(30e3))], 2);
        assert_eq!((timed[3].start, timed[3].end), (27e3, 30e3));
        // There is no part to go by, either.
        let mut timed = Vec::new();
        fill(&mut timed, &[(late, None)], 2);
        assert_eq!((timed[0].start, timed[0].end), (1e6, 1e6));
    }
}
