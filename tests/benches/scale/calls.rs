//! How many chunks a second several threads get enqueued, each with a pipeline of its own: chunks so small that their
//! time is that of the calls.

use std::thread;
use std::time::Instant;

use serde_json::json;
use thalweg::prelude::*;

use crate::aims::{Aim, Outcome};
use crate::cpp::Rings;
use crate::measure::{quantile, random};
use crate::pipelines::{Step, stepped};
use crate::setting::Setting;
use crate::table::Figures;

const THREADS: [usize; 4] = [1, 2, 4, 8];
/// Elements of a chunk.
const CHUNK: usize = 1024;
const DEPTH: usize = 3;

const OURS: &str = "Thalweg, a pipeline in each thread";
const CPP: &str = "C++, a ring in each thread";

/// A thread's pipeline and its data.
pub struct Enqueuer {
    step: Step,
    x: PinnedBuf<f32>,
    z: PinnedBuf<f32>,
}

impl Enqueuer {
    pub fn new(device: &Device, chunks: usize) -> thalweg::Result<Self> {
        let x = random(chunks as u64, chunks * CHUNK);
        Ok(Self {
            step: Step::options(device).chunk(CHUNK).depth(DEPTH).build()?,
            x: PinnedBuf::from_slice(device, &x)?,
            z: PinnedBuf::zeroed(device, x.len())?,
        })
    }

    pub fn run(&mut self) -> thalweg::Result<()> {
        self.step.run(1, &self.x, &mut self.z).map(drop)
    }
}

/// All chunks of all threads, the C++ and the pipelines in turns. Threads take the devices in turns.
pub fn calls(setting: &Setting) -> thalweg::Result<Outcome> {
    let chunks = chunks(setting);
    let title = "chunks of 4 KiB in a ms in all (10 calls each), by threads, which share the GPUs";
    let mut figures = Figures::new(title, &THREADS);
    let mut seconds = Vec::new();
    for threads in THREADS {
        let device = |thread: usize| &setting.devices[thread % setting.devices.len()];
        let enqueuers = (0..threads).map(|thread| Enqueuer::new(device(thread), chunks));
        let mut enqueuers = enqueuers.collect::<thalweg::Result<Vec<_>>>()?;
        let x = random(threads as u64, threads * chunks * CHUNK);
        let x = PinnedBuf::from_slice(device(0), &x)?;
        let mut z = PinnedBuf::zeroed(device(0), x.len())?;
        let rings = setting.cpp.as_ref().map(|cpp| {
            cpp.rings((&x, &mut z), (CHUNK, DEPTH, 1), (setting.devices.len().min(threads), threads))
        });
        let (mut of_rings, mut of_pipelines) = (Vec::new(), Vec::new());
        for round in 0..setting.effort.warm_up + setting.effort.runs {
            let of_round =
                [rings.as_ref().map(|rings| by_rings(rings, &x, &mut z)), Some(turn(&mut enqueuers)?)];
            if round >= setting.effort.warm_up {
                of_rings.extend(of_round[0]);
                of_pipelines.extend(of_round[1]);
            }
        }
        for (name, times) in [(CPP, &of_rings), (OURS, &of_pipelines)] {
            if !times.is_empty() {
                let median = quantile(times.iter().copied(), 0.5);
                figures.put(name, threads, (threads * chunks) as f64 / median / 1e3);
            }
        }
        seconds.push(json!({ "threads": threads, "cpp": of_rings, "thalweg": of_pipelines }));
    }
    figures.print(1);
    let aims =
        vec![Aim { name: "calls / C++, by threads", wanted: ">= 1", found: figures.ratios(OURS, CPP) }];
    let json = json!({ "figures": figures.to_json(), "chunks_of_a_thread": chunks, "seconds": seconds });
    Ok(Outcome { json, aims })
}

/// Chunks of each thread.
pub fn chunks(setting: &Setting) -> usize {
    if setting.is_quick { 64 } else { 4096 }
}

fn by_rings(rings: &Rings, x: &[f32], z: &mut [f32]) -> f64 {
    z.fill(f32::NAN);
    let sample = rings.run((x, z));
    check(CPP, x, z);
    sample.wall
}

/// The seconds until all threads are done.
fn turn(enqueuers: &mut [Enqueuer]) -> thalweg::Result<f64> {
    enqueuers.iter_mut().for_each(|one| one.z.fill(f32::NAN));
    let start = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = enqueuers.iter_mut().map(|one| scope.spawn(|| one.run())).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("the thread does not panic"));
        ended.collect::<thalweg::Result<Vec<()>>>()
    })?;
    let seconds = start.elapsed().as_secs_f64();
    enqueuers.iter().for_each(|one| check(OURS, &one.x, &one.z));
    Ok(seconds)
}

fn check(name: &str, x: &[f32], z: &[f32]) {
    let is_right = x.iter().zip(z).all(|(x, z)| z.to_bits() == stepped(*x, 1).to_bits());
    assert!(x.len() == z.len() && is_right, "{name}: wrong elements");
}
