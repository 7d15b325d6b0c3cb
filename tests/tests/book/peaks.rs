//! A kernel in CUDA C++ whose threads share memory, as the page on such kernels shows it.

// ANCHOR: program
use thalweg::prelude::*;

#[kernels("peaks.cu")]
unsafe extern "CUDA" {
    /// The largest of each 256 numbers, by one block of 256 threads each.
    #[host(peaks_on_host)]
    #[requires(256 * n as usize <= x.len())]
    #[requires(n as usize <= peaks.len())]
    safe fn peaks(n: u32, x: &[f32], peaks: Out<[f32]>);
}

/// What the simulated device runs, once for the whole launch.
fn peaks_on_host(launch: Grid, n: u32, x: &[f32], peaks: &mut [f32]) {
    let blocks = launch.grid_dim[0].min(n) as usize;
    for (peak, x) in peaks.iter_mut().zip(x.chunks(256)).take(blocks) {
        *peak = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    }
}

stream_pipeline! {
    /// The peak of each 256 samples.
    pipeline Peaks {
        input x: [f32; 256];
        output peaks: [f32];
        device d_peaks: [f32];

        chunk c = 1 << 12;

        stage load { copy x -> dx; }
        stage find { peaks<<<c.len as u32, 256>>>(c.len as u32, &dx, out d_peaks); }
        stage store { copy d_peaks -> peaks; }
    }
}
// ANCHOR_END: program

fn run(device: &Device) -> thalweg::Result<()> {
    const PEAKS: usize = 10_000;
    let x: Vec<f32> = (0..256 * PEAKS).map(|i| (i * 7919 % 10_007) as f32 - 5000.0).collect();
    let mut peaks = vec![0.0; PEAKS];
    Peaks::new(device)?.run(&x, &mut peaks)?;
    for (peak, x) in peaks.iter().zip(x.chunks(256)) {
        assert!(x.contains(peak) && x.iter().all(|x| x <= peak), "{peak}");
    }
    Ok(())
}

#[test]
fn the_largest_of_each_256() -> thalweg::Result<()> {
    run(&Device::simulated(Simulation::h200()))
}

/// On a GPU the `.cu` runs.
#[test]
#[ignore = "needs a CUDA device"]
fn the_largest_of_each_256_on_a_gpu() -> thalweg::Result<()> {
    run(&Device::cuda(0)?)
}
