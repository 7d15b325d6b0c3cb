//! The heat plate of the example `heat_ranks`, large enough for GPUs, on 1, 2, 4, … ranks: the time of a step, beside
//! C++ with NCCL that computes the rows inside while those at the borders travel.

#[path = "../../../examples/examples/heat_ranks.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod heat_ranks;

use std::time::Instant;

use heat_ranks::Plate;
use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::aims::{Aim, Outcome};
use crate::measure::{quantile, random};
use crate::ranks;
use crate::setting::{Arguments, Setting};
use crate::table::Figures;

const OURS: &str = "Thalweg, the example's pipeline";
const CPP: &str = "C++ and NCCL, inside beside the exchange";
/// How much goes from a point to its neighbours in a step.
const NUMBER: f32 = 0.2;
/// Turns of two steps that are taken away from a run, with its copies and its beginning.
const FEW: usize = 10;

/// A square plate, whose rows ranks divide.
pub fn heat(setting: &Setting) -> thalweg::Result<Outcome> {
    let points = points(setting.is_quick);
    let title = format!("us of a step, a plate of {points} x {points} points, by ranks");
    let mut figures = Figures::new(title, &setting.counts);
    let mut all = Vec::new();
    for &count in &setting.counts {
        let result = ranks::result(setting, count, "heat");
        for (name, key) in [(OURS, "thalweg"), (CPP, "cpp")] {
            let seconds = result[key].as_array().into_iter().flatten().filter_map(Value::as_f64);
            let seconds: Vec<f64> = seconds.collect();
            if !seconds.is_empty() {
                figures.put(name, count, quantile(seconds, 0.5) * 1e6);
            }
        }
        all.push(json!({ "ranks": count, "result": result }));
    }
    figures.print(1);
    // Times, where other figures are rates.
    let efficiency = |name| {
        let one = figures.of(name, 1);
        let of = |&count: &usize| Some((count, one? / (count as f64 * figures.of(name, count)?)));
        setting.counts.iter().filter_map(of).collect()
    };
    let aims = vec![
        Aim { name: "heat, parallel efficiency", wanted: "as C++", found: efficiency(OURS) },
        Aim { name: "heat, parallel efficiency of C++", wanted: "", found: efficiency(CPP) },
        Aim { name: "heat, step of C++ / ours", wanted: ">= 0.95", found: figures.ratios(CPP, OURS) },
    ];
    Ok(Outcome { json: Value::Array(all), aims })
}

/// A rank: the seconds of a step, of both in turns.
pub fn rank(world: &World, arguments: &Arguments) -> thalweg::Result<Value> {
    let points = points(arguments.is_quick());
    let turns = FEW + if arguments.is_quick() { 6 } else { 200 * world.size() };
    let device = world.device()?;
    let mut plate = Plate::options(&device).world(world).build()?;
    // As the example has it, the first and the last row of the plate are no rank's.
    let inside = world.part(points - 2);
    let own = inside.start + 1..inside.end + 1;
    let start = rows(points, own.start - 1..own.end + 1);
    let ends_at_start = rows(points, [own.start - 1, own.start, own.end - 1, own.end]);
    let by_hand = ranks::by_hand(world)?;
    let theirs = by_hand.as_ref().map(|rank| rank.plate(own.len(), points, own.start - 1, NUMBER, &start));
    let expected = arguments.is_quick().then(|| {
        let all = reference(rows(points, 0..points), points, 2 * turns);
        all[own.start * points..own.end * points].to_vec()
    });

    let inside = points..start.len() - points;
    let mut u = PinnedBuf::zeroed(&device, inside.len())?;
    let mut v = PinnedBuf::zeroed(&device, inside.len())?;
    let mut ends = PinnedBuf::zeroed(&device, ends_at_start.len())?;
    let mut of_theirs = PinnedBuf::zeroed(&device, start.len())?;
    let (mut seconds, mut seconds_of_theirs) = (Vec::new(), Vec::new());
    let effort = arguments.effort();
    for round in 0..effort.warm_up + effort.runs {
        let [few, all] = [FEW, turns].map(|turns| {
            u.copy_from_slice(&start[inside.clone()]);
            ends.copy_from_slice(&ends_at_start);
            world.barrier()?;
            let clock = Instant::now();
            let turns = vec![0; turns];
            let report = plate.run(own.len(), points, NUMBER, &turns, &mut u, &mut v, &mut ends)?;
            let time = if report.simulated { report.time } else { clock.elapsed() };
            Ok::<_, Error>(time.as_secs_f64())
        });
        // As many as the world's slowest rank takes.
        let own_step = (all? - few?) / (2 * (turns - FEW)) as f64;
        let of_all = world.all_gather(own_step)?.into_iter().fold(0.0, f64::max);
        if let Some(expected) = &expected {
            is_like(&u, expected);
        }
        let of_hand = match &theirs {
            None => None,
            Some(theirs) => {
                of_theirs.copy_from_slice(&start);
                world.barrier()?;
                let seconds = theirs.run(2 * turns, &mut of_theirs) / (2 * turns) as f64;
                is_like(&u, &of_theirs[inside.clone()]);
                Some(world.all_gather(seconds)?.into_iter().fold(0.0, f64::max))
            }
        };
        if round >= effort.warm_up {
            seconds.push(of_all);
            seconds_of_theirs.extend(of_hand);
        }
    }
    Ok(json!({ "thalweg": seconds, "cpp": seconds_of_theirs }))
}

/// Points along an edge of the plate.
fn points(is_quick: bool) -> usize {
    if is_quick { 40 } else { 16_384 }
}

/// Rows of the plate at the beginning, random temperatures.
fn rows(points: usize, rows: impl IntoIterator<Item = usize>) -> Vec<f32> {
    let row = |row| random(row as u64, points).into_iter().map(|x| 100.0 * x);
    rows.into_iter().flat_map(row).collect()
}

/// The whole plate after so many steps.
fn reference(mut u: Vec<f32>, points: usize, steps: usize) -> Vec<f32> {
    for _ in 0..steps {
        let mut v = u.clone();
        for row in 1..points - 1 {
            for here in row * points + 1..(row + 1) * points - 1 {
                let around = (u[here - points] + u[here + points]) + (u[here - 1] + u[here + 1]);
                v[here] = u[here] + NUMBER * (around - 4.0 * u[here]);
            }
        }
        u = v;
    }
    u
}

/// Compilers may round a product and a sum once or twice.
fn is_like(found: &[f32], expected: &[f32]) {
    use rayon::prelude::*;
    let wrong = found.par_iter().zip(expected).filter(|(found, expected)| {
        let distance = (*found - *expected).abs();
        distance.is_nan() || distance > 0.01
    });
    let wrong = wrong.count();
    assert!(found.len() == expected.len() && wrong == 0, "{wrong} wrong points of {}", found.len());
}
