//! What a set of waits orders: the part of the scheduler that checks waits written by hand.

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
