//! The network: its kernels, a pipeline that trains it, and one that uses it.
//!
//! Two layers. A bias is the weight of an input that is always 1, the last one of a layer. So the weights of
//! a layer are one matrix, a row for each input, and its gradient is one buffer.

use thalweg::prelude::*;
use thalweg_libraries::cublas::{self, Batch, Gemm};

use super::digits::{CLASSES, PIXELS};

/// Images of a batch.
pub const BATCH: usize = 128;
/// Parts of a batch, each of which has a gradient of its own. A rank has all, four, two, or one of them.
pub const PARTS: usize = 8;
/// Images of a part.
pub const PART: usize = BATCH / PARTS;

/// Inputs of the first layer.
pub const INPUTS: usize = PIXELS + 1;
/// Units of the first layer.
pub const UNITS: usize = 48;
/// Inputs of the second layer.
pub const HIDDEN: usize = UNITS + 1;

/// Weights of the first layer.
pub const FIRST: usize = INPUTS * UNITS;
/// Weights of the second layer.
pub const SECOND: usize = HIDDEN * CLASSES;

/// Pixels as numbers around 0, and the 1 behind them.
#[kernel]
#[requires(pixels.len() / PIXELS == x.len() / INPUTS)]
pub fn inputs(at: Index<2>, pixels: &[u8], x: &mut Out<[f32]>) {
    let [image, input] = at.get();
    let Some(x) = x.get_mut(at) else { return };
    *x = if input < PIXELS { pixels[image * PIXELS + input] as f32 / 128.0 - 0.5 } else { 1.0 };
}

/// The hyperbolic tangents of sums, and the 1 behind them.
#[kernel]
#[requires(sums.len() / UNITS == h.len() / HIDDEN)]
pub fn hidden(at: Index<2>, sums: &[f32], h: &mut Out<[f32]>) {
    let [image, unit] = at.get();
    let Some(h) = h.get_mut(at) else { return };
    *h = if unit < UNITS { sums[image * UNITS + unit].tanh() } else { 1.0 };
}

/// The loss of each image, which is minus the logarithm of its label's softmax, and its derivative by each
/// score.
#[kernel]
#[requires(labels.len() == losses.len() && scores.len() == losses.len() && scores.len() == slopes.len())]
pub fn cross_entropy(
    i: Index,
    labels: &[u8],
    scores: &[[f32; CLASSES]],
    losses: &mut Out<[f32]>,
    slopes: &mut Out<[[f32; CLASSES]]>,
) {
    let Some(loss) = losses.get_mut(i) else { return };
    let Some(slope) = slopes.get_mut(i) else { return };
    let (label, scores) = (labels[i] as usize, scores[i]);
    let mut most = scores[0];
    for score in scores {
        most = most.max(score);
    }
    let mut sum = 0.0;
    for score in scores {
        sum += (score - most).exp();
    }
    *loss = sum.ln() - (scores[label] - most);
    for class in 0..CLASSES {
        let share = (scores[class] - most).exp() / sum;
        slope[class] = if class == label { share - 1.0 } else { share };
    }
}

/// From the loss's derivative by each unit's output to that by the unit's sum.
#[kernel]
#[requires(behind.len() == h.len() && h.len() / HIDDEN == slopes.len() / UNITS)]
pub fn through_tanh(at: Index<2>, behind: &[f32], h: &[f32], slopes: &mut Out<[f32]>) {
    let [image, unit] = at.get();
    let Some(slope) = slopes.get_mut(at) else { return };
    let here = image * HIDDEN + unit;
    *slope = behind[here] * (1.0 - h[here] * h[here]);
}

/// The sum of each part's losses.
#[kernel]
#[requires(losses.len() == PART * sums.len())]
pub fn sums_of_parts(part: Index, losses: &[f32], sums: &mut Out<[f32]>) {
    let first = part.get() * PART;
    let Some(sum) = sums.get_mut(part) else { return };
    *sum = 0.0;
    for loss in &losses[first..first + PART] {
        *sum += *loss;
    }
}

/// Adds up this rank's parts in pairs, as `all_reduce` adds up those of ranks. So the order of the additions is
/// the same on any number of ranks.
#[kernel]
#[requires((parts == 1 || parts == 2 || parts == 4 || parts == 8) && of_parts.len() == parts * sum.len())]
pub fn in_pairs(i: Index, parts: usize, of_parts: &[f32], sum: &mut Out<[f32]>) {
    let each = sum.len();
    let Some(sum) = sum.get_mut(i) else { return };
    let of = |part: usize| of_parts[part * each + i.get()];
    *sum = match parts {
        1 => of(0),
        2 => of(0) + of(1),
        4 => (of(0) + of(1)) + (of(2) + of(3)),
        _ => ((of(0) + of(1)) + (of(2) + of(3))) + ((of(4) + of(5)) + (of(6) + of(7))),
    };
}

/// A step of gradient descent.
#[kernel]
#[requires(gradient.len() == weights.len())]
pub fn descend(i: Index, rate: f32, gradient: &[f32], weights: &mut Own<[f32]>) {
    let Some(weight) = weights.get_mut(i) else { return };
    *weight -= rate * gradient[i];
}

