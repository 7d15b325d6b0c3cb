//! Training on 1, 2, 4, … ranks, beside PyTorch's `DistributedDataParallel` of the same networks and batches: the
//! network of the example `train_ranks`, whose batch ranks divide, and a wide one, with a batch of its own on each rank.

#[path = "../../../examples/examples/train_ranks/checkpoint.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod checkpoint;
#[path = "../../../examples/examples/train_ranks/digits.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod digits;
#[path = "../../../examples/examples/train_ranks/network.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod network;
mod wide;

use std::time::Duration;

use serde_json::{Value, json};
use thalweg::Timeline;
use thalweg::prelude::*;
use thalweg::timeline::Engine;

use crate::aims::{Aim, Outcome};
use crate::measure::quantile;
use crate::ranks;
use crate::setting::{Arguments, Setting};
use crate::table::Figures;
use checkpoint::Checkpoint;
use digits::{Digits, TRAINING, order};
use network::{BATCH, PARTS, Train};

/// How far a step goes.
const RATE: f32 = 0.3;

const OURS: &str = "Thalweg";
const DDP: &str = "DistributedDataParallel";

/// The step's time, twice by turns of all ranks of both.
pub fn training(setting: &Setting) -> thalweg::Result<Outcome> {
    let title = |network| format!("us of a step, {network}, by ranks");
    let mut digits = Figures::new(title("the example's network, a batch of 128"), &setting.counts);
    let mut wide = Figures::new(title("a wide network, a batch of 512 on each rank"), &setting.counts);
    let mut hidden = Vec::new();
    let mut all = Vec::new();
    for &count in &setting.counts {
        let mut of_ours = Vec::new();
        let mut of_torch = Vec::new();
        for _ in 0..2 {
            of_ours.push(ranks::result(setting, count, "training"));
            of_torch.extend(setting.python.run("training", &[count, usize::from(setting.is_quick)]));
        }
        for (figures, network) in [(&mut digits, "digits"), (&mut wide, "wide")] {
            for (name, key, results) in [
                (OURS, "seconds", &of_ours),
                ("Thalweg, nothing shared", "alone", &of_ours),
                (DDP, "seconds", &of_torch),
                ("DistributedDataParallel, no_sync", "alone", &of_torch),
            ] {
                let seconds = results.iter().filter_map(|one| one[network][key].as_array()).flatten();
                let seconds: Vec<f64> = seconds.filter_map(Value::as_f64).collect();
                if !seconds.is_empty() {
                    figures.put(name, count, quantile(seconds, 0.5) * 1e6);
                }
            }
        }
        hidden.extend(of_ours[0]["wide"]["hidden"].as_f64().map(|share| (count, share)));
        let of_digits = of_ours[0]["digits"]["hidden"].as_f64();
        if let Some(share) = of_digits {
            digits.put("% of communication hidden, by the timeline", count, 100.0 * share);
        }
        if let Some((_, share)) = hidden.last().filter(|(of, _)| *of == count) {
            wide.put("% of communication hidden, by the timeline", count, 100.0 * share);
        }
        all.push(json!({ "ranks": count, "thalweg": of_ours, "torch": of_torch }));
    }
    digits.print(1);
    if !setting.counts.iter().all(|count| PARTS.is_multiple_of(*count)) {
        println!("(The example's batch has {PARTS} parts, which other numbers of ranks cannot share.)");
    }
    wide.print(1);
    let aims = vec![
        Aim { name: "step of DDP / ours, the example", wanted: ">= 1", found: digits.ratios(DDP, OURS) },
        Aim { name: "step of DDP / ours, wide", wanted: ">= 1", found: wide.ratios(DDP, OURS) },
        Aim { name: "communication hidden, wide", wanted: "most", found: hidden },
    ];
    Ok(Outcome { json: Value::Array(all), aims })
}

/// A rank: the seconds of a step of both networks.
pub fn rank(world: &World, arguments: &Arguments) -> thalweg::Result<Value> {
    let digits = if PARTS.is_multiple_of(world.size()) { digits(world, arguments)? } else { Value::Null };
    Ok(json!({ "digits": digits, "wide": wide::wide(world, arguments)? }))
}

/// The example's network, and its digits in page-locked memory.
fn digits(world: &World, arguments: &Arguments) -> thalweg::Result<Value> {
    const SEED: u64 = 1;
    let steps = if arguments.is_quick() { 16 } else { 480 };
    let device = world.device()?;
    let mut train = Train::options(&device).world(world).build()?;
    let Checkpoint { mut first, mut second, .. } = Checkpoint::new(SEED);
    let own = world.part(BATCH);
    let numbers = (0..steps).flat_map(|step| {
        let (epoch, batch) = (step * BATCH / TRAINING, step * BATCH % TRAINING);
        order(SEED, epoch)[batch..batch + BATCH][own.clone()].to_vec()
    });
    let Digits { images, labels } = Digits::draw(SEED, numbers);
    let images = PinnedBuf::from_slice(&device, &images)?;
    let labels = PinnedBuf::from_slice(&device, &labels)?;
    let mut loss = vec![0.0; steps];
    let mut seconds = Vec::new();
    let mut losses = Vec::new();
    let effort = arguments.effort();
    for round in 0..effort.warm_up + effort.runs {
        world.barrier()?;
        let report = train.run(RATE, &images, &labels, &mut loss, &mut first, &mut second)?;
        let of_step = report.time.as_secs_f64() / steps as f64;
        seconds.extend((round >= effort.warm_up).then_some(of_step));
        losses.push(loss[steps - 1]);
    }
    has_learnt(world, &losses);
    let timeline = train.profile(RATE, &images, &labels, &mut loss, &mut first, &mut second)?;
    Ok(json!({ "seconds": seconds, "hidden": hidden(&timeline), "losses": losses }))
}

/// Rank 0 has the losses.
fn has_learnt(world: &World, losses: &[f32]) {
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    assert!(world.rank() > 0 || last < first, "nothing is learnt: {losses:?}");
}

/// The share of the time of collectives, waits for other ranks included, in which this rank computes; `None` if there
/// are none.
fn hidden(timeline: &Timeline) -> Option<f64> {
    let of = |engine| {
        let spans = timeline.spans.iter().filter(move |span| span.engine == engine);
        let mut spans: Vec<_> = spans.map(|span| (span.start, span.end)).collect();
        spans.sort();
        spans
    };
    let (shared, computed) = (of(Engine::Network), of(Engine::Compute));
    let (mut all, mut both) = (Duration::ZERO, Duration::ZERO);
    // Spans of an engine that overlap are counted once.
    let mut until = Duration::ZERO;
    for (start, end) in shared {
        let start = start.max(until);
        all += end.saturating_sub(start);
        let mut counted = start;
        for &(from, to) in &computed {
            let (from, to) = (from.max(counted), to.min(end));
            both += to.saturating_sub(from);
            counted = counted.max(to);
        }
        until = until.max(end);
    }
    (!all.is_zero()).then(|| both.as_secs_f64() / all.as_secs_f64())
}
