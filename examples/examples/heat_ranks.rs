//! Heat in a plate of aluminium, as in `heat`, whose rows are divided among ranks: each has a GPU of its own, and before
//! each step neighbours exchange the rows at their borders.
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

/// One step of heat conduction in some rows: `v = u + number * (the sum of the four neighbours - 4 u)`.
///
/// `u` has a row more above and below than the rows that are this rank's; its row 0 is row `first` of the plate. The
/// plate's border keeps its temperatures.
#[kernel]
#[requires(0 < columns && u.len() == v.len())]
pub fn conduct(
    at: Index<2>,
    columns: usize,
    first: isize,
    height: usize,
    number: f32,
    u: &[f32],
    v: &mut Own<[f32]>,
) {
    let Some(v) = v.get_mut(at) else { return };
    let [r, c] = at.get();
    let (row, here) = (first + r as isize, r * columns + c);
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
    /// Two steps for each item, there and back.
    pub pipeline Plate {
        param rows: usize;
        param first: isize;
        uniform param columns: usize;
        uniform param height: usize;
        uniform param number: f32;
        input turns: [u8];
        // The rows of this rank, and one more on either side.
        carry u: [f32; (rows + 2) * columns];
        carry v: [f32; (rows + 2) * columns] = 0.0;
        chunk c = 1;
        stream math;
        stream links;

        stage begin { copy turns -> _turn; }
        stage share on links { exchange u: halo columns; }
        stage there on math {
            conduct<<<(blocks(columns, 32), blocks(rows + 2, 8)), (32, 8)>>>(
                columns, first, height, number, &u, &mut v as [rows + 2, columns]);
        }
        stage share_again on links { exchange v: halo columns; }
        stage back on math {
            conduct<<<(blocks(columns, 32), blocks(rows + 2, 8)), (32, 8)>>>(
                columns, first, height, number, &v, &mut u as [rows + 2, columns]);
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
    let own = world.part(POINTS);
    // ANCHOR_END: ranks
    let first = own.start as isize - 1;
    let mut u = vec![0.0; (own.len() + 2) * POINTS];
    if own.start == 0 {
        // The row after the halo is the first one of the plate.
        u[POINTS..2 * POINTS].fill(HOT as f32);
    }
    let mut v = vec![0.0; u.len()];
    let number = (DIFFUSIVITY / STEPS as f64) as f32;

    if world.rank() == 0 {
        println!("   time      centre   by series   RMS error");
    }
    let (mut past, mut off) = (0, 0.0_f64);
    for seconds in [1, 2, 5] {
        let turns = vec![0; (seconds - past) * STEPS / 2];
        plate.run(own.len(), first, POINTS, POINTS, number, &turns, &mut u, &mut v)?;
        past = seconds;
        let exact = exact(seconds as f64);
        let rows = &u[POINTS..u.len() - POINTS];
        let errors =
            rows.iter().zip(&exact[own.start * POINTS..]).map(|(&got, &exact)| f64::from(got) - exact);
        let squares: f64 = errors.map(|error| error * error).sum();
        let middle = (POINTS / 2).checked_sub(own.start).filter(|row| *row < own.len());
        let centre = middle.map_or(0.0, |row| f64::from(rows[row * POINTS + POINTS / 2]));
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
