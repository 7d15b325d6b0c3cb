//! A kernel that reads neighbours, as the page on them shows it.

// ANCHOR: pipeline
use thalweg::prelude::*;

/// How far each item is above the mean of itself and `halo` items on either side. `x` begins `halo` items
/// before the chunk's first one.
#[kernel]
#[requires(x.len() == y.len() + 2 * halo)]
fn above_mean(i: Index, halo: usize, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut sum = 0.0;
    for x in &x[i.get()..=i.get() + 2 * halo] {
        sum += x;
    }
    *y = x[i.get() + halo] - sum / (2 * halo + 1) as f32;
}

stream_pipeline! {
    /// How far each item is above the mean of its neighbourhood.
    pipeline AboveMean {
        param radius: usize;
        input x: [f32] halo radius = clamp;
        output y: [f32];
        device dy: [f32];
        chunk c = 2;
        stage load { copy x -> dx; }
        stage mean { above_mean<<<blocks(c.len, 256), 256>>>(radius, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}
// ANCHOR_END: pipeline

// ANCHOR: run
fn run(device: &Device) -> thalweg::Result<()> {
    let x = [0.0, 3.0, 0.0, 6.0, 9.0, 3.0];
    let mut y = [0.0; 6];
    AboveMean::new(device)?.run(1, &x, &mut y)?;
    // The means are 1, 1, 3, 5, 6 and 5: beyond its ends `x` continues with 0 and with 3.
    assert_eq!(y, [-1.0, 2.0, -3.0, 1.0, 3.0, -2.0]);
    Ok(())
}
// ANCHOR_END: run

#[test]
fn chunks_see_their_neighbours() -> thalweg::Result<()> {
    run(&Device::simulated(Simulation::h200()))
}

#[test]
#[ignore = "needs a CUDA device"]
fn chunks_see_their_neighbours_on_a_gpu() -> thalweg::Result<()> {
    run(&Device::cuda(0)?)
}
