//! Contenders that take turns, and what came of it.

use std::time::Instant;

use rayon::prelude::*;
use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::pipelines::stepped;

/// One turn of one contender.
#[derive(Clone, Copy)]
pub struct Sample {
    /// Seconds from the first call to the last result.
    pub wall: f64,
    /// Seconds that the host spent enqueuing a chunk, where that is known.
    pub enqueue: Option<f64>,
}

/// The host's memory of a workload: what all contenders read and write.
pub struct Data {
    pub x: PinnedBuf<f32>,
    pub z: PinnedBuf<f32>,
    pub pageable_x: Vec<f32>,
    pub pageable_z: Vec<f32>,
}

/// Where a contender leaves its result.
#[derive(Clone, Copy, PartialEq)]
pub enum Output {
    /// In no place: it measures a limit.
    None,
    Pinned,
    Pageable,
}

type Turn<'a> = Box<dyn FnMut(&mut Data) -> thalweg::Result<Sample> + 'a>;

/// Who takes part.
pub struct Contender<'a> {
    name: String,
    output: Output,
    turn: Turn<'a>,
}

impl<'a> Contender<'a> {
    pub fn new(
        name: impl Into<String>,
        output: Output,
        turn: impl FnMut(&mut Data) -> thalweg::Result<Sample> + 'a,
    ) -> Self {
        Self { name: name.into(), output, turn: Box::new(turn) }
    }

    /// A pipeline, timed from outside.
    pub fn timed(
        name: impl Into<String>,
        output: Output,
        mut turn: impl FnMut(&mut Data) -> thalweg::Result<Report> + 'a,
    ) -> Self {
        Self::new(name, output, move |data| {
            let start = Instant::now();
            let report = turn(data)?;
            let wall = start.elapsed().as_secs_f64();
            // What is staged is copied and waited for while it is enqueued.
            let enqueue =
                (report.bytes_staged == 0).then(|| report.enqueuing.as_secs_f64() / report.chunks as f64);
            Ok(Sample { wall, enqueue })
        })
    }
}

/// What was measured of one contender.
pub struct Row {
    pub name: String,
    pub samples: Vec<Sample>,
}

impl Row {
    pub fn median(&self) -> f64 {
        quantile(self.samples.iter().map(|sample| sample.wall), 0.5)
    }

    fn enqueue(&self) -> Option<f64> {
        let known: Vec<f64> = self.samples.iter().filter_map(|sample| sample.enqueue).collect();
        (!known.is_empty()).then(|| quantile(known, 0.5))
    }

    fn spread(&self) -> [f64; 2] {
        [0.0, 1.0].map(|share| quantile(self.samples.iter().map(|sample| sample.wall), share))
    }
}

/// Of these values that which `share` of them do not exceed.
pub fn quantile(values: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

/// A workload, and how everyone did.
pub struct Table {
    pub title: String,
    /// Chunks of a run, to tell what one costs the host.
    pub chunks: usize,
    pub rows: Vec<Row>,
    /// Index of the row that the others are compared with.
    pub limit: usize,
}

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Effort {
    pub warm_up: usize,
    pub runs: usize,
}

/// Lets everyone take turns on the first `len` elements; the results are checked each time.
pub fn measure(
    title: impl Into<String>,
    chunks: usize,
    effort: Effort,
    data: &mut Data,
    iterations: u32,
    mut contenders: Vec<Contender<'_>>,
) -> thalweg::Result<Table> {
    let title = title.into();
    eprintln!("measuring: {title}");
    let mut rows: Vec<Row> =
        contenders.iter().map(|one| Row { name: one.name.clone(), samples: Vec::new() }).collect();
    for round in 0..effort.warm_up + effort.runs {
        for (contender, row) in contenders.iter_mut().zip(&mut rows) {
            match contender.output {
                Output::None => {}
                Output::Pinned => spoil(&mut data.z),
                Output::Pageable => spoil(&mut data.pageable_z),
            }
            let sample = (contender.turn)(data)?;
            match contender.output {
                Output::None => {}
                Output::Pinned => check(&contender.name, &data.x, &data.z, iterations),
                Output::Pageable => check(&contender.name, &data.pageable_x, &data.pageable_z, iterations),
            }
            if round >= effort.warm_up {
                row.samples.push(sample);
            }
        }
    }
    Ok(Table { title, chunks, rows, limit: 0 })
}

fn spoil(z: &mut [f32]) {
    z.par_iter_mut().for_each(|z| *z = f32::NAN);
}

/// Checks, as [`check`] does, all the data in page-locked memory.
pub fn check_pinned(name: &str, data: &Data, iterations: u32) {
    check(name, &data.x, &data.z, iterations);
}

/// Checks, as [`check`] does, all the data in ordinary memory.
pub fn check_pageable(name: &str, data: &Data, iterations: u32) {
    check(name, &data.pageable_x, &data.pageable_z, iterations);
}

/// Panics unless every element was written and those that are looked at are right: all, where that is quick.
fn check(name: &str, x: &[f32], z: &[f32], iterations: u32) {
    let stride = if iterations <= 4 { 1 } else { 9973 };
    let wrong = |i: &usize| z[*i].to_bits() != stepped(x[*i], iterations).to_bits();
    let wrong = (0..x.len().div_ceil(stride)).into_par_iter().map(|i| i * stride).filter(wrong).count();
    assert_eq!(wrong, 0, "{name}: wrong elements");
    let left_out = z.par_iter().filter(|z| z.is_nan()).count();
    assert_eq!(left_out, 0, "{name}: elements that were not written");
}

impl Table {
    pub fn print(&self) {
        println!("\n{}", self.title);
        println!(
            "{:<40} {:>9} {:>9} {:>9} {:>8} {:>9}",
            "", "median ms", "min", "max", "x limit", "us/chunk"
        );
        let limit = self.rows[self.limit].median();
        for row in &self.rows {
            let [least, most] = row.spread();
            let median = row.median();
            let enqueue = row.enqueue().map_or(String::new(), |seconds| format!("{:>9.2}", seconds * 1e6));
            println!(
                "{:<40} {:>9.3} {:>9.3} {:>9.3} {:>8.3} {enqueue}",
                row.name,
                median * 1e3,
                least * 1e3,
                most * 1e3,
                median / limit,
            );
        }
    }

    pub fn to_json(&self) -> Value {
        let limit = self.rows[self.limit].median();
        let rows = self.rows.iter().map(|row| {
            json!({
                "name": row.name,
                "seconds": row.samples.iter().map(|sample| sample.wall).collect::<Vec<_>>(),
                "median_seconds": row.median(),
                "times_the_limit": row.median() / limit,
                "enqueue_seconds_per_chunk": row.enqueue(),
            })
        });
        json!({ "title": self.title, "chunks": self.chunks, "rows": rows.collect::<Vec<_>>() })
    }
}

/// Pseudo-random numbers from 0 to 1.
pub fn random(seed: u64, len: usize) -> Vec<f32> {
    let number = |i: usize| {
        let mut bits = (i as u64).wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits >> 40) as f32 / (1_u64 << 24) as f32
    };
    (0..len).into_par_iter().map(number).collect()
}

impl Data {
    pub fn new(device: &Device, len: usize, pageable: bool) -> thalweg::Result<Self> {
        let values = random(len as u64, len);
        let x = PinnedBuf::from_slice(device, &values)?;
        let z = PinnedBuf::zeroed(device, len)?;
        let pageable_z = if pageable { vec![0.0; len] } else { Vec::new() };
        Ok(Self { x, z, pageable_x: if pageable { values } else { Vec::new() }, pageable_z })
    }
}
