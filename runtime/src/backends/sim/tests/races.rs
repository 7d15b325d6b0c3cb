use std::ops::Range;

use super::*;
use crate::backends::sim::history::{Accessor, Conflict, History};
use crate::backends::sim::order::{Clock, Order};
use crate::backends::sim::random::Random;

/// Two operations on two streams with nothing between them.
fn unordered(
    first: fn(DevicePtr, usize) -> Access,
    second: fn(DevicePtr, usize) -> Access,
) -> DriverResult<()> {
    let rig = Rig::new();
    let (one, two, at) = (rig.stream(), rig.stream(), rig.device(1000));
    rig.kernel(one, tag(0, 6), &[first(at, 600)]);
    rig.kernel(two, tag(2, 3), &[second(at.offset(599), 10)]);
    rig.sync(one).unwrap();
    rig.sync(two)
}

#[test]
fn every_kind_of_race_is_named() {
    let words = |result: DriverResult<()>| {
        let error = result.unwrap_err();
        assert_eq!((error.call, error.code, &*error.name), ("race check", 999, "RACE"));
        assert_eq!(error.tag, Some((2, 3)));
        error.description.into_owned()
    };
    assert_eq!(
        words(unordered(read, write)),
        "operation 2 of chunk 3 writes memory that operation 0 of chunk 6 reads, and nothing orders them"
    );
    assert_eq!(
        words(unordered(write, read)),
        "operation 2 of chunk 3 reads memory that operation 0 of chunk 6 writes, and nothing orders them"
    );
    assert_eq!(
        words(unordered(write, write)),
        "operation 2 of chunk 3 writes memory that operation 0 of chunk 6 writes, and nothing orders them"
    );
    unordered(read, read).unwrap();
}

#[test]
fn neighbours_do_not_race() {
    let rig = Rig::new();
    let (one, two, at) = (rig.stream(), rig.stream(), rig.device(1000));
    rig.kernel(one, tag(0, 0), &[write(at, 500)]);
    rig.kernel(two, tag(1, 0), &[write(at.offset(500), 500)]);
    rig.sync(one).unwrap();
    rig.sync(two).unwrap();
}

#[test]
fn copies_race_on_pinned_memory() {
    let rig = Rig::new();
    let (one, two) = (rig.stream(), rig.stream());
    let (host, a, b) = (rig.pinned(100), rig.device(100), rig.device(100));
    rig.up(one, tag(0, 0), a, host).unwrap();
    rig.down(two, tag(1, 0), host, b).unwrap();
    let error = rig.sync(two).unwrap_err();
    assert!(error.description.starts_with("operation 1 of chunk 0 writes"), "{error}");
    // The racing copy was not carried out, and the stream works again.
    assert_eq!(rig.get(host), [0; 100]);
    rig.sync(one).unwrap();
    rig.down(two, tag(1, 0), host, b).unwrap();
    rig.sync(two).unwrap();
    assert_eq!(rig.get(host), [0xFF; 100]);
}

#[test]
fn stream_order_is_order() {
    let rig = Rig::new();
    let (stream, at) = (rig.stream(), rig.device(1000));
    rig.kernel(stream, tag(0, 0), &[write(at, 1000)]);
    rig.kernel(stream, tag(1, 0), &[read(at, 500), write(at.offset(500), 500)]);
    rig.kernel(stream, tag(2, 0), &[read(at, 700), write(at, 700)]);
    rig.sync(stream).unwrap();
}

#[test]
fn waiting_on_the_host_is_order() {
    let rig = Rig::new();
    let (one, two, event, at) = (rig.stream(), rig.stream(), rig.event(), rig.device(1000));
    rig.kernel(one, tag(0, 0), &[write(at, 1000)]);
    rig.sync(one).unwrap();
    rig.kernel(two, tag(1, 0), &[write(at, 1000)]);
    rig.record(event, two);
    rig.sync_event(event).unwrap();
    rig.kernel(one, tag(2, 0), &[write(at, 1000)]);
    rig.sync(one).unwrap();
    rig.sync(two).unwrap();
}

