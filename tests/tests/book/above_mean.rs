//! A kernel that reads neighbours, as the page on them shows it.

// ANCHOR: pipeline
use thalweg::prelude::*;

#[kernels("above_mean.cu")]
unsafe extern "CUDA" {
    #[host(above_mean_on_host)]
    #[requires(n as usize + 2 * halo as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    safe fn above_mean(n: u32, halo: u32, x: &[f32], y: Out<[f32]>);
}

fn above_mean_on_host(thread: Thread, n: u32, halo: u32, x: &[f32], y: &mut [f32]) {
    let (i, halo) = (thread.global_x(), halo as usize);
    if i < n as usize {
        let sum: f32 = x[i..=i + 2 * halo].iter().sum();
        y[i] = x[i + halo] - sum / (2 * halo + 1) as f32;
    }
}

stream_pipeline! {
    /// How far each item is above the mean of its neighbourhood.
    pipeline AboveMean {
        param radius: u32;
        input x: [f32] halo radius as usize = clamp;
        output y: [f32];
        device dy: [f32];
        chunk c = 2;
        stage load { copy x -> dx; }
        stage mean { above_mean<<<blocks(c.len, 256), 256>>>(c.len as u32, radius, &dx, out dy); }
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

/// On a GPU the `.cu` runs.
#[test]
#[ignore = "needs a CUDA device"]
fn chunks_see_their_neighbours_on_a_gpu() -> thalweg::Result<()> {
    run(&Device::cuda(0)?)
}
