//! Normalisation of images.

use proptest::prelude::*;
use thalweg::prelude::*;
use thalweg_kernels::{normalize_chw, normalize_hwc};
use thalweg_tests::compare::{Tolerance, assert_close, assert_same_on_both};
use thalweg_tests::random::Random;

use super::{config, simulated};

stream_pipeline! {
    pipeline Interleaved {
        param channels: u32;
        resident mean: [f32];
        resident deviation: [f32];
        input x: [u8; channels as usize];
        output y: [f32; channels as usize];
        device dy: [f32; channels as usize];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage work {
            normalize_hwc<<<blocks(c.len * channels as usize, 256), 256>>>(
                channels, &mean, &deviation, &dx, out dy
            );
        }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// An item is an image.
    pipeline Planes {
        param pixels: u32;
        param channels: u32;
        resident mean: [f32];
        resident deviation: [f32];
        input x: [u8; (pixels * channels) as usize];
        output y: [f32; (pixels * channels) as usize];
        device dy: [f32; (pixels * channels) as usize];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage work {
            normalize_chw<<<(blocks(pixels as usize, 3000), blocks(channels as usize, 6), c.len.min(2) as u32), 256>>>(
                pixels, channels, &mean, &deviation, &dx,
                out dy as [c.len, channels as usize, pixels as usize]
            );
        }
        stage store { copy dy -> y; }
    }
}

/// Mean and deviation of each channel; a deviation of 0 is among them.
fn statistics(random: &mut Random, channels: usize) -> [Vec<f32>; 2] {
    let mean = random.floats(channels, 0.0, 1.0);
    let deviation =
        (0..channels).map(|c| if c == 4 { 0.0 } else { random.between(0.1, 0.5) as f32 }).collect();
    [mean, deviation]
}

fn interleaved(
    device: &Device,
    chunk: usize,
    [mean, deviation]: &[Vec<f32>; 2],
    x: &[u8],
) -> thalweg::Result<Vec<f32>> {
    let mut y = vec![7.0; x.len()];
    let mut pipeline = Interleaved::options(device).chunk(chunk).build()?;
    pipeline.run(mean.len() as u32, mean, deviation, x, &mut y)?;
    Ok(y)
}

fn planes(
    device: &Device,
    chunk: usize,
    pixels: usize,
    [mean, deviation]: &[Vec<f32>; 2],
    x: &[u8],
) -> thalweg::Result<Vec<f32>> {
    let mut y = vec![7.0; x.len()];
    let mut pipeline = Planes::options(device).chunk(chunk).build()?;
    pipeline.run(pixels as u32, mean.len() as u32, mean, deviation, x, &mut y)?;
    Ok(y)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn normalisation_is_a_loop(
        images in 0..12_usize,
        pixels in 1..200_usize,
        channels in 1..7_usize,
        chunk in 1..12_usize,
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let statistics = statistics(&mut random, channels);
        let x = random.bytes(images * pixels * channels);
        let value = |image: usize, pixel: usize, c: usize| {
            let x = f32::from(x[(image * pixels + pixel) * channels + c]);
            (x / 255.0 - statistics[0][c]) / statistics[1][c]
        };
        let (mut hwc, mut chw) = (Vec::new(), Vec::new());
        for image in 0..images {
            hwc.extend((0..pixels).flat_map(|pixel| (0..channels).map(move |c| (pixel, c))).map(|(p, c)| value(image, p, c)));
            chw.extend((0..channels).flat_map(|c| (0..pixels).map(move |pixel| (pixel, c))).map(|(p, c)| value(image, p, c)));
        }
        let found = interleaved(&simulated(), chunk * pixels, &statistics, &x).unwrap();
        assert_close(&found, &hwc, Tolerance::Exact, "interleaved");
        let found = planes(&simulated(), chunk, pixels, &statistics, &x).unwrap();
        assert_close(&found, &chw, Tolerance::Exact, "planes");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn normalisation_is_the_same_on_a_gpu() {
    let mut random = Random::new(6);
    for (images, pixels) in [(0, 5), (1, 1), (3, 255), (5, 257), (7, 1024), (20, 50_000)] {
        for channels in [1, 3, 4, 6] {
            let statistics = statistics(&mut random, channels);
            let x = random.bytes(images * pixels * channels);
            let what = format!("{images} images of {pixels} pixels of {channels} channels");
            assert_same_on_both(format_args!("interleaved, {what}"), Tolerance::Exact, |device| {
                interleaved(device, 7 * pixels - 2, &statistics, &x)
            });
            assert_same_on_both(format_args!("planes, {what}"), Tolerance::Exact, |device| {
                planes(device, 3, pixels, &statistics, &x)
            });
        }
    }
}
