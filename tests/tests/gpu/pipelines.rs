//! Tests of behaviour that only a GPU shows.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::{grayscale, luma, saxpy};

#[kernels("../../cu/affine.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= z.len())]
    safe fn affine(n: u32, a: f32, b: f32, x: &[f32], z: Out<[f32]>);
}

#[kernels("../../cu/broken.cu")]
unsafe extern "CUDA" {
    safe fn broken(n: u32, x: &mut [f32]);
}

#[kernels("../../cu/shared.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len())]
    #[requires(total.len() >= 2)]
    safe fn accumulate(n: u32, x: &[i64], total: &mut [i64]);

    #[requires(n as usize <= index.len() && n as usize <= y.len())]
    #[requires(0 < entries && entries as usize <= table.len())]
    safe fn gather(n: u32, entries: u32, index: &[u32], table: &[f32], y: Out<[f32]>);
}

#[kernels("../../cu/bounded.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    safe fn bounded(n: u32, x: &[i32], y: Out<[i32]>);
}

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 1000;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Two kernels with scratch between them and a copy on the device, all on one stream for each slot.
    pipeline PerSlot {
        input x: [f32; 2];
        output z: [f32; 2];
        device t: [f32; 2];
        chunk c = 500;
        depth = 4;
        stream s per slot;
        stage work on s {
            copy x -> dx;
            affine<<<blocks(2 * c.len, 128), 128, 0>>>(2 * c.len as u32, 2.0, 1.0, &dx, out t);
            copy t -> u;
            affine<<<blocks(2 * c.len, 128), 128>>>(2 * c.len as u32, 4.0, -1.0, &u, out t);
            copy t -> z;
        }
    }
}

stream_pipeline! {
    pipeline Gray {
        input rgb: [u8; 3];
        output gray: [u8];
        device d_gray: [u8];
        chunk c = 4096;
        stage load { copy rgb -> d_rgb; }
        stage convert { grayscale<<<blocks(c.len, 256), 256>>>(&d_rgb, out d_gray); }
        stage store { copy d_gray -> gray; }
    }
}

stream_pipeline! {
    /// Fills of every word size, and events by hand.
    pipeline Fills {
        param a: f32;
        input x: [f32];
        output y: [f32];
        output bytes: [u8; 3];
        output triples: [[u16; 3]];
        output pairs: [[f64; 2]];
        device dy: [f32];
        device d_bytes: [u8; 3];
        device d_triples: [[u16; 3]];
        device d_pairs: [[f64; 2]];
        chunk c = 1000;
        sync = manual;
        stream up;
        stream math;
        stage load on up { wait axpy_done @ reuse; copy x -> dx; record load_done; }
        stage work on math {
            fill dy = 0.5;
            wait load_done;
            saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy);
            record axpy_done;
            fill d_bytes = 7;
            fill d_triples = [1, 2, 3];
            fill d_pairs = [1.5, -2.5];
            copy dy -> y;
            copy d_bytes -> bytes;
            copy d_triples -> triples;
            copy d_pairs -> pairs;
        }
    }
}

stream_pipeline! {
    pipeline Sum {
        input x: [i64];
        carry total: [i64; 2];
        chunk c = 100;
        depth = 4;
        stream s per slot;
        stage all on s { copy x -> dx; accumulate<<<1, 32>>>(c.len as u32, &dx, &mut total); }
    }
}

stream_pipeline! {
    pipeline Gather {
        param entries: u32;
        resident table: [f32];
        input index: pinned [u32];
        output y: [f32];
        device dy: [f32];
        carry last: [i64; 2] = -1;
        chunk c = 100;
        stage load { copy index -> d_index; }
        stage look_up { gather<<<blocks(c.len, 32), 32>>>(c.len as u32, entries, &d_index, &table, out dy); }
        stage store { copy dy -> y; fill last = 7; }
    }
}

stream_pipeline! {
    pipeline Broken {
        inout x: [f32];
        stage all { copy x -> d; broken<<<1, 32>>>(1, &mut d); copy d -> x; }
    }
}

stream_pipeline! {
    pipeline Bounded {
        param block: u32;
        input x: [i32];
        output y: [i32];
        device dy: [i32];
        chunk c = 64;
        stage all { copy x -> dx; bounded<<<blocks(c.len, block), block>>>(c.len as u32, &dx, out dy); copy dy -> y; }
    }
}

/// Whole numbers, so that sums and products are exact.
fn numbers(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 8191) as f32 - 4096.0).collect()
}

