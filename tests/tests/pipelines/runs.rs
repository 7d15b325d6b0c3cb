//! Runs of one pipeline after another, inside another and beside another, with host arguments of every kind.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::kernels::{add_to, sum_rows};
use thalweg_tests::{numbers, written};

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline AddOne {
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage add { add_to<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline SumRows {
        param k: usize;
        input rows: [f32; k];
        output sums: [f32; 2];
        device d_sums: [f32; 2];
        chunk c = 64 / k + 1;
        stage load { copy rows -> d_rows; }
        stage sum { sum_rows<<<blocks(c.len, 32), 32>>>(c.len as u32, k as u32, 2, &d_rows, out d_sums); }
        stage store { copy d_sums -> sums; }
    }
}

/// The result of [`SumRows`].
fn sums_of_rows(rows: &[f32], k: usize) -> Vec<f32> {
    rows.chunks(k).flat_map(|row| [0.0, row.iter().sum()]).collect()
}

/// All pairs of slices, `Vec`s, boxed slices, arrays and pinned buffers.
#[test]
fn host_arguments_of_every_kind() -> thalweg::Result<()> {
    const LEN: usize = 101;
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Saxpy::options(&device).chunk(10).build()?;
    let x: [f32; LEN] = numbers(LEN).try_into().unwrap();
    let expected: Vec<f32> = x.iter().map(|x| 3.0 * x).collect();
    macro_rules! with {
        ($x:expr) => {{
            let mut vec = x.to_vec();
            pipeline.run(2.0, $x, &mut vec)?;
            assert_eq!(vec, expected);
            let mut slice = x;
            pipeline.run(2.0, $x, &mut slice[..])?;
            assert_eq!(slice[..], expected);
            let mut array = x;
            pipeline.run(2.0, $x, &mut array)?;
            assert_eq!(array[..], expected);
            let mut boxed: Box<[f32]> = x.into();
            pipeline.run(2.0, $x, &mut boxed)?;
            assert_eq!(boxed[..], expected);
            let mut pinned = PinnedBuf::from_slice(&device, &x)?;
            pipeline.run(2.0, $x, &mut pinned)?;
            assert_eq!(pinned[..], expected);
        }};
    }
    let pinned = PinnedBuf::from_slice(&device, &x)?;
    with!(&x.to_vec());
    with!(&x[..]);
    with!(&x);
    with!(&Box::<[f32]>::from(x));
    with!(&pinned);
    // A part of a pinned buffer is a slice like any other.
    with!(&pinned[..]);
    Ok(())
}

#[test]
fn one_pipeline_runs_again_with_other_lengths() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = SumRows::options(&device).chunk(8).build()?;
    for (len, k) in [(100, 2), (3, 7), (0, 1), (1000, 1), (9, 30), (8, 30), (1, 1)] {
        let rows = numbers(len * k);
        let mut sums = vec![f32::NAN; 2 * len];
        let report = pipeline.run(k, &rows, &mut sums)?;
        assert_eq!(sums, sums_of_rows(&rows, k), "{len} rows of {k}");
        assert_eq!(report.chunks, len.div_ceil(8));
    }
    Ok(())
}

/// Data that an earlier, longer run has left in the staging and ring slots must not come back.
#[test]
fn a_run_of_nothing_writes_nothing() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Saxpy::options(&device).chunk(4).build()?;
    pipeline.run(1.0, &numbers(10), &mut numbers(10))?;
    let report = pipeline.run(1.0, &[], &mut [])?;
    assert_eq!((report.items, report.chunks, report.bytes_to_device, report.bytes_staged), (0, 0, 0, 0));
    assert!(report.time.is_zero());
    let mut after = [5.0; 2];
    pipeline.run(1.0, &[1.0, 2.0], &mut after)?;
    assert_eq!(after, [6.0, 7.0]);
    Ok(())
}

#[test]
fn options_override_declarations() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let (x, mut sums) = (numbers(100), vec![0.0; 200]);
    let declared = SumRows::new(&device)?.run(1, &x, &mut sums)?;
    assert_eq!((declared.chunk, declared.depth, declared.chunks), (65, 3, 2));
    let chosen = SumRows::options(&device).chunk(30).depth(2).build()?.run(1, &x, &mut sums)?;
    assert_eq!((chosen.chunk, chosen.depth, chosen.chunks), (30, 2, 4));
    let longer = SumRows::options(&device).chunk(usize::MAX).depth(1024).build()?.run(1, &x, &mut sums)?;
    assert_eq!((longer.chunk, longer.depth, longer.chunks), (100, 1024, 1));
    Ok(())
}

#[test]
fn two_pipelines_on_one_device() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let mut saxpy = Saxpy::options(&device).chunk(10).build()?;
    let mut add_one = AddOne::options(&device).chunk(7).build()?;
    let (x, mut y) = (numbers(50), numbers(50));
    for _ in 0..3 {
        saxpy.run(2.0, &x, &mut y)?;
        add_one.run(&mut y)?;
    }
    assert_eq!(y, x.iter().map(|x| 7.0 * x + 3.0).collect::<Vec<_>>());
    Ok(())
}

