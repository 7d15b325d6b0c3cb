//! [`Dealer`]: which device works on which chunk of a run.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::base::chunk::Chunk;
use crate::engine::chunks::DEPTH_LIMIT;
use crate::engine::chunks::chunking::Chunking;
use crate::job::Cancels;

// Note 71: each device numbers its chunks by turns.
/// Deals the chunks of a run to its devices. All of the run's threads share it.
#[derive(Debug)]
pub(crate) struct Dealer {
    /// The chunks: more than there are, if the run ends where its sources do.
    chunks: Chunking,
    devices: usize,
    order: Dealing,
    /// The first turns of each device, which it has slots for at once: nobody is free before another.
    at_once: usize,
    /// The next chunk after those, if devices take them as they become free.
    next: AtomicUsize,
    /// The chunk from which on none is dealt, because a device has failed.
    end: AtomicUsize,
    /// The first chunk of each device's part, and the number of chunks, if devices have parts.
    firsts: Vec<usize>,
}

/// The order in which chunks are dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dealing {
    /// Each chunk to the next device that has a free slot for it.
    Free,
    /// In turns, so that which device has which chunk does not depend on time.
    InTurns,
    /// Each chunk to the device that has its part of the arguments.
    ByOwner,
}

impl Dealer {
    /// Deals these chunks to `devices` devices, each of which has `slots` slots or more.
    pub(crate) fn new(chunks: Chunking, devices: usize, slots: usize, order: Dealing) -> Self {
        let next = AtomicUsize::new(devices.saturating_mul(slots));
        let end = AtomicUsize::new(usize::MAX);
        Self { chunks, devices, order, at_once: slots, next, end, firsts: Vec::new() }
    }

    // Note 74: a chunk is on the device that has its part.
    /// Deals these chunks to the devices that have their parts, which begin at these items. A part has whole chunks.
    pub(crate) fn by_owner(chunks: Chunking, borders: &[usize]) -> Self {
        let firsts = (0..borders.len()).map(|device| owned(chunks, borders, device).start);
        let firsts = firsts.chain([chunks.chunks()]).collect();
        Self { firsts, ..Self::new(chunks, borders.len(), 1, Dealing::ByOwner) }
    }

    /// Deals no chunk from this one on.
    pub(crate) fn stop_before(&self, chunk: usize) {
        self.end.fetch_min(chunk, Ordering::Relaxed);
    }

    /// Whether a device has failed, so that this chunk is not dealt.
    fn has_stopped_before(&self, chunk: usize) -> bool {
        self.end.load(Ordering::Relaxed) <= chunk
    }

    /// The chunk that a device gets as its `turn`-th, counted from 0; `None` if it gets no more.
    fn deal(&self, device: usize, turn: usize) -> Option<Chunk> {
        let index = if self.order == Dealing::Free && turn >= self.at_once {
            // A number that was drawn is given out, for nobody else has this chunk.
            if self.has_stopped_before(self.next.load(Ordering::Relaxed)) {
                return None;
            }
            // Nothing else is passed on with the number.
            self.next.fetch_add(1, Ordering::Relaxed)
        } else {
            let index = self.of_turn(device, turn);
            if self.has_stopped_before(index) {
                return None;
            }
            index
        };
        (index < self.chunks.chunks()).then(|| self.chunks.at(index))
    }

    /// The first chunk that a device which was dealt `turn` chunks does not have, and that nobody else has for
    /// certain.
    pub(crate) fn undealt(&self, device: usize, turn: usize) -> usize {
        let index = match self.order {
            Dealing::Free if turn >= self.at_once => self.next.load(Ordering::Relaxed),
            Dealing::Free | Dealing::InTurns | Dealing::ByOwner => self.of_turn(device, turn),
        };
        if index < self.chunks.chunks() { index } else { usize::MAX }
    }

