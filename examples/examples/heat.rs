//! Heat in a plate of aluminium: one edge is held at 100 °C, the others at 0 °C, and the plate between them
//! warms up.
//!
//! ```text
//! cargo run --release --example heat [heat.png]
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.
//!
//! The plate goes through the device in slabs of rows, so it may be larger than the device's memory (this one
//! is not). A slab comes with `STEPS` rows of its neighbours on either side. Each step spoils one of these
//! rows, which lacks a neighbour. So they suffice for `STEPS` steps, with one copy to the device and one
//! back.

use std::error::Error;
use std::f64::consts::PI;

use image::imageops::{FilterType, resize};
use image::{ImageBuffer, Luma, Rgb, RgbImage};
use thalweg::prelude::*;
use thalweg_examples::Arguments;

/// One step of heat conduction: `v = u + number * (the sum of the four neighbours - 4 u)`.
///
/// `u` has `skip` rows more than `v` above and below; its row 0 is row `first` of the plate. The plate's
/// border keeps its temperatures. So do the first and the last row of `u`, which lack a neighbour.
#[kernel]
#[requires(0 < columns && columns <= u.len() && skip <= u.len())]
#[requires(u.len() as u128 == v.len() as u128 + 2 * skip as u128 * columns as u128)]
pub fn conduct(
    at: Index<2>,
    columns: usize,
    skip: usize,
    first: isize,
    height: usize,
    number: f32,
    u: &[f32],
    v: &mut Out<[f32]>,
) {
    let Some(v) = v.get_mut(at) else { return };
    let [r, c] = at.get();
    let row = first + (r + skip) as isize;
    let here = (r + skip) * columns + c;
    let inside = row > 0 && row + 1 < height as isize && c > 0 && c + 1 < columns;
    *v = if inside && here >= columns && here + columns < u.len() {
        let around = (u[here - columns] + u[here + columns]) + (u[here - 1] + u[here + 1]);
        u[here] + number * (around - 4.0 * u[here])
    } else {
        u[here]
    };
}

// ANCHOR: pipeline
stream_pipeline! {
    /// `STEPS` steps. An item is a row of the plate.
    pipeline Conduct {
        param height: usize;
        param columns: usize;
        param number: f32;
        input before: [f32; columns] halo STEPS = clamp;
        output after: [f32; columns];
        device u: [f32; columns];

        // This is a third of the small plate. A slab of a large one has thousands of rows, and those of its
        // neighbours come on top.
        chunk c = 27;

        stage load { copy before -> d_before; }
        stage step {
            // This declares `t`, as large as `d_before` with its halo: the steps go to and fro between the
            // two.
            copy d_before -> t;
            repeat STEPS / 2 {
                conduct<<<(blocks(columns, 32), blocks(c.len + 2 * STEPS, 8)), (32, 8)>>>(
                    columns, 0, c.start as isize - STEPS as isize, height, number, &d_before,
                    out t as [c.len + 2 * STEPS, columns]);
                conduct<<<(blocks(columns, 32), blocks(c.len + 2 * STEPS, 8)), (32, 8)>>>(
                    columns, 0, c.start as isize - STEPS as isize, height, number, &t,
                    out d_before as [c.len + 2 * STEPS, columns]);
            }
            // The last step leaves out the rows that are the neighbours'.
            conduct<<<(blocks(columns, 32), blocks(c.len, 8)), (32, 8)>>>(
                columns, STEPS, c.start as isize - STEPS as isize, height, number, &d_before,
                out u as [c.len, columns]);
        }
        stage store { copy u -> after; }
    }
}
// ANCHOR_END: pipeline

