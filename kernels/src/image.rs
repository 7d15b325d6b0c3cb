//! Kernels on images.

use thalweg::prelude::*;

/// One byte of luma for each RGB pixel: `gray[i]` of the bytes `rgb[i]`, as [`luma`] has it.
///
/// `rgb` is `[pixels, 3]`, a byte a channel. Needs one thread a pixel.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::grayscale;
///
/// stream_pipeline! {
///     /// An item is a pixel.
///     pipeline Gray {
///         input rgb: [u8; 3];
///         output gray: [u8];
///         device dg: [u8];
///         chunk c = auto;
///         stage load { copy rgb -> drgb; }
///         stage convert { grayscale<<<blocks(c.len, 256), 256>>>(&drgb, out dg); }
///         stage store { copy dg -> gray; }
///     }
/// }
///
/// let mut gray = [0; 2];
/// Gray::new(&Device::simulated(Simulation::h200()))?.run(&[255, 255, 255, 255, 0, 0], &mut gray)?;
/// assert_eq!(gray, [255, 76]);
/// # Ok::<(), Error>(())
/// ```
#[kernel]
#[requires(gray.len() <= rgb.len())]
pub fn grayscale(i: Index, rgb: &[[u8; 3]], gray: &mut Out<[u8]>) {
    let Some(gray) = gray.get_mut(i) else { return };
    *gray = luma(rgb[i]);
}

/// The luma of one RGB pixel by the weights of ITU-R BT.601, in 1/65536 and rounded, so that every device
/// agrees.
///
/// ```
/// assert_eq!(thalweg_kernels::luma([255, 255, 255]), 255);
/// assert_eq!(thalweg_kernels::luma([255, 0, 0]), 76);
/// ```
#[device]
pub fn luma(rgb: [u8; 3]) -> u8 {
    let [r, g, b] = rgb;
    ((19595 * u32::from(r) + 38470 * u32::from(g) + 7471 * u32::from(b) + 32768) >> 16) as u8
}
