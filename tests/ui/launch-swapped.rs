// Grid and block are swapped.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 5_000_000;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<256, 19532>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() {}
