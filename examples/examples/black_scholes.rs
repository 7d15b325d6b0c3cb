//! A Parquet table of options in, a Parquet table of their prices and greeks out, by one fused kernel.
//! Without a table it makes one: the options on the DAX of a day in 2002, each at 1000 levels of the index.
//!
//! ```text
//! cargo run --release --example black_scholes [options.parquet [greeks.parquet]]
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{DataType, DoubleType, Int32Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use thalweg::prelude::*;
use thalweg_examples::Arguments;
use thalweg_parquet::source;

/// The price of each European option and its derivatives (by the spot price, by that twice, by volatility, by
/// time as it passes, and by the rate), by the formula of Black and Scholes with Merton's dividend yield. They
/// are found in one pass, since they share the costly terms.
///
/// `sign` is 1 for a call and -1 for a put, and rates, yields and volatilities are yearly. Gamma and theta of
/// an option that expires now are NaN, and if it is at the money, so are all other values.
#[kernel]
fn greeks(
    i: Index,
    sign: &[i8],
    spot: &[f64],
    strike: &[f64],
    years: &[f64],
    rate: &[f64],
    dividend: &[f64],
    volatility: &[f64],
    values: &mut Out<[[f64; 6]]>,
) {
    let Some(values) = values.get_mut(i) else { return };
    let (phi, t, r, q, v) = (f64::from(sign[i]), years[i], rate[i], dividend[i], volatility[i]);
    let deviation = v * t.sqrt();
    let d1 = ((spot[i] / strike[i]).ln() + (r - q + 0.5 * v * v) * t) / deviation;
    let d2 = d1 - deviation;
    // Both legs are discounted to today: the share that is received, and the price that is paid for it.
    let (s, k) = (spot[i] * (-q * t).exp(), strike[i] * (-r * t).exp());
    let (in_shares, in_money) = (normal(phi * d1), normal(phi * d2));
    let density = density(d1);
    *values = [
        phi * (s * in_shares - k * in_money),
        phi * s * in_shares / spot[i],
        s * density / (spot[i] * spot[i] * deviation),
        s * density * t.sqrt(),
        phi * (q * s * in_shares - r * k * in_money) - 0.5 * s * density * v / t.sqrt(),
        phi * t * k * in_money,
    ];
}

#[device]
fn density(x: f64) -> f64 {
    0.398_942_280_401_432_7 * (-0.5 * x * x).exp()
}

/// The normal distribution, by the power series of G. Marsaglia, "Evaluating the Normal Distribution", Journal
/// of Statistical Software 11 (2004), to about 1e-15.
#[device]
fn normal(x: f64) -> f64 {
    // The sum of NaN would never come to rest.
    if x.is_nan() {
        return x;
    }
    if x.abs() > 8.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while sum + term != sum {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * density(x)
}

// ANCHOR: pipeline
stream_pipeline! {
    /// Columns of options in, rows of results out.
    pipeline Value {
        input sign: [i8];
        input spot: [f64];
        input strike: [f64];
        input years: [f64];
        input rate: [f64];
        input dividend: [f64];
        input volatility: [f64];
        output values: [[f64; 6]];
        device d_values: [[f64; 6]];

        chunk c = 1 << 16;

        stage load {
            copy sign -> d_sign;
            copy spot -> d_spot;
            copy strike -> d_strike;
            copy years -> d_years;
            copy rate -> d_rate;
            copy dividend -> d_dividend;
            copy volatility -> d_volatility;
        }
        stage value {
            greeks<<<blocks(c.len, 256), 256>>>(
                &d_sign, &d_spot, &d_strike, &d_years, &d_rate, &d_dividend, &d_volatility, out d_values);
        }
        stage store { copy d_values -> values; }
    }
}
// ANCHOR_END: pipeline

/// The columns of the options, and those of the results.
const TERMS: [&str; 7] = ["sign", "spot", "strike", "years", "rate", "dividend", "volatility"];
const GREEKS: [&str; 6] = ["price", "delta", "gamma", "vega", "theta", "rho"];

/// Reads the options column by column and writes their values as one table, a row group a chunk. No more than
/// a few chunks are in memory.
fn value(devices: &[Device], options: &Path, values: &Path) -> Result<Report, Box<dyn Error>> {
    let columns = GREEKS.map(|name| format!("required double {name};")).concat();
    let schema = parse_message_type(&format!("message values {{ {columns} }}"))?;
    let mut table = SerializedFileWriter::new(File::create(values)?, Arc::new(schema), Arc::default())?;
    let column = |name: &str| File::open(options).map(|file| source::parquet(file, name));
    let report = Value::new(devices)?.run(
        source::parquet(File::open(options)?, "sign"),
        column("spot")?,
        column("strike")?,
        column("years")?,
        column("rate")?,
        column("dividend")?,
        column("volatility")?,
        sink::for_each(|_, values: &[[f64; 6]]| row_group(&mut table, values).map_err(io::Error::other)),
    )?;
    table.close()?;
    Ok(report)
}

fn row_group(table: &mut SerializedFileWriter<File>, values: &[[f64; 6]]) -> parquet::errors::Result<()> {
    let mut group = table.next_row_group()?;
    for i in 0..GREEKS.len() {
        write_column::<DoubleType>(&mut group, values.iter().map(|values| values[i]))?;
    }
    group.close().map(drop)
}

/// Writes the next column of a row group.
fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    numbers: impl Iterator<Item = T::T>,
) -> parquet::errors::Result<()> {
    let numbers: Vec<T::T> = numbers.collect();
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    writer.typed::<T>().write_batch(&numbers, None, None)?;
    writer.close()
}

/// Levels of the index, from 80 % to 120 % of that day's.
const LEVELS: usize = 1000;

/// Writes a table of the options on the DAX at each level of the index, in row groups of 20,000.
fn made_up(path: &Path) -> Result<(), Box<dyn Error>> {
    let dax = concat!(env!("CARGO_MANIFEST_DIR"), "/data/dax_options.parquet");
    let (options, _) = some_rows(dax.as_ref(), TERMS, usize::MAX)?;
    let at_level = |level: usize| {
        let share = 0.8 + 0.4 * level as f64 / (LEVELS - 1) as f64;
        options.iter().map(move |&[sign, spot, strike, years, rate, dividend, volatility]| {
            [sign, share * spot, strike, years, rate, dividend, volatility]
        })
    };
    let options: Vec<[f64; 7]> = (0..LEVELS).flat_map(at_level).collect();

    let doubles = TERMS[1..].iter().map(|name| format!("required double {name};")).collect::<String>();
    let schema = format!("message options {{ required int32 sign (INTEGER(8, true)); {doubles} }}");
    let schema = Arc::new(parse_message_type(&schema)?);
    let mut table = SerializedFileWriter::new(File::create(path)?, schema, Arc::default())?;
    for options in options.chunks(20_000) {
        let mut group = table.next_row_group()?;
        write_column::<Int32Type>(&mut group, options.iter().map(|option| option[0] as i32))?;
        for i in 1..TERMS.len() {
            write_column::<DoubleType>(&mut group, options.iter().map(|option| option[i]))?;
        }
        group.close()?;
    }
    table.close()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let mut paths = arguments.paths();
    let folder = tempfile::tempdir()?;
    let input = match paths.next() {
        Some(given) => given,
        None => {
            let path = folder.path().join("options.parquet");
            made_up(&path)?;
            path
        }
    };
    let output = paths.next().unwrap_or_else(|| "greeks.parquet".into());
    // This comes first: creating a file empties an existing one, and the input may not be a table or may be
    // the same file.
    let (options, count) =
        some_rows(&input, TERMS, SHOWN).map_err(|error| format!("{}: {error}", input.display()))?;
    if fs::canonicalize(&output).ok() == Some(fs::canonicalize(&input)?) {
        return Err(format!("{}: the values would overwrite the options", output.display()).into());
    }
    let devices = arguments.devices()?;
    println!("{}\n", value(&devices, &input, &output)?);

    // Reads the table again, as another program would.
    let (values, rows) = some_rows(&output, GREEKS, SHOWN)?;
    print(&options, &values);
    println!("{rows} rows written to {}\n", output.display());

    let (of, reproduced) = (PUBLISHED.len(), published(&devices)?);
    println!("published prices and greeks reproduced to the last digit: {reproduced} of {of}");
    if reproduced == of && rows == count { Ok(()) } else { Err("a price or a greek is wrong".into()) }
}

/// Some rows of a table, and how many it has.
type Rows<const N: usize> = (Vec<[f64; N]>, usize);

/// How many rows are shown, at most.
const SHOWN: usize = 12;

/// Some columns of the table's rows, of `most` of them if there are more.
fn some_rows<const N: usize>(path: &Path, names: [&str; N], most: usize) -> Result<Rows<N>, Box<dyn Error>> {
    let table = SerializedFileReader::new(File::open(path)?)?;
    let count = usize::try_from(table.metadata().file_metadata().num_rows())?;
    // An odd step, since calls and puts take turns.
    let every = count.div_ceil(most) | 1;
    let mut rows = Vec::new();
    for row in table.into_iter().step_by(every) {
        let (row, mut numbers) = (row?, [0.0; N]);
        for (number, name) in numbers.iter_mut().zip(names) {
            *number = match row.get_column_iter().find(|(known, _)| *known == name) {
                Some((_, Field::Byte(sign))) => f64::from(*sign),
                Some((_, Field::Double(number))) => *number,
                _ => return Err(format!("there is no column `{name}` of its type").into()),
            };
        }
        rows.push(numbers);
    }
    Ok((rows, count))
}

/// Prints values in the units of traders: a point of volatility, a day, a point of the rate.
fn print(options: &[[f64; 7]], values: &[[f64; 6]]) {
    println!("        spot  strike  days   vol %      price   delta     gamma   vega  theta/day     rho");
    for (option, value) in options.iter().zip(values) {
        let [sign, spot, strike, years, _, _, volatility] = option;
        let [price, delta, gamma, vega, theta, rho] = value;
        println!(
            "{:<4} {spot:>7.1} {strike:>7} {:>5.0} {:>7.2} {price:>10.2} {delta:>7.3} {gamma:>9.6} \
             {:>6.2} {:>10.2} {:>7.2}",
            if *sign > 0.0 { "call" } else { "put" },
            years * 365.0,
            volatility * 100.0,
            vega / 100.0,
            theta / 365.0,
            rho / 100.0
        );
    }
}

/// From E. G. Haug, "The Complete Guide to Option Pricing Formulas" (1998), pages 2 to 8, 11 to 16 and 27, as
/// the tests of QuantLib list them: the published number, the option and the value.
const PUBLISHED: [(&str, [f64; 7], f64); 12] = [
    ("price", [1.0, 60.0, 65.0, 0.25, 0.08, 0.0, 0.30], 2.1334),
    ("price", [-1.0, 100.0, 95.0, 0.50, 0.10, 0.05, 0.20], 2.4648),
    ("price", [-1.0, 19.0, 19.0, 0.75, 0.10, 0.10, 0.28], 1.7011),
    ("price", [1.0, 1.56, 1.60, 0.50, 0.06, 0.08, 0.12], 0.0291),
    ("price", [-1.0, 75.0, 70.0, 0.50, 0.10, 0.05, 0.35], 4.0870),
    ("price", [1.0, 42.0, 40.0, 0.75, 0.04, 0.08, 0.35], 5.0975),
    ("delta", [1.0, 105.0, 100.0, 0.50, 0.10, 0.10, 0.36], 0.5946),
    ("delta", [-1.0, 105.0, 100.0, 0.50, 0.10, 0.10, 0.36], -0.3566),
    ("gamma", [1.0, 55.0, 60.0, 0.75, 0.10, 0.0, 0.30], 0.0278),
    ("vega", [1.0, 55.0, 60.0, 0.75, 0.10, 0.0, 0.30], 18.9358),
    ("theta", [-1.0, 430.0, 405.0, 1.0 / 12.0, 0.07, 0.05, 0.20], -31.1924),
    ("rho", [1.0, 72.0, 75.0, 1.0, 0.09, 0.0, 0.19], 38.7325),
];

/// How many of them are reproduced, from slices in memory: the caller of `run` decides where data are.
fn published(devices: &[Device]) -> thalweg::Result<usize> {
    let sign: Vec<i8> = PUBLISHED.iter().map(|(_, option, _)| option[0] as i8).collect();
    let column = |term: usize| PUBLISHED.iter().map(|(_, option, _)| option[term]).collect::<Vec<f64>>();
    let [spot, strike, years, rate, dividend, volatility] = [1, 2, 3, 4, 5, 6].map(column);
    let mut values = [[0.0; 6]; PUBLISHED.len()];
    Value::new(devices)?.run(&sign, &spot, &strike, &years, &rate, &dividend, &volatility, &mut values)?;
    let reproduced = |((what, _, published), values): &(&(&str, _, f64), &[f64; 6])| {
        let found = GREEKS.iter().zip(*values).find(|(name, _)| *name == what);
        found.is_some_and(|(_, found)| (found - published).abs() <= 0.5001e-4)
    };
    Ok(PUBLISHED.iter().zip(&values).filter(reproduced).count())
}
