//! Kernels with shared memory whose size the launch says, on the simulated device.

mod gpu;
pub(crate) mod kernels;

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::book::{in_listing, recorded};

use kernels::{ASKS, FILE, asks, bytes_of_several, copies, means, several, turned, unfilled, used};

// ANCHOR: smoothed
stream_pipeline! {
    pub(crate) pipeline Smoothed {
        param radius: usize;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 1 << 20;
        stage all {
            copy x -> dx;
            means<<<blocks(c.len, 256), 256, 4 * (256 + 2 * radius as u32)>>>(radius, &dx, out dy);
            copy dy -> y;
        }
    }
}
// ANCHOR_END: smoothed

stream_pipeline! {
    pipeline Short {
        param radius: usize;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 1 << 20;
        stage all {
            copy x -> dx;
            means<<<blocks(c.len, 256), 256>>>(radius, &dx, out dy);
            copy dy -> y;
        }
    }
}

fn simulated() -> (Device, Stream) {
    let device = Device::simulated(Simulation::h200());
    let stream = Stream::new(&device).unwrap();
    (device, stream)
}

#[test]
fn the_length_is_said_where_the_kernel_runs() {
    let mut pipeline = Smoothed::new(&Device::simulated(Simulation::default())).unwrap();
    for (len, radius) in [(1, 0), (1, 3), (256, 1), (1000, 5), (300, 299)] {
        let x: Vec<f32> = (0..len).map(|i| (i * i % 97) as f32).collect();
        let mut y = vec![0.0; len];
        pipeline.run(radius, &x, &mut y).unwrap();
        let at = |i: isize| usize::try_from(i).ok().and_then(|i| x.get(i)).copied().unwrap_or_default();
        let mean = |i: isize| {
            let near = (i - radius as isize..=i + radius as isize).map(at);
            near.fold(0.0, |sum, x| sum + x) / (2 * radius + 1) as f32
        };
        assert_eq!(y, (0..len as isize).map(mean).collect::<Vec<_>>(), "{len}, {radius}");
    }
}

