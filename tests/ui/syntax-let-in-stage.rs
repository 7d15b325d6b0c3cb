// A stage computes a value with `let`.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param a: f32;
        inout y: [f32];
        chunk c = auto;
        stage all {
            copy y -> dy;
            let n = c.len as u32;
            copy dy -> y;
        }
    }
}

fn main() {}
