//! C = A x B for matrices in host memory, which need not fit on the GPU.
//!
//! ```text
//! cargo run --release --example out_of_core_gemm [SIZE [BUDGET]]
//! ```
//!
//! `SIZE` is the number of rows and columns (default 512), `BUDGET` the device memory to use in MiB (default:
//! all).
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use thalweg::prelude::*;
use thalweg_examples::Arguments;

#[path = "out_of_core_gemm/matrices.rs"]
mod matrices;
#[path = "out_of_core_gemm/product.rs"]
mod product;
#[path = "out_of_core_gemm/several.rs"]
mod several;
use matrices::{Shape, check, random};
use product::OutOfCore;
use several::OnSeveral;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::read()?;
    let numbers = arguments.numbers()?;
    let size = numbers.first().copied().unwrap_or(512);
    let devices = arguments.devices()?;
    let budget = match numbers.get(1) {
        Some(mebibytes) => mebibytes.saturating_mul(MIB),
        None => least_memory(&devices)? / 10 * 9,
    };
    let shape = Shape { m: size, n: size, k: size };
    let elements = size.checked_mul(size).ok_or("so large a matrix has no address")?;
    let a = random(&devices[0], elements, 1)?;
    let b = random(&devices[0], elements, 2)?;
    let mut c = PinnedBuf::zeroed(&devices[0], elements)?;

    let start = std::time::Instant::now();
    let copies = multiply(&devices, budget, shape, [&a, &b], &mut c)?;
    let elapsed = start.elapsed();

    devices.iter().for_each(|device| println!("{device}"));
    println!("C = A x B, {size} rows and columns each, 3 matrices of {} KiB", elements / 256);
    println!("{copies}");
    println!("  in {:.1} ms by this machine's clock", elapsed.as_secs_f64() * 1e3);
    let found = check(shape, &a, &b, &c, 100);
    println!("100 entries against sums in f64: {found}");
    if found == "all right" { Ok(()) } else { Err("an entry is wrong".into()) }
}

/// The free memory of the device that has the least.
fn least_memory(devices: &[Device]) -> thalweg::Result<usize> {
    devices.iter().try_fold(usize::MAX, |least, device| Ok(least.min(device.free_memory()? as usize)))
}

/// Multiplies on one device, or on several, and says what was copied how often.
fn multiply(
    devices: &[Device],
    budget: usize,
    shape: Shape,
    [a, b]: [&PinnedBuf<f32>; 2],
    c: &mut PinnedBuf<f32>,
) -> thalweg::Result<String> {
    let times = |count: usize| format!("{count} time{}", if count == 1 { "" } else { "s" });
    if let [device] = devices {
        let copied = OutOfCore::new(device, budget)?.multiply(shape, a, b, c)?;
        return Ok(format!("B was copied to the device {}", times(copied)));
    }
    let dealt = OnSeveral::new(devices, budget)?.multiply(shape, a, b, c)?;
    Ok(format!("B came to each device once, the rows of A were dealt to them {}", times(dealt)))
}
