//! Histograms.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::elementwise::PIECE;

#[kernels("../cu/histogram.cu")]
unsafe extern "CUDA" {
    /// Adds to `counts[v]`, for each of the 256 values `v` of a byte, how often it is in `x[..n]`.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg_kernels::histogram_u8;
    ///
    /// stream_pipeline! {
    ///     pipeline Histogram {
    ///         input x: [u8];
    ///         carry counts: [u32; 256] = 0;
    ///         chunk c = 1000;
    ///         stage load { copy x -> dx; }
    ///         stage count { histogram_u8<<<264, 256>>>(c.len as u32, &dx, &mut counts); }
    ///     }
    /// }
    ///
    /// let x: Vec<u8> = (0..=255).cycle().take(2560).collect();
    /// let mut counts = [0; 256];
    /// Histogram::new(&Device::simulated(Simulation::h200()))?.run(&x, &mut counts)?;
    /// assert_eq!(counts, [10; 256]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Any grid and block will do. For a histogram of each chunk, write `fill counts = 0;` before it; for one
    /// of the whole run, use a `carry` as here. Counts are exact, and wrap at 2^32.
    ///
    /// It is in CUDA C++, which reads 16 bytes at once wherever `x` begins. In Rust a kernel reads each byte by itself,
    /// and takes 1.18 times as long, even if a thread has eight of them under way while it counts eight: 47.5 µs for
    /// 64 Mi bytes on an H100, and this one 40.3 (the benchmark `by_hand` has both).
    #[host(histogram_u8_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(counts.len() >= 256)]
    pub safe fn histogram_u8(n: u32, x: &[u8], counts: &mut [u32]);
}

/// Counts `x` into `counts`, each element into the bin of its value.
fn count(x: &[u8], counts: &mut [u32]) {
    // One histogram for each core, not for each piece: they are added up one by one.
    let share = x.len().div_ceil(rayon::current_num_threads()).max(PIECE);
    let of_share = |x: &[u8]| {
        let mut counts = [0_u32; 256];
        x.iter().for_each(|&x| counts[usize::from(x)] += 1);
        counts
    };
    let histograms: Vec<_> = x.par_chunks(share).map(of_share).collect();
    for histogram in histograms {
        for (count, more) in counts.iter_mut().zip(histogram) {
            *count = count.wrapping_add(more);
        }
    }
}

fn histogram_u8_on_host(_: Grid, n: u32, x: &[u8], counts: &mut [u32]) {
    count(&x[..n as usize], &mut counts[..256]);
}

/// The numbers that a thread has under way before it counts the first of them.
const AHEAD: usize = 8;

/// The distance of such numbers. The lanes of a warp read numbers beside each other, and all that a warp has under way
/// is one piece.
const LANES: usize = 32;

/// Copies of the bins in shared memory: lanes of a warp that meet the same bin seldom wait for each other.
const COPIES: u32 = 8;

