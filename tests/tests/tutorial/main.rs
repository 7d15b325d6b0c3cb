//! The book's tutorial: the code of each chapter, and what it prints on the simulated device. `BLESS=1`
//! writes that anew.

mod c01_copy_compute_copy;
mod c02_null_stream;
mod c03_streams_and_launches;
mod c04_pinned_and_pageable;
mod c05_events;
mod c06_by_hand;
mod c07_as_a_pipeline;
mod c08_depth;
mod c09_priorities;
mod c10_concurrent_kernels;
mod c11_functions;
mod c12_models;
mod c13_beside_others;
mod c14_libraries;
mod c15_graphs;
mod c16_why_not;
mod kernel;
mod pictures;

use std::fmt;
use std::time::Duration;

use thalweg::sim::Simulation;
use thalweg::{Device, PinnedBuf, Result};
use thalweg_tests::book::recorded;

use kernel::{GAIN, OFFSET};

/// The samples of the tutorial's array: 16 MiB.
const LEN: usize = 4 << 20;

fn simulated() -> Device {
    Device::simulated(Simulation::h200())
}

/// Input data.
fn samples(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 1000) as f32).collect()
}

fn pinned_samples(device: &Device) -> Result<PinnedBuf<f32>> {
    PinnedBuf::from_slice(device, &samples(LEN))
}

#[track_caller]
fn assert_adjusted(z: &[f32]) {
    let wrong = z.iter().enumerate().find(|(i, z)| **z != GAIN * (i % 1000) as f32 + OFFSET);
    assert_eq!(wrong, None, "the first sample that is wrong");
}

/// A time of the virtual clock, as the book prints it.
struct Us(Duration);

impl fmt::Display for Us {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0.as_secs_f64() * 1e6;
        f.pad_integral(true, "", &format!("{us:.1} us"))
    }
}

/// Compares what was printed with the book's file.
#[track_caller]
fn check(name: &str, text: &str) {
    let long = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None, "a line of more than 80 columns");
    recorded(&format!("tutorial/{name}"), text);
}

/// A long line as the book shows it: in lines of at most 80 columns.
fn folded(text: &str) -> String {
    let (mut folded, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > 80 {
            folded += "\n ";
            column = 1;
        }
        if column > 0 {
            folded.push(' ');
            column += 1;
        }
        folded += word;
        column += word.len();
    }
    folded
}
