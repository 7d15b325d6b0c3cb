//! The simulated device, against a plain loop on all cores. Needs no GPU.

use std::time::Instant;

use rayon::prelude::*;
use serde_json::{Value, json};
use thalweg::prelude::*;
use thalweg_kernels::saxpy;

use crate::measure::{quantile, random};

stream_pipeline! {
    /// What `quickstart` runs.
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        depth = 3;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

const ELEMENTS: usize = 1 << 26;
const A: f32 = 0.5;

/// `quickstart`'s pipeline, built each time, against the loop that it stands for.
pub fn simulated(runs: usize) -> thalweg::Result<Value> {
    let device = Device::simulated(Simulation::default());
    let x = random(1, ELEMENTS);
    let start = random(2, ELEMENTS);
    let (mut plain, mut ours) = (start.clone(), start);
    let (mut plain_seconds, mut seconds, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let mut kept = Saxpy::new(&device)?;
    // Each has changed its data as often as the other when they are compared.
    for round in 0..runs + 2 {
        let timed = |list: &mut Vec<f64>, since: Instant| {
            if round >= 2 {
                list.push(since.elapsed().as_secs_f64());
            }
        };
        for (kept, list) in [(None, &mut seconds), (Some(&mut kept), &mut again)] {
            let since = Instant::now();
            plain.par_iter_mut().zip(&x).for_each(|(y, x)| *y += A * x);
            timed(&mut plain_seconds, since);
            let since = Instant::now();
            match kept {
                Some(pipeline) => pipeline.run(A, &x, &mut ours)?,
                None => Saxpy::new(&device)?.run(A, &x, &mut ours)?,
            };
            timed(list, since);
            assert_eq!(plain, ours, "another result");
        }
    }
    let median = |list: &[f64]| quantile(list.iter().copied(), 0.5);
    let rows = [
        ("plain loop, rayon", &plain_seconds),
        ("Thalweg, new and run", &seconds),
        ("Thalweg, run again", &again),
    ];
    println!("\n`quickstart` on the simulated device: 64 Mi elements, `Vec`s");
    println!("{:<40} {:>9} {:>9}", "", "median ms", "x plain");
    for (name, list) in rows {
        println!("{name:<40} {:>9.3} {:>9.3}", median(list) * 1e3, median(list) / median(&plain_seconds));
    }
    Ok(rows
        .map(|(name, list)| json!({ "name": name, "seconds": list, "median_seconds": median(list) }))
        .to_vec()
        .into())
}
