//! Kernels with atomics, on the simulated device.

pub(crate) mod kernels;

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

use crate::both::simulated;
use kernels::{
    UNWRITTEN, histogram, in_order, of_f32, of_i64, of_u32, shared, tops, unwritten, unwritten_rows,
};

// ANCHOR: counts
stream_pipeline! {
    pub(crate) pipeline Counts {
        input x: [u8];
        carry counts: [u32; 256] = 0;
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage count { histogram<<<8, 256>>>(&dx, &mut counts); }
    }
}
// ANCHOR_END: counts

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i % 253 + i % 3) as u8).collect()
}

on_each_device! {
    a_histogram_counts_each_element_once;
    threads_append_what_they_keep;
    methods_are_those_of_the_standard_library;
    a_block_has_atomics_in_shared_memory;
    accesses_come_in_the_order_in_which_they_are_written;
}

fn a_histogram_counts_each_element_once(device: &Device) {
    let mut pipeline = Counts::new(device).unwrap();
    for len in [0, 1, 999, 1000, 54_321] {
        let x = bytes(len);
        let mut counts = [0_u32; 256];
        pipeline.run(&x, &mut counts).unwrap();
        let mut expected = [0; 256];
        x.iter().for_each(|&x| expected[x as usize] += 1);
        assert_eq!(counts, expected, "{len}");
    }
}

fn threads_append_what_they_keep(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = tops::load(device).unwrap();
    let x: Vec<f32> = (0..20_000).map(|i| (i as f32 * 0.37).sin()).collect();
    let on_device = DeviceBuf::from_slice(device, &x).unwrap();
    let mut greatest = DeviceBuf::from_slice(device, &[f32::NEG_INFINITY]).unwrap();
    let mut next = DeviceBuf::<u32>::zeroed(device, 1).unwrap();
    let mut kept = DeviceBuf::<f32>::zeroed(device, x.len()).unwrap();
    let launch = stream.config(blocks(x.len(), 256), 256, 0);
    kernel.launch(launch, &on_device, 0.9, &mut greatest, &mut next, &mut kept).unwrap();
    let mut expected: Vec<f32> = x.iter().copied().filter(|&x| x >= 0.9).collect();
    assert_eq!(next.to_vec().unwrap(), [expected.len() as u32]);
    let mut found = kept.to_vec().unwrap();
    found.truncate(expected.len());
    found.sort_by(f32::total_cmp);
    expected.sort_by(f32::total_cmp);
    assert_eq!(found, expected);
    assert_eq!(greatest.to_vec().unwrap()[0].to_bits(), expected[expected.len() - 1].to_bits());
}

/// What a kernel leaves of `own`, and what it finds.
macro_rules! ran {
    ($device:expr, $kernel:ident, $x:expr, $own:expr, [$number:ident; $count:literal]) => {{
        let device = $device;
        let stream = Stream::new(device).unwrap();
        let (x, own): (&[$number], &[$number]) = (&$x, &$own);
        let on_device = DeviceBuf::from_slice(device, x).unwrap();
        let mut on_own = DeviceBuf::from_slice(device, own).unwrap();
        let mut found = DeviceBuf::<$number>::zeroed(device, own.len() * $count).unwrap();
        let kernel = $kernel::load(device).unwrap();
        let launch = stream.config(1, own.len() as u32, 0);
        kernel.launch(launch, &on_device, &mut on_own, &mut found).unwrap();
        let found: Vec<[$number; $count]> = found.to_vec().unwrap().as_chunks().0.to_vec();
        (on_own.to_vec().unwrap(), found)
    }};
}

fn methods_are_those_of_the_standard_library(device: &Device) {
    let (own, found) = ran!(device, of_u32, [5, 9, u32::MAX, 1], [10, 3], [u32; 14]);
    assert_eq!(found[0], [10, 15, 6, 3, 1, 5, 5, 5, 15, 1, 15, 5, 9, 0]);
    assert_eq!(own[0], 0);
    assert_eq!(found[1][..3], [3, 2, 1]);
    let (_, found) = ran!(device, of_i64, [-5, 9], [i64::MIN], [i64; 14]);
    assert_eq!(found[0][..2], [i64::MIN, i64::MAX - 4]);
    assert_eq!(found[0][6..9], [-5, -5, -15]);
    let (own, found) = ran!(device, of_f32, [0.5, 4.0], [1.0], [f32; 8]);
    assert_eq!(found[0], [1.0, 1.5, -2.5, -2.5, 4.0, 1.0, 4.0, 3.0]);
    assert_eq!(own[0].to_bits(), (-0.0_f32).to_bits());
}

