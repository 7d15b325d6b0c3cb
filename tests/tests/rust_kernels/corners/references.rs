//! References to values that have no name, and to other references.

use thalweg::prelude::*;

use super::both;

const K: u64 = 100;

#[device]
fn read(of: &u64) -> u64 {
    *of
}

#[device]
fn last(x: &[u64]) -> u64 {
    x[x.len() - 1]
}

#[device]
fn pair(first: u64) -> [u64; 2] {
    [first, first + 1]
}

#[device]
fn length<const N: usize>(of: u64) -> u64 {
    let length = &N;
    *length as u64 + read(&of)
}

/// Each has a place of its own.
#[kernel]
pub fn temporaries(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = read(&5_u64) + read(&(n as u64 + 1)) + read(&K) + length::<4>(2_u64);
    *y += last(&[1_u64, 2, n as u64]) + last(&[x[0], x[1], x[2]][1..]);
    let counts = &mut [1_u64, 2];
    counts[1] = 5;
    *y += counts[0] + counts[1];
    let mut turns = 0_u64;
    while read(&(turns + 1)) < 5_u64 {
        turns += 1;
        let both = &[turns, turns * 2];
        *y += both[1];
    }
    let of_closure = |v: u64| read(&(v + 1)) + last(&[v, v * 2]);
    *y += of_closure(3) + of_closure(4);
    if read(&turns) > 9_u64 || read(&(turns * 2)) > 7_u64 {
        *y += 1000;
    }
}

/// Rust keeps what a block has computed as long as the reference lives.
#[kernel]
pub fn escaping(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let one = if n > 2 { &5_u64 } else { &6_u64 };
    let two = match n {
        3 => &[x[0], 2][..],
        _ => x,
    };
    let three = &pair(7)[1..];
    *y = *one + two[0] * 10 + two[1] * 100 + three[0] * 1000;
}

#[kernel]
pub fn nested(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let one = n as u64;
    let to = &one;
    let to_that = &to;
    let all = [to, &x[1], &9];
    let tuple = (&one, &x[1..]);
    *y = **to_that + *all[1] * 10 + *all[2] * 100 + *tuple.0 * 1000 + tuple.1[1] * 10_000;
}

#[test]
fn values_without_a_name_have_a_place() {
    // The closure gives 4 + 6 and 5 + 8.
    assert_eq!(both!(temporaries, 3), 5 + 4 + 100 + 6 + 3 + 7 + 6 + (2 + 4 + 6 + 8) + 23 + 1000);
    assert_eq!(both!(escaping, 3), 5 + 30 + 200 + 8000);
    assert_eq!(both!(escaping, 1), 6 + 30 + 100 + 8000);
}

#[test]
fn references_refer_to_references() {
    assert_eq!(both!(nested, 3), 3 + 10 + 900 + 3000 + 70_000);
}