    fn of_turn(&self, device: usize, turn: usize) -> usize {
        if self.order == Dealing::ByOwner {
            let index = self.firsts[device].saturating_add(turn);
            return if index < self.firsts[device + 1] { index } else { usize::MAX };
        }
        turn.saturating_mul(self.devices).saturating_add(device)
    }
}

/// The chunks in a device's part, if parts begin at these items.
pub(crate) fn owned(chunks: Chunking, borders: &[usize], device: usize) -> Range<usize> {
    let chunk = chunks.largest().max(1);
    let first = |border: &usize| border.div_ceil(chunk).min(chunks.chunks());
    let end = || chunks.chunks();
    borders.get(device).map_or_else(end, first)..borders.get(device + 1).map_or_else(end, first)
}

/// The chunks that one device has been dealt, of which it knows them by their *turns*: its first chunk has turn 0.
#[derive(Debug)]
pub(crate) struct Hand<'r> {
    dealer: &'r Dealer,
    device: usize,
    /// The last chunks, by turn.
    dealt: RefCell<VecDeque<Chunk>>,
    /// The number of chunks before those, and their items: there may be any number of chunks.
    forgotten: Cell<(usize, usize)>,
    /// Items of the largest chunk.
    largest: Cell<usize>,
    /// The number of chunks that were begun.
    begun: Cell<usize>,
    /// The number of chunks of which all operations were enqueued.
    enqueued: Cell<usize>,
    /// The number of turns whose items were counted, and these items.
    counted: Cell<(usize, usize)>,
}

impl<'r> Hand<'r> {
    pub(crate) fn new(dealer: &'r Dealer, device: usize) -> Self {
        Self {
            dealer,
            device,
            dealt: RefCell::default(),
            forgotten: Cell::default(),
            largest: Cell::new(1),
            begun: Cell::new(0),
            enqueued: Cell::new(0),
            counted: Cell::default(),
        }
    }

    /// The chunk of a turn, if it was dealt.
    pub(crate) fn chunk(&self, turn: usize) -> Option<Chunk> {
        self.dealt.borrow().get(turn.checked_sub(self.forgotten.get().0)?).copied()
    }

    /// The chunk of a turn; the next one is dealt if need be. `None` if there is no such chunk.
    pub(crate) fn take(&self, turn: usize) -> Option<Chunk> {
        if turn == self.len() {
            self.push(self.dealer.deal(self.device, turn)?);
        }
        self.chunk(turn)
    }

    /// The next chunk of a device that takes turns, as far as it is known before its sources have filled it; `None`
    /// if there is none. It is dealt once it [has arrived](Self::has_arrived).
    pub(crate) fn next(&self) -> Option<Chunk> {
        self.foreseen(self.len())
    }

    /// The chunk that a device which takes turns has at this turn, dealt or not.
    pub(crate) fn foreseen(&self, turn: usize) -> Option<Chunk> {
        self.dealer.deal(self.device, turn)
    }

    /// Deals the next chunk, which its sources have filled.
    pub(crate) fn has_arrived(&self, chunk: Chunk) {
        self.largest.set(self.largest.get().max(chunk.len));
        self.push(chunk);
    }

    /// Adds a chunk to those that were dealt.
    fn push(&self, chunk: Chunk) {
        let mut dealt = self.dealt.borrow_mut();
        dealt.push_back(chunk);
        // Nobody looks further back than the number of slots, before and behind the device.
        if dealt.len() > 2 * DEPTH_LIMIT + 2
            && let Some(first) = dealt.pop_front()
        {
            let (chunks, items) = self.forgotten.get();
            let forgotten = (chunks + 1, items + first.len);
            self.forgotten.set(forgotten);
            self.counted.set(self.counted.get().max(forgotten));
        }
    }

    /// Items of the largest chunk that has arrived.
    pub(crate) fn largest(&self) -> usize {
        self.largest.get()
    }

