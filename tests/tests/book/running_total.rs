//! The carry of the page on neighbours.

#![allow(clippy::needless_range_loop, reason = "kernels go through slices by index")]

use thalweg_tests::book::recorded;

// ANCHOR: pipeline
use thalweg::prelude::*;

#[kernels("running_total.cu")]
unsafe extern "CUDA" {
    #[host(running_total_on_host)]
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    #[requires(total.len() == 1)]
    safe fn running_total(n: u32, x: &[f32], total: &mut [f32], y: Out<[f32]>);
}

fn running_total_on_host(_: Grid, n: u32, x: &[f32], total: &mut [f32], y: &mut [f32]) {
    for (x, y) in x.iter().zip(y).take(n as usize) {
        total[0] += x;
        *y = total[0];
    }
}

stream_pipeline! {
    /// What has come in so far, item by item.
    pipeline RunningTotal {
        input x: [f32];
        carry total: [f32; 1];
        output y: [f32];
        device dy: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage add {
            running_total<<<1, 1>>>(c.len as u32, &dx, &mut total, out dy);
        }
        stage store { copy dy -> y; }
    }
}
// ANCHOR_END: pipeline

stream_pipeline! {
    /// The same, but each run starts from 5.
    pipeline FromFive {
        input x: [f32];
        carry total: [f32; 1] = 5.0;
        output y: [f32];
        device dy: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage add { running_total<<<1, 1>>>(c.len as u32, &dx, &mut total, out dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Chunks on several streams, which do wait for each other.
    pipeline PerSlot {
        input x: [f32];
        carry total: [f32; 1];
        output y: [f32];
        device dy: [f32];
        chunk c = 1000;
        depth = 3;
        stream each per slot;
        stage all on each {
            copy x -> dx;
            running_total<<<1, 1>>>(c.len as u32, &dx, &mut total, out dy);
            copy dy -> y;
        }
    }
}

// ANCHOR: parts
/// `total[0] += x[0] + x[1] + …`
#[kernel]
fn add_up(i: Index, x: &[f32], total: &mut Own<[f32]>) {
    let Some(total) = total.get_mut(i) else { return };
    for at in 0..x.len() {
        *total += x[at];
    }
}

fn plus(one: f32, other: f32) -> f32 {
    one + other
}

stream_pipeline! {
    pipeline Total {
        input x: [f32];
        carry total: [f32; 1] = 0.0 combine plus;
        chunk c = 1000;
        depth = 3;
        stream each per slot;
        stage load { copy x -> dx; }
        stage add on each { add_up<<<1, 32>>>(&dx, &mut total); }
    }
}
// ANCHOR_END: parts

// ANCHOR: run
fn run_twice(device: &Device) -> thalweg::Result<()> {
    let mut running = RunningTotal::new(device)?;
    let (x, mut y) = (vec![1.0; 2500], vec![0.0; 2500]);
    let mut total = [100.0];
    running.run(&x, &mut total, &mut y)?;
    assert_eq!((y[0], y[2499], total[0]), (101.0, 2600.0, 2600.0));
    running.run(&x, &mut total, &mut y)?; // goes on from 2600
    assert_eq!((y[0], y[2499], total[0]), (2601.0, 5100.0, 5100.0));
    Ok(())
}
// ANCHOR_END: run

#[test]
fn a_second_run_goes_on() -> thalweg::Result<()> {
    run_twice(&Device::simulated(Simulation::h200()))
}

#[test]
fn parts_are_added_to_what_there_was() -> thalweg::Result<()> {
    let mut total = [100.0];
    Total::new(&Device::simulated(Simulation::h200()))?.run(&vec![1.0; 2500], &mut total)?;
    assert_eq!(total, [2600.0]);
    assert!(!Total::PLAN.to_string().contains("@ previous"), "{}", Total::PLAN);
    Ok(())
}

/// The slice's content has no meaning at that time.
#[test]
fn a_second_run_starts_from_the_value() -> thalweg::Result<()> {
    let (x, mut total, mut y) = (vec![1.0; 2500], [100.0], vec![0.0; 2500]);
    let mut running = FromFive::new(&Device::simulated(Simulation::h200()))?;
    for _ in 0..2 {
        running.run(&x, &mut total, &mut y)?;
        assert_eq!((y[0], total[0]), (6.0, 2505.0));
    }
    Ok(())
}

/// If one stream has all operations that use it, the plan shows nothing: the stream's order is enough.
#[test]
fn the_plan_shows_the_wait_between_streams() -> thalweg::Result<()> {
    assert!(!RunningTotal::PLAN.to_string().contains(" total:"), "{}", RunningTotal::PLAN);
    let mut running = PerSlot::new(&Device::simulated(Simulation::h200()))?;
    let (mut total, mut y) = ([0.0], vec![0.0; 2500]);
    running.run(&vec![1.0; 2500], &mut total, &mut y)?;
    assert_eq!(total, [2500.0]);
    let plan = PerSlot::PLAN.to_string();
    let waits: Vec<_> = plan.lines().filter(|line| line.contains("previous")).collect();
    recorded("neighbours-carry.txt", &plan);
    assert_eq!(waits.len(), 1, "{plan}");
    Ok(())
}
