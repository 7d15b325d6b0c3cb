// An element is `f16`, which is not imported.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f16];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() {}
