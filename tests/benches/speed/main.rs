//! How fast pipelines are, compared with the link, hand-written CUDA C++ and hand-written cudarc. All use the
//! same buffers in the same process, and take turns.
//!
//! ```text
//! cargo bench --bench speed [-- SECTION… --json FILE --svg FILE --runs N]
//! ```
//!
//! The sections are `cpu`, `simulated`, `calibration`, `link`, `pageable`, `files`, `small`, `frames`, `session`,
//! `session-simulated`, `kernel`, `new`, `auto`, `sweep` and `timelines`; all of them run if none is named.
//! All need a CUDA device, except `cpu`, `simulated` and `session-simulated`. The C++ needs nvcc on the path. Data
//! are random, every timed run is checked, and the numbers are medians of alternating runs.

mod auto;
#[path = "../scale/bare.rs"]
mod bare;
mod by_hand;
mod cpp;
mod cpu;
mod files;
mod frames;
mod measure;
mod nvcc;
mod pipelines;
mod plot;
mod rust;
mod sections;
mod session;
mod simulated;
mod timelines;

use std::path::Path;

use measure::Effort;
use serde_json::{Map, Value, json};
use thalweg::prelude::*;

use crate::cpp::Cpp;

const SECTIONS: [&str; 15] = [
    "cpu",
    "simulated",
    "session-simulated",
    "calibration",
    "link",
    "pageable",
    "files",
    "small",
    "frames",
    "session",
    "kernel",
    "new",
    "auto",
    "sweep",
    "timelines",
];

fn main() -> thalweg::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let option =
        |name: &str| arguments.iter().skip_while(|argument| *argument != name).nth(1).map(String::as_str);
    let named: Vec<&str> = SECTIONS.into_iter().filter(|name| arguments.iter().any(|a| a == name)).collect();
    let wanted = |name: &str| named.is_empty() || named.contains(&name);
    let runs = option("--runs").map_or(11, |runs| runs.parse().expect("a number of runs"));
    let effort = Effort { warm_up: 2, runs };

    let mut json = Map::new();
    if wanted("cpu") {
        json.insert("cpu".to_owned(), cpu::cpu(runs)?);
    }
    if wanted("simulated") {
        json.insert("simulated".to_owned(), simulated::simulated(runs)?);
    }
    if wanted("session-simulated") {
        let device = Device::simulated(Simulation::h200());
        json.insert("session-simulated".to_owned(), session::session(&device, None)?);
    }
    if named.is_empty() || named.iter().any(|name| *name != "cpu" && !name.ends_with("simulated")) {
        on_a_gpu(&wanted, effort, option("--svg").map(Path::new), &mut json)?;
    }
    if let Some(path) = option("--json") {
        let text = format!("{:#}\n", Value::Object(json));
        std::fs::write(path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    Ok(())
}

fn on_a_gpu(
    wanted: &dyn Fn(&str) -> bool,
    effort: Effort,
    svg: Option<&Path>,
    json: &mut Map<String, Value>,
) -> thalweg::Result<()> {
    let device = Device::cuda(0)?;
    println!("{device}, {} CPU cores", std::thread::available_parallelism().map_or(0, usize::from));
    let cpp = Cpp::load();
    json.insert("device".to_owned(), json!(device.to_string()));
    let mut keep = |name: &str, value: Value| drop(json.insert(name.to_owned(), value));

    if wanted("calibration") {
        keep("calibration", sections::calibration(&device)?);
    }
    if wanted("link") {
        keep("link", sections::link(&device, cpp.as_ref(), effort)?);
    }
    if wanted("pageable") {
        keep("pageable", sections::pageable(&device, cpp.as_ref(), effort)?);
    }
    if wanted("files") {
        keep("files", files::files(&device, effort)?);
    }
    if wanted("small") {
        keep("small", sections::small(&device, cpp.as_ref(), effort)?);
    }
    if wanted("kernel") {
        keep(
            "kernel",
            sections::kernel(&device, cpp.as_ref(), Effort { warm_up: 1, runs: effort.runs.min(7) })?,
        );
    }
    if wanted("frames") {
        keep("frames", frames::frames(&device, cpp.as_ref())?);
    }
    if wanted("session") {
        keep("session", session::session(&device, cpp.as_ref())?);
    }
    if wanted("new") {
        keep("new", sections::new(&device)?);
    }
    if wanted("auto") {
        keep("auto", auto::auto(&device)?);
    }
    if wanted("timelines") {
        keep("timelines", timelines::timelines(&device, effort)?);
    }
    if wanted("sweep") {
        keep("sweep", sections::sweep(&device, cpp.as_ref(), svg)?);
    }
    Ok(())
}
