// Uniform numbers are wanted as integers.

use thalweg_libraries::curand::{self, Philox};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        output x: [u32];
        device dx: [u32];
        stage make { call curand::uniform(Philox::new(7), out dx); }
        stage store { copy dx -> x; }
    }
}

fn main() {}