/// Steps of one run, an odd number.
const STEPS: usize = 9;
/// Points along an edge of the plate, one a millimetre.
const POINTS: usize = 81;
/// Runs for a second of the plate's time.
const RUNS: usize = 50;
/// The length of a step, in seconds. `DIFFUSIVITY * STEP` may be at most a quarter of a square millimetre:
/// beyond that, errors grow.
const STEP: f64 = 1.0 / (RUNS * STEPS) as f64;
/// The diffusivity of aluminium, in square millimetres a second.
const DIFFUSIVITY: f64 = 97.0;
/// The temperature of the hot edge, in °C.
const HOT: f64 = 100.0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let output = arguments.paths().next().unwrap_or_else(|| "heat.png".into());
    let devices = arguments.devices()?;
    let mut pipeline = Conduct::new(&devices)?;
    let mut plate = PinnedBuf::zeroed(&devices[0], POINTS * POINTS)?;
    plate[..POINTS].fill(HOT as f32);
    let mut next = PinnedBuf::zeroed(&devices[0], POINTS * POINTS)?;

    // A series does not depend on steps and points. The largest errors are beside the hot edge's ends, where
    // 100 °C meet 0 °C.
    println!("   time      centre   by series   largest error   RMS error");
    let (mut runs, mut off) = (0, 0.0_f64);
    let mut pictures = Vec::new();
    for seconds in [1, 2, 5, 20] {
        while runs < seconds * RUNS {
            pipeline.run(POINTS, POINTS, (DIFFUSIVITY * STEP) as f32, &plate, &mut next)?;
            std::mem::swap(&mut plate, &mut next);
            runs += 1;
        }
        let exact = exact(seconds as f64);
        let centre = POINTS * (POINTS / 2) + POINTS / 2;
        let errors = || plate.iter().zip(&exact).map(|(&got, &exact)| (f64::from(got) - exact).abs());
        let largest = errors().fold(0.0, f64::max);
        let rms = (errors().map(|error| error * error).sum::<f64>() / exact.len() as f64).sqrt();
        let (got, expected) = (plate[centre], exact[centre]);
        println!("{seconds:5} s {got:8.3} °C {expected:8.3} °C {largest:12.3} K {rms:9.3} K");
        off = off.max(rms);
        pictures.push(plate.to_vec());
    }
    painted(&pictures).save(&output)?;
    println!("{} steps in {runs} runs, written to {}", runs * STEPS, output.display());
    if off < 0.05 { Ok(()) } else { Err("the plate is not as warm as it should be".into()) }
}

/// The temperatures of the plate's points after so many seconds, as Fourier series: the final temperatures,
/// less what is still missing of them.
fn exact(seconds: f64) -> Vec<f64> {
    let along = |point: usize| point as f64 / (POINTS - 1) as f64;
    // In units of the plate's edge, squared.
    let time = DIFFUSIVITY * seconds / ((POINTS - 1) * (POINTS - 1)) as f64;
    let mut plate = vec![0.0; POINTS * POINTS];
    plate[..POINTS].fill(HOT);
    for row in 1..POINTS - 1 {
        let y = along(row);
        for n in (1..1000).step_by(2).map(f64::from) {
            // sinh(n pi (1 - y)) / sinh(n pi), from numbers that do not overflow.
            let in_the_end =
                ((-n * PI * y).exp() - (-n * PI * (2.0 - y)).exp()) / (1.0 - (-2.0 * n * PI).exp());
            let missing = |m: f64| {
                let waves = n * n + m * m;
                2.0 * m / (PI * waves) * (m * PI * y).sin() * (-PI * PI * waves * time).exp()
            };
            // Later terms are less than f64 tells apart from 0.
            let missing: f64 = (1..=100).map(f64::from).take_while(|_| n < 100.0).map(missing).sum();
            let amplitude = 4.0 * HOT / (n * PI) * (in_the_end - missing);
            for column in 1..POINTS - 1 {
                plate[row * POINTS + column] += amplitude * (n * PI * along(column)).sin();
            }
        }
    }
    plate
}

/// The plates side by side, from dark blue (cold) to light yellow (hot), with a line every 10 °C.
fn painted(plates: &[Vec<f32>]) -> RgbImage {
    const GAP: u32 = 10;
    const COLORS: [[f32; 3]; 6] = [
        [13.0, 22.0, 66.0],
        [74.0, 32.0, 130.0],
        [165.0, 40.0, 118.0],
        [226.0, 83.0, 68.0],
        [249.0, 160.0, 46.0],
        [255.0, 246.0, 178.0],
    ];
    let (side, count) = (4 * POINTS as u32, plates.len() as u32);
    let mut picture = RgbImage::from_pixel(count * (side + GAP) - GAP, side, Rgb([255; 3]));
    for (plate, left) in plates.iter().zip((0..).step_by((side + GAP) as usize)) {
        // Values from 0 to 1, in which the crate scales.
        let plate = ImageBuffer::from_fn(POINTS as u32, POINTS as u32, |x, y| {
            Luma([plate[y as usize * POINTS + x as usize] / HOT as f32])
        });
        let plate = resize(&plate, side, side, FilterType::Triangle);
        for (x, y, &Luma([warmth])) in plate.enumerate_pixels() {
            let band = |x: u32, y: u32| (10.0 * plate[(x.min(side - 1), y.min(side - 1))][0]).floor();
            let drawn = if band(x, y) != band(x + 1, y) || band(x, y) != band(x, y + 1) { 0.35 } else { 0.0 };
            let ink = if warmth < 0.55 { 255.0 } else { 0.0 };
            let place = warmth * (COLORS.len() - 1) as f32;
            let below = (place as usize).min(COLORS.len() - 2);
            let channel =
                |i| COLORS[below][i] + (COLORS[below + 1][i] - COLORS[below][i]) * (place - below as f32);
            let color = [0, 1, 2].map(|i| ((1.0 - drawn) * channel(i) + drawn * ink).round() as u8);
            picture.put_pixel(left + x, y, Rgb(color));
        }
    }
    picture
}
