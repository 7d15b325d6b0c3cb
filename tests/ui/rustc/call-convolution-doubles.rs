// A convolution of `f64`, where cuDNN's routines are of `f32`.

use thalweg_libraries::cudnn::{self, Convolution};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f64; 16];
        resident w: [f64];
        output y: [f64; 4];
        device dy: [f64; 4];
        chunk c = 1;
        stage load { copy x -> dx; }
        stage convolve { call cudnn::convolution(Convolution::new([1, 1, 4, 4], [1, 1, 3, 3]), &dx, &w, out dy); }
        stage store { copy dy -> y; }
    }
}

fn main() {}
