// A stage has the colon that a stream's priority has.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream up;
        stage load on up: { copy y -> dy; }
        stage store { copy dy -> y; }
    }
}

fn main() {}
