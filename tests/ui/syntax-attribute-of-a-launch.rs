// A launch has an attribute.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 256;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy {
            /// The kernel.
            saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy);
        }
        stage store { copy dy -> y; }
    }
}

fn main() {}