    /// The turn of a chunk of a device that takes turns; `None` if it is another device's.
    pub(crate) fn turn_of(&self, index: usize) -> Option<usize> {
        if self.dealer.order == Dealing::ByOwner {
            let own = self.dealer.firsts[self.device]..self.dealer.firsts[self.device + 1];
            return own.contains(&index).then(|| index - own.start);
        }
        let (turn, device) = (index / self.dealer.devices, index % self.dealer.devices);
        (device == self.device).then_some(turn)
    }

    /// The number of devices.
    pub(crate) fn devices(&self) -> usize {
        self.dealer.devices
    }

    /// The items in the chunks of the turns before this one, which is no earlier one than it was asked for before.
    pub(crate) fn items_before(&self, turn: usize) -> usize {
        let (counted, before) = self.counted.get();
        let more: usize = (counted..turn).filter_map(|turn| self.chunk(turn)).map(|chunk| chunk.len).sum();
        self.counted.set((turn.max(counted), before + more));
        before + more
    }

    /// The items of all chunks dealt.
    pub(crate) fn items(&self) -> usize {
        self.forgotten.get().1 + self.dealt.borrow().iter().map(|chunk| chunk.len).sum::<usize>()
    }

    /// The number of chunks dealt.
    pub(crate) fn len(&self) -> usize {
        self.forgotten.get().0 + self.dealt.borrow().len()
    }

    /// The turn of the chunk that comes next, or of the one that was begun last.
    pub(crate) fn turn(&self, is_current: bool) -> usize {
        self.begun.get().saturating_sub(usize::from(is_current))
    }

    /// Begins the chunk of the next turn; `None` if it is another one.
    pub(crate) fn begin(&self, index: usize) -> Option<Chunk> {
        let turn = self.begun.get();
        let next = self.chunk(turn).filter(|chunk| chunk.index == index)?;
        self.begun.set(turn + 1);
        Some(next)
    }

    /// Notes that all operations of the chunks that were begun are enqueued.
    pub(crate) fn is_enqueued(&self) {
        self.enqueued.set(self.begun.get());
    }

    /// Whether devices take chunks as they become free.
    pub(crate) fn is_free(&self) -> bool {
        self.dealer.order == Dealing::Free
    }

    /// Whether a device has failed, so that the run ends.
    pub(crate) fn has_stopped(&self) -> bool {
        // There is no such chunk.
        self.has_stopped_before(usize::MAX - 1)
    }

    /// Whether a device has failed, so that nobody has this chunk.
    pub(crate) fn has_stopped_before(&self, chunk: usize) -> bool {
        self.dealer.has_stopped_before(chunk)
    }

    /// Ends the run before this chunk, on the other devices, too.
    pub(crate) fn stop_before(&self, chunk: usize) {
        self.dealer.stop_before(chunk);
    }

    /// Whether it has this chunk.
    pub(crate) fn has(&self, index: usize) -> bool {
        match self.dealer.order {
            Dealing::InTurns | Dealing::ByOwner => self.turn_of(index).is_some_and(|turn| turn < self.len()),
            Dealing::Free => self.dealt.borrow().iter().any(|chunk| chunk.index == index),
        }
    }

    /// The first chunk of the run that this device leaves incomplete if so many of its chunks are complete, or
    /// that nobody has.
    pub(crate) fn first_missing(&self, complete: usize) -> usize {
        match self.chunk(complete) {
            Some(chunk) => chunk.index,
            // It was forgotten. A device has no chunk before as many turns.
            None if complete < self.len() && self.is_free() => complete,
            None => self.dealer.undealt(self.device, complete.min(self.len())),
        }
    }

    /// The same, if the chunks before `given` are complete: all that sinks were given in order.
    pub(crate) fn first_not_given(&self, given: usize) -> usize {
        let own = given.saturating_add(self.devices() - 1).saturating_sub(self.device) / self.devices();
        self.first_missing(own.min(self.len()))
    }

    /// The first chunk of the run of which this device has not enqueued all operations, or that nobody has.
    pub(crate) fn first_not_enqueued(&self) -> usize {
        self.first_missing(self.enqueued.get())
    }
}

