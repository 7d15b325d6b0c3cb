//! Heat in a plate of aluminium, as in `heat`, whose rows are divided among ranks: each has a GPU of its own. In each step
//! the first and the last row of a rank are computed before all others, and travel to the neighbours meanwhile.
//!
//! ```text
//! cargo run --release --example heat_ranks
//! torchrun --no-python --nproc-per-node 4 target/release/examples/heat_ranks
//! mpirun -n 4 target/release/examples/heat_ranks
//! ```
//!
//! Any number of ranks comes to the same bits. Without a launcher there is one.

use std::error::Error;
use std::f64::consts::PI;

use thalweg::prelude::*;

/// What a step makes of a temperature, from those above, below, left and right of it.
#[device]
fn warmed(number: f32, here: f32, above: f32, below: f32, left: f32, right: f32) -> f32 {
    here + number * ((above + below) + (left + right) - 4.0 * here)
}

/// What a step makes of the temperature `here` in any row of a rank, whose column is `c`. Beyond the rows of the rank
/// it looks into `ends`: the row above them, the first and the last of them, and the row below.
#[device]
fn warmed_at(here: usize, c: usize, columns: usize, number: f32, u: &[f32], ends: &[f32]) -> f32 {
    if c == 0 || c + 1 == columns {
        return u[here];
    }
    let above = if here >= columns { u[here - columns] } else { ends[c] };
    let below = if here + columns < u.len() { u[here + columns] } else { ends[3 * columns + c] };
    warmed(number, u[here], above, below, u[here - 1], u[here + 1])
}

/// One step of heat conduction in the rows of a rank: `v = u + number * (the sum of the four neighbours - 4 u)`. The
/// first and the last column keep their temperatures.
#[kernel]
#[requires(v.shape()[1] == columns as usize && v.len() == u.len())]
#[requires(ends.len() == 4 * columns as usize)]
pub fn conduct(at: Index<2>, columns: u32, number: f32, u: &[f32], ends: &[f32], v: &mut Own<[f32]>) {
    let Some(v) = v.get_mut(at) else { return };
    let ([r, c], columns) = (at.get(), columns as usize);
    let (here, right) = (r * columns + c, c + 1);
    // Nearly all points are inside, where no index needs a check.
    *v = if c > 0 && right < columns && here >= columns && here + columns < u.len() {
        warmed(number, u[here], u[here - columns], u[here + columns], u[here - 1], u[r * columns + right])
    } else {
        warmed_at(here, c, columns, number, u, ends)
    };
}

/// The same step in the first and the last row alone. The rows of neighbours are copied.
#[kernel]
#[requires(new.shape()[0] == 4 && new.shape()[1] == columns as usize && new.len() == ends.len())]
pub fn conduct_ends(at: Index<2>, columns: u32, number: f32, u: &[f32], ends: &[f32], new: &mut Out<[f32]>) {
    let Some(new) = new.get_mut(at) else { return };
    let ([end, c], columns) = (at.get(), columns as usize);
    *new = if !u.is_empty() && (end == 1 || end == 2) {
        let here = if end == 1 { c } else { u.len() - columns + c };
        warmed_at(here, c, columns, number, u, ends)
    } else {
        ends[end * columns + c]
    };
}

// ANCHOR: pipeline
stream_pipeline! {
    /// Two steps for each item, there and back.
    pub pipeline Plate {
        param rows: usize;
        uniform param columns: usize;
        uniform param number: f32;
        input turns: [u8];
        carry u: [f32; rows * columns];
        carry v: [f32; rows * columns] = 0.0;
        // The row above those of this rank, its first and its last one, and the row below.
        carry ends_u: [f32; 4 * columns];
        device ends_v: [f32; 4 * columns] per chunk;
        chunk c = 1;
        stream math;
        stream links: high;

        stage begin { copy turns -> _turn; }
        stage share on links {
            conduct_ends<<<(blocks(columns, 32), 1), (32, 4)>>>(
                columns as u32, number, &u, &ends_u, out ends_v as [4, columns]);
            exchange ends_v: halo columns;
        }
        stage there on math {
            conduct<<<(blocks(columns, 32), blocks(rows, 8)), (32, 8)>>>(
                columns as u32, number, &u, &ends_u, &mut v as [rows, columns]);
        }
        stage share_again on links {
            conduct_ends<<<(blocks(columns, 32), 1), (32, 4)>>>(
                columns as u32, number, &v, &ends_v, out ends_u as [4, columns]);
            exchange ends_u: halo columns;
        }
        stage back on math {
            conduct<<<(blocks(columns, 32), blocks(rows, 8)), (32, 8)>>>(
                columns as u32, number, &v, &ends_v, &mut u as [rows, columns]);
        }
    }
}
// ANCHOR_END: pipeline

/// Points along an edge of the plate, one a millimetre.
const POINTS: usize = 81;
/// Steps in a second of the plate's time.
const STEPS: usize = 450;
/// The diffusivity of aluminium, in square millimetres a second. `DIFFUSIVITY / STEPS` may be at most a quarter of a
/// square millimetre: beyond that, errors grow.
const DIFFUSIVITY: f64 = 97.0;
/// The temperature of the hot edge, in °C.
const HOT: f64 = 100.0;

// ANCHOR: ranks
fn main() -> Result<(), Box<dyn Error>> {
    let world = World::from_env()?;
    let mut plate = Plate::options(&world.device()?).world(&world).build()?;
    // The first and the last row of the plate keep their temperatures, and are no rank's.
    let inside = world.part(POINTS - 2);
    let own = inside.start + 1..inside.end + 1;
    // ANCHOR_END: ranks
    let row = |row: usize| vec![if row == 0 { HOT as f32 } else { 0.0 }; POINTS];
    let mut u: Vec<_> = own.clone().flat_map(row).collect();
    let mut v = vec![0.0; u.len()];
    let mut ends = [own.start - 1, own.start, own.end - 1, own.end].map(row).concat();
    let number = (DIFFUSIVITY / STEPS as f64) as f32;

    if world.rank() == 0 {
        println!("   time      centre   by series   RMS error");
    }
    let (mut past, mut off) = (0, 0.0_f64);
    for seconds in [1, 2, 5] {
        let turns = vec![0; (seconds - past) * STEPS / 2];
        plate.run(own.len(), POINTS, number, &turns, &mut u, &mut v, &mut ends)?;
        past = seconds;
        let exact = exact(seconds as f64);
        let errors = u.iter().zip(&exact[own.start * POINTS..]).map(|(&got, &exact)| f64::from(got) - exact);
        let squares: f64 = errors.map(|error| error * error).sum();
        let middle = (POINTS / 2).checked_sub(own.start).filter(|row| *row < own.len());
        let centre = middle.map_or(0.0, |row| f64::from(u[row * POINTS + POINTS / 2]));
        // Each rank has a part of the sum, and one of them the centre.
        let all = world.all_gather([squares, centre])?;
        let [squares, centre] = [0, 1].map(|which| all.iter().map(|of| of[which]).sum::<f64>());
        let rms = (squares / (POINTS * POINTS) as f64).sqrt();
        off = off.max(rms);
        if world.rank() == 0 {
            let expected = exact[POINTS * (POINTS / 2) + POINTS / 2];
            println!("{seconds:5} s {centre:8.3} °C {expected:8.3} °C {rms:9.3} K");
        }
    }
    if off < 0.05 { Ok(()) } else { Err("the plate is not as warm as it should be".into()) }
}

/// The temperatures of the plate's points after so many seconds, as Fourier series: the final temperatures, less what is
/// still missing of them.
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
