//! The program of the book's page on checking a pipeline.

mod mended;

use std::sync::atomic::{AtomicU32, Ordering};

use thalweg::explore::{Explore, explore};
use thalweg::prelude::*;
use thalweg::sim::{Effect, Fault};
use thalweg_tests::book::recorded;
use thalweg_tests::kernels::plus_one;

// ANCHOR: relies
/// The next number of the sequence.
static NEXT: AtomicU32 = AtomicU32::new(0);

fn number(rows: &mut [u32]) {
    rows.iter_mut().for_each(|row| *row = NEXT.fetch_add(1, Ordering::Relaxed));
}

stream_pipeline! {
    pipeline Numbered {
        output rows: [u32];
        host h: [u32];
        chunk c = 4;
        depth = 3;
        stream each per slot;
        stage number on each { host number(out h); copy h -> d; copy d -> rows; }
    }
}

fn rows_are_numbered(device: &Device) -> thalweg::Result<()> {
    NEXT.store(0, Ordering::Relaxed);
    let mut rows = [0; 12];
    Numbered::new(device)?.run(&mut rows)?;
    assert_eq!(rows.to_vec(), (0..12).collect::<Vec<_>>());
    Ok(())
}
// ANCHOR_END: relies

#[test]
fn a_function_that_relies_on_the_order_of_chunks() {
    rows_are_numbered(&Device::simulated(Simulation::default())).unwrap();
    let error = explore(1, 100, rows_are_numbered).unwrap_err();
    recorded("checking-order.txt", &error.to_string());
}

stream_pipeline! {
    pipeline PlusOne {
        input x: [f32];
        output y: [f32];
        chunk c = 4;
        stage load { copy x -> dx; }
        stage add { plus_one<<<1, 32>>>(c.len as u32, &dx, out dy); }
        stage store { copy dy -> y; }
        device dy: [f32];
    }
}

// ANCHOR: resumes
/// Adds 1. If a run fails, the next one goes on behind the complete items.
fn add_one(pipeline: &mut PlusOne, x: &[f32], y: &mut [f32]) -> thalweg::Result<()> {
    let mut done = 0;
    for _ in 0..3 {
        match pipeline.run(&x[done..], &mut y[done..]) {
            Ok(_) => return Ok(()),
            Err(error) => done += error.complete().first().map_or(0, |complete| complete.items),
        }
    }
    pipeline.run(&x[done..], &mut y[done..]).map(drop)
}

#[test]
fn work_goes_on_after_a_failure() -> thalweg::Result<()> {
    for chunk in 0..5 {
        let fails = Fault::at(&PlusOne::PLAN, "store", chunk, Effect::Fails)?;
        Explore::new(chunk, 20).simulation(Simulation::default().with_fault(fails)).run(|device| {
            let (x, mut y) = (vec![1.0; 20], vec![0.0; 20]);
            add_one(&mut PlusOne::new(device)?, &x, &mut y)?;
            assert_eq!(y, [2.0; 20]);
            Ok(())
        })?;
    }
    Ok(())
}
// ANCHOR_END: resumes

// ANCHOR: lost
#[test]
fn a_lost_device_is_reported() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = PlusOne::new(&device)?;
    let lost = device.inject(Fault::at(&PlusOne::PLAN, "add", 2, Effect::Lost)?)?;

    let error = pipeline.run(&[1.0; 20], &mut [0.0; 20]).unwrap_err();
    assert!(lost.struck());
    assert_eq!((error.place().stage, error.place().chunk), (Some("add"), Some(2)));
    assert!(matches!(pipeline.run(&[1.0; 20], &mut [0.0; 20]).unwrap_err().kind(), ErrorKind::DeviceLost(_)));
    Ok(())
}
// ANCHOR_END: lost
