//! Arrays that rustc takes as slices.

use thalweg::prelude::*;

use super::both;

#[device]
fn last(x: &[u64]) -> u64 {
    x[x.len() - 1]
}

#[device]
fn sum<const N: usize>(x: [u64; N]) -> u64 {
    let mut sum = 0;
    for v in x {
        sum += v;
    }
    sum
}

/// Where the type is written, or is that of a parameter.
#[kernel]
pub fn coerced(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let four = [5_u64, 6, 7, 8];
    let named: &[u64] = &four;
    let (first, more): (&[u64], u64) = (&four, 3);
    let several: [&[u64]; 2] = [&four, &x[..2]];
    let mut assigned: &[u64] = x;
    if n > 2 {
        assigned = &four;
    }
    let of_closure = |part: &[u64]| part[0] + part.len() as u64;
    let returned = |all: bool| -> &[u64] {
        if all {
            return x;
        }
        &four
    };
    *y = named[3] + named.len() as u64 + first[2] + more + several[0][1] + several[1][1] + assigned[1];
    *y += of_closure(&four) + of_closure(&x[..1]) + returned(n > 5)[1] + last(&four) + last(&x[..2]);
    *y += last(&[1_u64, 2, n as u64]) + last(&[7_u64; 3]);
}

/// Where one value is an array and the other a slice, or an array of another length.
#[kernel]
pub fn joined(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let (four, two) = ([5_u64, 6, 7, 8], [9_u64, 10]);
    let by_if = if n > 2 { &four } else { &x[..1] };
    let by_match = match n {
        0 => &x[..1],
        3 => &four,
        _ => x,
    };
    let lengths: &[u64] = if n < 2 { &four } else { &two };
    let by_loop: &[u64] = loop {
        if n > 5 {
            break &x[..1];
        }
        break &four;
    };
    let by_block: &[u64] = 'block: {
        if n > 5 {
            break 'block &x[..1];
        }
        &two
    };
    let one_of = [&four, &x[..1]][n as usize % 2];
    *y = by_if[3] + by_match[3] * 10 + lengths.len() as u64 * 100 + by_loop[3] + by_block[1] + one_of[0];
    *y += last(if n > 5 { &four } else { &x[..2] });
    for v in if n > 2 { &two } else { x } {
        *y += v;
    }
}

/// C++ has no array without elements.
#[kernel]
pub fn empty(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let none: [u64; 0] = [];
    let zeros = [x[0]; 0];
    *y = sum(none) + sum([n as u64, x[1]]) + none.len() as u64 + u64::from(zeros.is_empty());
    let part: &[u64] = &none;
    *y += part.len() as u64;
}

#[test]
fn arrays_are_slices_where_rust_takes_them_so() {
    assert_eq!(both!(coerced, 3), 8 + 4 + 7 + 3 + 6 + 1 + 6 + 9 + 4 + 6 + 8 + 1 + 3 + 7);
    assert_eq!(both!(coerced, 1), 8 + 4 + 7 + 3 + 6 + 1 + 1 + 9 + 4 + 6 + 8 + 1 + 1 + 7);
    assert_eq!(both!(joined, 3), 8 + 80 + 200 + 8 + 10 + 3 + 1 + 19);
}

#[test]
fn arrays_may_have_no_elements() {
    assert_eq!(both!(empty, 3), 3 + 1 + 1);
}

/// Parts of parts, and elements that are counted from an end.
#[kernel]
pub fn parts(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let four = [5_u64, 6, 7, 8];
    let (from, to) = (n as usize, 2 + n as usize);
    let part = &x[from..][..to];
    let mut sum = 100 * part.len() as u64 + part[0] + x[from..][1] + four[1..][..2][1];
    for (i, v) in four.iter().rev().enumerate() {
        sum += (i as u64 + 1) * 10 * v;
    }
    for (i, v) in four.iter().enumerate().rev() {
        sum += (i as u64 + 1) * v;
    }
    for (i, &v) in x[..3].iter().rev().enumerate() {
        sum = sum * 2 + v * i as u64;
    }
    *y = sum;
}

#[test]
fn parts_have_parts_and_elements_are_counted_from_both_ends() {
    let part = 300 + 1 + 7 + 7;
    let reversed = 10 * (8 + 2 * 7 + 3 * 6 + 4 * 5);
    let forward = 4 * 8 + 3 * 7 + 2 * 6 + 5;
    let sum = part + reversed + forward;
    assert_eq!(both!(parts, 1), ((sum * 2) * 2 + 1) * 2 + 3 * 2);
}
