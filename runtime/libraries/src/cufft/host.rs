//! The transforms on the CPU, with rustfft and realfft. Neither these nor cuFFT divide by the number of
//! elements.

use std::ops::Range;

use num_complex::Complex;
use rayon::prelude::*;
use realfft::RealFftPlanner;
use rustfft::{FftDirection, FftNum, FftPlanner};

/// Transforms of `sizes`, one after another in `data`, in place.
pub(super) fn complex<T: FftNum>(sizes: &[usize], direction: FftDirection, data: &mut [Complex<T>]) {
    along(sizes, 0..sizes.len(), direction, data);
}

/// Transforms real numbers to the first half of the spectrum: rows of `n` become `n / 2 + 1`.
pub(super) fn real_to_complex<T: FftNum>(sizes: &[usize], real: &[T], spectrum: &mut [Complex<T>]) {
    let Some((row, last, half)) = rows(sizes).filter(|_| !real.is_empty()) else { return };
    let plan = RealFftPlanner::new().plan_fft_forward(row);
    let buffers = || (vec![T::zero(); row], plan.make_scratch_vec());
    let lines = real.par_chunks(row).zip(spectrum.par_chunks_mut(half[last]));
    lines.for_each_init(buffers, |(line, scratch), (real, spectrum)| {
        line.copy_from_slice(real);
        plan.process_with_scratch(line, spectrum, scratch).expect("the lengths are the plan's");
    });
    along(&half, 0..last, FftDirection::Forward, spectrum);
}

/// Transforms the first half of a spectrum back to real numbers. An element that stands for a sum of real
/// numbers is taken as real.
pub(super) fn complex_to_real<T: FftNum>(sizes: &[usize], spectrum: &[Complex<T>], real: &mut [T]) {
    let Some((row, last, half)) = rows(sizes).filter(|_| !real.is_empty()) else { return };
    let mut spectrum = spectrum.to_vec();
    along(&half, 0..last, FftDirection::Inverse, &mut spectrum);
    let plan = RealFftPlanner::new().plan_fft_inverse(row);
    let lines = spectrum.par_chunks_mut(half[last]).zip(real.par_chunks_mut(row));
    lines.for_each_init(
        || plan.make_scratch_vec(),
        |scratch, (spectrum, real)| {
            spectrum[0].im = T::zero();
            if row.is_multiple_of(2) {
                spectrum[row / 2].im = T::zero();
            }
            plan.process_with_scratch(spectrum, real, scratch).expect("the lengths are the plan's");
        },
    );
}

/// The length of a row, the number of its axis, and the sizes of the spectrum.
fn rows(sizes: &[usize]) -> Option<(usize, usize, Vec<usize>)> {
    let last = sizes.len().checked_sub(1)?;
    let mut half = sizes.to_vec();
    half[last] = sizes[last] / 2 + 1;
    Some((sizes[last], last, half))
}

