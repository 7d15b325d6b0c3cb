//! A network whose layers are wide enough that it matters where their gradients travel: each on a stream of its own,
//! while that of the layer before is computed. PyTorch has its biases left out too.

use serde_json::{Value, json};
use thalweg::prelude::*;
use thalweg_libraries::cublas::{self, Gemm};

use super::digits::CLASSES;
use super::network::{cross_entropy, descend};
use super::{has_learnt, hidden};
use crate::measure::random;
use crate::setting::Arguments;

/// The hyperbolic tangent of each sum.
#[kernel]
#[requires(sums.len() == h.len())]
fn tanh_of(i: Index, sums: &[f32], h: &mut Out<[f32]>) {
    let Some(h) = h.get_mut(i) else { return };
    *h = sums[i].tanh();
}

/// From the loss's derivative by each unit's output to that by the unit's sum.
#[kernel]
#[requires(behind.len() == h.len() && slopes.len() == h.len())]
fn through(i: Index, behind: &[f32], h: &[f32], slopes: &mut Out<[f32]>) {
    let Some(slope) = slopes.get_mut(i) else { return };
    *slope = behind[i] * (1.0 - h[i] * h[i]);
}

stream_pipeline! {
    /// Three wide layers and the classes. A chunk is a step: this rank's batch.
    pipeline Wide {
        uniform param rate: f32;
        uniform param wide: usize;
        input x: [f32; wide];
        input labels: [u8];
        output losses: [f32];
        carry w1: [f32; wide * wide];
        carry w2: [f32; wide * wide];
        carry w3: [f32; wide * wide];
        carry w4: [f32; wide * CLASSES];

        chunk c = auto;
        stream up: high;
        stream math;
        stream links: high;
        stream down;

        device s1: [f32; wide];
        device s2: [f32; wide];
        device s3: [f32; wide];
        device h1: [f32; wide];
        device h2: [f32; wide];
        device h3: [f32; wide];
        device scores: [f32; CLASSES];
        device d_losses: [f32];
        device p4: [f32; CLASSES];
        device b3: [f32; wide];
        device p3: [f32; wide];
        device b2: [f32; wide];
        device p2: [f32; wide];
        device b1: [f32; wide];
        device p1: [f32; wide];
        device g4: [f32; wide * CLASSES] per chunk;
        device g3: [f32; wide * wide] per chunk;
        device g2: [f32; wide * wide] per chunk;
        device g1: [f32; wide * wide] per chunk;

        stage load on up { copy x -> dx; copy labels -> d_labels; }
        stage forward on math {
            call cublas::gemm_out(Gemm::new(c.len, wide, wide), 1.0, &dx, &w1, out s1);
            tanh_of<<<blocks(c.len * wide, 256), 256>>>(&s1, out h1);
            call cublas::gemm_out(Gemm::new(c.len, wide, wide), 1.0, &h1, &w2, out s2);
            tanh_of<<<blocks(c.len * wide, 256), 256>>>(&s2, out h2);
            call cublas::gemm_out(Gemm::new(c.len, wide, wide), 1.0, &h2, &w3, out s3);
            tanh_of<<<blocks(c.len * wide, 256), 256>>>(&s3, out h3);
            call cublas::gemm_out(Gemm::new(c.len, CLASSES, wide), 1.0, &h3, &w4, out scores);
            cross_entropy<<<blocks(c.len, 32), 32>>>(&d_labels, &scores, out d_losses, out p4);
        }
        stage back_4 on math {
            call cublas::gemm_out(Gemm::new(wide, CLASSES, c.len).transpose_a(), 1.0, &h3, &p4, out g4);
        }
        stage share_4 on links { all_reduce mean g4; }
        stage back_3 on math {
            call cublas::gemm_out(Gemm::new(c.len, wide, CLASSES).transpose_b(), 1.0, &p4, &w4, out b3);
            through<<<blocks(c.len * wide, 256), 256>>>(&b3, &h3, out p3);
            call cublas::gemm_out(Gemm::new(wide, wide, c.len).transpose_a(), 1.0, &h2, &p3, out g3);
        }
        stage share_3 on links { all_reduce mean g3; }
        stage back_2 on math {
            call cublas::gemm_out(Gemm::new(c.len, wide, wide).transpose_b(), 1.0, &p3, &w3, out b2);
            through<<<blocks(c.len * wide, 256), 256>>>(&b2, &h2, out p2);
            call cublas::gemm_out(Gemm::new(wide, wide, c.len).transpose_a(), 1.0, &h1, &p2, out g2);
        }
        stage share_2 on links { all_reduce mean g2; }
        stage back_1 on math {
            call cublas::gemm_out(Gemm::new(c.len, wide, wide).transpose_b(), 1.0, &p2, &w2, out b1);
            through<<<blocks(c.len * wide, 256), 256>>>(&b1, &h1, out p1);
            call cublas::gemm_out(Gemm::new(wide, wide, c.len).transpose_a(), 1.0, &dx, &p1, out g1);
        }
        stage share_1 on links { all_reduce mean g1; }
        stage step on math {
            descend<<<blocks(wide * CLASSES, 256), 256>>>(rate, &g4, &mut w4);
            descend<<<blocks(wide * wide, 256), 256>>>(rate, &g3, &mut w3);
            descend<<<blocks(wide * wide, 256), 256>>>(rate, &g2, &mut w2);
            descend<<<blocks(wide * wide, 256), 256>>>(rate, &g1, &mut w1);
        }
        stage store on down { copy d_losses -> losses; }
    }
}

