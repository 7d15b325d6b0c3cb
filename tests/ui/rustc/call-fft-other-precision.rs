// Spectra of `f64` are wanted of signals of `f32`.

use thalweg_libraries::cufft::{self, Complex, Fft};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32; 8];
        output s: [Complex<f64>; 5];
        device ds: [Complex<f64>; 5];
        chunk c = 1;
        stage load { copy x -> dx; }
        stage transform { call cufft::forward(Fft::r2c(8), &dx, out ds); }
        stage store { copy ds -> s; }
    }
}

fn main() {}
