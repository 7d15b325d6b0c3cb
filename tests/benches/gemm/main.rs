//! C = A x B on host matrices of 16384 rows and columns in f32, compared in one run with the product alone,
//! the copies alone, and cuBLAS-Xt.
//!
//! ```text
//! cargo bench --bench gemm [-- --size N --devices N --json FILE]
//! ```
//!
//! Needs a CUDA device and cuBLAS. Every timed run uses random data, and its result is checked. The figures
//! are medians of alternating runs. With `--devices N` the same is measured on 1 to N devices, with `--devices all`
//! on 1 to all.

mod bare;
mod measure;
mod scaling;
mod xt;

#[path = "../../../examples/examples/out_of_core_gemm/matrices.rs"]
mod matrices;
#[path = "../../../examples/examples/out_of_core_gemm/product.rs"]
mod product;
#[path = "../../../examples/examples/out_of_core_gemm/several.rs"]
mod several;

use bare::Bare;
use cudarc::driver::result;
use measure::{Matrices, RUNS, WARM_UP, median, row};
use product::OutOfCore;
use serde_json::{Value, json};
use thalweg::prelude::*;
use xt::{BLOCKS, Xt};

fn main() -> thalweg::Result<()> {
    let option = |name: &str| std::env::args().skip_while(|argument| argument != name).nth(1);
    let size = option("--size").map_or(16384, |size| size.parse().expect("a number of rows"));
    let first = Device::cuda(0)?;
    let count = match option("--devices").as_deref() {
        None => 1,
        Some("all") => result::device::get_count().expect("the driver") as usize,
        Some(count) => count.parse().expect("`all`, or a number of devices"),
    };
    let others = (1..count).map(Device::cuda);
    let devices = std::iter::once(Ok(first)).chain(others).collect::<thalweg::Result<Vec<_>>>()?;
    devices.iter().for_each(|device| println!("{device}"));
    let measured = match &devices[..] {
        [device] => on_one(device, size)?,
        devices => scaling::on_several(devices, size)?,
    };
    if let Some(path) = option("--json") {
        std::fs::write(&path, format!("{measured:#}\n")).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    Ok(())
}

fn on_one(device: &Device, size: usize) -> thalweg::Result<Value> {
    let mut matrices = Matrices::new(device, size)?;
    let bare = [Bare::new(0, &matrices)];
    let xt = Xt::new(&bare);
    let mut whole = OutOfCore::new(device, usize::MAX)?;
    let matrix = size * size * 4;
    let mut small = OutOfCore::new(device, matrix / 2)?;

    let mut names = vec![
        "the product alone",
        "the copies alone",
        "out_of_core_gemm",
        "out_of_core_gemm, in half a matrix",
    ];
    names.extend(["cuBLAS-Xt, blocks of 2048", "cuBLAS-Xt, blocks of 4096", "cuBLAS-Xt, blocks of 8192"]);
    let mut seconds = vec![Vec::new(); names.len()];
    for round in 0..WARM_UP + RUNS {
        let mut times = matrices.limits(&bare)?.to_vec();
        for product in [&mut whole, &mut small] {
            times
                .push(matrices.timed("out_of_core_gemm", |shape, a, b, c| product.multiply(shape, a, b, c))?);
        }
        for block in BLOCKS {
            times.push(matrices.xt(&xt, block)?);
        }
        if round >= WARM_UP {
            seconds.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
        }
    }

    let limit = median(&seconds[0]).max(median(&seconds[1]));
    println!("{:<30} {:>9} {:>9} {:>9} {:>15}", "", "median ms", "min ms", "max ms", "times the limit");
    for (name, seconds) in names.iter().zip(&seconds) {
        let [least, most] =
            [f64::min, f64::max].map(|pick| seconds.iter().copied().reduce(pick).unwrap_or(0.0));
        let (median, times) = (median(seconds), median(seconds) / limit);
        println!("{name:<30} {:>9.2} {:>9.2} {:>9.2} {times:>15.3}", median * 1e3, least * 1e3, most * 1e3);
    }
    let rows: Vec<_> = names.iter().zip(&seconds).map(|(name, seconds)| row(name, seconds, limit)).collect();
    Ok(json!({ "device": device.to_string(), "size": size, "limit_seconds": limit, "rows": rows }))
}