/// An expression of a pipeline may run another one, on the same device and in the middle of a chunk.
#[test]
fn a_run_inside_a_run() -> thalweg::Result<()> {
    fn ones(device: &Device, len: usize) -> f32 {
        let mut ones = vec![0.0; len];
        Saxpy::options(device).chunk(3).build().unwrap().run(1.0, &vec![1.0; len], &mut ones).unwrap();
        ones.iter().sum()
    }
    thread_local!(static DEVICE: Device = Device::simulated(Simulation::default().adversarial(1)));
    stream_pipeline! {
        pipeline Outer {
            inout y: [f32];
            chunk c = 5;
            stage load { copy y -> dy; }
            stage add {
                add_to<<<1, 32>>>(c.len as u32, DEVICE.with(|device| ones(device, c.len)), &mut dy);
            }
            stage store { copy dy -> y; }
        }
    }
    let mut y = numbers(12);
    DEVICE.with(Outer::new)?.run(&mut y)?;
    let expected = numbers(12).into_iter().enumerate().map(|(i, y)| y + if i < 10 { 5.0 } else { 2.0 });
    assert_eq!(y, expected.collect::<Vec<_>>());
    Ok(())
}

#[test]
fn threads_share_a_device() {
    for spec in [Simulation::default(), Simulation::default().adversarial(3)] {
        let device = Device::simulated(spec);
        let free = device.free_memory().unwrap();
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (device, barrier) = (&device, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let mut pipeline = Saxpy::options(device).chunk(10 + thread).build().unwrap();
                    let x = numbers(200 + thread);
                    for _ in 0..20 {
                        let mut y = pinned_or_not(device, thread, &x, |x, y| pipeline.run(3.0, x, y));
                        y.iter_mut().zip(&x).for_each(|(y, x)| *y -= 4.0 * x);
                        assert!(y.iter().all(|&y| y == 0.0));
                    }
                });
            }
        });
        assert_eq!(device.free_memory().unwrap(), free);
    }
}

/// The result of `run` in a copy of `x`, which is in page-locked memory for every other thread.
fn pinned_or_not(
    device: &Device,
    thread: usize,
    x: &[f32],
    mut run: impl FnMut(&[f32], &mut [f32]) -> thalweg::Result<Report>,
) -> Vec<f32> {
    written!(device, thread.is_multiple_of(2), x.to_vec(), |y| run(x, y).unwrap()).1
}

#[test]
fn one_pinned_input_serves_several_threads() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let x = PinnedBuf::from_slice(&device, &numbers(300))?;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut pipeline = Saxpy::options(&device).chunk(32).build().unwrap();
                let mut y = PinnedBuf::zeroed(&device, 300).unwrap();
                pipeline.run(1.0, &x, &mut y).unwrap();
                assert_eq!(y[..], x[..]);
            });
        }
    });
    Ok(())
}

#[test]
fn a_device_is_itself_and_its_clones() {
    let device = Device::simulated(Simulation::default());
    assert!(device.same(&device.clone()));
    // The other device has the same properties, but neither device can reach the other's memory.
    assert!(!device.same(&Device::simulated(Simulation::default())));
}

/// `pinned` data are copied directly: nothing is staged.
#[test]
fn pinned_data_is_never_staged() {
    stream_pipeline! {
        pipeline Pinned {
            input x: pinned [u32];
            inout y: pinned [u32; 2];
            output z: pinned [u32];
            chunk c = 10;
            stage all { copy x -> dx; copy y -> dy; copy dy -> y; copy dx -> z; }
        }
    }
    let device = Device::simulated(Simulation::default());
    let x = PinnedBuf::from_slice(&device, &[7; 33]).unwrap();
    let mut y = PinnedBuf::from_slice(&device, &[8; 66]).unwrap();
    let mut z = PinnedBuf::zeroed(&device, 33).unwrap();
    let report = Pinned::new(&device).unwrap().run(&x, &mut y, &mut z).unwrap();
    assert_eq!((&y[..], &z[..], report.bytes_staged), (&[8; 66][..], &[7; 33][..], 0));
}

/// No pipeline is `Clone`, whatever its options are.
#[test]
fn options_serve_for_several_pipelines() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let options = AddOne::options(&device).chunk(10).depth(2);
    let (mut one, mut other) = (options.clone().build()?, options.build()?);
    let (mut y, mut z) = (vec![0.0; 25], vec![1.0; 35]);
    let chunks = [one.run(&mut y)?.chunks, other.run(&mut z)?.chunks];
    assert_eq!((chunks, y, z), ([3, 4], vec![1.0; 25], vec![2.0; 35]));
    Ok(())
}
