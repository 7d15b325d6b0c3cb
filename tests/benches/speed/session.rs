//! The latency of one small frame that is pushed into a session and pulled, from and to ordinary memory, and
//! how many frames a session handles.

use std::time::Instant;

use serde_json::{Value, json};
use thalweg::prelude::*;
use thalweg::session::Session;

use crate::cpp::{Cpp, Frame};
use crate::measure::{Data, quantile, random};
use crate::pipelines::{Frames, stepped};

const FRAMES: usize = 3000;
/// Everyone takes so many turns, of `FRAMES / TURNS` frames each: the machine's speed changes in between.
const TURNS: usize = 30;
/// Frames of a turn that are pushed while others are under way.
const MANY: usize = 20_000;

/// Seconds of each of so many frames.
type Turn<'a> = Box<dyn FnMut(&mut Data, usize) -> thalweg::Result<Vec<f64>> + 'a>;

/// Frames of 4 KiB and of 64 KiB. Fewer of them on the simulated device, which is not about time.
pub fn session(device: &Device, cpp: Option<&Cpp>) -> thalweg::Result<Value> {
    let frames = if device.is_simulated() { FRAMES / 10 } else { FRAMES };
    let mut all = Vec::new();
    for kib in [4, 64] {
        let mut data = Data::new(device, kib * 256, true)?;
        let mut contenders: Vec<(&str, Turn<'_>)> = Vec::new();
        for (name, way) in
            [("C++ streams, page-locked", Frame::Streams), ("C++ graph, page-locked", Frame::Graph)]
        {
            let Some(cpp) = cpp else { continue };
            contenders.push((
                name,
                Box::new(move |data, n| {
                    let latencies = cpp.frames(way, &mut data.x, &mut data.z, n);
                    data.pageable_z.copy_from_slice(&data.z);
                    Ok(latencies)
                }),
            ));
        }
        for (name, way) in [
            ("C++ streams, from `Vec`s", Frame::Streams),
            ("C++ streams, from `Vec`s, other thread", Frame::OtherThread),
            ("C++ graph, from `Vec`s", Frame::Graph),
        ] {
            let Some(cpp) = cpp else { continue };
            contenders.push((name, Box::new(move |data, n| Ok(copied(cpp, way, data, n)))));
        }
        let (mut streams, mut graph) = (Frames::new(device)?, Frames::options(device).graph().build()?);
        contenders
            .push(("Thalweg run, streams", each(move |d| streams.run(&d.pageable_x, &mut d.pageable_z))));
        contenders.push(("Thalweg run, graph", each(move |d| graph.run(&d.pageable_x, &mut d.pageable_z))));
        contenders.push(("Thalweg session, streams", one_by_one(begun(device, kib, false, 3)?)));
        contenders.push(("Thalweg session, streams, depth 1", one_by_one(begun(device, kib, false, 1)?)));
        contenders.push(("Thalweg session, graph", one_by_one(begun(device, kib, true, 3)?)));
        contenders.push(("Thalweg session, graph, depth 1", one_by_one(begun(device, kib, true, 1)?)));

        let mut latencies = vec![Vec::new(); contenders.len()];
        for _ in 0..TURNS {
            for ((name, turn), latencies) in contenders.iter_mut().zip(&mut latencies) {
                data.pageable_z.fill(f32::NAN);
                latencies.push(turn(&mut data, frames / TURNS)?);
                check(name, &data.pageable_x, &data.pageable_z);
            }
        }
        println!(
            "\nA frame of {kib} KiB in, three kernels, out, ordinary memory: microseconds of {frames} frames"
        );
        println!("{:<40} {:>9} {:>9} {:>9}", "", "p50", "p99", "x C++");
        let names: Vec<_> = contenders.iter().map(|(name, _)| *name).collect();
        for (&name, of_row) in names.iter().zip(&latencies) {
            let by_hand = names.iter().position(|other| *other == by_hand(name));
            let ratio = by_hand.map(|row| ratio_of_turns(of_row, &latencies[row]));
            let [p50, p99] = [0.5, 0.99].map(|share| quantile(of_row.concat(), share));
            let shown = ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"));
            println!("{name:<40} {:>9.2} {:>9.2} {shown:>9}", p50 * 1e6, p99 * 1e6);
            all.push(json!({
                "name": name, "kib": kib, "p50_seconds": p50, "p99_seconds": p99, "times_by_hand": ratio
            }));
        }
        drop(contenders);
        all.extend(throughput(device, kib)?);
    }
    Ok(all.into())
}

/// The row of C++ that makes the same copies as this one.
fn by_hand(name: &str) -> &'static str {
    if name.contains("graph") { "C++ graph, from `Vec`s" } else { "C++ streams, from `Vec`s" }
}

