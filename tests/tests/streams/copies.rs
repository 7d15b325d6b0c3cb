//! Rows, and the kinds of page-locked memory.

use thalweg::__private::Detail;
use thalweg::kernel::blocks;
use thalweg::streams::{Rectangle, Stream};
use thalweg::{Device, DeviceBuf, PinnedBuf};
use thalweg_tests::kernels::{add_to, axpy_each};

use super::{is_race, on_each, simulated};

on_each!(
    rows_go_there_and_back,
    columns_of_two_streams,
    write_combined_pages,
    a_vec_is_registered_and_given_back,
    kernels_reach_mapped_memory,
);

fn rows_go_there_and_back(device: &Device) {
    const WIDTH: usize = 61;
    const HEIGHT: usize = 37;
    let stream = Stream::new(device).expect("a stream");
    let image: Vec<u32> = (0..(WIDTH * HEIGHT) as u32).collect();
    let host = PinnedBuf::from_slice(device, &image).expect("memory");
    let mut padded = DeviceBuf::<u32>::zeroed(device, 64 * HEIGHT).expect("memory");
    let mut tile = DeviceBuf::<u32>::zeroed(device, 20 * 10).expect("memory");
    let mut back = PinnedBuf::<u32>::zeroed(device, 32 * 10).expect("memory");
    let whole = Rectangle { width: WIDTH, height: HEIGHT, from_pitch: WIDTH, to_pitch: 64 };
    stream.upload_2d(&host, &mut padded, whole).expect("a copy");
    let cut = Rectangle { width: 20, height: 10, from_pitch: 64, to_pitch: 20 };
    stream.copy_2d(padded.slice(5 * 64 + 7..).expect("a part"), &mut tile, cut).expect("a copy");
    let out = Rectangle { width: 20, height: 10, from_pitch: 20, to_pitch: 32 };
    stream.download_2d(&tile, &mut back, out).expect("a copy");
    for (row, out) in back.chunks(32).enumerate() {
        let from = (row + 5) * WIDTH + 7;
        assert_eq!(out[..20], image[from..from + 20]);
        assert_eq!(out[20..], [0; 12]);
    }
    // Nothing of something is copied, and something of nothing.
    for (width, height) in [(0, 10), (10, 0)] {
        let nothing = Rectangle { width, height, from_pitch: 20, to_pitch: 32 };
        stream.download_2d(&tile, &mut back, nothing).expect("a copy of nothing");
    }
    stream.synchronize().expect("the device");
}

/// Interleaved columns are not a race, and overlapping ones are.
fn columns_of_two_streams(device: &Device) {
    let (one, other) = (Stream::new(device).expect("a stream"), Stream::new(device).expect("a stream"));
    let host = PinnedBuf::from_slice(device, &[3_u8; 100]).expect("memory");
    let mut x = DeviceBuf::<u8>::zeroed(device, 100).expect("memory");
    let half = Rectangle { width: 5, height: 10, from_pitch: 10, to_pitch: 10 };
    one.upload_2d(&host, &mut x, half).expect("a copy");
    other
        .upload_2d(host.slice(5..).expect("a part"), x.slice_mut(5..).expect("a part"), half)
        .expect("other columns");
    is_race(other.upload_2d(host.slice(4..).expect("a part"), x.slice_mut(4..).expect("a part"), half));
    one.synchronize().expect("the device");
    other.synchronize().expect("the device");
    assert_eq!(x.to_vec().expect("a copy"), [3; 100]);
}

#[test]
fn rectangles_that_do_not_fit() {
    let device = simulated();
    let stream = Stream::new(&device).expect("a stream");
    let host = PinnedBuf::<f64>::zeroed(&device, 100).expect("memory");
    let mut x = DeviceBuf::<f64>::zeroed(&device, 100).expect("memory");
    let fits = Rectangle { width: 10, height: 10, from_pitch: 10, to_pitch: 10 };
    let wrong = [
        Rectangle { height: 11, ..fits },
        Rectangle { from_pitch: 9, ..fits },
        Rectangle { to_pitch: 11, ..fits },
        Rectangle { height: usize::MAX, ..fits },
        Rectangle { width: usize::MAX, from_pitch: usize::MAX, to_pitch: usize::MAX, height: 2 },
        Rectangle { from_pitch: usize::MAX, ..fits },
    ];
    for rectangle in wrong {
        let error = stream.upload_2d(&host, &mut x, rectangle).unwrap_err();
        assert!(matches!(error.detail(), Detail::Rectangle { .. }), "{error}");
    }
    // A single row may have any pitch.
    stream.upload_2d(&host, &mut x, Rectangle { height: 1, from_pitch: usize::MAX, ..fits }).expect("a row");
}

fn write_combined_pages(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut x = PinnedBuf::<f32>::write_combined(device, 5000).expect("memory");
    for (i, x) in x.iter_mut().enumerate() {
        *x = i as f32;
    }
    let mut y = DeviceBuf::<f32>::zeroed(device, 5000).expect("memory");
    stream.upload(&x, &mut y).expect("a copy");
    assert!(y.to_vec().expect("a copy").iter().enumerate().all(|(i, &y)| y == i as f32));
}

fn a_vec_is_registered_and_given_back(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut data = vec![1.5_f32; 1 << 20];
    data.reserve(100);
    let (ptr, capacity) = (data.as_ptr(), data.capacity());
    let mut x = PinnedBuf::register(device, data).expect("pages");
    assert_eq!(x.as_ptr(), ptr);
    let mut y = DeviceBuf::<f32>::zeroed(device, 1 << 20).expect("memory");
    stream.upload(&x, &mut y).expect("a copy");
    stream.fill(&mut y, 2.5).expect("a fill");
    stream.download(&y, &mut x).expect("a copy");
    // The drop waits.
    let back = x.into_vec().expect("it was registered");
    assert_eq!((back.as_ptr(), back.capacity(), back.len()), (ptr, capacity, 1 << 20));
    assert!(back.iter().all(|&x| x == 2.5));
    // One buffer is dropped; another has no elements.
    drop(PinnedBuf::register(device, vec![1_u64; 100_000]).expect("pages"));
    assert_eq!(PinnedBuf::register(device, Vec::<u8>::new()).expect("nothing").len(), 0);
    let error = PinnedBuf::<f32>::zeroed(device, 4).expect("memory").into_vec().unwrap_err();
    assert_eq!(error.kind().to_string(), "this `PinnedBuf` was not made by `register`");
}

/// The kernel uses the memory without a copy, over the link.
fn kernels_reach_mapped_memory(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let (axpy, add) = (axpy_each::load(device).expect("a kernel"), add_to::load(device).expect("a kernel"));
    let x = PinnedBuf::from_slice(device, &[2.0_f32; 300]).expect("memory");
    let mut y = PinnedBuf::register(device, vec![1.0_f32; 4096]).expect("memory");
    axpy.launch(stream.config(blocks(300, 64), 64, 0), 300, 3.0, &x, &mut y).expect("a launch");
    add.launch(stream.config(blocks(4096, 64), 64, 0), 4096, 0.5, &mut y).expect("a launch");
    assert_eq!([y[0], y[299], y[300]], [7.5, 7.5, 1.5]);
}