fn a_block_has_atomics_in_shared_memory(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = shared::load(device).unwrap();
    let x: Vec<i64> = (0..100).map(|i| i * 37 % 91 - 40).collect();
    let on_device = DeviceBuf::from_slice(device, &x).unwrap();
    for threads in [1_usize, 7, 32, 100] {
        let mut totals = DeviceBuf::<i64>::zeroed(device, 6).unwrap();
        let mut floats = DeviceBuf::<f64>::zeroed(device, 3).unwrap();
        kernel.launch(stream.config(3, threads as u32, 0), &on_device, &mut totals, &mut floats).unwrap();
        let x = &x[..threads];
        let (sum, least, greatest) =
            (x.iter().sum::<i64>(), *x.iter().min().unwrap(), *x.iter().max().unwrap());
        let bits = x.iter().fold(0_i64, |bits, v| bits | 1 << (v & 31));
        let mixed = x.iter().fold(0, |bits, v| bits ^ v);
        let expected = [sum, least, greatest.max(0), bits, mixed, 1].map(|total| total * 3);
        assert_eq!(totals.to_vec().unwrap(), expected, "{threads}");
        let expected = sum as f64 * 0.5 + least.min(1) as f64 + greatest.max(2) as f64;
        assert_eq!(
            floats.to_vec().unwrap(),
            if threads < 3 { vec![sum as f64 * 0.5; 3] } else { vec![expected; 3] }
        );
    }
}

fn accesses_come_in_the_order_in_which_they_are_written(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = in_order::load(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[70_u32, 71, 72, 73, 74]).unwrap();
    let mut own = DeviceBuf::from_slice(device, &[0_u32]).unwrap();
    let mut found = DeviceBuf::<u32>::zeroed(device, 8).unwrap();
    kernel.launch(stream.config(1, 1, 0), &x, &mut own, &mut found).unwrap();
    assert_eq!(found.to_vec().unwrap(), [1, 7, 43_043, 77, 813, 9926, 11, 0]);
    assert_eq!(own.to_vec().unwrap(), [0]);
}

/// Such an atomic has any value on a GPU.
#[test]
fn an_atomic_that_nothing_has_written_is_named() {
    let (device, stream) = simulated();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 3).unwrap();
    let kernel = unwritten::load(&device).unwrap();
    kernel.launch(stream.config(3, 32, 0), 3, 9, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1; 3]);
    kernel.launch(stream.config(3, 32, 0), 2, 9, &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    let file = file!().replace("mod.rs", "kernels.rs");
    let line =
        format!("kernel `unwritten` failed at {file}:{UNWRITTEN}: the element `[9]` of a shared array");
    assert!(said.starts_with(&line), "{said}");
    assert!(said.contains("nothing has written it\n  note: shared memory has no value until"), "{said}");
    assert!(said.contains("\n  note: it was thread 5 of block 2\n"), "{said}");
}

#[test]
fn a_store_writes_one_atomic_of_an_array() {
    let (device, stream) = simulated();
    let kernel = unwritten_rows::load(&device).unwrap();
    let said = |at, of_slice| {
        let mut y = DeviceBuf::<u64>::zeroed(&device, 1).unwrap();
        kernel.launch(stream.config(1, 8, 4 * 8), at, of_slice, &mut y).unwrap();
        match stream.synchronize() {
            Ok(()) => format!("{:?}", y.to_vec().unwrap()),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!((said(0, false), said(0, true)), ("[7]".to_owned(), "[5]".to_owned()));
    assert!(said(6, false).contains("the element `[1][2]` of"), "{}", said(6, false));
    assert!(said(3, true).contains("the element `[3]` of"), "{}", said(3, true));
}
