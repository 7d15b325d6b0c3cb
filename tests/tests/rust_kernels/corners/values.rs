//! Values that C++ writes in another way.

use thalweg::prelude::*;

use super::both;

#[device]
fn wide(a: u64, b: i64) -> u64 {
    a ^ b as u64
}

#[device]
fn halved(a: u32) -> (u32, f32) {
    (a + 1, a as f32 * 0.5)
}

/// Literals whose type is that of a parameter, at the ends of its range.
#[kernel]
pub fn literals(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = wide(18_446_744_073_709_551_615, -9_223_372_036_854_775_808) ^ wide(9_223_372_036_854_775_808, -1);
    *y ^= wide(0x8000_0000, 2_147_483_648) ^ x[1] ^ n as u64;
}

const TABLE: [u64; 4] = [2, 3, 5, 7];

/// Only rustc knows the length of a constant array, and parts of what is assigned may be dropped.
#[kernel]
pub fn tabled(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let (mut sum, mut last) = (0_u64, 0_u64);
    for j in 0..TABLE.len() {
        sum += TABLE[j];
    }
    (_, [last, _]) = (1, [x[1] + last, 3]);
    *y = sum + last * 100 + TABLE[n as usize] * 1000;
}

/// Tuples of up to 12 parts, also of those whose types C++ alone finds.
#[kernel]
pub fn tuples(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let all = (1_u8, 2_u16, 3_u32, x[2], 5_i8, 6_i16, 7_i32, 8_i64, 9_usize, 1.5_f32, 2.5_f64, true);
    let nested = (halved(n), (halved(1_u32).1, [1_u64, 2]));
    let ((a, _), (half, [_, two])) = nested;
    *y = all.3 + all.8 as u64 * 10 + all.10 as u64 * 100 + u64::from(all.11) * 1000;
    *y += (a as u64 + (half * 2.0_f32) as u64 + two) * 10_000;
}

/// The second part of `||` or `&&` may leave.
#[kernel]
pub fn left(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1;
    let first = n > 2 || return;
    *y = 2;
    let second = n < 9 && (x[0] > 2 || panic!("there is none"));
    for j in 0..9_u32 {
        let _ = j < n || break;
        *y += 10;
    }
    let _ = n > 4 && return;
    *y += u64::from(first) * 100 + u64::from(second) * 1000;
}

#[test]
fn literals_have_the_types_of_parameters() {
    let expected = u64::MAX ^ 1 << 63 ^ 1 << 63 ^ u64::MAX ^ 1 << 31 ^ 1 << 31 ^ 1 ^ 3;
    assert_eq!(both!(literals, 3), expected);
}

#[test]
fn tuples_have_many_parts() {
    assert_eq!(both!(tuples, 3), 7 + 90 + 200 + 1000 + (4 + 1 + 2) * 10_000);
}

#[test]
fn constants_have_their_lengths() {
    assert_eq!(both!(tabled, 3), 17 + 100 + 7000);
}

#[test]
fn a_condition_may_leave() {
    assert_eq!([0, 3, 5].map(|n| both!(left, n)), [1, 32 + 1100, 52]);
}