/// Transforms the lines along some of the axes.
fn along<T: FftNum>(sizes: &[usize], axes: Range<usize>, direction: FftDirection, data: &mut [Complex<T>]) {
    if data.is_empty() {
        // The sizes may be too large for a plan.
        return;
    }
    let mut planner = FftPlanner::new();
    for axis in axes {
        let (len, step) = (sizes[axis], sizes[axis + 1..].iter().product::<usize>());
        if len <= 1 || step == 0 {
            continue;
        }
        let plan = planner.plan_fft(len, direction);
        let buffers = || {
            let zero = Complex::new(T::zero(), T::zero());
            (vec![zero; len], vec![zero; plan.get_inplace_scratch_len()])
        };
        data.par_chunks_mut(len * step).for_each_init(buffers, |(line, scratch), block| {
            if step == 1 {
                return plan.process_with_scratch(block, scratch);
            }
            for start in 0..step {
                let strided = block[start..].iter().step_by(step);
                line.iter_mut().zip(strided).for_each(|(line, element)| *line = *element);
                plan.process_with_scratch(line, scratch);
                let strided = block[start..].iter_mut().step_by(step);
                strided.zip(&*line).for_each(|(element, line)| *element = *line);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    type C = Complex<f64>;

    /// Each shape is tried with this many transforms at once.
    const BATCH: usize = 3;

    const SHAPES: [&[usize]; 14] = [
        &[1],
        &[2],
        &[3],
        &[8],
        &[13],
        &[30],
        &[1, 1],
        &[1, 6],
        &[6, 1],
        &[4, 6],
        &[5, 7],
        &[2, 3, 4],
        &[3, 1, 5],
        &[1, 1, 2],
    ];

    /// The sums of the definition.
    fn naive(sizes: &[usize], sign: f64, data: &[C]) -> Vec<C> {
        let volume = sizes.iter().product::<usize>();
        let index = |mut flat: usize| {
            let mut index = vec![0; sizes.len()];
            for axis in (0..sizes.len()).rev() {
                (index[axis], flat) = (flat % sizes[axis], flat / sizes[axis]);
            }
            index
        };
        let term = |k: &[usize], j: &[usize]| -> C {
            let turns = (0..sizes.len()).map(|a| (k[a] * j[a] % sizes[a]) as f64 / sizes[a] as f64);
            C::cis(sign * TAU * turns.sum::<f64>())
        };
        let mut out = Vec::new();
        for data in data.chunks(volume) {
            out.extend((0..volume).map(|k| {
                let k = index(k);
                data.iter().enumerate().map(|(j, x)| x * term(&k, &index(j))).sum::<C>()
            }));
        }
        out
    }

    fn signal(len: usize) -> Vec<C> {
        (0..len)
            .map(|i| C::new((i * 37 % 101) as f64 / 50.0 - 1.0, (i * 53 % 89) as f64 / 44.0 - 1.0))
            .collect()
    }

    /// The transforms have `log2(n)` roundings of sums of at most `n` numbers below 2; the definition itself
    /// has `n`.
    fn near(found: &[C], expected: &[C], volume: usize) {
        assert_eq!(found.len(), expected.len());
        let bound = 4.0 * (volume * volume) as f64 * f64::EPSILON;
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).norm() <= bound, "{found} {expected}");
        }
    }

    #[test]
    fn complex_transforms_are_the_definition() {
        for sizes in SHAPES {
            let volume = sizes.iter().product::<usize>();
            let data = signal(BATCH * volume);
            for (direction, sign) in [(FftDirection::Forward, -1.0), (FftDirection::Inverse, 1.0)] {
                let mut found = data.clone();
                complex(sizes, direction, &mut found);
                near(&found, &naive(sizes, sign, &data), volume);
            }
        }
    }

    #[test]
    fn real_transforms_are_half_of_it_and_come_back() {
        for sizes in SHAPES {
            let volume = sizes.iter().product::<usize>();
            let row = sizes[sizes.len() - 1];
            let data = signal(BATCH * volume);
            let real: Vec<f64> = data.iter().map(|x| x.re).collect();
            let expected = naive(sizes, -1.0, &real.iter().map(|&x| C::new(x, 0.0)).collect::<Vec<_>>());
            let half: Vec<C> =
                expected.chunks(row).flat_map(|row| &row[..row.len() / 2 + 1]).copied().collect();
            let mut found = vec![C::new(f64::NAN, f64::NAN); half.len()];
            real_to_complex(sizes, &real, &mut found);
            near(&found, &half, volume);
            let mut back = vec![f64::NAN; real.len()];
            complex_to_real(sizes, &found, &mut back);
            for (back, real) in back.iter().zip(&real) {
                let bound = 8.0 * (volume * volume) as f64 * f64::EPSILON;
                assert!((back - volume as f64 * real).abs() <= bound, "{sizes:?}: {back} {real}");
            }
        }
    }

    #[test]
    fn no_transforms_are_nothing() {
        for sizes in
            [&[0][..], &[0, 3], &[3, 0], &[4], &[1 << 60], &[0, 1 << 60], &[2, usize::MAX, usize::MAX]]
        {
            complex::<f32>(sizes, FftDirection::Forward, &mut []);
            real_to_complex::<f32>(sizes, &[], &mut []);
            complex_to_real::<f32>(sizes, &[], &mut []);
        }
    }
}
