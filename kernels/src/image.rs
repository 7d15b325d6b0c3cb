//! Kernels on images.

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::elementwise::covered;

/// Pixels that one CPU thread takes at a time.
const PIECE: usize = 1 << 14;

#[kernels("../cu/grayscale.cu")]
unsafe extern "CUDA" {
    /// One byte of luma for each RGB pixel: `luma[i]` of `rgb[3 * i..3 * i + 3]` for `i < pixels`, as
    /// [`luma`] has it.
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
    ///         stage convert { grayscale<<<blocks(c.len, 256), 256>>>(c.len as u32, &drgb, out dg); }
    ///         stage store { copy dg -> gray; }
    ///     }
    /// }
    ///
    /// let mut gray = [0; 2];
    /// Gray::new(&Device::simulated(Simulation::h200()))?.run(&[255, 255, 255, 255, 0, 0], &mut gray)?;
    /// assert_eq!(gray, [255, 76]);
    /// # Ok::<(), Error>(())
    /// ```
    #[host(grayscale_on_host)]
    #[requires(3 * pixels as usize <= rgb.len())]
    #[requires(pixels as usize <= luma.len())]
    pub safe fn grayscale(pixels: u32, rgb: &[u8], luma: Out<[u8]>);
}

fn grayscale_on_host(launch: Grid, pixels: u32, rgb: &[u8], gray: &mut [u8]) {
    let n = covered(launch, pixels);
    let pieces = gray[..n].par_chunks_mut(PIECE).zip(rgb[..3 * n].par_chunks(3 * PIECE));
    pieces.for_each(|(gray, rgb)| {
        for (gray, rgb) in gray.iter_mut().zip(rgb.chunks_exact(3)) {
            *gray = luma([rgb[0], rgb[1], rgb[2]]);
        }
    });
}

/// The luma of one RGB pixel by the weights of ITU-R BT.601, in 1/65536 and rounded, so that every device
/// agrees.
///
/// ```
/// assert_eq!(thalweg_kernels::luma([255, 255, 255]), 255);
/// assert_eq!(thalweg_kernels::luma([255, 0, 0]), 76);
/// ```
pub fn luma([r, g, b]: [u8; 3]) -> u8 {
    let [r, g, b] = [r, g, b].map(u32::from);
    ((19595 * r + 38470 * g + 7471 * b + 32768) >> 16) as u8
}
