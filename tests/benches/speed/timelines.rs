//! Predicted against measured, and what it costs to measure.
//!
//! Each workload is predicted from the calibration alone. Where kernels take longer than reading and writing
//! their bytes, it is also predicted from a profile of an eighth of the data, which shows the kernels' times.
//! Then runs with and without a profile take turns.

use std::time::Instant;

use serde_json::{Value, json};
use thalweg::Timeline;
use thalweg::prelude::*;

use crate::measure::{Data, Effort, check_pageable, check_pinned, quantile};
use crate::pipelines::{Step, StepAuto, StepBySlot, StepMapped, StepNull, StepOnHost, StepOneStream, StepUp};

/// 256 MiB each way.
const LEN: usize = 64 << 20;

/// With these the kernel takes about as long as a copy, and much longer.
const BALANCED: u32 = 2_048;
const HEAVY: u32 = 16_384;

/// What a turn is for.
#[derive(Clone, Copy, PartialEq)]
enum For {
    Run,
    Profile,
    Predict,
}

type Turn<'a> = Box<dyn FnMut(For, &mut Data, usize) -> thalweg::Result<(f64, Option<Timeline>)> + 'a>;

struct Workload<'a> {
    name: &'static str,
    iterations: u32,
    output: Output,
    /// Made when it is its turn: streams of others that are there would share the hardware's queues with it.
    make: Box<dyn FnOnce() -> thalweg::Result<Turn<'a>> + 'a>,
}

#[derive(Clone, Copy)]
enum Output {
    Pinned,
    Pageable,
    /// Nothing of the size of the input.
    None,
}

/// A pipeline with arguments of so many elements of the data.
macro_rules! turn {
    ($pipeline:expr, |$data:ident, $len:ident| $($argument:expr),*) => {{
        Box::new(move || {
        let mut pipeline = $pipeline;
        let turn: Turn<'_> = Box::new(move |wanted: For, $data: &mut Data, $len: usize| {
            let start = Instant::now();
            let timeline = match wanted {
                For::Run => {
                    pipeline.run($($argument),*)?;
                    None
                }
                For::Profile => Some(pipeline.profile($($argument),*)?),
                For::Predict => Some(pipeline.predict($($argument),*)?),
            };
            // What a profile does after the run is not the run's.
            let wall = match (&timeline, wanted) {
                (Some(timeline), _) => timeline.time().as_secs_f64(),
                (None, _) => start.elapsed().as_secs_f64(),
            };
            Ok((wall, timeline))
        });
        Ok(turn)
        })
    }};
}

