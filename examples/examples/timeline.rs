//! Shows when each operation of a run would begin and end, when it did, and what makes the difference.
//!
//! ```text
//! cargo run --release --example timeline -- [--items N] [--chunk N] [--depth N] [--pageable] [--predict]
//!     [--svg FILE] [--png FILE] [--trace FILE] [--spec h200|a100|rtx4090|t4|FILE]
//! ```
//!
//! `--pageable` takes ordinary memory, `--predict` leaves the run out, and `--spec` simulates such a GPU, or
//! the one that a file of `DeviceModel::save` describes. The pictures show both timelines; the trace, for
//! Perfetto, is of the run.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::ValueExt;
use thalweg::Timeline;
use thalweg::prelude::*;
use thalweg::sim::DeviceModel;
use thalweg_kernels::saxpy;

const USAGE: &str = "\
usage: timeline [--items N] [--chunk N] [--depth N] [--pageable] [--predict]
                [--svg FILE] [--png FILE] [--trace FILE] [--spec h200|a100|rtx4090|t4|FILE]";

/// The most items, so that the number of items in a chunk is a `u32`, as the kernel wants it.
const MOST_ITEMS: usize = 1 << 30;

stream_pipeline! {
    /// `y <- a * x + y`, chunk by chunk.
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];

        chunk c = auto;
        depth = auto;

        stream up: high;
        stream math;
        stream down: low;

        stage load  on up   { copy x -> dx;  copy y -> dy; }
        stage axpy  on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

struct Arguments {
    items: usize,
    chunk: Option<usize>,
    depth: Option<usize>,
    pageable: bool,
    predict: bool,
    svg: Option<PathBuf>,
    png: Option<PathBuf>,
    trace: Option<PathBuf>,
    spec: Option<DeviceModel>,
}

/// `None`: only the usage was asked for.
fn arguments() -> Result<Option<Arguments>, lexopt::Error> {
    let mut given = Arguments {
        items: 1 << 22,
        chunk: None,
        depth: None,
        pageable: false,
        predict: false,
        svg: None,
        png: None,
        trace: None,
        spec: None,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        use lexopt::Arg::{Long, Short};
        match argument {
            Long("items") => given.items = number(&mut parser, 0, MOST_ITEMS)?,
            Long("chunk") => given.chunk = Some(number(&mut parser, 1, MOST_ITEMS)?),
            Long("depth") => given.depth = Some(number(&mut parser, 1, 1024)?),
            Long("pageable") => given.pageable = true,
            Long("predict") => given.predict = true,
            Long("svg") => given.svg = Some(parser.value()?.into()),
            Long("png") => given.png = Some(parser.value()?.into()),
            Long("trace") => given.trace = Some(parser.value()?.into()),
            Long("spec") => given.spec = Some(model(parser.value()?.string()?)?),
            Long("help") | Short('h') => return Ok(None),
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Some(given))
}

fn number(parser: &mut lexopt::Parser, least: usize, most: usize) -> Result<usize, lexopt::Error> {
    let in_range = |text: &str| match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("expected a number from {least} to {most}")),
    };
    parser.value()?.parse_with(in_range)
}

fn model(name: String) -> Result<DeviceModel, lexopt::Error> {
    match name.as_str() {
        "h200" => Ok(DeviceModel::h200()),
        "a100" => Ok(DeviceModel::a100()),
        "rtx4090" => Ok(DeviceModel::rtx4090()),
        "t4" => Ok(DeviceModel::t4()),
        file => DeviceModel::load(file).map_err(|error| lexopt::Error::Custom(error.into())),
    }
}

fn main() -> ExitCode {
    let outcome = match arguments() {
        Ok(Some(arguments)) => show(arguments),
        Ok(None) => {
            println!("{USAGE}");
            Ok(())
        }
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn show(given: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let device = given.spec.clone().map_or_else(Device::open, |spec| Ok(Device::simulated(spec)))?;
    let (predicted, measured) = timelines(&device, &given)?;

    println!("{predicted}");
    match &measured {
        // The comparison says what made the difference.
        Some(measured) => print!("\n{measured}\n\n{}", predicted.compare(measured)),
        None => {
            let findings = predicted.findings();
            print!("{}", if findings.is_empty() { "" } else { "\n" });
            findings.iter().for_each(|finding| println!("{finding}"));
        }
    }

    let write = |path: &Option<PathBuf>, content: &dyn Fn() -> Vec<u8>| match path {
        Some(path) => {
            let written = fs::write(path, content());
            written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
        }
        None => Ok(()),
    };
    let (first, second) = (&predicted, measured.as_ref());
    write(&given.svg, &|| second.map_or_else(|| first.svg(), |second| first.svg_with(second)).into())?;
    write(&given.png, &|| second.map_or_else(|| first.png(), |second| first.png_with(second)))?;
    write(&given.trace, &|| second.unwrap_or(first).trace().into())?;
    Ok(())
}

/// The predicted timeline of a run, and the measured one unless the run is left out.
fn timelines(device: &Device, given: &Arguments) -> thalweg::Result<(Timeline, Option<Timeline>)> {
    let mut options = Saxpy::options(device);
    if let Some(items) = given.chunk {
        options = options.chunk(items);
    }
    if let Some(slots) = given.depth {
        options = options.depth(slots);
    }
    let mut pipeline = options.build()?;
    // Makes the same calls for either kind of memory.
    macro_rules! both {
        ($x:expr, $y:expr) => {{
            let predicted = pipeline.predict(3.0, $x, $y)?;
            let measured = if given.predict { None } else { Some(pipeline.profile(3.0, $x, $y)?) };
            (predicted, measured)
        }};
    }
    let (x, mut y) = (vec![1.0; given.items], vec![2.0; given.items]);
    if given.pageable {
        return Ok(both!(&x, &mut y));
    }
    let (x, mut y) = (PinnedBuf::from_slice(device, &x)?, PinnedBuf::from_slice(device, &y)?);
    Ok(both!(&x, &mut y))
}
