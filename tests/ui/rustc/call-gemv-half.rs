// `gemv` is given 16-bit elements, of which cuBLAS has none.

use thalweg_libraries::cublas::{self, Gemv};
use thalweg::half::f16;
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        resident a: [f16];
        input x: [f16];
        output y: [f16];
        device dy: [f16];
        stage load { copy x -> dx; }
        stage multiply { call cublas::gemv_out(Gemv::new(1, 1), f16::ONE, &a, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

fn main() {}
