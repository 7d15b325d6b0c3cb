//! What is noted, refused, replaced and put back.

mod model;

use std::panic::Location;

use super::*;
use crate::device::Device;
use crate::sim::Simulation;

#[track_caller]
fn caller() -> Caller {
    Caller { what: "test", at: Location::caller() }
}

/// Notes a use that the driver takes.
#[track_caller]
fn take(
    uses: &Uses,
    bytes: Range<u64>,
    (progress, number, write): (&Arc<Progress>, u64, bool),
    clock: &Clock,
    matters: bool,
) -> Result<(), Refused> {
    let next = Next { progress, clock, number, caller: caller() };
    uses.note(&bytes, (&next, write), matters, (0, &mut Vec::new())).map(drop)
}

#[track_caller]
fn race_with(refused: Result<(), Refused>) -> Use {
    match refused {
        Err(Refused::Race(earlier)) => *earlier,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_nothing_orders_is_refused() {
    let device = Device::simulated(Simulation::default());
    let [one, other] = [(); 2].map(|()| Progress::new(&device));
    let (uses, none) = (Uses::default(), Clock::default());
    take(&uses, 0..64, (&one, 1, true), &none, true).expect("the first");
    take(&uses, 0..8, (&one, 2, false), &none, true).expect("the same stream");
    let earlier = race_with(take(&uses, 60..70, (&other, 1, false), &none, true));
    assert!(earlier.write() && earlier.operation.number == 1);
    take(&uses, 64..70, (&other, 2, true), &none, true).expect("other bytes");
    let mut waited = Clock::default();
    waited.advance(&one, 1);
    take(&uses, 8..64, (&other, 3, true), &waited, true).expect("it has waited");
    let earlier = race_with(take(&uses, 0..1, (&other, 4, true), &waited, true));
    assert!(!earlier.write() && earlier.operation.number == 2);
    one.reached(2);
    take(&uses, 0..1, (&other, 4, true), &none, true).expect("that is over");
    assert!(uses.is_written());
    // The streams are gone, so the device is waited for.
    assert!(uses.settle(false) && !uses.is_used());
    uses.hold();
    let held = take(&uses, 0..1, (&other, 5, true), &none, false);
    assert!(matches!(held, Err(Refused::Held)));
    uses.give_back();
}

/// Otherwise a loop that the host does not wait for would remember all of its turns.
#[test]
fn what_comes_before_a_write_is_forgotten() {
    let device = Device::simulated(Simulation::default());
    let [up, math] = [(); 2].map(|()| Progress::new(&device));
    let (uses, mut of_up, mut of_math) = (Uses::default(), Clock::default(), Clock::default());
    for turn in 1..1000 {
        take(&uses, 0..1024, (&up, turn, true), &of_up, true).expect("in order");
        of_math.advance(&up, turn);
        take(&uses, 0..512, (&math, turn, false), &of_math, true).expect("in order");
        of_up.advance(&math, turn);
    }
    let segments = &uses.locked().segments;
    assert!(segments.len() <= 3 && segments.values().all(|segment| segment.uses.len() <= 2));
}

/// At no moment is nothing noted on bytes that earlier operations use: another thread may look.
#[test]
fn what_one_part_has_replaced_is_there_while_another_is_forgotten() {
    let device = Device::simulated(Simulation::default());
    let [one, other, third] = [(); 3].map(|()| Progress::new(&device));
    let (uses, none) = (Uses::default(), Clock::default());
    take(&uses, 0..8, (&one, 1, true), &none, true).expect("the first");
    let mut waited = Clock::default();
    waited.advance(&one, 1);
    // It reads the bytes and then writes them, as a graph does. The write takes the place of the first use.
    let next = Next { progress: &other, clock: &waited, number: 1, caller: caller() };
    let mut replaced = Vec::new();
    for write in [false, true] {
        uses.note(&(0..8), (&next, write), true, (0, &mut replaced)).expect("in order");
    }
    let later = Next { progress: &third, clock: &none, number: 1, caller: caller() };
    let raced = || uses.conflict(&(0..8), true, &later).map(|earlier| earlier.operation.number);
    uses.put_back(replaced.iter());
    for _ in 0..2 {
        assert!(raced().is_some());
        uses.forget(&(0..8), &next);
    }
    assert!(raced().is_some() && uses.is_written());
}

/// Otherwise a window that moves would take the longer the more positions it has had.
#[test]
fn reads_of_a_window_that_moves_are_one_use() {
    let device = Device::simulated(Simulation::default());
    let [up, math] = [(); 2].map(|()| Progress::new(&device));
    let (uses, none) = (Uses::default(), Clock::default());
    take(&uses, 0..4096, (&up, 1, true), &none, true).expect("the first");
    // The write is over, but nobody has asked for the memory since.
    up.reached(1);
    for turn in 1..=1024 {
        take(&uses, turn..turn + 256, (&math, turn, false), &none, true).expect("a read");
    }
    let segments = uses.locked().segments.range(1024..1280).count();
    assert_eq!(segments, 1);
}

/// Streams that read the same bytes in turn.
#[test]
fn reads_in_order_are_one_use() {
    let device = Device::simulated(Simulation::default());
    let streams = [(); 2].map(|()| Progress::new(&device));
    let mut clocks = [(); 2].map(|()| Clock::default());
    let uses = Uses::default();
    for turn in 1..1000_u64 {
        let (own, other) = (turn as usize % 2, 1 - turn as usize % 2);
        let start = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        take(&uses, start..start + 512, (&streams[own], turn, false), &clocks[own], true).expect("a read");
        clocks[other].advance(&streams[own], turn);
    }
    let segments = uses.locked().segments.len();
    assert!(segments < 40, "{segments}");
}

// Note 85: a use takes the place of earlier ones before the driver is asked.
/// What an operation has taken the place of is waited for again if the operation is not enqueued.
#[test]
fn what_was_replaced_is_put_back() {
    let device = Device::simulated(Simulation::default());
    let [one, other, third] = [(); 3].map(|()| Progress::new(&device));
    let none = Clock::default();
    let mut waited = Clock::default();
    waited.advance(&one, 1);
    for is_asked in [false, true] {
        let uses = Uses::default();
        take(&uses, 0..64, (&one, 1, true), &none, true).expect("the first");
        take(&uses, 0..8, (&other, 1, false), &waited, true).expect("in order");
        // On the stream of the last use, and after both.
        let next = Next { progress: &other, clock: &waited, number: 2, caller: caller() };
        let mut replaced = Vec::new();
        uses.note(&(0..64), (&next, true), true, (0, &mut replaced)).expect("in order");
        assert_eq!(uses.locked().segments.len(), 1, "one use is left");
        uses.put_back(replaced.iter());
        match is_asked {
            false => uses.forget(&(0..64), &next),
            true => uses.is_refused(&(0..64), &next),
        }
        let before = |bytes: Range<u64>, write| {
            let later = Next { progress: &third, clock: &none, number: 1, caller: caller() };
            uses.conflict(&bytes, write, &later).map(|earlier| (earlier.operation.number, earlier.write()))
        };
        assert_eq!(before(8..64, false).map(|(_, write)| write), Some(true));
        let known = uses.locked();
        let of = |stream: &Arc<Progress>, number, write| {
            let uses = known.segments.values().flat_map(|segment| &segment.uses);
            uses.filter(|each| {
                let operation = each.operation;
                Arc::ptr_eq(&each.progress, stream) && (operation.number, operation.write) == (number, write)
            })
            .count()
        };
        assert_eq!((of(&one, 1, true), of(&other, 1, false)), (2, 1));
        assert_eq!(of(&other, 2, true), if is_asked { 2 } else { 0 });
        drop(known);
        assert!(before(0..8, true).is_some() && uses.is_written());
    }
}

/// An operation may use overlapping parts of one allocation.
#[test]
fn parts_of_one_operation_overlap() {
    let device = Device::simulated(Simulation::default());
    let [one, other] = [(); 2].map(|()| Progress::new(&device));
    let none = Clock::default();
    for parts in [[0..64, 40..50], [40..50, 0..64], [0..64, 32..96], [0..96, 0..64], [0..10, 0..64]] {
        let uses = Uses::default();
        let new = Next { progress: &one, clock: &none, number: 1, caller: caller() };
        for part in &parts {
            uses.note(part, (&new, true), true, (0, &mut Vec::new())).expect("the first");
        }
        for byte in parts[0].start..parts[0].end.max(parts[1].end) {
            if parts.iter().any(|part| part.contains(&byte)) {
                let later = Next { progress: &other, ..new };
                let raced = uses.conflict(&(byte..byte + 1), false, &later);
                assert!(raced.is_some_and(|earlier| new.is(&earlier)), "{parts:?}: {byte}");
            }
        }
        let known = uses.locked();
        let ends = known.segments.values().map(|segment| segment.end);
        assert!(ends.zip(known.segments.keys().skip(1)).all(|(end, start)| end <= *start), "{parts:?}");
    }
}

/// A use that is not checked is remembered nevertheless, since it must be waited for.
#[test]
fn what_does_not_matter_is_kept() {
    let device = Device::simulated(Simulation::default());
    let [one, other] = [(); 2].map(|()| Progress::new(&device));
    let (uses, none) = (Uses::default(), Clock::default());
    take(&uses, 0..64, (&one, 1, true), &none, false).expect("the first");
    take(&uses, 0..64, (&other, 1, true), &none, false).expect("not checked");
    other.reached(1);
    uses.prune();
    assert!(uses.is_used());
    one.reached(1);
    uses.prune();
    assert!(!uses.is_used());
}

/// Otherwise a loop over an input would take the longer the more chunks it has, and its bookkeeping would be megabytes.
#[test]
fn a_loop_over_many_parts_is_few_uses() {
    let device = Device::simulated(Simulation::default());
    let [up, other] = [(); 2].map(|()| Progress::new(&device));
    let (uses, none) = (Uses::default(), Clock::default());
    let at = caller();
    let turn = |turn: u64, part: u64| {
        let next = Next { progress: &up, clock: &none, number: 3 * turn + 1, caller: at };
        uses.note(&(part * 64..(part + 1) * 64), (&next, true), true, (0, &mut Vec::new()))
            .expect("in order");
    };
    for number in 0..5_000 {
        turn(number, number % 1_000);
        let known = uses.locked();
        assert!(known.segments.len() <= 1 && known.series.number() <= 2, "{number}: {known:?}");
    }
    // Each part's use is known exactly: the last loop has used the first part in turn 4,000.
    let raced = |bytes: Range<u64>, completed: u64| {
        let mut waited = Clock::default();
        waited.advance(&up, completed);
        let later = Next { progress: &other, clock: &waited, number: 1, caller: at };
        uses.conflict(&bytes, false, &later).is_some()
    };
    for part in [0_u64, 1, 500, 998, 999] {
        let number = 3 * (4_000 + part) + 1;
        assert!(raced(part * 64 + 1..part * 64 + 2, number - 1), "{part}");
        assert!(!raced(part * 64..(part + 1) * 64, number), "{part}");
    }
    // What is over is forgotten, and only that.
    up.reached(3 * 4_500);
    uses.prune();
    assert!(!raced(0..499 * 64, 0) && raced(501 * 64..502 * 64, 0) && uses.is_written());
    assert!(uses.settle(false) && !uses.is_used());
}

/// Parts of 8 bytes that a loop has used, as one series.
fn series_of(up: &Arc<Progress>, parts: u64, write: bool) -> Uses {
    let (uses, none) = (Uses::default(), Clock::default());
    for part in 0..parts {
        take(&uses, part * 8..(part + 1) * 8, (up, part + 1, write), &none, true).expect("in order");
    }
    let known = uses.locked();
    assert!(known.series.number() == 1 && known.segments.is_empty());
    drop(known);
    uses
}

/// Memory that is lent has the uses of its own bytes, exactly.
#[test]
fn memory_that_is_lent_has_the_uses_of_a_loops_parts() {
    let device = Device::simulated(Simulation::default());
    let [up, other] = [(); 2].map(|()| Progress::new(&device));
    let (uses, none) = (series_of(&up, 4, true), Clock::default());
    let lent = Uses::default();
    lent.adopt(&uses, &(4..20));
    assert!(lent.is_written());
    for byte in 0..32 {
        let later = Next { progress: &other, clock: &none, number: 1, caller: caller() };
        let raced = lent.conflict(&(byte..byte + 1), false, &later).map(|earlier| earlier.operation.number);
        assert_eq!(raced, (4..20).contains(&byte).then_some(byte / 8 + 1), "{byte}");
    }
}

/// One operation has one number.
#[test]
fn adjacent_parts_of_one_operation_are_no_loop() {
    let device = Device::simulated(Simulation::default());
    let up = Progress::new(&device);
    let (uses, none) = (Uses::default(), Clock::default());
    for part in 0..4 {
        take(&uses, part * 8..(part + 1) * 8, (&up, 1, true), &none, true).expect("in order");
    }
    up.reached(1);
    uses.prune();
    assert!(!uses.is_used());
}

#[test]
fn only_parts_that_are_over_have_failed() {
    let device = Device::simulated(Simulation::default());
    let up = Progress::new(&device);
    let uses = series_of(&up, 4, true);
    let error = Detail::CopyLength { from: 1, to: 0 }.into();
    up.fail(2..=u64::MAX, &error);
    up.reached(2);
    uses.prune();
    let failed = [0, 8, 16, 24].map(|start| uses.failure(&(start..start + 8)).is_some());
    assert_eq!(failed, [false, true, false, false]);
}

#[test]
fn a_race_with_a_loops_part_names_the_call() {
    let device = Device::simulated(Simulation::default());
    let [up, other] = [(); 2].map(|()| Progress::new(&device));
    let (uses, none) = (Uses::default(), Clock::default());
    let callers = [caller(), Caller { what: "other", ..caller() }];
    for part in 0..6 {
        let next =
            Next { progress: &up, clock: &none, number: part + 1, caller: callers[(part / 3) as usize] };
        uses.note(&(part * 8..(part + 1) * 8), (&next, true), true, (0, &mut Vec::new())).expect("in order");
    }
    for part in 0..6 {
        let later = Next { progress: &other, clock: &none, number: 1, caller: caller() };
        let raced = uses.conflict(&(part * 8..(part + 1) * 8), false, &later).expect("a race");
        assert_eq!(raced.operation.caller.what, callers[(part / 3) as usize].what);
    }
}

#[test]
fn who_reads_does_not_wait_for_a_loop_that_reads() {
    let device = Device::simulated(Simulation::default());
    let up = Progress::new(&device);
    let uses = series_of(&up, 4, false);
    assert!(uses.last(true).0.is_empty() && uses.last(false).0.len() == 1);
}

#[test]
fn reads_take_the_place_of_writes_that_are_over() {
    let device = Device::simulated(Simulation::default());
    let up = Progress::new(&device);
    let (uses, none) = (Uses::default(), Clock::default());
    let mut number = 0;
    // Writes that are over, then reads, twice.
    for write in [true, false, false] {
        for part in 0..100 {
            number += 1;
            let at = (&up, number, write);
            take(&uses, part * 8..(part + 1) * 8, at, &none, true).expect("in order");
            let known = uses.locked();
            assert!(known.segments.len() <= 1 && known.series.number() <= 2, "{number}: {known:?}");
        }
        up.reached(number);
    }
}

/// All of them are looked at for each use.
#[test]
fn there_are_few_series() {
    let device = Device::simulated(Simulation::default());
    let up = Progress::new(&device);
    let (uses, none) = (Uses::default(), Clock::default());
    let mut number = 0;
    for turn in 0..20 {
        for each in 0..12 {
            number += 1;
            let start = each * 1000 + turn % 10 * 8;
            take(&uses, start..start + 8, (&up, number, true), &none, true).expect("in order");
            assert!(uses.locked().series.number() <= 8);
        }
    }
    // One in the middle of each.
    for each in 0..12 {
        number += 1;
        take(&uses, each * 1000 + 32..each * 1000 + 40, (&up, number, true), &none, true).expect("in order");
        assert!(uses.locked().series.number() <= 16);
    }
}

/// What is refused, or only asked, takes no longer the more parts a loop has used, and changes nothing.
#[test]
fn a_race_with_a_loop_leaves_its_series() {
    let device = Device::simulated(Simulation::default());
    let [up, other] = [(); 2].map(|()| Progress::new(&device));
    let (uses, none) = (series_of(&up, 100, true), Clock::default());
    let mut waited = Clock::default();
    waited.advance(&up, 50);
    for bytes in [0..800, 399..401, 796..1000] {
        let raced = race_with(take(&uses, bytes, (&other, 1, false), &waited, true));
        assert!(raced.operation.number > 50);
    }
    let later = Next { progress: &other, clock: &waited, number: 1, caller: caller() };
    assert!(
        uses.conflict(&(0..400), true, &later).is_none() && uses.conflict(&(0..401), true, &later).is_some()
    );
    assert!(uses.conflict(&(500..500), true, &later).is_none());
    let known = uses.locked();
    assert!(known.series.number() == 1 && known.segments.is_empty());
    drop(known);
    take(&uses, 0..400, (&other, 1, true), &waited, true).expect("in order");
    take(&uses, 400..800, (&other, 2, false), &none, false).expect("not checked");
}

/// Otherwise uses that make segments of each part of a series would take several times as long as without series.
#[test]
fn series_that_are_no_gain_are_given_up() {
    let device = Device::simulated(Simulation::default());
    let [up, math] = [(); 2].map(|()| Progress::new(&device));
    let (uses, mut of_up, mut of_math) = (Uses::default(), Clock::default(), Clock::default());
    // All parts are written, and then all are read.
    let mut turn = |number: u64| {
        for part in 0..16 {
            take(&uses, part * 8..(part + 1) * 8, (&up, 16 * number + part + 1, true), &of_up, true)
                .expect("a write");
        }
        of_math.advance(&up, 16 * number + 16);
        let has_series = !uses.locked().series.is_empty();
        for part in 0..16 {
            take(&uses, part * 8..(part + 1) * 8, (&math, 16 * number + part + 1, false), &of_math, true)
                .expect("a read");
        }
        of_up.advance(&math, 16 * number + 16);
        has_series
    };
    let had = (0..20).map(&mut turn).collect::<Vec<_>>();
    assert!(had[0] && !had[19], "{had:?}");
    // When nothing is pending, other uses may follow.
    [&up, &math].into_iter().for_each(|stream| stream.reached(320));
    uses.prune();
    assert!(!uses.is_used() && turn(20));
}
