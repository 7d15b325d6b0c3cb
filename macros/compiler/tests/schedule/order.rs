//! The order of a set of waits: the part of the scheduler that checks waits written by hand.

use thalweg_compiler::schedule::*;

/// One operation on each stream, touching nothing.
fn one_op_each(streams: &[StreamKind]) -> Program {
    let op = |stream| Op { stream: StreamId(stream), accesses: Vec::new() };
    Program {
        streams: streams.to_vec(),
        storages: Vec::new(),
        ops: (0..streams.len() as u32).map(op).collect(),
    }
}

fn wait(from: u32, to: u32, distance: Distance) -> Edge {
    Edge { from: OpId(from), to: OpId(to), distance, causes: Vec::new() }
}

/// For each distance, the pairs that are ordered.
fn ordered(program: &Program, waits: &[Edge], distance: Distance) -> Vec<(u32, u32)> {
    let order = Order::new(program, waits);
    let ops = 0..program.ops.len() as u32;
    ops.clone()
        .flat_map(|from| ops.clone().map(move |to| (from, to)))
        .filter(|&(from, to)| order.orders(OpId(from), OpId(to), distance))
        .collect()
}

//   a[c mod D]     0           0 waits for 1 of the chunk before, and 1 for 0: from chunk to chunk
//                              the chain changes sides, so where it ends depends on whether D is even
//   b[c mod D]     1
#[test]
fn an_order_that_only_some_depths_have_is_none() {
    let program = one_op_each(&[StreamKind::PerSlot; 2]);
    let waits = [wait(0, 1, Distance::Previous), wait(1, 0, Distance::Previous)];
    assert_eq!(ordered(&program, &waits, Distance::Same), [(0, 0), (1, 1)]);
    assert_eq!(ordered(&program, &waits, Distance::Previous), [(0, 1), (1, 0)]);
    assert_eq!(ordered(&program, &waits, Distance::Reuse), [(0, 0), (1, 1)]);
}

//   a[c mod D]     0           1 waits for 0 of the chunk before, and for 1 of the chunk before:
//                              from 0 to 1 there is a way of every length
//   b[c mod D]     1
#[test]
fn a_chain_from_chunk_to_chunk_orders_every_depth() {
    let program = one_op_each(&[StreamKind::PerSlot; 2]);
    let once = [wait(0, 1, Distance::Previous)];
    assert_eq!(ordered(&program, &once, Distance::Reuse), [(0, 0), (1, 1)]);
    let chained = [wait(0, 1, Distance::Previous), wait(1, 1, Distance::Previous)];
    assert_eq!(ordered(&program, &chained, Distance::Reuse), [(0, 0), (0, 1), (1, 1)]);
}

//   a[c mod D]     0           0 to 1 within a chunk, 1 to 0 of the next: all is one chain
//                  │
//   b[c mod D]     └─> 1
#[test]
fn a_loop_through_the_next_chunk_orders_everything() {
    let program = one_op_each(&[StreamKind::PerSlot; 2]);
    let waits = [wait(0, 1, Distance::Same), wait(1, 0, Distance::Previous)];
    let all = [(0, 0), (0, 1), (1, 0), (1, 1)];
    assert_eq!(ordered(&program, &waits, Distance::Same), [(0, 0), (0, 1), (1, 1)]);
    assert_eq!(ordered(&program, &waits, Distance::Previous), all);
    assert_eq!(ordered(&program, &waits, Distance::Reuse), all);
}

//   s     0 ──> 1         a wait in stream order is redundant, and one against it orders nothing
#[test]
fn waits_along_a_stream_are_redundant() {
    let mut program = one_op_each(&[StreamKind::Fixed; 2]);
    program.ops[1].stream = StreamId(0);
    let order = Order::new(&program, &[wait(0, 1, Distance::Same), wait(1, 0, Distance::Same)]);
    assert!(order.implies(OpId(0), OpId(1), Distance::Same));
    assert!(!order.orders(OpId(1), OpId(0), Distance::Same));
}

//   a     0                     the wait of 2 for 0 follows from the other two; each of
//         ├───────┐             those two is needed
//   b     └─> 1   │
//             │   │
//   c         └───┴─> 2
#[test]
fn a_missing_wait_and_a_redundant_one_are_told() {
    let program = one_op_each(&[StreamKind::Fixed; 3]);
    let waits = [wait(0, 1, Distance::Same), wait(0, 2, Distance::Same), wait(1, 2, Distance::Same)];
    let order = Order::new(&program, &waits);
    let redundant = waits.each_ref().map(|wait| order.implies(wait.from, wait.to, wait.distance));
    assert_eq!(redundant, [false, true, false]);

    let without_the_last = Order::new(&program, &waits[..2]);
    assert!(!without_the_last.orders(OpId(1), OpId(2), Distance::Same));
    assert!(without_the_last.orders(OpId(0), OpId(2), Distance::Same));
}

