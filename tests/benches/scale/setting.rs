//! What the command line says, and what there is to measure with.

use std::path::PathBuf;

use thalweg::prelude::*;

use crate::cpp::Cpp;
use crate::measure::Effort;
use crate::nvcc;
use crate::python::Python;

/// The command line.
pub struct Arguments {
    all: Vec<String>,
    /// As many devices at most.
    devices: Option<usize>,
    runs: usize,
    pub json: Option<String>,
    is_quick: bool,
}

impl Arguments {
    pub fn read() -> Self {
        let all: Vec<String> = std::env::args().skip(1).collect();
        let option = |name: &str| all.iter().skip_while(|argument| *argument != name).nth(1).cloned();
        let is_quick = all.iter().any(|argument| argument == "--quick");
        let number = |text: String| text.parse().expect("a number");
        let devices = option("--devices").map(number);
        let runs = option("--runs").map_or(if is_quick { 3 } else { 7 }, number).max(1);
        let json = option("--json");
        Self { all, devices, runs, json, is_quick }
    }

    /// Whether a section is named.
    pub fn names(&self, section: &str) -> bool {
        self.all.iter().any(|argument| argument == section)
    }

    pub fn effort(&self) -> Effort {
        Effort { warm_up: if self.is_quick { 1 } else { 2 }, runs: self.runs }
    }

    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// What ranks are told of it.
    pub fn of_ranks(&self) -> Vec<String> {
        let quick = self.is_quick.then(|| "--quick".to_owned());
        ["--runs".to_owned(), self.runs.to_string()].into_iter().chain(quick).collect()
    }
}

/// What all sections measure with.
pub struct Setting {
    pub devices: Vec<Device>,
    /// How many of them are measured at once: 1, 2, 4, … and all.
    pub counts: Vec<usize>,
    pub effort: Effort,
    pub is_quick: bool,
    pub cpp: Option<Cpp>,
    /// The library of the C++.
    pub peers: Option<PathBuf>,
    pub python: Python,
    pub of_ranks: Vec<String>,
}

impl Setting {
    pub fn new(arguments: &Arguments) -> thalweg::Result<Self> {
        let mut devices = Device::all()?;
        devices.truncate(arguments.devices.unwrap_or(usize::MAX).max(1));
        let (count, is_gpu) = (devices.len(), is_gpu(&devices[0]));
        let mut counts: Vec<usize> =
            std::iter::successors(Some(1), |count| Some(count * 2)).take_while(|it| *it < count).collect();
        counts.push(count);
        let peers = if is_gpu { nvcc::file("scale") } else { None };
        Ok(Self {
            devices,
            counts,
            effort: arguments.effort(),
            is_quick: arguments.is_quick,
            cpp: peers.as_deref().map(Cpp::load),
            peers,
            python: Python::new(is_gpu),
            of_ranks: arguments.of_ranks(),
        })
    }

    pub fn has_gpus(&self) -> bool {
        is_gpu(&self.devices[0])
    }

    /// Elements of 4 bytes for each device: 1 GiB.
    pub fn items(&self) -> usize {
        if self.is_quick { 1 << 20 } else { 1 << 28 }
    }
}

pub fn is_gpu(device: &Device) -> bool {
    !device.is_simulated() && !device.is_cpu()
}

/// The cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