/// Steps that are taken away from a run, with the copies of the weights and its beginning.
const FEW: usize = 2;

/// The weights of all layers, in page-locked memory.
fn weights(device: &Device, wide: usize) -> thalweg::Result<[PinnedBuf<f32>; 4]> {
    let of_layer = |layer: u64, units: usize| {
        let scale = 2.0 / (wide as f32).sqrt();
        let weights: Vec<f32> = random(layer, wide * units).iter().map(|x| scale * (x - 0.5)).collect();
        PinnedBuf::from_slice(device, &weights)
    };
    Ok([of_layer(1, wide)?, of_layer(2, wide)?, of_layer(3, wide)?, of_layer(4, CLASSES)?])
}

/// A rank: the seconds of a step with the other ranks, and of the same step alone.
pub fn wide(world: &World, arguments: &Arguments) -> thalweg::Result<Value> {
    let (wide, batch, steps) = if arguments.is_quick() { (16, 32, 4) } else { (2048, 512, 60) };
    let device = world.device()?;
    let mut shared = Wide::options(&device).chunk(batch).world(world).build()?;
    let mut alone = Wide::options(&device).chunk(batch).build()?;
    let seed = 100 + world.rank() as u64;
    let x: Vec<f32> = random(seed, steps * batch * wide).iter().map(|x| x - 0.5).collect();
    // What is to be learnt: which of the first numbers is the largest.
    let label = |x: &[f32]| (0..CLASSES).max_by(|&a, &b| x[a].total_cmp(&x[b])).unwrap_or(0) as u8;
    let labels: Vec<u8> = x.chunks(wide).map(label).collect();
    let (x, labels) = (PinnedBuf::from_slice(&device, &x)?, PinnedBuf::from_slice(&device, &labels)?);
    let mut losses = PinnedBuf::zeroed(&device, labels.len())?;
    let [mut of_shared, mut of_alone] = [weights(&device, wide)?, weights(&device, wide)?];
    let rate = 0.1 / batch as f32;
    let (mut seconds, mut seconds_alone, mut means) = (Vec::new(), Vec::new(), Vec::new());
    let effort = arguments.effort();
    for round in 0..effort.warm_up + effort.runs {
        for (pipeline, w, seconds, is_shared) in [
            (&mut shared, &mut of_shared, &mut seconds, true),
            (&mut alone, &mut of_alone, &mut seconds_alone, false),
        ] {
            let [few, all] = [FEW, steps].map(|steps| {
                world.barrier()?;
                let [w1, w2, w3, w4] = &mut *w;
                let items = steps * batch;
                let (x, labels) = (x.slice(..items * wide)?, labels.slice(..items)?);
                let losses = losses.slice_mut(..items)?;
                let report = pipeline.run(rate, wide, x, labels, losses, w1, w2, w3, w4)?;
                Ok::<_, Error>(report.time.as_secs_f64())
            });
            let of_step = (all? - few?) / (steps - FEW) as f64;
            seconds.extend((round >= effort.warm_up).then_some(of_step));
            if is_shared {
                means.push(losses.iter().sum::<f32>() / losses.len() as f32);
            }
        }
    }
    has_learnt(world, &means);
    let [w1, w2, w3, w4] = &mut of_shared;
    let timeline = shared.profile(rate, wide, &x, &labels, &mut losses, w1, w2, w3, w4)?;
    Ok(json!({
        "seconds": seconds, "alone": seconds_alone, "hidden": hidden(&timeline), "losses": means,
    }))
}
