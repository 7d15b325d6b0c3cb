// A signal of integers is transformed.

use thalweg_libraries::cufft::{self, Complex, Fft};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [i32; 8];
        output s: [Complex<f32>; 5];
        device ds: [Complex<f32>; 5];
        chunk c = 1;
        stage load { copy x -> dx; }
        stage transform { call cufft::forward(Fft::r2c(8), &dx, out ds); }
        stage store { copy ds -> s; }
    }
}

fn main() {}
