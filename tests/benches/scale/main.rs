//! Several GPUs in one process, and ranks with NCCL, beside hand-written programs in CUDA C++ and in Python.
//!
//! ```text
//! cargo bench --bench scale [-- SECTION… --devices N --runs N --json FILE --quick]
//! ```
//!
//! The sections are `copies`, `kernel`, `calls`, `nodes`, `predicted`, `all_reduce`, `training`, `heat` and `faults`;
//! all of them run if none is named. Each measures 1, 2, 4, … devices, up to all or to `--devices N`. One that cannot
//! run says why, and the others go on. `--quick` takes few and small data, to try the program.
//!
//! The C++ needs nvcc on the path, or `PEERS=libpeers.so`. The Python needs PyTorch and CuPy; `PYTHON` names another
//! interpreter than `python3`, and nothing runs in Python if it is empty. `CUDA_VISIBLE_DEVICES` chooses GPUs, for all
//! contenders alike. Without a GPU, and with `THALWEG_DEVICE=sim:4`, the program runs to be tried, and its times mean
//! nothing.
//!
//! Data are random, the result of every timed run is checked, and the numbers are medians. Contenders of one process
//! take turns.

mod aims;
mod all_reduce;
mod bare;
mod calls;
mod cpp;
mod faults;
mod heat;
mod nodes;
mod one_process;
mod predicted;
mod python;
mod ranks;
mod setting;
mod table;
mod training;

#[allow(dead_code, reason = "`speed` uses all of it")]
#[path = "../speed/measure.rs"]
mod measure;
#[path = "../speed/nvcc.rs"]
mod nvcc;
#[allow(dead_code, reason = "`speed` uses all of them")]
#[path = "../speed/pipelines.rs"]
mod pipelines;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::aims::Outcome;
use crate::setting::{Arguments, Setting};

type Section = fn(&Setting) -> thalweg::Result<Outcome>;

const SECTIONS: [(&str, Section); 9] = [
    ("copies", one_process::copies),
    ("kernel", one_process::kernel),
    ("calls", calls::calls),
    ("nodes", nodes::nodes),
    ("predicted", predicted::predicted),
    ("all_reduce", all_reduce::all_reduce),
    ("training", training::training),
    ("heat", heat::heat),
    ("faults", faults::faults),
];

fn main() -> ExitCode {
    let arguments = Arguments::read();
    if let Some(program) = ranks::program() {
        return ranks::rank(&program, &arguments);
    }
    let named: Vec<&str> =
        SECTIONS.iter().map(|(name, _)| *name).filter(|name| arguments.names(name)).collect();
    let setting = match Setting::new(&arguments) {
        Ok(setting) => setting,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let devices: Vec<String> = setting.devices.iter().map(ToString::to_string).collect();
    println!("{}; {} CPU cores", devices.join(", "), setting::cores());

    let (mut json, mut aims, mut failed) = (Map::new(), Vec::new(), Vec::new());
    json.insert("devices".to_owned(), json!(devices));
    for (name, section) in SECTIONS {
        if !named.is_empty() && !named.contains(&name) {
            continue;
        }
        eprintln!("section {name}");
        // What one section cannot do is not the end of the others.
        let value = match catch_unwind(AssertUnwindSafe(|| section(&setting))) {
            Ok(Ok(outcome)) => {
                aims.extend(outcome.aims);
                outcome.json
            }
            Ok(Err(error)) => {
                println!("\n{name} has failed: {error}");
                failed.push(name);
                json!({ "error": error.to_string() })
            }
            Err(_) => {
                println!("\n{name} has failed: its message is on standard error");
                failed.push(name);
                json!({ "error": "it has panicked" })
            }
        };
        json.insert(name.to_owned(), value);
        // A later section may take the machine down.
        write(arguments.json.as_deref(), &json);
    }
    json.insert("aims".to_owned(), aims::to_json(&aims));
    write(arguments.json.as_deref(), &json);
    aims::print(&aims);
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("failed: {}", failed.join(", "));
    ExitCode::FAILURE
}

fn write(path: Option<&str>, json: &Map<String, Value>) {
    let Some(path) = path else { return };
    let text = format!("{:#}\n", Value::Object(json.clone()));
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
}
