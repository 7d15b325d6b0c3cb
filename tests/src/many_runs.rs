//! Many runs of several threads at once, which are to leave no memory behind.

use std::thread;

use thalweg::prelude::*;

use crate::kernels::{add_to, axpy_each};
use crate::random::Random;

stream_pipeline! {
    pipeline Axpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        resident w: [f32];
        carry total: [f32; 64];
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage math {
            axpy_each<<<blocks(c.len, 128), 128>>>(c.len as u32, a, &dx, &mut dy);
            add_to<<<1, 64>>>(64, 1.0, &mut total);
            axpy_each<<<1, 64>>>(64, 1.0, &w, &mut total);
        }
        stage store { copy dy -> y; }
    }
}

const THREADS: u64 = 8;
const RUNS: u64 = 1000;

/// Splits this number of runs among threads, each with pipelines and data of its own and all kinds of memory.
pub fn many_runs(device: &Device) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || {
                let mut random = Random::new(number);
                let mut pipelines = [
                    Axpy::options(device).chunk(700).build().expect("a pipeline"),
                    Axpy::options(device).chunk(300).graph().build().expect("a pipeline"),
                    Axpy::new(device).expect("a pipeline"),
                ];
                for run in 0..RUNS / THREADS {
                    let n = random.below(3000) as usize;
                    let (x, mut y) = (random.floats(n, -1.0, 1.0), random.floats(n, -1.0, 1.0));
                    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 0.5 * x + y).collect();
                    let pipeline = &mut pipelines[(run % 3) as usize];
                    let (w, mut total) = ([2.0_f32; 64], [0.0_f32; 64]);
                    let report = if run % 2 == 0 {
                        pipeline.run(0.5, &x, &mut y, &w, &mut total).expect("a run")
                    } else {
                        let x = PinnedBuf::from_slice(device, &x).expect("memory");
                        let mut pinned = PinnedBuf::from_slice(device, &y).expect("memory");
                        let report = pipeline.run(0.5, &x, &mut pinned, &w, &mut total).expect("a run");
                        y.copy_from_slice(&pinned);
                        report
                    };
                    let is_close = |(y, expected): (&f32, &f32)| (y - expected).abs() <= 1e-6;
                    assert!(y.iter().zip(&expected).all(is_close), "thread {number}, run {run}, {n} items");
                    assert_eq!(total, [3.0 * report.chunks as f32; 64], "thread {number}, run {run}");
                    if run % 40 == 17 {
                        // Pipelines come and go, too.
                        pipelines[(run % 3) as usize] =
                            Axpy::options(device).chunk(450).build().expect("a pipeline");
                    }
                }
            });
        }
    });
}
