//! The loops that one would write: on all cores by rayon, each in a form that the compiler vectorises.

use rayon::prelude::*;

/// What a thread of rayon takes at a time.
const PART: usize = 1 << 14;

pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    y.par_chunks_mut(PART).zip(x.par_chunks(PART)).for_each(|(y, x)| {
        for (y, x) in y.iter_mut().zip(x) {
            *y += a * x;
        }
    });
}

/// Call and put: the formula of `thalweg_kernels::black_scholes`, operation by operation.
#[inline]
fn prices(rate: f32, [spot, strike, years, volatility]: [f32; 4]) -> [f32; 2] {
    if !(spot > 0.0 && strike > 0.0 && years >= 0.0 && volatility >= 0.0) {
        return [f32::NAN; 2];
    }
    let not_negative = |price: f32| if price < 0.0 { 0.0 } else { price };
    let discounted = strike * (-rate * years).exp();
    let deviation = volatility * years.sqrt();
    if deviation == 0.0 {
        return [not_negative(spot - discounted), not_negative(discounted - spot)];
    }
    let d1 = ((spot / strike).ln() + (rate + 0.5 * volatility * volatility) * years) / deviation;
    let d2 = d1 - deviation;
    let ((above1, below1), (above2, below2)) = (normal(d1), normal(d2));
    [not_negative(spot * above1 - discounted * above2), not_negative(discounted * below2 - spot * below1)]
}

#[inline]
fn normal(d: f32) -> (f32, f32) {
    let distance = d.abs();
    let t = 1.0 / (1.0 + 0.231_641_9 * distance);
    #[allow(clippy::excessive_precision, reason = "the numbers as published")]
    let last = -1.821_255_978 + t * 1.330_274_429;
    #[allow(clippy::excessive_precision, reason = "the numbers as published")]
    let polynomial = t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * last)));
    #[allow(clippy::excessive_precision, reason = "the numbers as published")]
    let tail = 0.398_942_280 * (-0.5 * distance * distance).exp() * polynomial;
    if d > 0.0 { (1.0 - tail, tail) } else { (tail, 1.0 - tail) }
}

pub fn black_scholes(rate: f32, options: [&[f32]; 4], call: &mut [f32], put: &mut [f32]) {
    let parts = call.par_chunks_mut(PART).zip(put.par_chunks_mut(PART)).enumerate();
    parts.for_each(|(part, (call, put))| {
        let [spot, strike, years, volatility] = options.map(|of| &of[part * PART..][..call.len()]);
        for i in 0..call.len() {
            [call[i], put[i]] = prices(rate, [spot[i], strike[i], years[i], volatility[i]]);
        }
    });
}

/// A weighted sum of five neighbours; beyond the ends, the first and the last element go on.
pub fn stencil(w: [f32; 5], x: &[f32], y: &mut [f32]) {
    let last = x.len() - 1;
    let at_end = |i: usize| {
        let x = |k: usize| x[(i + k).saturating_sub(2).min(last)];
        w[0] * x(0) + w[1] * x(1) + w[2] * x(2) + w[3] * x(3) + w[4] * x(4)
    };
    y.par_chunks_mut(PART).enumerate().for_each(|(part, y)| {
        let first = part * PART;
        let inner = first.max(2)..(first + y.len()).min(last - 1);
        for i in (first..inner.start).chain(inner.end..first + y.len()) {
            y[i - first] = at_end(i);
        }
        let (x, y) = (&x[inner.start - 2..inner.end + 2], &mut y[inner.start - first..inner.end - first]);
        for (y, x) in y.iter_mut().zip(x.windows(5)) {
            *y = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + w[3] * x[3] + w[4] * x[4];
        }
    });
}

/// Counts of numbers from 0 to 1.
pub fn histogram(bins: usize, x: &[f32]) -> Vec<u32> {
    let count = |x: &[f32]| {
        let mut counts = vec![0; bins];
        for &value in x {
            if (0.0..=1.0).contains(&value) {
                counts[((value * bins as f32) as usize).min(bins - 1)] += 1;
            }
        }
        counts
    };
    let add = |mut sums: Vec<u32>, counts: Vec<u32>| {
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        sums
    };
    x.par_chunks(1 << 20).map(count).reduce(|| vec![0; bins], add)
}

/// In doubles, eight sums at a time.
pub fn dot(x: &[f32], y: &[f32]) -> f64 {
    let part = |(x, y): (&[f32], &[f32])| {
        let mut sums = [0.0; 8];
        let (x, y) = (x.chunks_exact(8), y.chunks_exact(8));
        let rest =
            x.remainder().iter().zip(y.remainder()).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        for (x, y) in x.zip(y) {
            for lane in 0..8 {
                sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
            }
        }
        sums.iter().sum::<f64>() + rest
    };
    x.par_chunks(PART).zip(y.par_chunks(PART)).map(part).sum()
}

/// Pixels of three channels.
pub fn normalize(mean: [f32; 3], deviation: [f32; 3], x: &[u8], y: &mut [f32]) {
    y.par_chunks_mut(3 * PART).zip(x.par_chunks(3 * PART)).for_each(|(y, x)| {
        for (y, x) in y.chunks_exact_mut(3).zip(x.chunks_exact(3)) {
            for c in 0..3 {
                y[c] = (f32::from(x[c]) / 255.0 - mean[c]) / deviation[c];
            }
        }
    });
}

/// Matrices of `n` rows and columns, in row-major order: each core has a part of the rows.
pub fn product(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    let rows = n.div_ceil(rayon::current_num_threads());
    c.par_chunks_mut(rows * n).zip(a.par_chunks(rows * n)).for_each(|(c, a)| {
        let (rows, row) = (c.len() / n, n as isize);
        assert!(a.len() == c.len() && b.len() == n * n);
        // SAFETY: the matrices have as many elements as the numbers of rows and columns say, and `c` is borrowed
        // alone.
        unsafe {
            let (c, a, b) = (c.as_mut_ptr(), a.as_ptr(), b.as_ptr());
            matrixmultiply::sgemm(rows, n, n, 1.0, a, row, 1, b, row, 1, 0.0, c, row, 1);
        }
    });
}