/// Adds to `counts[b]`, for each of `bins` bins of one width, how many of `x[..n]` are in it.
///
/// The bins go from `low` to `high`: `v` is in bin `(v - low) * (bins / (high - low))`, rounded down, in
/// floats, with each operation rounded. `high` itself is in the last bin. Numbers below `low` or above
/// `high`, and NaN, are in no bin.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::streams::Stream;
/// use thalweg::{Device, DeviceBuf};
/// use thalweg_kernels::histogram_f32;
///
/// let device = Device::simulated(Simulation::h200());
/// let (stream, histogram) = (Stream::new(&device)?, histogram_f32::load(&device)?);
/// let x = DeviceBuf::from_slice(&device, &[-1.0_f32, 0.0, 0.2, 0.9, 1.0, 1.1, f32::NAN])?;
/// let mut counts = DeviceBuf::from_slice(&device, &[0_u32; 4])?;
/// // 4 bins of 0.25, from 0 to 1.
/// histogram.launch(stream.config(264, 256, 8 * 4 * (4 + 1)), 7, 4, 0.0, 1.0, &x, &mut counts)?;
/// assert_eq!(counts.to_vec()?, [2, 0, 0, 2]);
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// Any number of blocks and of threads will do:
/// `histogram_f32<<<264, 256, 8 * 4 * (bins + 1)>>>(n, bins, low, high, &x, &mut counts)`. A copy of the
/// bins in dynamic shared memory takes `4 * (bins | 1)` bytes, and up to 8 copies are used: fewer where
/// there is less room, and none with less than `4 * bins` bytes, where each element costs an addition in
/// global memory. The result is the same. `counts` is as for [`histogram_u8`].
#[kernel]
#[allow(
    clippy::needless_range_loop,
    reason = "NVRTC unrolls a loop over numbers further than one over elements"
)]
#[requires(n as usize <= x.len())]
#[requires(bins as usize <= counts.len())]
#[requires(bins <= 1 << 24)]
#[requires(low < high && (high - low).is_finite() && (bins as f32 / (high - low)).is_finite())]
pub fn histogram_f32(block: Block, n: u32, bins: u32, low: f32, high: f32, x: &[f32], counts: &[AtomicU32]) {
    if bins == 0 {
        return;
    }
    let per_unit = bins as f32 / (high - low);
    let n = n as usize;
    // The distance of two copies is odd, so that the same bin of both is in two banks.
    let (room, pitch) = (block.shared_bytes() as u32 / 4, bins | 1);
    let copies = (room / pitch).min(COPIES).max(u32::from(room >= bins));
    if copies == 0 {
        block.each(|t| {
            for i in t.of_grid(n) {
                let value = x[i];
                if low <= value && value <= high {
                    counts[bin(value - low, per_unit, bins) as usize].fetch_add(1, Relaxed);
                }
            }
        });
        return;
    }
    // No gap is needed behind the last copy.
    let mut held = block.shared_slice::<AtomicU32>(((copies - 1) * pitch + bins) as usize);
    block.fill(&mut held, |_| 0);
    let pieces = n / (AHEAD * LANES);
    block.each(|t| {
        let mine = t.rank() as u32 % copies * pitch;
        for i in t.of_grid(pieces * LANES) {
            let first = i.get() / LANES * (AHEAD * LANES) + i.get() % LANES;
            let its = &x[first..first + (AHEAD - 1) * LANES + 1];
            let mut values = [0.0_f32; AHEAD];
            #[unroll]
            for k in 0..AHEAD {
                values[k] = its[k * LANES];
            }
            #[unroll]
            for k in 0..AHEAD {
                let value = values[k];
                if low <= value && value <= high {
                    held[(mine + bin_of_few(value - low, per_unit, bins)) as usize].fetch_add(1, Relaxed);
                }
            }
        }
    });
    // What does not go into such pieces is left over. It has a phase of its own: on a CPU the threads of a phase
    // with one loop take turns, and so read memory in order.
    let rest = &x[pieces * AHEAD * LANES..n];
    block.each(|t| {
        let mine = t.rank() as u32 % copies * pitch;
        for i in t.of_grid(rest.len()) {
            let value = rest[i];
            if low <= value && value <= high {
                held[(mine + bin_of_few(value - low, per_unit, bins)) as usize].fetch_add(1, Relaxed);
            }
        }
    });
    block.each(|t| {
        for b in t.of_block(bins as usize) {
            let mut count = 0;
            for copy in 0..copies {
                count += held[(copy * pitch) as usize + b].load(Relaxed);
            }
            if count > 0 {
                counts[b].fetch_add(count, Relaxed);
            }
        }
    });
}

/// The bin of a number that is so far above the least.
#[device]
fn bin(above: f32, per_unit: f32, bins: u32) -> u32 {
    ((above * per_unit) as u32).min(bins - 1)
}

/// The same, of no more than 65,536 bins: more do not fit into shared memory. So 16 bits hold the number of a bin, and
/// what is too great for them is in the last one. x86 keeps a float in the range of 16 bits by a maximum and a minimum,
/// and in that of 32 by two comparisons and moves that depend on them, as no float is the greatest number of 32 bits.
/// Sixteen threads of a Xeon count in 0.77 of the time so, and an H200 takes as long as with 32 bits.
#[device]
fn bin_of_few(above: f32, per_unit: f32, bins: u32) -> u32 {
    u32::from((above * per_unit) as u16).min(bins - 1)
}
