//! Prices options: it reads four columns of a Parquet file and writes two columns, each to a file of its own.
//!
//! ```text
//! cargo run --release --example parquet_columns
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::FloatType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RowAccessor;
use parquet::schema::parser::parse_message_type;
// ANCHOR: program
use thalweg::prelude::*;
use thalweg_kernels::black_scholes;
use thalweg_parquet::{sink, source};

stream_pipeline! {
    /// The prices of options, by Black and Scholes.
    pipeline Prices {
        param rate: f32;
        input spot: [f32];
        input strike: [f32];
        input years: [f32];
        input volatility: [f32];
        output call: [f32];
        output put: [f32];
        device dc: [f32];
        device dp: [f32];

        chunk c = 1 << 14;

        stage load { copy spot -> s; copy strike -> k; copy years -> t; copy volatility -> v; }
        stage price { black_scholes<<<blocks(c.len, 256), 256>>>(rate, &s, &k, &t, &v, out dc, out dp); }
        stage store { copy dc -> call; copy dp -> put; }
    }
}

/// Prices the options of a file. One page of each column and one row group of each result are in memory at a
/// time.
fn price(
    devices: &[Device],
    options: &Path,
    [call, put]: [&Path; 2],
) -> Result<Report, Box<dyn std::error::Error>> {
    let column = |name: &str| File::open(options).map(|file| source::parquet(file, name));
    let (call, put) = (File::create(call)?, File::create(put)?);
    let report = Prices::new(devices)?.run(
        RATE,
        column("spot")?,
        column("strike")?,
        column("years")?,
        column("volatility")?,
        sink::parquet(call, "call"),
        sink::parquet(put, "put"),
    )?;
    Ok(report)
}
// ANCHOR_END: program

const RATE: f32 = 0.03;
const OPTIONS: usize = 100_000;
/// The columns of the options.
const COLUMNS: [&str; 4] = ["spot", "strike", "years", "volatility"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let devices = thalweg_examples::devices()?;
    let folder = tempfile::tempdir()?;
    let [options, call, put] =
        ["options", "call", "put"].map(|name| folder.path().join(name).with_extension("parquet"));
    made_up(&options)?;
    println!("{}", price(&devices, &options, [&call, &put])?);

    let read = |path: &Path, name| numbers(path, name);
    let [spot, strike, years, _] = COLUMNS.map(|name| read(&options, name));
    let (spot, strike, years, call, put) = (spot?, strike?, years?, read(&call, "call")?, read(&put, "put")?);
    // Holding the call and owing the put is worth as much as buying the share later for the agreed price.
    let parity = (0..OPTIONS).all(|i| {
        let bought = spot[i] - strike[i] * (-f64::from(RATE) * years[i]).exp();
        (call[i] - put[i] - bought).abs() <= 4e-6 * (spot[i] + strike[i])
    });
    let mean = |prices: &[f64]| prices.iter().sum::<f64>() / OPTIONS as f64;
    println!(
        "{} calls of {:.2} and {} puts of {:.2} on average",
        call.len(),
        mean(&call),
        put.len(),
        mean(&put)
    );
    println!(
        "a call less a put is the price of buying later: {}",
        if parity { "always" } else { "not always" }
    );
    if parity && call.len() == OPTIONS && put.len() == OPTIONS {
        Ok(())
    } else {
        Err("a price is wrong".into())
    }
}

/// A file of options, in row groups of 30,000.
fn made_up(path: &Path) -> parquet::errors::Result<()> {
    let columns = COLUMNS.map(|name| format!("required float {name};")).concat();
    let schema = parse_message_type(&format!("message options {{ {columns} }}"))?;
    let mut file = SerializedFileWriter::new(File::create(path)?, Arc::new(schema), Arc::default())?;
    let mut state = 7_u64;
    for first in (0..OPTIONS).step_by(30_000) {
        let mut group = file.next_row_group()?;
        for [low, high] in [[80.0, 120.0], [80.0, 120.0], [0.1, 2.0], [0.1, 0.5_f32]] {
            let rows = (OPTIONS - first).min(30_000);
            let values: Vec<f32> = (0..rows).map(|_| low + (high - low) * random(&mut state)).collect();
            let Some(mut column) = group.next_column()? else { break };
            column.typed::<FloatType>().write_batch(&values, None, None)?;
            column.close()?;
        }
        group.close()?;
    }
    file.close().map(drop)
}

/// A number from 0 to 1, by Knuth's generator.
fn random(state: &mut u64) -> f32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 40) as f32 / (1 << 24) as f32
}

/// A column as another program reads it.
fn numbers(path: &Path, name: &str) -> parquet::errors::Result<Vec<f64>> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let index = columns.iter().position(|column| column.name() == name).unwrap_or(columns.len());
    file.get_row_iter(None)?.map(|row| Ok(f64::from(row?.get_float(index)?))).collect()
}
