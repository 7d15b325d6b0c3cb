// A product of matrices of `f64` is wanted in `f32`.

use thalweg_libraries::cublas::{self, Gemm};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input a: [f64];
        input b: [f64];
        output c: [f32];
        device dc: [f32];
        stage load { copy a -> da; copy b -> db; }
        stage multiply { call cublas::gemm_out(Gemm::new(1, 1, 1), 1.0, &da, &db, out dc); }
        stage store { copy dc -> c; }
    }
}

fn main() {}
