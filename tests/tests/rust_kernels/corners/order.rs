//! Functions that change what they are lent.

use thalweg::prelude::*;

use super::both;

#[device]
fn add(by: u64, to: &mut u64) -> u64 {
    *to += by;
    *to
}

#[device]
fn next(place: &mut usize) -> u64 {
    *place += 1;
    *place as u64
}

/// What stands before a call has the number before it, and what stands behind it the one after.
#[kernel]
pub fn lent(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut a = n as u64;
    let mut sum = a + add(1, &mut a) * 10 + a * 100 + add(2, &mut a) * 1000;
    let ordered = a < add(1, &mut a);
    let (mut counts, mut place) = ([1_u64, 2, 3, 4], 0_usize);
    counts[place] += next(&mut place) * 10;
    counts[place] = counts[place] * 10 + next(&mut place) + counts[place];
    sum += counts[1] * 10_000 + counts[2] * 10_000_000 + u64::from(ordered);
    *y = sum + x[1];
}

/// The same in Rust alone.
fn expected(n: u64) -> u64 {
    let mut a = n;
    let mut sum = a + add(1, &mut a) * 10 + a * 100 + add(2, &mut a) * 1000;
    let ordered = a < add(1, &mut a);
    let (mut counts, mut place) = ([1_u64, 2, 3, 4], 0_usize);
    counts[place] += next(&mut place) * 10;
    counts[place] = counts[place] * 10 + next(&mut place) + counts[place];
    sum += counts[1] * 10_000 + counts[2] * 10_000_000 + u64::from(ordered);
    sum + super::X[1]
}

#[test]
fn functions_change_what_they_are_lent_in_rusts_order() {
    assert_eq!(both!(lent, 3), expected(3));
}
