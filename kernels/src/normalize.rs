//! Bytes of images as floats, as networks take them.

use thalweg::prelude::*;

/// The channels and the pixels that a thread of [`struct@normalize_chw`] computes.
const CHANNELS: usize = 3;
const PIXELS: usize = 4;

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
///             normalize_chw<<<(blocks(pixels as usize, 1024), 1, c.len), 256>>>(
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
/// A block of 256 threads, which all launches have, computes tiles of 3 channels and 1,024 pixels, and a thread the
/// channels of 4 pixels, which lie side by side in `x`. One block a tile is best, the pixels along x, the channels along
/// y and the images along z. Any grid does all of the work.
#[kernel(threads = 256)]
#[requires(y.len() <= x.len())]
#[requires(y.shape()[1..] == [channels as usize, pixels as usize])]
#[requires(channels as usize <= mean.len())]
#[requires(channels as usize <= deviation.len())]
pub fn normalize_chw(
    block: Block<3>,
    pixels: u32,
    channels: u32,
    mean: &[f32],
    deviation: &[f32],
    x: &[u8],
    y: &mut Out<[f32]>,
) {
    let (pixels, channels) = (pixels as usize, channels as usize);
    for at in block.tiles::<CHANNELS, 1024>(y) {
        let top = at.top();
        block.fill_parts(&mut y.tile(at), |t| {
            let part = at.part::<CHANNELS, PIXELS>(t);
            // All bytes are under way before the first division.
            let mut bytes = [[0_u8; PIXELS]; CHANNELS];
            #[unroll]
            for j in 0..PIXELS {
                let pixel = at.left() + part.column(j);
                if pixel < pixels {
                    let first = (at.item() * pixels + pixel) * channels;
                    let of_pixel = &x[first..first + channels];
                    #[unroll]
                    for i in 0..CHANNELS {
                        let c = top + i;
                        if c < channels {
                            bytes[i][j] = of_pixel[c];
                        }
                    }
                }
            }
            let mut values = [[0.0_f32; PIXELS]; CHANNELS];
            #[unroll]
            for i in 0..CHANNELS {
                let c = top + i;
                if c < channels {
                    let (mean, deviation) = (mean[c], deviation[c]);
                    #[unroll]
                    for j in 0..PIXELS {
                        values[i][j] = normalized(bytes[i][j], mean, deviation);
                    }
                }
            }
            values
        });
    }
}

#[device]
fn normalized(x: u8, mean: f32, deviation: f32) -> f32 {
    (f32::from(x) / 255.0 - mean) / deviation
}
