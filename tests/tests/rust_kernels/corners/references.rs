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

/// `for` lends the elements of an array to be changed.
#[kernel]
pub fn lent_elements(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut rows = [[1_u64, 2], [3, n as u64]];
    for row in &mut rows {
        row[0] += 5;
        for cell in row {
            *cell *= 2;
        }
    }
    *y = x[1];
    for (at, cell) in (&mut rows[1]).iter().enumerate() {
        *y += at as u64 * cell;
    }
    *y += 100 * rows[0][0] + 10_000 * rows[1][0];
}

#[test]
fn elements_of_an_array_are_changed_by_a_loop() {
    assert_eq!(both!(lent_elements, 4), 1 + 8 + 100 * 12 + 10_000 * 16);
}

/// A slice or an array behind two references, and a `match` of a reference.
#[kernel]
pub fn behind_two(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = match &n {
        v if *v == 3 => 1,
        _ => 2,
    };
    for part in [&x[..1], &x[..3]].iter() {
        *y += part.len() as u64 + part.get(1).copied().unwrap_or(20) + part[1 - 1..].len() as u64;
        for v in part.iter() {
            *y += v;
        }
    }
    let (a, b) = ([1_u64, 2], [3_u64, 4]);
    for pair in [&a, &b].iter() {
        *y += 1000 * (pair[1] + pair.len() as u64) + pair.get(0).copied().unwrap_or(9);
    }
    for (at, (v, w)) in [(1_u64, 2.5_f32), (3, 4.5)].iter().enumerate() {
        if *w > 3.0 && *v == 3 {
            *y += 100_000 * at as u64;
        }
    }
}

#[test]
fn methods_look_behind_all_references() {
    assert_eq!(both!(behind_two, 3), 1 + 4 + 21 + 4 + 3 + 11 + 1000 * (6 + 4) + 4 + 100_000);
}

/// Of two references to integers `min` and `max` give one.
#[kernel]
pub fn ordered(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let (mut least, mut greatest) = (&x[0], &x[0]);
    let first = least;
    for v in &x[..3] {
        least = least.min(v);
        greatest = greatest.max(v);
    }
    *y = *least + 10 * *greatest + 100 * *first + 1000 * (least.max(&(n as u64)) + 1);
}

#[test]
fn references_have_an_order() {
    assert_eq!(both!(ordered, 5), 1 + 70 + 300 + 6000);
}