// ANCHOR: pipeline
stream_pipeline! {
    /// An item is an image. A chunk is a step: the images of a batch that are this rank's.
    pub pipeline Train {
        uniform param rate: f32;
        input pixels: [u8; PIXELS];
        input labels: [u8];
        output loss: [f32; 1] per chunk;
        carry first: [f32; FIRST];
        carry second: [f32; SECOND];

        chunk c = BATCH / world.size;
        stream up: high;
        stream math;
        stream links: high;
        stream down;

        device x: [f32; INPUTS];
        device sums: [f32; UNITS];
        device h: [f32; HIDDEN];
        device scores: [f32; CLASSES];
        device losses: [f32];
        device slopes_2: [f32; CLASSES];
        device behind: [f32; HIDDEN];
        device slopes_1: [f32; UNITS];
        // Of each part, and of all parts of all ranks.
        device losses_of_parts: [f32; PARTS / world.size] per chunk;
        device parts_2: [f32; PARTS / world.size * SECOND] per chunk;
        device parts_1: [f32; PARTS / world.size * FIRST] per chunk;
        device d_loss: [f32; 1] per chunk;
        device gradient_2: [f32; SECOND] per chunk;
        device gradient_1: [f32; FIRST] per chunk;

        stage load on up { copy pixels -> d_pixels; copy labels -> d_labels; }
        stage begin on links {
            if c.index == 0 { broadcast first from 0; broadcast second from 0; }
        }
        stage forward on math {
            inputs<<<(blocks(INPUTS, 32), blocks(c.len, 8)), (32, 8)>>>(&d_pixels, out x as [c.len, INPUTS]);
            call cublas::gemm_out(Gemm::new(c.len, UNITS, INPUTS), 1.0, &x, &first, out sums);
            hidden<<<(blocks(HIDDEN, 32), blocks(c.len, 8)), (32, 8)>>>(&sums, out h as [c.len, HIDDEN]);
            call cublas::gemm_out(Gemm::new(c.len, CLASSES, HIDDEN), 1.0, &h, &second, out scores);
            cross_entropy<<<blocks(c.len, 32), 32>>>(&d_labels, &scores, out losses, out slopes_2);
        }
        stage tell on math {
            sums_of_parts<<<1, 32>>>(&losses, out losses_of_parts);
            in_pairs<<<1, 32>>>(PARTS / world.size, &losses_of_parts, out d_loss);
        }

        // The gradient of the second layer travels while that of the first is computed.
        stage back_2 on math {
            call cublas::gemm_batched_out(Gemm::new(HIDDEN, CLASSES, PART).transpose_a(),
                Batch::new(PARTS / world.size), 1.0, &h, &slopes_2, out parts_2);
            in_pairs<<<blocks(SECOND, 256), 256>>>(PARTS / world.size, &parts_2, out gradient_2);
        }
        stage share_2 on links { all_reduce sum gradient_2; }
        stage back_1 on math {
            call cublas::gemm_out(Gemm::new(c.len, HIDDEN, CLASSES).transpose_b(),
                1.0, &slopes_2, &second, out behind);
            through_tanh<<<(blocks(UNITS, 32), blocks(c.len, 8)), (32, 8)>>>(
                &behind, &h, out slopes_1 as [c.len, UNITS]);
            call cublas::gemm_batched_out(Gemm::new(INPUTS, UNITS, PART).transpose_a(),
                Batch::new(PARTS / world.size), 1.0, &x, &slopes_1, out parts_1);
            in_pairs<<<blocks(FIRST, 256), 256>>>(PARTS / world.size, &parts_1, out gradient_1);
        }
        stage share_1 on links { all_reduce sum gradient_1; }
        stage share_loss on links { reduce sum d_loss to 0; }

        // Ranks share sums. What makes a mean of them is the batch's size, the same for any number of ranks.
        stage step on math {
            descend<<<blocks(SECOND, 256), 256>>>(rate / BATCH as f32, &gradient_2, &mut second);
            descend<<<blocks(FIRST, 256), 256>>>(rate / BATCH as f32, &gradient_1, &mut first);
        }
        stage store on down { copy d_loss -> loss; }
    }
}
// ANCHOR_END: pipeline

/// The class with the highest score of each image.
#[kernel]
#[requires(scores.len() == guesses.len())]
pub fn highest(i: Index, scores: &[[f32; CLASSES]], guesses: &mut Out<[u8]>) {
    let Some(guess) = guesses.get_mut(i) else { return };
    let scores = scores[i];
    let mut best = 0;
    for class in 1..CLASSES {
        if scores[class] > scores[best] {
            best = class;
        }
    }
    *guess = best as u8;
}

stream_pipeline! {
    /// Which digits the network sees.
    pub pipeline Classify {
        input pixels: [u8; PIXELS];
        output guesses: [u8];
        resident first: [f32];
        resident second: [f32];

        chunk c = PART;
        device x: [f32; INPUTS];
        device sums: [f32; UNITS];
        device h: [f32; HIDDEN];
        device scores: [f32; CLASSES];
        device d_guesses: [u8];

        stage load { copy pixels -> d_pixels; }
        stage forward {
            inputs<<<(blocks(INPUTS, 32), blocks(c.len, 8)), (32, 8)>>>(&d_pixels, out x as [c.len, INPUTS]);
            call cublas::gemm_out(Gemm::new(c.len, UNITS, INPUTS), 1.0, &x, &first, out sums);
            hidden<<<(blocks(HIDDEN, 32), blocks(c.len, 8)), (32, 8)>>>(&sums, out h as [c.len, HIDDEN]);
            call cublas::gemm_out(Gemm::new(c.len, CLASSES, HIDDEN), 1.0, &h, &second, out scores);
            highest<<<blocks(c.len, 32), 32>>>(&scores, out d_guesses);
        }
        stage store { copy d_guesses -> guesses; }
    }
}