/// The median of the turns' ratios, of the median frame of each.
fn ratio_of_turns(ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> f64 {
    let median = |turn: &Vec<f64>| quantile(turn.iter().copied(), 0.5);
    quantile(ours.iter().zip(theirs).map(|(ours, theirs)| median(ours) / median(theirs)), 0.5)
}

type Begun = Session<f32, f32, Report>;

/// A session whose chunks are frames.
fn begun(device: &Device, kib: usize, graph: bool, depth: usize) -> thalweg::Result<Begun> {
    let options = Frames::options(device).chunk(kib * 256).depth(depth);
    let mut pipeline = if graph { options.graph().build()? } else { options.build()? };
    Session::start(move |x, z| pipeline.run(x, z))
}

/// Each frame is pulled before the next one is pushed.
fn one_by_one<'a>(mut session: Begun) -> Turn<'a> {
    each_of(move |data| {
        session.push(&data.pageable_x)?;
        session.pull(&mut data.pageable_z).map(drop)
    })
}

/// One run a frame.
fn each<'a>(mut run: impl FnMut(&mut Data) -> thalweg::Result<Report> + 'a) -> Turn<'a> {
    each_of(move |data| run(data).map(drop))
}

fn each_of<'a>(mut frame: impl FnMut(&mut Data) -> thalweg::Result<()> + 'a) -> Turn<'a> {
    Box::new(move |data, frames| {
        for _ in 0..frames / 10 {
            frame(data)?;
        }
        let mut latencies = Vec::with_capacity(frames);
        for _ in 0..frames {
            let start = Instant::now();
            frame(data)?;
            latencies.push(start.elapsed().as_secs_f64());
        }
        Ok(latencies)
    })
}

/// C++ with a copy on each side, as a session has them.
fn copied(cpp: &Cpp, way: Frame, data: &mut Data, frames: usize) -> Vec<f64> {
    let Data { x, z, pageable_x, pageable_z } = data;
    cpp.frames_between(way, (x, z), Some((pageable_x, pageable_z)), frames)
}

fn check(name: &str, x: &[f32], z: &[f32]) {
    let right = x.iter().zip(z).all(|(x, z)| z.to_bits() == stepped(*x, 3).to_bits());
    assert!(right, "{name}: wrong elements");
}

/// Frames a second, of which several are under way: by two threads.
fn throughput(device: &Device, kib: usize) -> thalweg::Result<Vec<Value>> {
    let many = if device.is_simulated() { MANY / 20 } else { MANY };
    println!("\nFrames of {kib} KiB through a session, one thread pushes and one pulls: {many} frames");
    println!("{:<40} {:>12} {:>9}", "", "frames/s", "GB/s");
    let x = random(5, kib * 256);
    let mut rows = Vec::new();
    for (name, graph, depth) in [
        ("streams, depth 3", false, 3),
        ("streams, depth 8", false, 8),
        ("graph, depth 3", true, 3),
        ("graph, depth 8", true, 8),
    ] {
        let (mut pusher, mut puller, job) = begun(device, kib, graph, depth)?.split();
        let (seconds, z) = std::thread::scope(|scope| -> thalweg::Result<(f64, Vec<f32>)> {
            let mut z = vec![f32::NAN; x.len()];
            let x = &x;
            let pushing = scope.spawn(move || -> thalweg::Result<()> {
                for _ in 0..many / 10 + many {
                    pusher.push(x)?;
                }
                pusher.end();
                Ok(())
            });
            for _ in 0..many / 10 {
                puller.pull(&mut z)?;
            }
            let start = Instant::now();
            for _ in 0..many {
                puller.pull(&mut z)?;
            }
            let seconds = start.elapsed().as_secs_f64();
            pushing.join().expect("no panic")?;
            Ok((seconds, z))
        })?;
        job.wait()?;
        check(name, &x, &z);
        let rate = many as f64 / seconds;
        println!("{name:<40} {rate:>12.0} {:>9.2}", rate * (kib << 10) as f64 / 1e9);
        rows.push(json!({ "name": name, "kib": kib, "frames_per_second": rate }));
    }
    Ok(rows)
}
