//! What `auto` chooses, against every chunk and depth that one might choose by hand.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::measure::{quantile, random};
use crate::pipelines::{StepAuto, step, stepped};

#[kernels("../../cu/step.cu")]
unsafe extern "CUDA" {
    /// `z[i]` is the sum of the four elements of `x` from `4 * i`.
    #[host(shrink_on_host)]
    #[requires(4 * n as usize <= x.len())]
    #[requires(n as usize <= z.len())]
    safe fn shrink(n: u32, x: &[f32], z: Out<[f32]>);

    /// The four elements of `z` from `4 * i` are multiples of `x[i]`.
    #[host(grow_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(4 * n as usize <= z.len())]
    safe fn grow(n: u32, x: &[f32], z: Out<[f32]>);

    /// The largest of `best[0]` and `x`; one block.
    #[host(largest_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(!best.is_empty())]
    safe fn largest(n: u32, x: &[f32], best: &mut [f32]);

    /// The largest of `best[0]` and of `x` after so many steps; one thread an element.
    #[host(tallest_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(!best.is_empty())]
    safe fn tallest(n: u32, iterations: u32, x: &[f32], best: &mut [f32]);

    /// The mean of each element and its two neighbours.
    #[host(smooth_on_host)]
    #[requires(n as usize + 2 <= x.len())]
    #[requires(n as usize <= z.len())]
    safe fn smooth(n: u32, x: &[f32], z: Out<[f32]>);
}

fn shrink_on_host(_: Grid, n: u32, x: &[f32], z: &mut [f32]) {
    z[..n as usize].par_iter_mut().zip(x.par_chunks(4)).for_each(|(z, x)| *z = shrunk(x));
}

fn shrunk(x: &[f32]) -> f32 {
    (x[0] + x[1]) + (x[2] + x[3])
}

fn grow_on_host(_: Grid, n: u32, x: &[f32], z: &mut [f32]) {
    z.par_chunks_mut(4).zip(&x[..n as usize]).for_each(|(z, x)| z.copy_from_slice(&grown(*x)));
}

fn grown(x: f32) -> [f32; 4] {
    [x, 2.0 * x, 3.0 * x, 4.0 * x]
}

fn largest_on_host(_: Grid, n: u32, x: &[f32], best: &mut [f32]) {
    best[0] = x[..n as usize].par_iter().copied().reduce(|| best[0], f32::max);
}

fn tallest_on_host(_: Grid, n: u32, iterations: u32, x: &[f32], best: &mut [f32]) {
    let all = x[..n as usize].par_iter().map(|&x| stepped(x, iterations));
    best[0] = all.reduce(|| best[0], f32::max);
}

fn smooth_on_host(_: Grid, n: u32, x: &[f32], z: &mut [f32]) {
    z[..n as usize].par_iter_mut().zip(x.par_windows(3)).for_each(|(z, x)| *z = (x[0] + x[1] + x[2]) / 3.0);
}

