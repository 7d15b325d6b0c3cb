//! Bytes of images as floats, as networks take them.

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::elementwise::{PIECE, threads};

#[kernels("../cu/normalize.cu")]
unsafe extern "CUDA" {
    /// `y[i] = (x[i] / 255 - mean[c]) / deviation[c]` for `pixels` pixels of `channels` interleaved channels,
    /// where `c` is `i % channels`.
    ///
    /// `x` and `y` are `[pixels, channels]`; `mean` and `deviation` have an element for each channel, on the
    /// scale from 0 to 1.
    ///
    /// Needs one thread a value:
    /// `normalize_hwc<<<blocks(n * channels, 256), 256>>>(n, channels, &mean, &deviation, &x, out y)`. Each
    /// operation is rounded, so the bits are the same on every device. A deviation of 0 gives infinities and
    /// NaN, as the formula does.
    #[host(normalize_hwc_on_host)]
    #[requires(pixels as u128 * channels as u128 <= x.len() as u128)]
    #[requires(pixels as u128 * channels as u128 <= y.len() as u128)]
    #[requires(channels as usize <= mean.len())]
    #[requires(channels as usize <= deviation.len())]
    pub safe fn normalize_hwc(
        pixels: u32,
        channels: u32,
        mean: &[f32],
        deviation: &[f32],
        x: &[u8],
        y: Out<[f32]>,
    );

    /// [`normalize_hwc`] that turns `images` images of `pixels` pixels each from interleaved channels (HWC)
    /// into planes (CHW): the value of image `i`, channel `c` and pixel `p` goes from
    /// `x[(i * pixels + p) * channels + c]` to `y[(i * channels + c) * pixels + p]`.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg_kernels::normalize_chw;
    ///
    /// stream_pipeline! {
    ///     /// An item is an image of `pixels` pixels with 3 channels.
    ///     pipeline Normalize {
    ///         param pixels: u32;
    ///         resident mean: [f32];
    ///         resident deviation: [f32];
    ///         input x: [u8; 3 * pixels as usize];
    ///         output y: [f32; 3 * pixels as usize];
    ///         device dy: [f32; 3 * pixels as usize];
    ///         chunk c = auto;
    ///         stage load { copy x -> dx; }
    ///         stage normalize {
    ///             normalize_chw<<<blocks(c.len * pixels as usize, 256), 256>>>(
    ///                 c.len as u32, pixels, 3, &mean, &deviation, &dx, out dy);
    ///         }
    ///         stage store { copy dy -> y; }
    ///     }
    /// }
    ///
    /// let (x, mut y) = ([255, 0, 51, 0, 255, 51], [0.0; 6]); // an image of two pixels
    /// let mut normalize = Normalize::new(&Device::simulated(Simulation::h200()))?;
    /// normalize.run(2, &[0.0, 0.5, 0.0], &[1.0, 0.5, 1.0], &x, &mut y)?;
    /// assert_eq!(y, [1.0, 0.0, -1.0, 1.0, 0.2, 0.2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Needs one thread a pixel.
    #[host(normalize_chw_on_host)]
    #[requires(images as u128 * pixels as u128 * channels as u128 <= x.len() as u128)]
    #[requires(images as u128 * pixels as u128 * channels as u128 <= y.len() as u128)]
    #[requires(channels as usize <= mean.len())]
    #[requires(channels as usize <= deviation.len())]
    pub safe fn normalize_chw(
        images: u32,
        pixels: u32,
        channels: u32,
        mean: &[f32],
        deviation: &[f32],
        x: &[u8],
        y: Out<[f32]>,
    );
}

fn normalized(x: u8, mean: f32, deviation: f32) -> f32 {
    (f32::from(x) / 255.0 - mean) / deviation
}

fn normalize_hwc_on_host(
    launch: Grid,
    pixels: u32,
    channels: u32,
    mean: &[f32],
    deviation: &[f32],
    x: &[u8],
    y: &mut [f32],
) {
    let channels = channels as usize;
    let n = threads(launch).min(pixels as usize * channels);
    // A piece begins with a pixel.
    let piece = PIECE.saturating_mul(channels).max(1);
    let pieces = y[..n].par_chunks_mut(piece).zip(x[..n].par_chunks(piece));
    pieces.for_each(|(y, x)| {
        let of_channels = mean[..channels].iter().zip(&deviation[..channels]).cycle();
        for ((y, &x), (&mean, &deviation)) in y.iter_mut().zip(x).zip(of_channels) {
            *y = normalized(x, mean, deviation);
        }
    });
}

#[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
fn normalize_chw_on_host(
    launch: Grid,
    images: u32,
    pixels: u32,
    channels: u32,
    mean: &[f32],
    deviation: &[f32],
    x: &[u8],
    y: &mut [f32],
) {
    let (images, pixels, channels) = (images as usize, pixels as usize, channels as usize);
    if pixels == 0 || channels == 0 {
        return;
    }
    let covered = threads(launch).min(images * pixels);
    let image = pixels * channels;
    y[..images * image].par_chunks_mut(pixels).enumerate().for_each(|(plane, y)| {
        let (of_image, c) = (plane / channels, plane % channels);
        let x = &x[of_image * image..][..image];
        // The last image of a grid that is too small is done in part.
        let within = covered.saturating_sub(of_image * pixels);
        for (y, x) in y.iter_mut().zip(x.chunks_exact(channels)).take(within) {
            *y = normalized(x[c], mean[c], deviation[c]);
        }
    });
}