fn workloads<'d>(device: &'d Device) -> Vec<Workload<'d>> {
    let items = |mib: usize| mib * (MIB / size_of::<f32>());
    let mut all = Vec::new();
    let mut add = |name, iterations, output, make: Box<dyn FnOnce() -> thalweg::Result<Turn<'d>> + 'd>| {
        all.push(Workload { name, iterations, output, make });
    };
    let step = move |chunk: usize| Step::options(device).chunk(chunk);
    add(
        "auto",
        1,
        Output::Pinned,
        turn!(StepAuto::new(device)?, |d, n| 1, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "chunks of 16 MiB",
        1,
        Output::Pinned,
        turn!(step(items(16)).build()?, |d, n| 1, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "chunks of 1 MiB",
        1,
        Output::Pinned,
        turn!(step(items(1)).build()?, |d, n| 1, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "chunks of 64 KiB",
        1,
        Output::Pinned,
        turn!(step(items(1) / 16).build()?, |d, n| 1, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "the same in graphs",
        1,
        Output::Pinned,
        turn!(step(items(1) / 16).graph().build()?, |d, n| 1, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "a stream for each slot",
        1,
        Output::Pinned,
        turn!(StepBySlot::new(device)?, |d, n| 1, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "mapped",
        1,
        Output::Pinned,
        turn!(
            StepMapped::options(device).chunk(items(4)).build()?,
            |d, n| 1,
            d.x.slice(..n)?,
            d.z.slice_mut(..n)?
        ),
    );
    add("copies in alone", 1, Output::None, turn!(StepUp::new(device)?, |d, n| 1, d.x.slice(..n)?));
    add(
        "serial model",
        1,
        Output::Pinned,
        turn!(
            StepOneStream::options(device).chunk(items(16)).build()?,
            |d, n| 1,
            d.x.slice(..n)?,
            d.z.slice_mut(..n)?
        ),
    );
    add(
        "serial model, balanced kernel",
        BALANCED,
        Output::Pinned,
        turn!(
            StepOneStream::options(device).chunk(items(16)).build()?,
            |d, n| BALANCED,
            d.x.slice(..n)?,
            d.z.slice_mut(..n)?
        ),
    );
    add(
        "concurrent model, balanced kernel",
        BALANCED,
        Output::Pinned,
        turn!(step(items(16)).build()?, |d, n| BALANCED, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "heavy kernel",
        HEAVY,
        Output::Pinned,
        turn!(step(items(16)).build()?, |d, n| HEAVY, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "depth 1",
        1,
        Output::Pinned,
        turn!(step(items(4)).depth(1).build()?, |d, n| 1, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "depth 2",
        1,
        Output::Pinned,
        turn!(step(items(4)).depth(2).build()?, |d, n| 1, d.x.slice(..n)?, d.z.slice_mut(..n)?),
    );
    add(
        "the null stream",
        1,
        Output::Pinned,
        turn!(
            StepNull::options(device).chunk(items(4)).build()?,
            |d, n| 1,
            d.x.slice(..n)?,
            d.z.slice_mut(..n)?
        ),
    );
    add(
        "a function on the host",
        1,
        Output::Pinned,
        turn!(
            StepOnHost::options(device).chunk(items(16)).build()?,
            |d, n| 1,
            d.x.slice(..n)?,
            d.z.slice_mut(..n)?
        ),
    );
    add(
        "Vecs, auto",
        1,
        Output::Pageable,
        turn!(StepAuto::new(device)?, |d, n| 1, &d.pageable_x[..n], &mut d.pageable_z[..n]),
    );
    add(
        "Vecs, chunks of 1 MiB",
        1,
        Output::Pageable,
        turn!(step(items(1)).build()?, |d, n| 1, &d.pageable_x[..n], &mut d.pageable_z[..n]),
    );
    all
}

pub fn timelines(device: &Device, effort: Effort) -> thalweg::Result<Value> {
    let mut data = Data::new(device, LEN, true)?;
    println!(
        "\ntimelines: predicted and measured, 256 MiB each way (`learnt`: kernels as in a profile of 32 MiB)"
    );
    println!(
        "{:<34} {:>9} {:>7} {:>9} {:>7} {:>9} {:>9}",
        "", "predicted", "ratio", "learnt", "ratio", "run ms", "profiled"
    );
    let mut rows = Vec::new();
    for Workload { name, iterations, output, make } in workloads(device) {
        let mut turn = make()?;
        // The ring is there afterwards, and streams are chosen.
        for _ in 0..effort.warm_up {
            turn(For::Run, &mut data, LEN)?;
        }
        let (predicted, _) = turn(For::Predict, &mut data, LEN)?;
        turn(For::Profile, &mut data, LEN / 8)?;
        let (learnt, _) = turn(For::Predict, &mut data, LEN)?;
        let (mut runs, mut profiles) = (Vec::new(), Vec::new());
        for _ in 0..effort.runs {
            for (wanted, times) in [(For::Run, &mut runs), (For::Profile, &mut profiles)] {
                times.push(turn(wanted, &mut data, LEN)?.0);
                match output {
                    Output::Pinned => check_pinned(name, &data, iterations),
                    Output::Pageable => check_pageable(name, &data, iterations),
                    Output::None => {}
                }
            }
        }
        let [run, profiled] = [&runs, &profiles].map(|times| quantile(times.iter().copied(), 0.5));
        println!(
            "{name:<34} {:>9.3} {:>7.3} {:>9.3} {:>7.3} {:>9.3} {:>+8.1}%",
            predicted * 1e3,
            predicted / run,
            learnt * 1e3,
            learnt / run,
            run * 1e3,
            (profiled / run - 1.0) * 100.0,
        );
        rows.push(json!({
            "name": name,
            "iterations": iterations,
            "predicted_seconds": predicted,
            "predicted_with_kernel_times_seconds": learnt,
            "run_seconds": runs,
            "profiled_seconds": profiles,
            "median_run_seconds": run,
            "median_profiled_seconds": profiled,
        }));
    }
    Ok(json!({ "bytes_each_way": LEN * size_of::<f32>(), "rows": rows }))
}
