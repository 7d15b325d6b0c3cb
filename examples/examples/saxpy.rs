//! `y <- a * x + y`, chunk by chunk.

use thalweg::prelude::*;

#[kernel] // runs once for each index
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return }; // no other thread has this element
    *y += a * x[i];
}

stream_pipeline! {
    /// `y <- a * x + y`, chunk by chunk.
    pub pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];

        chunk c = auto;                      // the runtime chooses its size
        depth = 3;                           // up to 3 chunks are under way at once

        stream up: high;
        stream math;
        stream down: low;

        stage load  on up   { copy x -> dx;  copy y -> dy; }
        stage axpy  on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let mut saxpy = Saxpy::new(&Device::open()?)?; // the first GPU, else the CPU; or `Device::all()?`
    let (x, mut y) = (vec![1.0; 1 << 20], vec![2.0; 1 << 20]);
    let report = saxpy.run(3.0, &x, &mut y)?; // any length; slices, `Vec`s or `PinnedBuf`s
    println!("{report}\ny[0] = {}", y[0]);
    Ok(())
}
