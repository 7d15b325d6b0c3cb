// What devices carry is combined, but is to stay on one of them.

use thalweg::prelude::*;

fn plus(one: f32, other: f32) -> f32 {
    one + other
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        carry sum: device [f32; 1] = 0.0 combine plus;
        stage all { copy x -> dx; }
    }
}

fn main() {}
