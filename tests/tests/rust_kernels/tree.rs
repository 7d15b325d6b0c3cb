//! Shared memory that is combined step by step, and an element of it that the whole block gets.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

// ANCHOR: largest
/// The largest of each block's 256 elements, in the block's element of `tops`.
#[kernel(threads = 256)]
pub(crate) fn largest(block: Block, x: &[f32], tops: &mut Out<[f32]>) {
    let mut a = block.shared::<[f32; 256]>();
    let mut b = block.shared::<[f32; 128]>();
    let first = block.index().get() * 256;
    block.fill(&mut a, |i| x.get(first + i).copied().unwrap_or(f32::MIN));
    let mut half = 128;
    while half > 0 {
        block.fill(&mut b, |i| if i < half { a[i].max(a[i + half]) } else { f32::MIN });
        block.fill(&mut a, |i| if i < half { b[i] } else { f32::MIN });
        half /= 2;
    }
    let top = block.reduce(|_| a[0], |top, _| top);
    tops.put(block.index(), top);
}
// ANCHOR_END: largest

on_each_device! {
    a_tree_of_phases_finds_the_largest;
}

fn a_tree_of_phases_finds_the_largest(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = largest::load(device).unwrap();
    for len in [1_usize, 255, 256, 257, 1000] {
        let x: Vec<f32> = (0..len).map(|i| (i * 7919 % 1009) as f32 - 2000.0).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        let mut tops = DeviceBuf::<f32>::zeroed(device, len.div_ceil(256)).unwrap();
        kernel.launch(stream.config(blocks(len, 256), 256, 0), &on_device, &mut tops).unwrap();
        let expected = x.chunks(256).map(|part| part.iter().copied().fold(f32::MIN, f32::max));
        assert_eq!(tops.to_vec().unwrap(), expected.collect::<Vec<_>>(), "{len}");
    }
}
