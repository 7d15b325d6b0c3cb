//! CUDA's libraries: a matrix product by cuBLAS behind the kernel.

// ANCHOR: uses
use thalweg::prelude::*;
// ANCHOR_END: uses
use thalweg_tests::book::in_listing;

use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, check, folded, pinned_samples, simulated};

// ANCHOR: pipeline
use thalweg_libraries::cublas::{self, Gemm};

/// The channels of a frame, and those that they are mixed to.
const CHANNELS: usize = 16;
const MIXED: usize = 2;

stream_pipeline! {
    /// `z <- (gain * x + offset) * mix`, frame by frame.
    pipeline Mix {
        param gain: f32;
        param offset: f32;
        input x: [f32; CHANNELS];
        resident mix: [f32];
        output z: [f32; MIXED];
        device mixed: [f32; MIXED];

        chunk c = 32 << 10;
        depth = 3;

        stream up;
        stream math;
        stream down;

        stage load on up { copy x -> v; }
        stage compute on math {
            adjust<<<blocks(CHANNELS * c.len, 256), 256>>>(gain, offset, &mut v);
            call cublas::gemm_out(
                Gemm::new(c.len, MIXED, CHANNELS), 1.0, &v, &mix, out mixed);
        }
        stage store on down { copy mixed -> z; }
    }
}
// ANCHOR_END: pipeline

// ANCHOR: run
/// The left ear hears the first channels louder, the right ear the last ones.
fn stereo(device: &Device, x: &PinnedBuf<f32>, z: &mut PinnedBuf<f32>) -> thalweg::Result<()> {
    let gains = |channel| [(CHANNELS - channel) as f32, (channel + 1) as f32];
    let mix: Vec<f32> = (0..CHANNELS).flat_map(gains).collect();
    Mix::new(device)?.run(GAIN, OFFSET, x, &mix, z)?;
    Ok(())
}
// ANCHOR_END: run

#[test]
fn a_product_behind_the_kernel() -> thalweg::Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN / CHANNELS * MIXED)?);
    stereo(&device, &x, &mut z)?;
    // Small whole numbers, whose sums are all exact.
    for (frame, z) in x.chunks(CHANNELS).zip(z.chunks(MIXED)) {
        let adjusted = || frame.iter().map(|x| GAIN * x + OFFSET).zip(1..);
        let left: f32 = adjusted().map(|(v, k)| v * (17 - k) as f32).sum();
        let right: f32 = adjusted().map(|(v, k)| v * k as f32).sum();
        assert_eq!(z, [left, right]);
    }

    let mix = [1.0; CHANNELS * MIXED];
    let timeline = Mix::new(&device)?.profile(GAIN, OFFSET, &x, &mix, &mut z)?;
    check("14-timeline.txt", &timeline.to_string());

    let error = Mix::new(&device)?.run(GAIN, OFFSET, &x, &mix[1..], &mut z).unwrap_err();
    let lines: Vec<_> = in_listing(&error, file!(), "pipeline").lines().map(folded).collect();
    check("14-dimensions.txt", &lines.join("\n"));
    Ok(())
}