/// What a device has of a run.
pub(crate) struct Share<'r> {
    pub(crate) hand: Hand<'r>,
    /// The time on the device's clock at which the run began.
    pub(crate) began: Duration,
    /// The handles that may ask the run to end: those of the thread that called it.
    pub(crate) cancels: Cancels,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many chunks of 10 items.
    fn dealer(chunks: usize, order: Dealing) -> Dealer {
        Dealer::new(Chunking::even(10 * chunks, 10), 2, 1, order)
    }

    fn taken<const N: usize>(hand: &Hand<'_>, turns: [usize; N]) -> [Option<usize>; N] {
        turns.map(|turn| hand.take(turn).map(|chunk| chunk.index))
    }

    #[test]
    fn in_turns_each_device_has_its_own() {
        let dealer = dealer(5, Dealing::InTurns);
        let hands = [Hand::new(&dealer, 0), Hand::new(&dealer, 1)];
        assert_eq!(taken(&hands[1], [0, 1, 2, 3]), [Some(1), Some(3), None, None]);
        assert_eq!(taken(&hands[0], [0, 1, 2]), [Some(0), Some(2), Some(4)]);
        assert_eq!((hands[0].first_missing(1), hands[1].first_missing(2)), (2, usize::MAX));
        assert_eq!((hands[0].first_not_given(2), hands[0].first_not_given(3)), (2, 4));
        assert_eq!([hands[0].len(), hands[1].len()], [3, 2]);
        assert_eq!((hands[1].turn_of(3), hands[1].turn_of(4)), (Some(1), None));
        assert!(hands[1].has(3) && !hands[1].has(2));
    }

    #[test]
    fn a_chunk_goes_to_the_device_that_has_its_part() {
        // The second part has no item.
        let dealer = Dealer::by_owner(Chunking::even(65, 10), &[0, 30, 30]);
        let hands = [0, 1, 2].map(|device| Hand::new(&dealer, device));
        assert_eq!(taken(&hands[0], [0, 1, 2, 3]), [Some(0), Some(1), Some(2), None]);
        assert_eq!(taken(&hands[1], [0, 1]), [None, None]);
        assert_eq!(taken(&hands[2], [0, 1, 2, 3, 4]), [Some(3), Some(4), Some(5), Some(6), None]);
        assert_eq!(hands[2].chunk(3), Some(Chunk { index: 6, start: 60, len: 5 }));
        assert_eq!((hands[2].turn_of(4), hands[2].turn_of(2), hands[0].turn_of(3)), (Some(1), None, None));
        assert!(hands[0].has(2) && !hands[0].has(3) && hands[2].has(6));
        assert_eq!([hands[0].first_missing(1), hands[0].first_missing(3), hands[1].first_missing(0)], {
            [1, usize::MAX, usize::MAX]
        });
        dealer.stop_before(5);
        assert_eq!(Hand::new(&dealer, 2).take(2), None);
    }

    #[test]
    fn free_devices_take_the_next() {
        let dealer = dealer(4, Dealing::Free);
        let (slow, fast) = (Hand::new(&dealer, 0), Hand::new(&dealer, 1));
        // The first is the slow one's, even if it comes late.
        assert_eq!(taken(&fast, [0, 1, 0]), [Some(1), Some(2), Some(1)]);
        assert_eq!(slow.first_missing(0), 0);
        assert_eq!(taken(&slow, [0]), [Some(0)]);
        assert_eq!((slow.first_missing(1), fast.first_missing(1)), (3, 2));
        dealer.stop_before(0);
        assert_eq!((taken(&slow, [1, 0]), slow.first_missing(1)), ([None, Some(0)], 3));
    }

    #[test]
    fn a_chunk_of_a_source_is_dealt_once_it_is_there() {
        let dealer = dealer(4, Dealing::InTurns);
        let hand = Hand::new(&dealer, 1);
        let next = hand.next().expect("there are four");
        assert_eq!((next, hand.len()), (Chunk { index: 1, start: 10, len: 10 }, 0));
        hand.has_arrived(Chunk { len: 3, ..next });
        assert_eq!((hand.chunk(0).map(|chunk| chunk.len), hand.items()), (Some(3), 3));
        assert_eq!(hand.next().map(|chunk| chunk.index), Some(3));
    }

    #[test]
    fn any_number_of_chunks_may_arrive() {
        let dealer = Dealer::new(Chunking::even(usize::MAX, 10), 2, 1, Dealing::InTurns);
        let hand = Hand::new(&dealer, 1);
        for turn in 0..5000 {
            let next = hand.next().expect("there are more");
            assert_eq!(next.index, 2 * turn + 1);
            hand.has_arrived(Chunk { len: 3, ..next });
            if turn == 4999 {
                hand.is_enqueued();
            }
            assert_eq!(hand.begin(next.index).map(|chunk| chunk.len), Some(3));
        }
        assert_eq!((hand.len(), hand.items(), hand.largest()), (5000, 15_000, 3));
        assert!(hand.dealt.borrow().len() < 2100);
        assert_eq!((hand.first_missing(7), hand.first_not_given(16)), (15, 17));
        assert_eq!(hand.first_missing(5000), 10_001);
        assert!(hand.has(15) && !hand.has(16) && !hand.has(10_001));
        assert_eq!(hand.first_not_enqueued(), 9_999);
        hand.is_enqueued();
        assert_eq!(hand.first_not_enqueued(), 10_001);
    }

    #[test]
    fn any_number_of_chunks_may_be_taken() {
        for order in [Dealing::Free, Dealing::InTurns] {
            let dealer = dealer(10_000, order);
            let (hand, other) = (Hand::new(&dealer, 1), Hand::new(&dealer, 0));
            for turn in 0..5000 {
                let index = 2 * turn + 1;
                assert_eq!(other.take(turn).map(|chunk| chunk.index), Some(index - 1));
                assert_eq!(hand.take(turn).map(|chunk| chunk.index), Some(index), "{order:?}");
                assert_eq!(hand.chunk(turn).map(|chunk| chunk.start), Some(10 * index));
            }
            assert!(hand.dealt.borrow().len() < 2100);
            assert_eq!((hand.len(), hand.items(), hand.items_before(4000)), (5000, 50_000, 40_000));
            assert_eq!(hand.take(5000), None);
            assert_eq!(hand.first_missing(4999), 9_999);
            assert!(hand.first_missing(7) <= 15);
        }
    }

    #[test]
    fn what_a_device_will_have_is_not_dealt() {
        let dealer = dealer(5, Dealing::InTurns);
        let hand = Hand::new(&dealer, 1);
        assert_eq!(
            [0, 1, 2].map(|turn| hand.foreseen(turn).map(|chunk| chunk.index)),
            [Some(1), Some(3), None]
        );
        assert_eq!(hand.len(), 0);
    }

    #[test]
    fn items_add_up() {
        let dealer = dealer(5, Dealing::InTurns);
        let hand = Hand::new(&dealer, 1);
        assert_eq!(taken(&hand, [0, 1]), [Some(1), Some(3)]);
        assert_eq!([0, 1, 2, 2].map(|turn| hand.items_before(turn)), [0, 10, 20, 20]);
    }

    #[test]
    fn chunks_begin_in_the_order_of_their_turns() {
        let dealer = dealer(4, Dealing::InTurns);
        let hand = Hand::new(&dealer, 1);
        assert_eq!(hand.begin(1), None, "it was not dealt");
        hand.take(0);
        assert_eq!(hand.turn(false), 0);
        assert_eq!(hand.begin(1), Some(Chunk { index: 1, start: 10, len: 10 }));
        assert_eq!((hand.turn(true), hand.turn(false)), (0, 1));
        assert_eq!(hand.begin(1), None, "it has begun");
    }
}
