//! What it gains to have a GPU's memory and the thread that enqueues on the processors beside it: its NUMA node.

use std::path::Path;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::aims::Outcome;
use crate::bare::Bare;
use crate::calls::{Enqueuer, chunks};
use crate::cpp::Cpp;
use crate::measure::{quantile, random};
use crate::pipelines::Step;
use crate::setting::Setting;

/// Each GPU with its memory and its thread on each node in turn.
pub fn nodes(setting: &Setting) -> thalweg::Result<Outcome> {
    let Some(cpp) = &setting.cpp else {
        return Ok(Outcome::skipped("nodes", "The hand-written C++ binds threads, and there is none."));
    };
    let exists = |node: &usize| Path::new(&format!("/sys/devices/system/node/node{node}")).exists();
    let nodes: Vec<usize> = (0..256).filter(exists).collect();
    if nodes.len() < 2 {
        let why = "The machine shows a single NUMA node, so that all memory is as near.";
        return Ok(Outcome::skipped("nodes", why));
    }
    println!("\nMemory and thread on each NUMA node: GB/s each way, and chunks of 4 KiB in a ms");
    println!("{:<24}{:>14}{:>14}{:>14}", "GPU, node", "bare copies", "Thalweg", "small chunks");
    let mut rows = Vec::new();
    for (number, device) in setting.devices.iter().enumerate() {
        let own = cpp.node(number);
        for &node in &nodes {
            let measured = thread::scope(|scope| {
                let of_node = scope.spawn(|| on_node(setting, cpp, (number, device), node));
                of_node.join().expect("the thread does not panic")
            })?;
            let Some(measured) = measured else { continue };
            let which = format!("{number}, {node}{}", if own == Some(node) { ", its own" } else { "" });
            let [bare, ours, small] = measured;
            println!("{which:<24}{bare:>14.1}{ours:>14.1}{small:>14.1}");
            rows.push(json!({
                "device": number, "node": node, "own_node": own,
                "bare_gb_per_s": bare, "thalweg_gb_per_s": ours, "chunks_per_ms": small,
            }));
        }
    }
    Ok(Outcome { json: Value::Array(rows), aims: Vec::new() })
}

/// The figures of a GPU whose memory on the host is made by a thread on this node; `None` for one without processors.
fn on_node(
    setting: &Setting,
    cpp: &Cpp,
    (number, device): (usize, &Device),
    node: usize,
) -> thalweg::Result<Option<[f64; 3]>> {
    if !cpp.bind(node) {
        return Ok(None);
    }
    let (items, chunks) = (setting.items(), chunks(setting));
    let x = PinnedBuf::from_slice(device, &random(items as u64, items))?;
    let mut z = PinnedBuf::zeroed(device, items)?;
    let bare = Bare::new(number..number + 1, items);
    let (mut step, mut small) = (Step::new(device)?, Enqueuer::new(device, chunks)?);
    let mut seconds = [const { Vec::new() }; 3];
    for round in 0..setting.effort.warm_up + setting.effort.runs {
        let copies = bare.copy(&x, &mut z, items).wall;
        let start = Instant::now();
        step.run(1, &x, &mut z)?;
        let ours = start.elapsed().as_secs_f64();
        let start = Instant::now();
        small.run()?;
        let of_round = [copies, ours, start.elapsed().as_secs_f64()];
        if round >= setting.effort.warm_up {
            seconds.iter_mut().zip(of_round).for_each(|(all, time)| all.push(time));
        }
    }
    let [copies, ours, small] = seconds.map(|times| quantile(times, 0.5));
    let rate = |seconds: f64| 4.0 * items as f64 / seconds / 1e9;
    Ok(Some([rate(copies), rate(ours), chunks as f64 / small / 1e3]))
}