const LENGTHS: [usize; 8] = [0, 1, 999, 1000, 1001, 7919, 10_003, 100_000];

#[test]
#[ignore = "needs a CUDA device"]
fn saxpy_equals_the_loop_at_every_length_and_depth() {
    let device = Device::cuda(0).expect("a GPU");
    for depth in [1, 2, 3, 200] {
        let mut saxpy = Saxpy::options(&device).depth(depth).build().expect("the pipeline");
        for len in LENGTHS {
            let (x, start) = (numbers(len, 1), numbers(len, 2));
            let expected: Vec<f32> = x.iter().zip(&start).map(|(x, y)| 3.0 * x + y).collect();
            let mut y = start.clone();
            let report = saxpy.run(3.0, &x, &mut y).expect("a run");
            assert!(!report.simulated);
            assert_eq!(y, expected, "Vec, length {len}, depth {depth}");

            let pinned_x = PinnedBuf::from_slice(&device, &x).expect("pinned memory");
            let mut pinned_y = PinnedBuf::from_slice(&device, &start).expect("pinned memory");
            let report = saxpy.run(3.0, &pinned_x, &mut pinned_y).expect("a run");
            assert_eq!(pinned_y[..], expected, "PinnedBuf, length {len}, depth {depth}");
            assert_eq!(report.bytes_staged, 0);

            let mut y = start.clone();
            saxpy.run(3.0, &pinned_x, &mut y).expect("a run");
            assert_eq!(y, expected, "mixed, length {len}, depth {depth}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_stream_per_slot_with_scratch_equals_the_loop() {
    let device = Device::cuda(0).expect("a GPU");
    let mut pipeline = PerSlot::new(&device).expect("the pipeline");
    for len in LENGTHS {
        let x = numbers(2 * len, 3);
        let mut z = vec![f32::NAN; 2 * len];
        pipeline.run(&x, &mut z).expect("a run");
        let expected: Vec<f32> = x.iter().map(|x| 4.0 * (2.0 * x + 1.0) - 1.0).collect();
        assert_eq!(z, expected, "length {len}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn fills_and_events_by_hand_equal_the_loop() {
    let device = Device::cuda(0).expect("a GPU");
    for depth in [1, 3] {
        let mut pipeline = Fills::options(&device).depth(depth).build().expect("the pipeline");
        for len in LENGTHS {
            let x = numbers(len, 4);
            let (mut y, mut bytes) = (vec![f32::NAN; len], vec![0; 3 * len]);
            let (mut triples, mut pairs) = (vec![[0; 3]; len], vec![[0.0; 2]; len]);
            pipeline.run(2.0, &x, &mut y, &mut bytes, &mut triples, &mut pairs).expect("a run");
            assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 0.5), "length {len}, depth {depth}");
            assert!(bytes.iter().all(|byte| *byte == 7));
            assert!(triples.iter().all(|triple| *triple == [1, 2, 3]));
            assert!(pairs.iter().all(|pair| *pair == [1.5, -2.5]));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_the_whole_run_shares() {
    let device = Device::cuda(0).expect("a GPU");
    let (mut sum, mut gather) =
        (Sum::new(&device).expect("a pipeline"), Gather::new(&device).expect("a pipeline"));
    for len in [0, 1, 99, 100, 101, 7919] {
        let x: Vec<i64> = (0..len as i64).collect();
        let mut total = [7, 0];
        sum.run(&x, &mut total).expect("a run");
        assert_eq!(total, [7 + x.iter().sum::<i64>(), len as i64], "length {len}");

        let table = numbers(3_000_000, 1);
        let index: Vec<u32> = (0..len as u32).map(|i| i * 104_729).collect();
        let index = PinnedBuf::from_slice(&device, &index).expect("pinned memory");
        let (mut y, mut last) = (vec![f32::NAN; len], [0; 2]);
        gather.run(3_000_000, &table, &index, &mut y, &mut last).expect("a run");
        assert!(y.iter().zip(&index[..]).all(|(y, i)| *y == table[(i % 3_000_000) as usize]), "length {len}");
        assert_eq!(last, if len == 0 { [-1; 2] } else { [7; 2] });
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn both_devices_give_the_same_bytes() {
    let rgb: Vec<u8> = (0..3 * 50_021_usize).map(|i| (i * 31 % 251) as u8).collect();
    let run = |device: Device| {
        let mut gray = vec![0; rgb.len() / 3];
        Gray::new(&device).expect("the pipeline").run(&rgb, &mut gray).expect("a run");
        gray
    };
    let on_gpu = run(Device::cuda(0).expect("a GPU"));
    assert_eq!(on_gpu, run(Device::simulated(Simulation::default())));
    assert!(on_gpu.iter().zip(rgb.chunks(3)).all(|(&gray, rgb)| gray == luma([rgb[0], rgb[1], rgb[2]])));
}

#[test]
#[ignore = "needs a CUDA device"]
fn two_threads_share_a_gpu() {
    let device = Device::cuda(0).expect("a GPU");
    assert!(device.same(&Device::cuda(0).expect("a GPU")), "one device, opened twice");
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let device = device.clone();
            scope.spawn(move || {
                let mut saxpy = Saxpy::new(&device).expect("the pipeline");
                for round in 0..20 {
                    let (x, start) = (numbers(5000 + round, seed), numbers(5000 + round, seed + 9));
                    let mut y = start.clone();
                    saxpy.run(2.0, &x, &mut y).expect("a run");
                    assert!(y.iter().zip(&x).zip(&start).all(|((y, x), start)| *y == 2.0 * x + start));
                }
            });
        }
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_that_does_not_exist_is_named() {
    let count = Device::all().expect("the GPUs").len();
    let error = Device::cuda(99).expect_err("no such GPU");
    assert!(
        matches!(error.detail(), Detail::NoSuchDevice { index: 99, count: n, .. } if *n == count),
        "{error}"
    );
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_source_that_does_not_compile_gives_the_compilers_text() {
    let device = Device::cuda(0).expect("a GPU");
    let error = Broken::new(&device).expect_err("broken.cu does not compile");
    let Detail::Compile { file, log, .. } = error.detail() else { panic!("{error}") };
    assert_eq!(*file, "../../cu/broken.cu");
    assert!(log.contains("broken.cu(4)") && log.contains("undeclared"), "{log}");
    assert_eq!(error.place().pipeline, Some("Broken"));
    assert_eq!(error.place().stage, Some("all"));
    assert!(error.place().site.is_some());
}

#[test]
#[ignore = "needs a CUDA device"]
fn launch_bounds_are_the_limit_and_the_next_run_works() {
    let device = Device::cuda(0).expect("a GPU");
    let mut pipeline = Bounded::new(&device).expect("the pipeline");
    let x: Vec<i32> = (0..100).collect();
    let mut y = vec![0; 100];
    let error = pipeline.run(256, &x, &mut y).expect_err("more than the kernel's bounds");
    assert!(matches!(error.detail(), Detail::LaunchLimit { value: 256, limit: 128, .. }), "{error}");
    assert_eq!(error.place().chunk, Some(0));
    pipeline.run(128, &x, &mut y).expect("a run");
    assert!(y.iter().zip(&x).all(|(y, x)| *y == x + 1));
}

#[test]
#[ignore = "needs a CUDA device"]
fn more_device_memory_than_there_is() {
    let device = Device::cuda(0).expect("a GPU");
    let error = Saxpy::options(&device).chunk(1 << 40).build().expect_err("4 TiB a slot");
    let Detail::OutOfDeviceMemory { requested, free, .. } = error.detail() else { panic!("{error}") };
    assert_eq!(*requested, 3 << 42);
    assert!(*free > 0 && free < requested);
    Saxpy::new(&device).expect("a pipeline that fits");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_device_buffer_keeps_what_it_is_given() {
    let device = Device::cuda(0).expect("a GPU");
    // There are several pieces, and the last one is shorter.
    let numbers: Vec<u64> = (0..3_000_001).collect();
    let mut buffer = DeviceBuf::from_slice(&device, &numbers).expect("device memory");
    assert!(buffer.to_vec().expect("a copy") == numbers);
    buffer.copy_from_slice(&vec![7; numbers.len()]).expect("a copy");
    let mut back = numbers;
    buffer.copy_to_slice(&mut back).expect("a copy");
    assert!(back.iter().all(|&number| number == 7));
    let zeroed = DeviceBuf::<[u8; 3]>::zeroed(&device, 1001).expect("device memory");
    assert!(zeroed.to_vec().expect("a copy").iter().all(|&bytes| bytes == [0; 3]));
    assert!(DeviceBuf::<f32>::zeroed(&device, 0).expect("nothing").to_vec().expect("nothing").is_empty());
}
