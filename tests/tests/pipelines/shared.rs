//! `resident` and `carry`: data that the whole run shares.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::kernels::{accumulate, gather};

stream_pipeline! {
    /// The sum of all items, chunk by chunk, from what `run` is given.
    pipeline Sum {
        input x: [i64];
        carry total: [i64; 2];
        chunk c = 10;
        stage load { copy x -> dx; }
        stage add { accumulate<<<1, 32>>>(c.len as u32, &dx, &mut total); }
    }
}

stream_pipeline! {
    /// The same from 100, with a stream for each slot: each chunk waits for the one before.
    pipeline SumPerSlot {
        input x: [i64];
        carry total: [i64; 2] = 100;
        chunk c = 10;
        depth = 4;
        stream s per slot;
        stage all on s { copy x -> dx; accumulate<<<1, 32>>>(c.len as u32, &dx, &mut total); }
    }
}

stream_pipeline! {
    pipeline Gather {
        param entries: u32;
        resident table: [f32];
        input index: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = 10;
        stage load { copy index -> d_index; }
        stage look_up { gather<<<blocks(c.len, 32), 32>>>(c.len as u32, entries, &d_index, &table, out dy); }
        stage store { copy dy -> y; }
    }
}

const LENGTHS: [usize; 7] = [0, 1, 9, 10, 11, 97, 500];

/// Runs in the order of time and in orders that only streams and events restrain; the simulated device
/// reports any race.
fn on_many_devices(check: impl Fn(&Device)) {
    for seed in 0..40 {
        let spec = if seed == 0 { Simulation::default() } else { Simulation::default().adversarial(seed) };
        check(&Device::simulated(spec));
    }
}

#[test]
fn a_sum_is_carried_from_chunk_to_chunk() {
    on_many_devices(|device| {
        for depth in [1, 2, 3, 60] {
            let mut sum = Sum::options(device).depth(depth).build().unwrap();
            for len in LENGTHS {
                let x: Vec<i64> = (0..len as i64).collect();
                let mut total = [7, 0];
                let report = sum.run(&x, &mut total).unwrap();
                assert_eq!(total, [7 + x.iter().sum::<i64>(), len as i64], "{len} at depth {depth}");
                assert_eq!((report.bytes_to_device, report.bytes_to_host), (8 * len as u64 + 16, 16));
            }
        }
    });
}

#[test]
fn a_carry_starts_from_its_declared_value() {
    on_many_devices(|device| {
        for depth in [1, 2, 4] {
            let mut sum = SumPerSlot::options(device).depth(depth).build().unwrap();
            for len in LENGTHS {
                let x: Vec<i64> = (0..len as i64).collect();
                let mut total = PinnedBuf::from_slice(device, &[-1, -1]).unwrap();
                sum.run(&x, &mut total).unwrap();
                assert_eq!(
                    total[..],
                    [100 + x.iter().sum::<i64>(), 100 + len as i64],
                    "{len} at depth {depth}"
                );
            }
        }
    });
}

#[test]
fn a_table_of_any_length_is_there_for_every_chunk() {
    on_many_devices(|device| {
        let mut pipeline = Gather::new(device).unwrap();
        for (entries, len) in [(1, 0), (1, 25), (3, 97), (1000, 500), (2, 11)] {
            let table: Vec<f32> = (0..entries).map(|i| i as f32 * 1.5).collect();
            let index: Vec<u32> = (0..len).map(|i| i * 7919).collect();
            let mut y = vec![f32::NAN; len as usize];
            if entries % 2 == 0 {
                let table = PinnedBuf::from_slice(device, &table).unwrap();
                pipeline.run(entries, &table, &index, &mut y).unwrap();
            } else {
                pipeline.run(entries, &table, &index, &mut y).unwrap();
            }
            assert!(y.iter().zip(&index).all(|(y, i)| *y == table[(i % entries) as usize]));
        }
    });
}

/// The data have more than one piece of the staging memory.
#[test]
fn a_large_table() {
    let device = Device::simulated(Simulation::default());
    let table: Vec<f32> = (0..5_000_000).map(|i| i as f32).collect();
    let index: Vec<u32> = (0..100).map(|i| i * 49_999).collect();
    let mut y = vec![0.0; 100];
    Gather::new(&device).unwrap().run(5_000_000, &table, &index, &mut y).unwrap();
    assert!(y.iter().zip(&index).all(|(y, i)| *y == *i as f32));
}

#[test]
fn the_wait_for_the_chunk_before_is_the_only_one_that_a_stream_per_slot_needs() {
    let text = SumPerSlot::PLAN.to_string();
    assert!(text.contains("wait all_done @ previous"), "{text}");
    assert_eq!(SumPerSlot::PLAN.waits.len(), 1);
    // Streams by stage order the kernels of different chunks by themselves.
    assert!(Sum::PLAN.waits.iter().all(|wait| wait.distance != thalweg::plan::Distance::Previous));
}

#[test]
fn a_carry_of_another_length() {
    let device = Device::simulated(Simulation::default());
    let mut sum = Sum::new(&device).unwrap();
    let error = sum.run(&[1, 2, 3], &mut [0; 3]).unwrap_err();
    assert!(matches!(error.detail(), Detail::CarryLength { carry: "total", len: 3, declared: 2 }), "{error}");
    assert_eq!(error.place().pipeline, Some("Sum"));
    assert!(error.place().site.is_some());
    let mut total = [0; 2];
    sum.run(&[1, 2, 3], &mut total).unwrap();
    assert_eq!(total, [6, 3]);
}

/// A run that fails leaves its arguments as they were.
#[test]
fn what_a_failed_run_carried_is_not_given_back() {
    stream_pipeline! {
        pipeline Fragile {
            param n: u32;
            input x: [i64];
            carry total: [i64; 2];
            chunk c = 10;
            stage all { copy x -> dx; accumulate<<<1, 32>>>(n, &dx, &mut total); }
        }
    }
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Fragile::new(&device).unwrap();
    let mut total = [5, 6];
    let error = pipeline.run(10, &[1; 25], &mut total).unwrap_err();
    assert!(matches!(error.detail(), Detail::Requires { .. }), "{error}");
    assert_eq!((error.place().chunk, total), (Some(2), [5, 6]));
    pipeline.run(5, &[1; 25], &mut total).unwrap();
    assert_eq!(total, [5 + 15, 6 + 15]);
}

#[test]
fn a_table_that_does_not_fit() {
    let device = Device::simulated(Simulation::default().with_memory(1 << 20));
    let mut pipeline = Gather::new(&device).unwrap();
    let error = pipeline.run(1, &vec![1.0; 1 << 20], &[0], &mut [0.0]).unwrap_err();
    let Detail::OutOfDeviceMemory { what, requested, .. } = error.detail() else { panic!("{error}") };
    assert_eq!((what.as_str(), *requested), ("`table`", 4 << 20));
    pipeline.run(1, &[1.0], &[0], &mut [0.0]).unwrap();
}

stream_pipeline! {
    /// Everything except the carry has a constant size.
    pipeline SumOf {
        param parts: usize;
        input x: [i64];
        carry total: [i64; parts + 1];
        stage load { copy x -> dx; }
        stage add { accumulate<<<1, 32>>>(x_len, &dx, &mut total); }
        param x_len: u32;
    }
}

#[test]
fn what_is_carried_may_depend_on_a_parameter_alone() {
    let device = Device::simulated(Simulation::default());
    let mut total = [0, 0, 9];
    SumOf::new(&device).unwrap().run(2, &[3, 4], &mut total, 2).unwrap();
    assert_eq!(total, [7, 2, 9]);
}
