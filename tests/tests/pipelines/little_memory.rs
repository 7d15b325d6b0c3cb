//! `chunk = auto` if memory does not suffice for its usual size.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::kernels::gather;
use thalweg_tests::numbers;

stream_pipeline! {
    pipeline Copied {
        input x: [f32];
        output y: [f32];
        chunk c = auto;
        depth = 2;
        stage all { copy x -> a; copy a -> b; copy b -> y; }
    }
}

stream_pipeline! {
    pipeline LookUp {
        resident table: [f32];
        input index: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = auto;
        depth = 2;
        stage all {
            copy index -> d_index;
            gather<<<blocks(c.len, 32), 32>>>(c.len as u32, 1, &d_index, &table, out dy);
            copy dy -> y;
        }
    }
}

stream_pipeline! {
    pipeline First {
        input x: [f32];
        output y: [f32];
        output first: [f32] per chunk;
        chunk c = auto;
        depth = 2;
        stage all { copy x -> a; copy a -> y; fill f = c.start as f32; copy f -> first; }
        device f: [f32] per chunk;
    }
}

const ITEMS: usize = 1 << 20;

fn with_memory(bytes: usize) -> Device {
    Device::simulated(Simulation::default().with_memory(bytes as u64))
}

/// Two slots for each of two buffers.
#[test]
fn an_auto_chunk_fits_the_devices_memory() {
    let x = numbers(ITEMS);
    for memory in [4 * MIB, MIB, 100_000, 4 * 256] {
        for graph in [false, true] {
            let device = with_memory(memory);
            let options = Copied::options(&device);
            let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
            let (mut y, items) = (vec![0.0; ITEMS], if memory < MIB { 10_000 } else { ITEMS });
            let first = pipeline.run(&x[..items], &mut y[..items]).unwrap();
            assert_eq!(y[..items], x[..items]);
            assert!(
                first.device_memory <= memory as u64 && first.device_memory * 4 > memory as u64,
                "{memory}: {first}"
            );
            // The next run finds half of the chunk at once.
            y.fill(0.0);
            let second = pipeline.run(&x[..items], &mut y[..items]).unwrap();
            assert_eq!(y[..items], x[..items]);
            assert_eq!((second.chunk, second.device_memory), (first.chunk, first.device_memory));
        }
    }
}

#[test]
fn it_fits_page_locked_memory() {
    let x = numbers(ITEMS);
    let device = Device::simulated(Simulation::default().with_pinned_memory(MIB as u64));
    let mut y = vec![0.0; ITEMS];
    let report = Copied::new(&device).unwrap().run(&x, &mut y).unwrap();
    assert_eq!(y, x);
    assert!(report.pinned_memory <= MIB as u64 && report.pinned_memory * 4 > MIB as u64, "{report}");
    // The ring's memory is given back, since there was not enough for staging.
    assert_eq!(report.device_memory, report.pinned_memory);
}

/// An existing ring does not prevent a larger one.
#[test]
fn the_old_ring_goes_first() {
    let device = with_memory(MIB);
    let mut pipeline = Copied::new(&device).unwrap();
    let x = numbers(ITEMS);
    let mut y = vec![0.0; ITEMS];
    for items in [1000, 30_000, ITEMS, 7] {
        let report = pipeline.run(&x[..items], &mut y[..items]).unwrap();
        assert_eq!(y[..items], x[..items]);
        assert!(report.device_memory <= MIB as u64);
    }
}

#[test]
fn a_given_chunk_stays_as_it_is() {
    let device = with_memory(MIB);
    let mut pipeline = Copied::options(&device).chunk(ITEMS / 2).build();
    let error = match &mut pipeline {
        Ok(pipeline) => pipeline.run(&numbers(ITEMS), &mut vec![0.0; ITEMS]).unwrap_err(),
        Err(error) => error.clone(),
    };
    assert!(matches!(error.detail(), Detail::OutOfDeviceMemory { requested: 0x40_0000, .. }), "{error}");
}

/// The data that the run shares are not made smaller. If they leave no room for one item, that run alone
/// fails.
#[test]
fn what_the_whole_run_shares_leaves_less() {
    let device = with_memory(MIB);
    let mut pipeline = LookUp::new(&device).unwrap();
    let (index, mut y) = (vec![0; 100_000], vec![0.0; 100_000]);
    let mut run = |entries: usize| pipeline.run(&vec![3.0; entries], &index, &mut y);
    let whole = run(10).unwrap();
    let error = run(MIB / 4).unwrap_err();
    let Detail::OutOfDeviceMemory { what, requested, free } = error.detail() else { panic!("{error}") };
    assert_eq!((&**what, *requested, *free), ("`dy`", 512, 0), "{error}");
    assert_eq!(run(10).unwrap().chunk, whole.chunk);
    let less = run(MIB / 8).unwrap();
    assert!(less.chunk < whole.chunk && less.device_memory <= MIB as u64, "{less}");
    assert!(y.iter().all(|&y| y == 3.0));
}

/// A run does not choose more chunks than the caller has made room for.
#[test]
fn results_by_chunk_have_room_for_more_chunks() {
    let x = numbers(ITEMS);
    let [mut y, mut first] = [vec![0.0; ITEMS], vec![-1.0; 100]];
    let mut run = |memory, chunks: usize| {
        let device = with_memory(memory);
        First::new(&device).unwrap().run(&x, &mut y, &mut first[..chunks])
    };
    let few = run(100 * MIB, 100).unwrap();
    let many = run(MIB, 100).unwrap();
    assert!(many.chunks > few.chunks && many.chunks < 100);
    let error = run(MIB, few.chunks).unwrap_err();
    assert!(matches!(error.detail(), Detail::OutOfDeviceMemory { .. }), "{error}");
    assert!(y == x && first[1] == many.chunk as f32);
}