/// The wait on the host covers everything that the event stands for, and nothing later.
#[test]
fn waiting_on_the_host_for_an_event_orders_no_later_work() {
    let rig = Rig::new();
    let (one, two, event, at) = (rig.stream(), rig.stream(), rig.event(), rig.device(1000));
    rig.record(event, one);
    rig.kernel(one, tag(0, 0), &[write(at, 1000)]);
    rig.sync_event(event).unwrap();
    rig.kernel(two, tag(1, 0), &[read(at, 1000)]);
    assert_eq!(rig.sync(two).unwrap_err().name, "RACE");
}

/// ```text
/// one    [ writes ]--a
/// two                 \-(nothing)--b
/// three                             \--[ writes ]
/// ```
#[test]
fn events_are_order_also_through_a_third_stream() {
    let rig = Rig::new();
    let [one, two, three] = [(); 3].map(|()| rig.stream());
    let (a, b, at) = (rig.event(), rig.event(), rig.device(1000));
    rig.kernel(one, tag(0, 0), &[write(at, 1000)]);
    rig.record(a, one);
    rig.wait(two, a);
    rig.record(b, two);
    rig.wait(three, b);
    rig.kernel(three, tag(1, 0), &[write(at, 1000)]);
    rig.sync(three).unwrap();
}

#[test]
fn an_event_recorded_too_early_orders_nothing() {
    let rig = Rig::new();
    let (one, two, event, at) = (rig.stream(), rig.stream(), rig.event(), rig.device(1000));
    rig.record(event, one);
    rig.kernel(one, tag(0, 0), &[write(at, 1000)]);
    rig.wait(two, event);
    rig.kernel(two, tag(1, 0), &[read(at, 1000)]);
    assert_eq!(rig.sync(two).unwrap_err().name, "RACE");
}

/// ```text
/// load   [ writes x ]--e
/// one                   \--[ reads x ]
/// two                    \--[ reads x ]--f      the writer waits for one of two readers
/// load                                    \--[ writes x ]
/// ```
#[test]
fn every_reader_counts() {
    let rig = Rig::new();
    let [load, one, two] = [(); 3].map(|()| rig.stream());
    let (e, f, x) = (rig.event(), rig.event(), rig.device(1000));
    rig.kernel(load, tag(0, 0), &[write(x, 1000)]);
    rig.record(e, load);
    rig.wait(one, e);
    rig.kernel(one, tag(1, 0), &[read(x, 1000)]);
    rig.wait(two, e);
    rig.kernel(two, tag(2, 0), &[read(x, 1000)]);
    rig.record(f, two);
    rig.wait(load, f);
    rig.kernel(load, tag(0, 1), &[write(x, 1000)]);
    let error = rig.sync(load).unwrap_err();
    assert!(error.description.contains("operation 1 of chunk 0 reads"), "{error}");
}

/// A ring of two slots whose upload forgets to wait for the download that last used the slot.
#[test]
fn a_slot_used_again_too_early_is_a_race() {
    let rig = Rig::new();
    let (up, down) = (rig.stream(), rig.stream());
    let (from, to, ring) = (rig.pinned(100), rig.pinned(100), rig.device(200));
    let loaded = rig.event();
    for chunk in 0..3 {
        let at = ring.offset(100 * (chunk as usize % 2));
        rig.up(up, tag(0, chunk), at, from).unwrap();
        rig.record(loaded, up);
        rig.wait(down, loaded);
        rig.down(down, tag(1, chunk), to, at).unwrap();
    }
    let error = rig.sync(down).unwrap_err();
    assert_eq!(error.tag, Some((0, 2)));
    assert!(error.description.contains("operation 1 of chunk 0 reads"), "{error}");
    assert!(rig.sync(up).is_err());
}