stream_pipeline! {
    /// Four times as much in as out.
    pipeline Shrink {
        input x: [f32; 4];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage work { shrink<<<blocks(c.len, 256), 256>>>(c.len as u32, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}

stream_pipeline! {
    /// Four times as much out as in.
    pipeline Grow {
        input x: [f32];
        output z: [f32; 4];
        device dz: [f32; 4];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage work { grow<<<blocks(c.len, 256), 256>>>(c.len as u32, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}

stream_pipeline! {
    /// Three stages of kernels.
    pipeline Three {
        param iterations: u32;
        input x: [f32];
        output z: [f32];
        device a: [f32];
        device b: [f32];
        device dz: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage one { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, out a); }
        stage two { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &a, out b); }
        stage three { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &b, out dz); }
        stage store { copy dz -> z; }
    }
}

stream_pipeline! {
    /// Each chunk needs the one before, and nothing comes out.
    pipeline Largest {
        input x: [f32];
        carry best: [f32; 1];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage work { largest<<<1, 1024>>>(c.len as u32, &dx, &mut best); }
    }
}

stream_pipeline! {
    /// Copies one way only, and a kernel beside them.
    pipeline Tallest {
        param iterations: u32;
        input x: [f32];
        carry best: [f32; 1];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage work { tallest<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, &mut best); }
    }
}

stream_pipeline! {
    /// Each chunk sees an item on both sides.
    pipeline Smooth {
        input x: [f32] halo 1 = clamp;
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage work { smooth<<<blocks(c.len, 256), 256>>>(c.len as u32, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}

/// In elements.
const MIB: usize = 1 << 18;
/// Of the largest buffer's slot, in KiB.
const CHUNKS: [usize; 7] = [256, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10];
const DEPTHS: [usize; 4] = [2, 3, 4, 6];
/// Timed runs of each choice, twice, and more of short ones.
const TURNS: usize = 2;
/// Runs for so long come before the timed ones.
const WARM_UP: Duration = Duration::from_millis(10);

/// Times auto and every other choice. `build` takes the items of a chunk and the depth.
fn compare<P>(
    title: &str,
    item_bytes: usize,
    build: impl Fn(Option<(usize, usize)>) -> thalweg::Result<P>,
    mut run: impl FnMut(&mut P) -> thalweg::Result<()>,
) -> thalweg::Result<Value> {
    let mut choices = vec![None];
    choices.extend(CHUNKS.iter().flat_map(|&kib| DEPTHS.map(|depth| Some((kib, depth)))));
    let mut seconds = vec![Vec::new(); choices.len()];
    // One pipeline is there at a time, since all together would leave less memory to each. Each has two
    // rounds, so that other work of the machine slows all of them.
    for _ in 0..2 {
        for (choice, seconds) in choices.iter().zip(&mut seconds) {
            let mut pipeline = build(choice.map(|(kib, depth)| ((kib << 10) / item_bytes, depth)))?;
            // Not the one that comes first is to wake everything up.
            let begun = Instant::now();
            while begun.elapsed() < WARM_UP {
                run(&mut pipeline)?;
            }
            let begun = Instant::now();
            let mut turns = 0;
            while turns < TURNS || begun.elapsed() < WARM_UP {
                let start = Instant::now();
                run(&mut pipeline)?;
                seconds.push(start.elapsed().as_secs_f64());
                turns += 1;
            }
        }
    }
    let medians: Vec<f64> = seconds.iter().map(|times| quantile(times.iter().copied(), 0.5)).collect();
    let (best, least) = (1..choices.len())
        .map(|index| (choices[index], medians[index]))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .expect("a choice");
    let (kib, depth) = best.expect("a chunk and a depth");
    let chunk = if kib < 1 << 10 { format!("{kib} KiB") } else { format!("{} MiB", kib >> 10) };
    println!(
        "{title:<34} {:>9.3} {:>9.3} {:>8.3}   {chunk}, depth {depth}",
        medians[0] * 1e3,
        least * 1e3,
        medians[0] / least
    );
    let rows = choices.iter().zip(&medians).skip(1).map(|(choice, median)| {
        let (kib, depth) = choice.expect("a choice");
        json!({ "kib": kib, "depth": depth, "median_seconds": median })
    });
    Ok(json!({
        "title": title,
        "auto_median_seconds": medians[0],
        "best_median_seconds": least,
        "sweep": rows.collect::<Vec<_>>(),
    }))
}

macro_rules! builder {
    ($device:expr, $pipeline:ty) => {
        |choice: Option<(usize, usize)>| match choice {
            None => <$pipeline>::new($device),
            Some((chunk, depth)) => <$pipeline>::options($device).chunk(chunk).depth(depth).build(),
        }
    };
}

/// Every workload.
pub fn auto(device: &Device) -> thalweg::Result<Value> {
    println!("\n`auto` against the best of {} chunks and depths", CHUNKS.len() * DEPTHS.len());
    println!("{:<34} {:>9} {:>9} {:>8}   best", "", "auto ms", "best ms", "x best");
    let mut all = Vec::new();
    let large = 512 * MIB;
    let values = random(7, large);
    let x = PinnedBuf::from_slice(device, &values)?;
    let mut z = PinnedBuf::<f32>::zeroed(device, large)?;

    for (title, len, iterations) in [
        ("balanced, 512 MiB", large, 1),
        ("balanced, 32 MiB", large / 16, 1),
        ("short, 4 MiB", 4 * MIB, 1),
        ("short, 256 KiB", MIB / 4, 1),
        ("kernel as long as the copies", large / 2, 2200),
        ("kernel-bound", large / 4, 16_384),
    ] {
        let run = |pipeline: &mut StepAuto| {
            pipeline.run(iterations, x.slice(..len)?, z.slice_mut(..len)?)?;
            Ok(())
        };
        all.push(compare(title, 4, builder!(device, StepAuto), run)?);
        check(title, &z[..len], |i| stepped(x[i], iterations));
    }

    let run = |pipeline: &mut Shrink| pipeline.run(&x, z.slice_mut(..large / 4)?).map(drop);
    all.push(compare("in-bound, 512 MiB in", 16, builder!(device, Shrink), run)?);
    check("shrink", &z[..large / 4], |i| shrunk(&x[4 * i..]));

    let run = |pipeline: &mut Grow| pipeline.run(x.slice(..large / 4)?, &mut z).map(drop);
    all.push(compare("out-bound, 512 MiB out", 16, builder!(device, Grow), run)?);
    check("grow", &z, |i| grown(x[i / 4])[i % 4]);

    let run = |pipeline: &mut Three| pipeline.run(200, &x, &mut z).map(drop);
    all.push(compare("three stages of kernels", 4, builder!(device, Three), run)?);
    check("three", &z, |i| stepped(x[i], 600));

    let run = |pipeline: &mut Smooth| pipeline.run(&x, &mut z).map(drop);
    all.push(compare("halo", 4, builder!(device, Smooth), run)?);
    let around = |i: usize| x[i.saturating_sub(1)] + x[i] + x[(i + 1).min(large - 1)];
    check("smooth", &z, |i| around(i) / 3.0);

    let mut best = [0.0];
    let run = |pipeline: &mut Largest| pipeline.run(&x, &mut best).map(drop);
    all.push(compare("carry", 4, builder!(device, Largest), run)?);
    check("largest", &best, |_| values.par_iter().copied().reduce(|| 0.0, f32::max));

    let (len, iterations) = (large / 2, 2000);
    let mut best = [0.0];
    let run = |pipeline: &mut Tallest| pipeline.run(iterations, x.slice(..len)?, &mut best).map(drop);
    all.push(compare("in only, kernel as long", 4, builder!(device, Tallest), run)?);
    let most = || values[..len].par_iter().map(|&x| stepped(x, iterations)).reduce(|| 0.0, f32::max);
    check("tallest", &best, |_| most());

    let mut pageable = vec![0.0; large];
    let run = |pipeline: &mut StepAuto| pipeline.run(1, &values, &mut pageable).map(drop);
    all.push(compare("`Vec`s, 512 MiB", 4, builder!(device, StepAuto), run)?);
    check("pageable", &pageable, |i| stepped(x[i], 1));

    let run = |pipeline: &mut StepAuto| pipeline.run(2, &x, &mut pageable).map(drop);
    all.push(compare("to a `Vec`, 512 MiB", 4, builder!(device, StepAuto), run)?);
    check("to pageable", &pageable, |i| stepped(x[i], 2));
    Ok(all.into())
}

/// Panics unless those elements are right that are looked at.
fn check(name: &str, got: &[f32], expected: impl Fn(usize) -> f32 + Sync) {
    let stride = if got.len() < 9973 { 1 } else { 9973 };
    for i in (0..got.len()).step_by(stride) {
        assert_eq!(got[i].to_bits(), expected(i).to_bits(), "{name}: element {i}");
    }
}