#[test]
fn slices_have_their_memory_as_long_as_their_names() {
    let (device, stream) = simulated();
    let kernel = several::load(&device).unwrap();
    let bytes: Vec<u8> = (0..50_u32).map(|i| (i * i % 251) as u8).collect();
    let x = DeviceBuf::from_slice(&device, &bytes).unwrap();
    for (n, threads) in [(1, 1), (7, 3), (100, 33), (64, 64)] {
        let needed = bytes_of_several(n, threads);
        let mut y = DeviceBuf::<u64>::zeroed(&device, 2 * threads).unwrap();
        kernel.launch(stream.config(2, threads as u32, needed as u32), n, &x, &mut y).unwrap();
        let expected = |thread: usize| {
            let mut sum = 0_u64;
            for turn in 0..3 {
                let bins = turn + 4;
                let bin = thread % bins;
                let count = (0..n).filter(|i| bytes[i % 50] as usize % bins == bin).count() as u64;
                // The greatest rank, as a whole number.
                sum += if turn % 2 == 0 { threads as u64 - 1 } else { 0 };
                sum = sum * 31 + count;
            }
            let half = [0_u64, 0x3400, 0x3800, 0x3a00, 0x3c00][thread % 5];
            sum + 3 * thread as u64 + half
        };
        let one: Vec<_> = (0..threads).map(expected).collect();
        assert_eq!(y.to_vec().unwrap(), [&one[..], &one].concat(), "{n}, {threads}");
        kernel.launch(stream.config(2, threads as u32, needed as u32 - 1), n, &x, &mut y).unwrap();
        let said = stream.synchronize().unwrap_err().to_string();
        let expected =
            format!("the shared slices need {needed} bytes, and the launch gives {}\n", needed - 1);
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn a_slice_is_used_as_any_other() {
    let (device, stream) = simulated();
    let kernel = used::load(&device).unwrap();
    let mut y = DeviceBuf::<i32>::zeroed(&device, 8).unwrap();
    kernel.launch(stream.config(1, 8, 4 * (9 + 5)), 9, &mut y).unwrap();
    let a: Vec<i32> = (0..9).map(|i| i - 3).collect();
    let b: Vec<i32> = (0..5).map(|i| a[8 - i] * 2).collect();
    let total: i32 = b.iter().sum();
    let expected = |thread: usize| {
        let first = a.iter().sum::<i32>() * 1000 + b[0] * 100 + total + 8 + b.get(thread).unwrap_or(&0);
        b.iter().enumerate().fold(first, |y, (i, v)| y ^ (v << (i % 5)))
    };
    assert_eq!(y.to_vec().unwrap(), (0..8).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_kernel_asks_how_much_the_launch_gives() {
    let (device, stream) = simulated();
    let kernel = copies::load(&device).unwrap();
    let bytes: Vec<u8> = (0..1000_u32).map(|i| (i * 7 % 13) as u8).collect();
    let x = DeviceBuf::from_slice(&device, &bytes).unwrap();
    let expected = [0, 1, 2, 3].map(|bin| bytes.iter().filter(|&&x| x % 4 == bin).count() as u32);
    for shared in [0, 15, 16, 40, 128, 1000, 227 << 10] {
        let mut counts = DeviceBuf::<u32>::zeroed(&device, 4).unwrap();
        kernel.launch(stream.config(3, 64, shared), &x, &mut counts).unwrap();
        assert_eq!(counts.to_vec().unwrap(), expected, "{shared}");
    }
}

#[test]
fn what_is_not_filled_is_no_number() {
    let (device, stream) = simulated();
    let kernel = unfilled::load(&device).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 8).unwrap();
    kernel.launch(stream.config(2, 4, 32), &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [!7; 8]);
}

#[test]
fn too_little_memory_is_an_error_with_the_cure() {
    let mut y = [0.0; 300];
    let mut short = Short::new(&Device::simulated(Simulation::default())).unwrap();
    let error = short.run(2, &[1.0; 300], &mut y).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("kernel `means` failed at "), "{said}");
    assert!(said.contains("the shared slices need 1040 bytes, and the launch gives 0\n"), "{said}");
    assert!(said.contains("`<<<grid, block, 1040>>>`"), "{said}");
    let text = in_listing(&error, "tests/tests/rust_kernels/dynamic/kernels.rs", "means");
    recorded("rust-kernels-shared.txt", &text);
}

#[test]
fn a_length_of_any_size_is_refused_and_never_wraps() {
    let (device, stream) = simulated();
    let kernel = asks::load(&device).unwrap();
    let mut y = DeviceBuf::<u64>::zeroed(&device, 2).unwrap();
    let mut run = |first: usize, second: usize, shared: u32| {
        kernel.launch(stream.config(2, 4, shared), first, second, &mut y).unwrap();
        stream.synchronize().map(|()| y.to_vec().unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(run(5, 4, 40), Ok(vec![6, 6]));
    // Beyond what needs no opt-in.
    assert_eq!(run(5, 20_000, 8 + 160_000), Ok(vec![6, 6]));
    let huge = "the shared slices need 4 GiB or more, and the launch gives 40 bytes\n";
    for (first, second, line, expected) in [
        (5, 5, 1, "the shared slices need 48 bytes, and the launch gives 40\n"),
        (41, 5, 0, "the shared slices need 41 bytes, and the launch gives 40\n"),
        (5, 30_000, 1, "the shared slices need 240008 bytes, and the launch gives 40\n"),
        (0, 4, 0, "the length of a shared slice is 0"),
        (5, 0, 1, "the length of a shared slice is 0"),
        (5, 1 << 29, 1, huge),
        (5, (1 << 32) + 1, 1, huge),
        (5, (1 << 61) + 1, 1, huge),
        (usize::MAX, 1, 0, huge),
    ] {
        let said = run(first, second, 40).unwrap_err();
        assert!(said.contains(&format!(" failed at {FILE}:{}: ", ASKS[line])), "{said}");
        assert!(said.contains(expected) && said.contains("it was block 0, outside of a phase"), "{said}");
    }
    let error = kernel.launch(stream.config(2, 4, 228 << 10), 5, 4, &mut y).unwrap_err();
    assert!(error.to_string().contains("it needs 233472 bytes of shared memory"), "{error}");
}

#[test]
fn what_threads_take_of_a_slice_is_watched() {
    let (device, stream) = simulated();
    let kernel = turned::load(&device).unwrap();
    let x: Vec<u32> = (0..14).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 14).unwrap();
    kernel.launch(stream.config(2, 7, 28), false, &on_device, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [6, 5, 4, 3, 2, 1, 0, 13, 12, 11, 10, 9, 8, 7]);
    kernel.launch(stream.config(2, 7, 28), true, &on_device, &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("a thread writes `part[2]`, another reads it, and nothing orders them"), "{said}");
    assert!(said.contains("note: thread 2 of block 0 writes it at "), "{said}");
    assert!(said.contains("note: thread 4 of block 0 reads it at "), "{said}");
    kernel.launch(stream.config(2, 7, 27), false, &on_device, &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains(FILE) && said.contains("need 28 bytes, and the launch gives 27\n"), "{said}");
}
