//! Elements beyond the ends of the data: `x.get(i).copied().unwrap_or(value)`.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

// ANCHOR: near
/// The sum of an element and its two neighbours; beyond the ends of the data are zeros.
#[kernel]
pub(crate) fn near(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let left = x.get(i.get().wrapping_sub(1)).copied().unwrap_or(0.0);
    let right = x.get(i.get() + 1).copied().unwrap_or(0.0);
    *y = left + x[i] + right;
}
// ANCHOR_END: near

/// What stands in place of an element is computed in any case, after the place of the element.
#[kernel]
pub(crate) fn fetched(i: Index, x: &[u64], table: [u64; 4], y: &mut Out<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut at = i.get();
    let first = x
        .get({
            at += 2;
            at
        })
        .cloned()
        .unwrap_or({
            at *= 10;
            at as u64
        });
    let second = table.get(at % 7).copied().unwrap_or(first ^ at as u64);
    *y = match table.get(first as usize % 5).copied().unwrap_or(1_000) {
        1_000 => second + u64::from(first.is_multiple_of(3)),
        other => other * second + 1,
    };
}

/// In a phase, of a shared array.
#[kernel]
pub(crate) fn of_block(block: Block, x: &[i32], y: &mut Out<[i32]>) {
    let mut part = block.shared::<[i32; 8]>();
    block.fill(&mut part, |at| x.get(8 * block.index().get() + at).copied().unwrap_or(-1));
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        let before = part.get(t.rank().wrapping_sub(1)).copied().unwrap_or(i32::MIN);
        *y = before.max(part.get(t.rank() + 1).copied().unwrap_or(i32::MAX) / 2);
    });
}

on_each_device! {
    neighbours_beyond_the_ends_are_zeros;
    what_stands_in_is_computed_in_any_case;
    a_shared_array_has_such_elements;
}

fn neighbours_beyond_the_ends_are_zeros(device: &Device) {
    let stream = Stream::new(device).unwrap();
    for len in [1, 2, 33, 100] {
        let x: Vec<f32> = (0..len).map(|i| 0.5 + i as f32).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(device, len).unwrap();
        near::load(device).unwrap().launch(stream.config(4, 32, 0), &on_device, &mut y).unwrap();
        let at = |i: usize| if i < len { x[i] } else { 0.0 };
        let expected: Vec<_> = (0..len).map(|i| at(i.wrapping_sub(1)) + x[i] + at(i + 1)).collect();
        assert_eq!(y.to_vec().unwrap(), expected);
    }
}

fn what_stands_in_is_computed_in_any_case(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[10_u64, 11, 12, 13, 14, 15]).unwrap();
    let mut y = DeviceBuf::<u64>::zeroed(device, 6).unwrap();
    let table = [7, 70, 700, 7_000];
    fetched::load(device).unwrap().launch(stream.config(1, 32, 0), &x, table, &mut y).unwrap();
    // For the last two, 60 and 70 stand in place of an element.
    assert_eq!(y.to_vec().unwrap(), [16_801, 4_900_001, 38, 491, 1, 50]);
}

fn a_shared_array_has_such_elements(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[4, 9, 2, 30, 5, 6, 70, 8, 1, 3]).unwrap();
    let mut y = DeviceBuf::<i32>::zeroed(device, 16).unwrap();
    of_block::load(device).unwrap().launch(stream.config(2, 8, 0), &x, &mut y).unwrap();
    let most = i32::MAX / 2;
    assert_eq!(y.to_vec().unwrap(), [4, 4, 15, 2, 30, 35, 6, most, 1, 1, 3, 0, 0, 0, 0, most]);
}
