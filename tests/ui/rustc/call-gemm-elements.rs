// A product of matrices of `f32` is wanted in `f64`.

use thalweg_libraries::cublas::{self, Gemm};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input a: [f32];
        input b: [f32];
        output c: [f64];
        device dc: [f64];
        stage load { copy a -> da; copy b -> db; }
        stage multiply { call cublas::gemm_out(Gemm::new(1, 1, 1), 1.0, &da, &db, out dc); }
        stage store { copy dc -> c; }
    }
}

fn main() {}
