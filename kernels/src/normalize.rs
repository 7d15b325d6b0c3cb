//! Bytes of images as floats, as networks take them.

use thalweg::prelude::*;

/// `y[i] = (x[i] / 255 - mean[c]) / deviation[c]` for pixels of `channels` interleaved channels, where `c` is
/// `i % channels`.
///
/// `x` and `y` are `[pixels, channels]`; `mean` and `deviation` have an element for each channel, on the scale
/// from 0 to 1.
///
/// Needs one thread a value:
/// `normalize_hwc<<<blocks(n * channels, 256), 256>>>(channels, &mean, &deviation, &x, out y)`. Each operation is
/// rounded, so the bits are the same on every device. A deviation of 0 gives infinities and NaN, as the formula
/// does.
#[kernel]
#[requires(y.len() <= x.len())]
#[requires(channels > 0 || y.is_empty())]
#[requires(channels as usize <= mean.len())]
#[requires(channels as usize <= deviation.len())]
pub fn normalize_hwc(i: Index, channels: u32, mean: &[f32], deviation: &[f32], x: &[u8], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let c = i.get() % channels as usize;
    *y = normalized(x[i], mean[c], deviation[c]);
}

/// [`struct@normalize_hwc`] that turns images of `pixels` pixels each from interleaved channels (HWC) into planes (CHW):
/// the value of image `i`, channel `c` and pixel `p` goes from `x[(i * pixels + p) * channels + c]` to
/// `y[i, c, p]`.
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
///             normalize_chw<<<(blocks(pixels as usize, 256), 3, c.len), 256>>>(
///                 pixels, 3, &mean, &deviation, &dx, out dy as [c.len, 3, pixels as usize]);
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
/// Needs one thread a value, the pixels along x, the channels along y and the images along z, of which a launch
/// has at most 65,535.
#[kernel]
#[requires(y.len() <= x.len())]
#[requires(y.shape()[1..] == [channels as usize, pixels as usize])]
#[requires(channels as usize <= mean.len())]
#[requires(channels as usize <= deviation.len())]
pub fn normalize_chw(
    at: Index<3>,
    pixels: u32,
    channels: u32,
    mean: &[f32],
    deviation: &[f32],
    x: &[u8],
    y: &mut Out<[f32]>,
) {
    let Some(y) = y.get_mut(at) else { return };
    let [image, c, pixel] = at.get();
    let from = (image * pixels as usize + pixel) * channels as usize + c;
    *y = normalized(x[from], mean[c], deviation[c]);
}

#[device]
fn normalized(x: u8, mean: f32, deviation: f32) -> f32 {
    (f32::from(x) / 255.0 - mean) / deviation
}