#[test]
fn a_new_stream_does_not_come_after_a_destroyed_one() {
    let rig = Rig::new();
    let (old, at) = (rig.stream(), rig.device(1000));
    rig.kernel(old, tag(0, 0), &[write(at, 1000)]);
    rig.destroy(old);
    let new = rig.stream();
    rig.kernel(new, tag(1, 0), &[write(at, 1000)]);
    assert_eq!(rig.sync(new).unwrap_err().name, "RACE");
}

/// The old stream has waited and done nothing since. The new stream gets its place in the clocks, but not its
/// order.
#[test]
fn a_new_stream_inherits_no_order() {
    let rig = Rig::new();
    let (one, old, event, at) = (rig.stream(), rig.stream(), rig.event(), rig.device(1000));
    rig.kernel(one, tag(0, 0), &[write(at, 1000)]);
    rig.record(event, one);
    rig.wait(old, event);
    rig.destroy(old);
    let new = rig.stream();
    rig.kernel(new, tag(1, 0), &[write(at, 1000)]);
    assert_eq!(rig.sync(new).unwrap_err().name, "RACE");
}

/// Compares the checker with the definition: random programs, with happens-before as a graph that is
/// searched. The programs end at the first race, after which the checker may let others pass.
#[test]
fn races_are_found_as_the_definition_has_them() {
    let programs = 2000;
    let races = (0..programs).filter(|&seed| random_program(seed)).count();
    assert!(
        (programs / 4..programs).contains(&(races as u64)),
        "{races} programs race: the test says too little"
    );
}

/// Whether the program has a race. The checker and the definition must agree.
fn random_program(seed: u64) -> bool {
    let mut random = Random::new(seed);
    let (mut order, mut history) = (Order::default(), History::default());
    let lanes = [(); 3].map(|()| order.open());
    // Nodes of the graph are commands; `before[n]` are the direct predecessors of node `n`.
    let mut before: Vec<Vec<usize>> = Vec::new();
    let mut accesses: Vec<(usize, Range<usize>, bool)> = Vec::new();
    let mut last = [None; 3];
    let mut recorded: [Option<(usize, Clock)>; 2] = [None, None];
    let mut host_waited: Vec<usize> = Vec::new();
    for _ in 0..40 {
        let (stream, event) = (random.below(3), random.below(2));
        let (lane, node) = (lanes[stream], before.len());
        let mut direct: Vec<_> = last[stream].into_iter().chain(host_waited.iter().copied()).collect();
        match random.below(8) {
            0 | 1 => recorded[event] = Some((node, order.record(lane))),
            2 | 3 => {
                if let Some((node, clock)) = &recorded[event] {
                    order.wait(lane, clock);
                    direct.push(*node);
                }
            }
            4 if random.below(4) == 0 => {
                if let Some((node, clock)) = &recorded[event] {
                    order.host_waited(clock);
                    host_waited.push(*node);
                }
                continue;
            }
            _ => {
                let (start, write) = (random.below(56), random.below(3) == 0);
                let bytes = start..start + 1 + random.below(8);
                let accessor = Accessor { moment: order.enqueue(lane), tag: tag(node as u32, 0) };
                let found = history.access(&order, bytes.clone(), write, accessor);
                let mut past = vec![false; node];
                let mut open = direct.clone();
                while let Some(node) = open.pop() {
                    if !std::mem::replace(&mut past[node], true) {
                        open.extend(&before[node]);
                    }
                }
                let races = |(node, other, other_writes): &(usize, Range<usize>, bool)| {
                    let overlap = other.start < bytes.end && bytes.start < other.end;
                    overlap && (write || *other_writes) && !past[*node]
                };
                assert_eq!(found.is_some(), accesses.iter().any(races), "seed {seed}, command {node}");
                if let Some(Conflict { earlier, earlier_writes }) = found {
                    let named = accesses.iter().find(|(node, ..)| *node == earlier.operation as usize);
                    assert!(
                        named.is_some_and(|named| races(named) && named.2 == earlier_writes),
                        "seed {seed}"
                    );
                    return true;
                }
                accesses.push((node, bytes, write));
            }
        }
        before.push(direct);
        last[stream] = Some(node);
    }
    false
}
