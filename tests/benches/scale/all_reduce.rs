//! The mean over all ranks, by a stage of a pipeline and as nccl-tests measures it: in place, one after another in a
//! stream, and a wait at the end.
//!
//! It is a mean and not a sum, so that it can be repeated without end: after the first one all ranks have the same.

use std::time::Instant;

use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::aims::{Aim, Outcome};
use crate::measure::{quantile, random};
use crate::ranks;
use crate::setting::{Arguments, Setting};

stream_pipeline! {
    /// So many means, in place.
    pub pipeline Means {
        uniform param times: usize;
        inout y: device [f32];
        chunk c = usize::MAX;
        stage share { repeat times { all_reduce mean y; } }
    }
}

/// 1 KiB to 1 GiB on 1, 2, 4, … ranks.
pub fn all_reduce(setting: &Setting) -> thalweg::Result<Outcome> {
    let (mut least, mut large, mut of_counts) = (Vec::new(), Vec::new(), Vec::new());
    for &count in &setting.counts {
        let ours = ranks::result(setting, count, "all_reduce");
        let torch = setting.python.run("all-reduce", &[count, usize::from(setting.is_quick)]);
        let ratios = print(count, &ours, torch.as_ref());
        let minimum = |from: f64| {
            let of = ratios.iter().filter(|(bytes, _)| *bytes >= from).map(|(_, ratio)| *ratio);
            of.reduce(f64::min).map(|ratio| (count, ratio))
        };
        // One rank has nobody to share with.
        if count > 1 {
            least.extend(minimum(0.0));
            large.extend(minimum(f64::from(1 << 20)));
        }
        of_counts.push(json!({ "ranks": count, "sizes": ours, "torch": torch }));
    }
    let aims = vec![
        Aim { name: "all_reduce / NCCL, the least ratio", wanted: ">= 0.98", found: least },
        Aim { name: "the same from 1 MiB on", wanted: ">= 0.98", found: large },
    ];
    Ok(Outcome { json: Value::Array(of_counts), aims })
}

/// Prints the sizes, and returns how fast the pipeline is beside NCCL alone, by bytes.
fn print(count: usize, sizes: &Value, torch: Option<&Value>) -> Vec<(f64, f64)> {
    println!("\nall_reduce on {count} ranks: us, and GB/s of the bus, 2 (n - 1) / n times the bytes");
    let heads = ["bytes", "us Thalweg", "us NCCL", "us PyTorch", "GB/s", "GB/s NCCL", "ratio"];
    println!("{}", heads.map(|head| format!("{head:>13}")).concat());
    let mut ratios = Vec::new();
    for size in sizes.as_array().into_iter().flatten() {
        let bytes = size["bytes"].as_f64().unwrap_or_default();
        let [ours, theirs] = ["thalweg", "nccl"].map(|who| {
            let seconds = size[who].as_array()?.iter().filter_map(Value::as_f64).collect::<Vec<_>>();
            (!seconds.is_empty()).then(|| quantile(seconds, 0.5))
        });
        let torch = torch.and_then(|torch| torch[format!("{bytes}")].as_f64());
        let factor = 2.0 * (count - 1) as f64 / count as f64;
        let us = |seconds: Option<f64>| seconds.map_or("-".to_owned(), |it| format!("{:.2}", it * 1e6));
        let rate = |seconds: Option<f64>| {
            seconds.map_or("-".to_owned(), |it| format!("{:.2}", factor * bytes / it / 1e9))
        };
        let ratio = theirs.zip(ours).map(|(theirs, ours)| theirs / ours);
        ratios.extend(ratio.map(|ratio| (bytes, ratio)));
        let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
        let cells = [format!("{bytes}"), us(ours), us(theirs), us(torch), rate(ours), rate(theirs), ratio];
        println!("{}", cells.map(|cell| format!("{cell:>13}")).concat());
    }
    ratios
}

/// A rank: for each size the seconds of one mean, of both in turns.
pub fn rank(world: &World, arguments: &Arguments) -> thalweg::Result<Value> {
    let device = world.device()?;
    // It loads NCCL, which the C++ then finds.
    let mut means = Means::options(&device).world(world).build()?;
    let by_hand = ranks::by_hand(world)?;
    let (sizes, effort) = (if arguments.is_quick() { 4 } else { 11 }, arguments.effort());
    let mut all = Vec::new();
    for size in 0..sizes {
        let bytes = 1024_usize << (2 * size);
        let times = if arguments.is_quick() { 20 } else { times(bytes) };
        let x = PinnedBuf::from_slice(&device, &numbers(world.rank(), bytes / 4))?;
        let expected = mean(world.size(), bytes / 4);
        let mut y = DeviceBuf::from_slice(&device, &x)?;
        let mut result = PinnedBuf::zeroed(&device, x.len())?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..effort.warm_up + effort.runs {
            let mut turn = |run: &mut dyn FnMut(&mut DeviceBuf<f32>) -> thalweg::Result<f64>| {
                y.copy_from_slice(&x)?;
                world.barrier()?;
                let seconds = run(&mut y)?;
                y.copy_to_slice(&mut result)?;
                check(&result, &expected, world.size());
                // As nccl-tests has it: the mean over the ranks.
                let all = world.all_gather(seconds)?;
                Ok::<_, Error>(all.iter().sum::<f64>() / (all.len() * times) as f64)
            };
            let of_pipeline = turn(&mut |y| {
                let start = Instant::now();
                means.run(times, y)?;
                Ok(start.elapsed().as_secs_f64())
            })?;
            let of_nccl =
                by_hand.as_ref().map(|rank| turn(&mut |y| Ok(rank.all_reduce(y, times)))).transpose()?;
            if round >= effort.warm_up {
                ours.push(of_pipeline);
                theirs.extend(of_nccl);
            }
        }
        all.push(json!({ "bytes": bytes, "times": times, "thalweg": ours, "nccl": theirs }));
    }
    Ok(Value::Array(all))
}

/// How often it is repeated, so that a turn takes tens of milliseconds.
fn times(bytes: usize) -> usize {
    ((4 << 30) / (bytes + (1 << 20))).clamp(40, 2000)
}

/// Numbers of twelve bits, whose sums over up to thousands of ranks are exact.
fn numbers(rank: usize, len: usize) -> Vec<f32> {
    random(rank as u64, len).into_iter().map(|x| (x * 4096.0).floor() / 4096.0).collect()
}

fn mean(ranks: usize, len: usize) -> Vec<f32> {
    let mut sums = numbers(0, len);
    for rank in 1..ranks {
        sums.iter_mut().zip(numbers(rank, len)).for_each(|(sum, x)| *sum += x);
    }
    sums.iter_mut().for_each(|sum| *sum /= ranks as f32);
    sums
}

fn check(found: &[f32], expected: &[f32], ranks: usize) {
    use rayon::prelude::*;
    // A mean over another number of ranks is rounded each time.
    let off = if ranks.is_power_of_two() { 0.0 } else { 1e-3 };
    let wrong = found.par_iter().zip(expected).filter(|(found, expected)| {
        let distance = (*found - *expected).abs();
        distance.is_nan() || distance > off
    });
    assert_eq!(wrong.count(), 0, "wrong means");
}
