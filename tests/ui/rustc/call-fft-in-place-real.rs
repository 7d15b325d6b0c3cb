// Real signals are transformed in place, which complex ones can be.

use thalweg_libraries::cufft::{self, Fft};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout x: [f32; 8];
        chunk c = 1;
        stage load { copy x -> dx; }
        stage transform { call cufft::forward_in_place(Fft::r2c(8), &mut dx); }
        stage store { copy dx -> x; }
    }
}

fn main() {}
