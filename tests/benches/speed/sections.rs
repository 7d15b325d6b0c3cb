//! The workloads.

use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};
use thalweg::prelude::*;

use crate::bare::Bare;
use crate::by_hand;
use crate::cpp::{Cpp, Way};
use crate::measure::{Contender, Data, Effort, Output, Sample, measure, quantile};
use crate::pipelines::{Step, StepAuto, StepBySlot, StepMapped};
use crate::plot::{Series, draw};
use crate::rust::cudarc;

/// The names of what bounds everyone.
const COPIES: &str = "limit: both copies at once";
const KERNEL: &str = "limit: the kernel alone";
const GIB: usize = 1 << 28;
const DEPTH: usize = 3;
/// What people choose by hand.
const CHUNK: usize = 4 << 20;

/// 1 GiB in and 1 GiB out with a light kernel, in page-locked memory.
pub fn link(device: &Device, cpp: Option<&Cpp>, effort: Effort) -> thalweg::Result<Value> {
    let mut data = Data::new(device, GIB, false)?;
    let bare = Bare::new(0..1, GIB);
    let mut contenders = vec![bare.copies(COPIES), bare.kernel(KERNEL, 1)];
    for piece in [CHUNK, CHUNK / 16] {
        contenders.push(bare.cut_copies(format!("both copies in pieces of {} MiB", piece >> 18), piece));
    }
    if let Some(cpp) = cpp {
        contenders.push(Contender::new("C++, copy, compute, copy", Output::Pinned, |data| {
            Ok(cpp.serial(&data.x, &mut data.z, 1))
        }));
        for way in [Way::BySlot, Way::ByStage, Way::GraphBySlot, Way::GraphByStage] {
            contenders.push(cpp.ring(way, (&data.x, &mut data.z), CHUNK, DEPTH, 1));
        }
    }
    contenders.push(cudarc(true, CHUNK, DEPTH, 1));
    contenders.push(cudarc(false, CHUNK, DEPTH, 1));
    let (mut given, mut graph) =
        (Step::options(device).chunk(CHUNK).build()?, Step::options(device).chunk(CHUNK).graph().build()?);
    let (mut auto, mut auto_graph) = (StepAuto::new(device)?, StepAuto::options(device).graph().build()?);
    contenders.push(thalweg("Thalweg, chunk given", move |d| given.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, chunk given, graph", move |d| graph.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, auto", move |d| auto.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, auto, graph", move |d| auto_graph.run(1, &d.x, &mut d.z)));
    let title = "1 GiB in, 1 GiB out, pinned, light kernel; chunks of 16 MiB where given, depth 3";
    let table = measure(title, GIB / CHUNK, effort, &mut data, 1, contenders)?;
    table.print();
    Ok(table.to_json())
}

/// The same from and to `Vec`s.
pub fn pageable(device: &Device, cpp: Option<&Cpp>, effort: Effort) -> thalweg::Result<Value> {
    let mut data = Data::new(device, GIB, true)?;
    let bare = Bare::new(0..1, GIB);
    let mut contenders = vec![bare.copies(COPIES)];
    if let Some(cpp) = cpp {
        contenders.push(Contender::new("C++, cudaMemcpy", Output::Pageable, |data| {
            Ok(cpp.serial(&data.pageable_x, &mut data.pageable_z, 1))
        }));
        for threads in [2, 8, 12, 16] {
            for mib in [1, 2] {
                let name = format!("C++, staged, {threads} threads, {mib} MiB");
                contenders.push(Contender::new(name, Output::Pageable, move |data| {
                    Ok(cpp.staged(&data.pageable_x, &mut data.pageable_z, mib << 18, threads, 1))
                }));
            }
        }
    }
    let mut auto = StepAuto::new(device)?;
    contenders.push(Contender::timed("Thalweg, auto", Output::Pageable, move |data| {
        auto.run(1, &data.pageable_x, &mut data.pageable_z)
    }));
    let table = measure("1 GiB in, 1 GiB out, `Vec`s", 1, effort, &mut data, 1, contenders)?;
    table.print();
    Ok(table.to_json())
}

/// 256 MiB as 4,096 chunks of 64 KiB.
pub fn small(device: &Device, cpp: Option<&Cpp>, effort: Effort) -> thalweg::Result<Value> {
    const CHUNK: usize = 64 << 8;
    const CHUNKS: usize = 4096;
    let mut data = Data::new(device, CHUNK * CHUNKS, false)?;
    let bare = Bare::new(0..1, CHUNK * CHUNKS);
    let mut contenders = vec![bare.copies(COPIES)];
    if let Some(cpp) = cpp {
        let graphs = [Way::GraphBySlot, Way::GraphByStage, Way::GraphMapped];
        for way in [Way::BySlot, Way::ByStage, Way::Mapped].into_iter().chain(graphs) {
            let depth = if let Way::Mapped | Way::GraphMapped = way { 4 } else { DEPTH };
            contenders.push(cpp.ring(way, (&data.x, &mut data.z), CHUNK, depth, 1));
        }
        for (name, batched) in
            [("C++, uploads alone, one by one", false), ("C++, uploads alone, batched", true)]
        {
            if !cpp.uploads(&data.x, CHUNK, batched) {
                continue;
            }
            contenders.push(Contender::new(name, Output::None, move |data| {
                let start = Instant::now();
                cpp.uploads(&data.x, CHUNK, batched);
                Ok(Sample { wall: start.elapsed().as_secs_f64(), enqueue: None })
            }));
        }
    }
    contenders.push(cudarc(true, CHUNK, DEPTH, 1));
    contenders.push(cudarc(false, CHUNK, DEPTH, 1));
    contenders.push(by_hand::by_stage(device, true, CHUNK, DEPTH, 1)?);
    contenders.push(by_hand::by_stage(device, false, CHUNK, DEPTH, 1)?);
    let (mut stage, mut slot) =
        (Step::options(device).chunk(CHUNK).build()?, StepBySlot::options(device).chunk(CHUNK).build()?);
    let (mut stage_graph, mut slot_graph) = (
        Step::options(device).chunk(CHUNK).graph().build()?,
        StepBySlot::options(device).chunk(CHUNK).graph().build()?,
    );
    let mut mapped = StepMapped::options(device).chunk(CHUNK).build()?;
    let mut mapped_graph = StepMapped::options(device).chunk(CHUNK).graph().build()?;
    let mut auto_graph = StepAuto::options(device).chunk(CHUNK).graph().build()?;
    let mut auto = StepAuto::new(device)?;
    contenders.push(thalweg("Thalweg, by slot", move |d| slot.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, by stage", move |d| stage.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, by slot, graph", move |d| slot_graph.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, by stage, graph", move |d| stage_graph.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, auto streams, graph", move |d| auto_graph.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, mapped", move |d| mapped.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, mapped, graph", move |d| mapped_graph.run(1, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, auto", move |d| auto.run(1, &d.x, &mut d.z)));
    let table = measure("256 MiB as 4,096 chunks of 64 KiB", CHUNKS, effort, &mut data, 1, contenders)?;
    table.print();
    Ok(table.to_json())
}

/// A kernel that takes several times as long as the copies.
pub fn kernel(device: &Device, cpp: Option<&Cpp>, effort: Effort) -> thalweg::Result<Value> {
    const ITERATIONS: u32 = 16_384;
    let mut data = Data::new(device, GIB, false)?;
    let bare = Bare::new(0..1, GIB);
    let mut contenders = vec![bare.kernel(KERNEL, ITERATIONS), bare.copies(COPIES)];
    if let Some(cpp) = cpp {
        for way in [Way::BySlot, Way::ByStage] {
            contenders.push(cpp.ring(way, (&data.x, &mut data.z), CHUNK, DEPTH, ITERATIONS));
        }
    }
    let (mut auto, mut stage, mut slot) =
        (StepAuto::new(device)?, Step::new(device)?, StepBySlot::new(device)?);
    contenders.push(thalweg("Thalweg, auto", move |d| auto.run(ITERATIONS, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, by stage", move |d| stage.run(ITERATIONS, &d.x, &mut d.z)));
    contenders.push(thalweg("Thalweg, by slot", move |d| slot.run(ITERATIONS, &d.x, &mut d.z)));
    let title = "1 GiB in, 1 GiB out, pinned, heavy kernel";
    let table = measure(title, GIB / CHUNK, effort, &mut data, ITERATIONS, contenders)?;
    table.print();
    Ok(table.to_json())
}

/// What the device is measured to be, and how long that takes.
pub fn calibration(device: &Device) -> thalweg::Result<Value> {
    let start = Instant::now();
    let spec = device.calibrate()?;
    let seconds = start.elapsed().as_secs_f64();
    println!("\nCalibration, in {:.0} ms: {spec:#?}", seconds * 1e3);
    Ok(json!({ "seconds": seconds, "spec": format!("{spec:?}") }))
}

/// Time to build a pipeline whose kernels are compiled, and what it holds once it has run.
pub fn new(device: &Device) -> thalweg::Result<Value> {
    drop(Step::new(device)?);
    let mut data = Data::new(device, GIB / 4, true)?;
    let mut seconds = Vec::new();
    let (mut pinned, mut pageable) = (None, None);
    for _ in 0..11 {
        let start = Instant::now();
        let mut pipeline = Step::new(device)?;
        seconds.push(start.elapsed().as_secs_f64());
        pinned = Some(pipeline.run(1, &data.x, &mut data.z)?);
        let mut pipeline = Step::new(device)?;
        pageable = Some(pipeline.run(1, &data.pageable_x, &mut data.pageable_z)?);
    }
    let median = quantile(seconds.iter().copied(), 0.5);
    println!(
        "\nBuilding a pipeline, auto: {:.3} ms; what it holds after a run of 256 MiB each way:",
        median * 1e3
    );
    let mut held = Map::new();
    for (name, report) in [("page-locked", pinned), ("`Vec`s", pageable)] {
        let Some(report) = report else { continue };
        let [device, host] =
            [report.device_memory, report.pinned_memory].map(|bytes| bytes as f64 / f64::from(1 << 20));
        println!("{name:<40} {device:>9.1} MiB of device memory, {host:>6.1} MiB page-locked");
        held.insert(
            name.to_owned(),
            json!({ "device": report.device_memory, "pinned": report.pinned_memory }),
        );
    }
    Ok(json!({ "seconds": seconds, "median_seconds": median, "held": held }))
}

/// Throughput by chunk size, everyone.
pub fn sweep(device: &Device, cpp: Option<&Cpp>, svg: Option<&Path>) -> thalweg::Result<Value> {
    const LEN: usize = GIB / 4;
    let effort = Effort { warm_up: 1, runs: 5 };
    let mut data = Data::new(device, LEN, false)?;
    let bare = Bare::new(0..1, LEN);
    let (mut tables, mut series) = (Vec::new(), Vec::<Series>::new());
    for kib in [64, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10] {
        let chunk = kib << 8;
        let mut contenders = vec![bare.copies(COPIES)];
        if let Some(cpp) = cpp {
            for way in [Way::BySlot, Way::ByStage, Way::GraphByStage, Way::GraphMapped] {
                let depth = if let Way::GraphMapped = way { 4 } else { DEPTH };
                contenders.push(cpp.ring(way, (&data.x, &mut data.z), chunk, depth, 1));
            }
        }
        contenders.push(cudarc(true, chunk, DEPTH, 1));
        contenders.push(cudarc(false, chunk, DEPTH, 1));
        let (mut stage, mut graph, mut mapped) = (
            Step::options(device).chunk(chunk).build()?,
            Step::options(device).chunk(chunk).graph().build()?,
            StepMapped::options(device).chunk(chunk).graph().build()?,
        );
        contenders.push(thalweg("Thalweg", move |d| stage.run(1, &d.x, &mut d.z)));
        contenders.push(thalweg("Thalweg, graph", move |d| graph.run(1, &d.x, &mut d.z)));
        contenders.push(thalweg("Thalweg, mapped, graph", move |d| mapped.run(1, &d.x, &mut d.z)));
        let title = format!("256 MiB each way, chunks of {kib} KiB");
        let table = measure(title, LEN / chunk, effort, &mut data, 1, contenders)?;
        table.print();
        let mut json = table.to_json();
        json["chunk_bytes"] = json!(chunk * 4);
        tables.push(json);
        for row in &table.rows {
            let point = ((chunk * 4) as f64, (LEN * 4) as f64 / row.median());
            match series.iter_mut().find(|one| one.name == row.name) {
                Some(one) => one.points.push(point),
                None => series.push(Series { name: row.name.clone(), points: vec![point] }),
            }
        }
    }
    if let Some(path) = svg {
        draw(path, &series).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    Ok(tables.into())
}

fn thalweg<'a>(name: &str, run: impl FnMut(&mut Data) -> thalweg::Result<Report> + 'a) -> Contender<'a> {
    Contender::timed(name, Output::Pinned, run)
}
