//! Functions that change what they are lent.

use thalweg::half::f16;
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

/// Where an operator is a trait's method, as that of a half is and one by a reference, the place comes before the value.
#[kernel]
pub fn of_traits(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut halves = [f16::from_f32(n as f32); 3];
    let (mut counts, values) = ([1_u64, 2, 3, 4], [5_u64, 6, 7, 8]);
    let mut place = 0_usize;
    halves[place] += f16::from_f32(next(&mut place) as f32);
    place = 0;
    counts[next(&mut place) as usize] += &values[next(&mut place) as usize];
    place = 0;
    counts[place] <<= &next(&mut place);
    counts[place + 1] += values[next(&mut place) as usize];
    *y = halves[0].to_f32() as u64
        + 10 * counts[0]
        + 100 * counts[1]
        + 10_000 * counts[2]
        + 1_000_000 * counts[3];
    *y += &x[1];
}

#[test]
fn places_come_before_values_where_an_operator_is_a_method() {
    assert_eq!(both!(of_traits, 3), 4 + 10 * 2 + 100 * 9 + 10_000 * 3 + 1_000_000 * (4 + 7) + super::X[1]);
}

/// What is indexed is a place also where an index changes what its own place depends on.
#[kernel]
pub fn of_rows(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut rows = [[1_u64, 2, 3], [4, 5, 6], [7, 8, n as u64]];
    let mut at = 0_usize;
    rows[at][next(&mut at) as usize] = 50;
    rows[at][next(&mut at) as usize] += 60;
    let mut pairs = [(1_u64, [2_u64, 3]), (4, [5, 6])];
    at = 0;
    pairs[at].1[next(&mut at) as usize] *= 7;
    at = 0;
    *y = rows[at][next(&mut at) as usize] + 100 * rows[at][next(&mut at) as usize] + 10_000 * pairs[0].1[1];
    at = 0;
    *y += x[at..][next(&mut at) as usize];
}

#[test]
fn a_place_is_found_before_the_index_in_it() {
    assert_eq!(both!(of_rows, 3), 50 + 100 * 66 + 10_000 * 21 + super::X[1]);
}
