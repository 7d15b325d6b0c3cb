//! cuDNN's routines on the CPU.

use rayon::prelude::*;

use super::{Activation, Convolution};

/// `y[n, k, p, q] = sum of x[n, c, p * stride + r * dilation - padding, …] * w[k, c, r, s]`, over the
/// channels of the group of `k`.
pub(super) fn convolution(convolution: &Convolution, x: &[f32], w: &[f32], y: &mut [f32]) {
    let Convolution { input: [_, channels, height, width], filter: [filters, group, rows, columns], .. } =
        *convolution;
    let [_, _, out_height, out_width] = convolution.output();
    let Convolution { padding, stride, dilation, groups, .. } = *convolution;
    if y.is_empty() {
        return;
    }
    y.par_chunks_mut(out_height * out_width).enumerate().for_each(|(plane, y)| {
        y.fill(0.0);
        let (image, k) = (plane / filters, plane % filters);
        let first = k / (filters / groups) * group;
        for c in 0..group {
            let x = &x[(image * channels + first + c) * height * width..][..height * width];
            let w = &w[(k * group + c) * rows * columns..][..rows * columns];
            for (r, w) in w.chunks(columns).enumerate() {
                for (p, y) in y.chunks_mut(out_width).enumerate() {
                    let Some(row) = inside(p * stride[0] + r * dilation[0], padding[0], height) else {
                        continue;
                    };
                    let x = &x[row * width..][..width];
                    for (s, w) in w.iter().enumerate() {
                        for (q, y) in y.iter_mut().enumerate() {
                            if let Some(column) = inside(q * stride[1] + s * dilation[1], padding[1], width) {
                                *y += x[column] * w;
                            }
                        }
                    }
                }
            }
        }
    });
}

/// Where a padded index lies in the image.
fn inside(padded: usize, padding: usize, len: usize) -> Option<usize> {
    padded.checked_sub(padding).filter(|index| *index < len)
}

/// `y[.., k, ..] += bias[k]`, for planes of `plane` elements.
pub(super) fn bias(plane: usize, bias: &[f32], y: &mut [f32]) {
    if y.is_empty() {
        return;
    }
    y.par_chunks_mut(plane).enumerate().for_each(|(index, y)| {
        let bias = bias[index % bias.len()];
        y.iter_mut().for_each(|y| *y += bias);
    });
}

/// The function of one element. NaN stays NaN.
pub(super) fn activated(activation: Activation, x: f32) -> f32 {
    match activation {
        Activation::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        Activation::ClippedRelu { ceiling } => {
            if x < 0.0 {
                0.0
            } else if x > ceiling {
                ceiling
            } else {
                x
            }
        }
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Activation::Tanh => x.tanh(),
        Activation::Elu { alpha } => {
            if x < 0.0 {
                alpha * x.exp_m1()
            } else {
                x
            }
        }
    }
}

pub(super) fn activation(activation: Activation, y: &mut [f32]) {
    y.par_iter_mut().with_min_len(1 << 12).for_each(|y| *y = activated(activation, *y));
}

/// `exp(y - max) / sum` over `classes` that lie `step` elements apart, or its logarithm.
pub(super) fn softmax(classes: usize, step: usize, log: bool, y: &mut [f32]) {
    if y.is_empty() {
        return;
    }
    y.par_chunks_mut(classes * step).for_each(|block| {
        for start in 0..step {
            let line = || block[start..].iter().step_by(step);
            // `f32::max` ignores NaN; the sum does not.
            let most = line().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f32 = line().map(|y| (y - most).exp()).sum();
            let line = block[start..].iter_mut().step_by(step);
            match log {
                true => line.for_each(|y| *y = *y - most - sum.ln()),
                false => line.for_each(|y| *y = (*y - most).exp() / sum),
            }
        }
    });
}
