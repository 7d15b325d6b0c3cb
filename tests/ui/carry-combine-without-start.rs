// What devices carry is combined, but nothing says what each of them starts from.

use thalweg::prelude::*;

fn plus(one: f32, other: f32) -> f32 {
    one + other
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        carry sum: [f32; 1] combine plus;
        stage all { copy x -> dx; }
    }
}

fn main() {}
