//! The latency of one small frame: in, three kernels, out.

use std::time::Instant;

use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::cpp::{Cpp, Frame};
use crate::measure::{Data, quantile};
use crate::pipelines::{Frames, FramesMapped, stepped};

const FRAMES: usize = 3000;
/// Everyone takes so many turns, of `FRAMES / TURNS` frames each.
const TURNS: usize = 6;

type Turn<'a> = Box<dyn FnMut(&mut Data, usize) -> thalweg::Result<Vec<f64>> + 'a>;

/// Frames of 4 KiB and of 64 KiB.
pub fn frames(device: &Device, cpp: Option<&Cpp>) -> thalweg::Result<Value> {
    let mut all = Vec::new();
    for kib in [4, 64] {
        let mut data = Data::new(device, kib * 256, false)?;
        let mut contenders: Vec<(&str, Turn<'_>)> = Vec::new();
        for (name, way) in [
            ("C++ streams", Frame::Streams),
            ("C++ graph", Frame::Graph),
            ("C++ mapped", Frame::Mapped),
            ("C++ mapped, graph", Frame::MappedGraph),
            ("C++ mapped, graph, polled", Frame::Polled),
        ] {
            let Some(cpp) = cpp else { continue };
            contenders
                .push((name, Box::new(move |data, n| Ok(cpp.frames(way, &mut data.x, &mut data.z, n)))));
        }
        let (mut streams, mut graph) = (Frames::new(device)?, Frames::options(device).graph().build()?);
        let (mut mapped, mut mapped_graph) =
            (FramesMapped::new(device)?, FramesMapped::options(device).graph().build()?);
        contenders.push(("Thalweg streams", each(move |data| streams.run(&data.x, &mut data.z))));
        contenders.push(("Thalweg graph", each(move |data| graph.run(&data.x, &mut data.z))));
        contenders.push(("Thalweg mapped", each(move |data| mapped.run(&data.x, &mut data.z))));
        contenders.push(("Thalweg mapped, graph", each(move |data| mapped_graph.run(&data.x, &mut data.z))));

        let mut latencies = vec![Vec::new(); contenders.len()];
        for _ in 0..TURNS {
            for ((name, turn), latencies) in contenders.iter_mut().zip(&mut latencies) {
                data.z.fill(f32::NAN);
                latencies.extend(turn(&mut data, FRAMES / TURNS)?);
                let right = |(x, z): (&f32, &f32)| z.to_bits() == stepped(*x, 3).to_bits();
                assert!(data.x.iter().zip(data.z.iter()).all(right), "{name}: wrong elements");
            }
        }
        println!("\nA frame of {kib} KiB in, three kernels, out: microseconds of {FRAMES} frames");
        println!("{:<40} {:>9} {:>9}", "", "p50", "p99");
        for ((name, _), latencies) in contenders.iter().zip(latencies) {
            let [p50, p99] = [0.5, 0.99].map(|share| quantile(latencies.iter().copied(), share));
            println!("{name:<40} {:>9.2} {:>9.2}", p50 * 1e6, p99 * 1e6);
            all.push(json!({ "name": name, "kib": kib, "p50_seconds": p50, "p99_seconds": p99 }));
        }
    }
    Ok(all.into())
}

/// One run a frame.
fn each<'a>(mut run: impl FnMut(&mut Data) -> thalweg::Result<Report> + 'a) -> Turn<'a> {
    Box::new(move |data, frames| {
        for _ in 0..frames / 10 {
            run(data)?;
        }
        let mut latencies = Vec::with_capacity(frames);
        for _ in 0..frames {
            let start = Instant::now();
            run(data)?;
            latencies.push(start.elapsed().as_secs_f64());
        }
        Ok(latencies)
    })
}