//   a[c mod D]     0           touches nothing
//   b[c mod D]     1           2 waits for 1 of the chunk before, 3 for 2, and so on to the last;
//   c[c mod D]     2           all of them wait for 1 too
//   …                          From 1 to the last there is a way of each length up to 64, and none of 65
#[test]
fn an_order_that_only_the_deepest_rings_lack_is_none() {
    const LAST: u32 = 65;
    let chain = (1..LAST).map(|op| wait(op, op + 1, Distance::Previous));
    let waits: Vec<_> = chain.chain((3..=LAST).map(|op| wait(1, op, Distance::Previous))).collect();
    let program = one_op_each(&vec![StreamKind::PerSlot; LAST as usize + 1]);
    let itself: Vec<_> = (0..=LAST).map(|op| (op, op)).collect();
    assert_eq!(ordered(&program, &waits, Distance::Reuse), itself);
}

//   a     0 ──────────> 1       3 comes after 0 by the stream, the wait of 2 for 1 and that of 3 for 2;
//                       │       beside 0 only what is on its stream, or waits for that, is reached,
//   b                   └─> 2   and nothing is before it
//                           │
//   c[c mod D]              └─> 3
#[test]
fn a_path_is_the_steps_that_order() {
    let mut program = one_op_each(&[StreamKind::Fixed, StreamKind::Fixed, StreamKind::PerSlot]);
    program.ops.insert(1, program.ops[0].clone());
    let waits = [wait(1, 2, Distance::Same), wait(2, 3, Distance::Same), wait(3, 1, Distance::Previous)];
    let order = Order::new(&program, &waits);
    let step = |from, to, distance, link| Step { from: OpId(from), to: OpId(to), distance, link };
    let path = |from, to, distance| order.path(OpId(from), OpId(to), distance);
    let (stream, waiting) = (
        step(0, 1, Distance::Same, Link::Stream),
        [step(1, 2, Distance::Same, Link::Wait), step(2, 3, Distance::Same, Link::Wait)],
    );
    assert_eq!(path(0, 3, Distance::Same), Some(vec![stream, waiting[0], waiting[1]]));
    assert_eq!(path(3, 0, Distance::Same), None);
    assert_eq!(
        path(2, 1, Distance::Previous),
        Some(vec![waiting[1], step(3, 1, Distance::Previous, Link::Wait)])
    );
    assert_eq!(path(3, 0, Distance::Previous), None);
    assert_eq!(path(3, 3, Distance::Reuse), Some(vec![step(3, 3, Distance::Reuse, Link::Stream)]));
}

// Relations are rows of words of 64 bits: the place of an operation in its row does not change what orders
// it.
#[test]
fn operations_beyond_the_first_64_are_ordered_as_the_first() {
    let (same, previous, reuse) = (Distance::Same, Distance::Previous, Distance::Reuse);
    let sets: [&[(u32, u32, Distance)]; 4] = [
        &[(0, 1, same), (1, 2, same)],
        &[(0, 1, previous), (1, 0, previous), (2, 1, reuse)],
        &[(0, 1, same), (1, 0, previous), (2, 2, previous)],
        &[(0, 1, previous), (1, 1, previous), (2, 3, previous), (3, 2, previous)],
    ];
    const OPS: u32 = 4;
    for waits in sets {
        let shifted = |by: u32| -> Vec<Edge> {
            waits.iter().map(|&(from, to, distance)| wait(from + by, to + by, distance)).collect()
        };
        let alone = one_op_each(&[StreamKind::PerSlot; OPS as usize]);
        for by in [1, 60, 61, 62, 63, 64, 126, 128, 191] {
            let program = one_op_each(&vec![StreamKind::PerSlot; (by + OPS + 3) as usize]);
            for distance in [same, previous, reuse] {
                let idle = (0..by).chain(by + OPS..by + OPS + 3).map(|op| (op, op));
                let mut expected: Vec<_> = ordered(&alone, &shifted(0), distance)
                    .into_iter()
                    .map(|(from, to)| (from + by, to + by))
                    .chain(idle.filter(|_| distance != previous))
                    .collect();
                expected.sort_unstable();
                assert_eq!(
                    ordered(&program, &shifted(by), distance),
                    expected,
                    "{waits:?} by {by}, {distance:?}"
                );
            }
        }
    }
}

//   s[c mod D]     0                    1 waits for 0 and for 1, both of the chunk before
//   t[c mod D]     1
//   beside them rings in which every operation waits for the one before it, of the chunk before:
//                  2 -> 3 -> 2          4 -> 5 -> 6 -> 4          …
// All the rings together repeat only after 2 * 3 * 5 * 7 * 11 chunks, so no power contains an earlier one.
#[test]
fn rings_of_coprime_lengths_do_not_take_forever() {
    let lengths = [2, 3, 5, 7, 11];
    let mut waits = vec![wait(0, 1, Distance::Previous), wait(1, 1, Distance::Previous)];
    let mut first = 2;
    for length in lengths {
        for place in 0..length {
            let next = (place + 1) % length;
            waits.push(wait(first + place, first + next, Distance::Previous));
        }
        first += length;
    }
    let program = one_op_each(&vec![StreamKind::PerSlot; first as usize]);
    let mut expected: Vec<(u32, u32)> = (0..first).map(|op| (op, op)).collect();
    expected.insert(1, (0, 1));
    assert_eq!(ordered(&program, &waits, Distance::Reuse), expected);
}
