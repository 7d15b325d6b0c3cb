//! Places overlapping spans of one row side by side: for example a callback, for which its stream does not
//! wait.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::time::Duration;

use super::Timeline;

/// For each span its lane within its row, and for each row its number of lanes, at least one.
///
/// Spans of one lane follow one another; a row without overlapping spans has one lane.
pub(super) fn lanes(timeline: &Timeline) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<_> = (0..timeline.spans.len()).collect();
    order.sort_by_key(|&index| (timeline.spans[index].start, timeline.spans[index].end));
    let mut rows = vec![Lanes::default(); timeline.rows.len()];
    let mut of_spans = vec![0; timeline.spans.len()];
    for index in order {
        let span = &timeline.spans[index];
        if let Some(row) = rows.get_mut(span.row) {
            of_spans[index] = row.take(span.start, span.end);
        }
    }
    (of_spans, rows.into_iter().map(|row| row.count.max(1)).collect())
}

#[derive(Clone, Default)]
struct Lanes {
    /// The time at which each lane in use becomes free.
    taken: BinaryHeap<Reverse<(Duration, usize)>>,
    free: BTreeSet<usize>,
    count: usize,
}

impl Lanes {
    /// The first lane that is free at `start`; it is taken until `end`.
    fn take(&mut self, start: Duration, end: Duration) -> usize {
        while let Some(&Reverse((until, lane))) = self.taken.peek()
            && until <= start
        {
            self.taken.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.taken.push(Reverse((end, lane)));
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{saxpy, span, steady};
    use super::*;

    #[test]
    fn what_overlaps_is_side_by_side() {
        let spans = vec![
            span(3, 0, 2, 0..50),
            span(3, 1, 2, 10..20),
            span(3, 2, 2, 20..30),
            span(3, 3, 2, 25..60),
            span(3, 4, 2, 50..70),
            span(3, 5, 9, 50..70),
        ];
        assert_eq!(lanes(&saxpy(100, spans)), (vec![0, 1, 1, 2, 0, 0], vec![1, 1, 3]));
        assert_eq!(lanes(&steady(20)).1, [1, 1, 1]);
    }
}
