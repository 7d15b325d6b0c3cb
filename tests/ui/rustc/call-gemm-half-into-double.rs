// A product of matrices of `f16`, which may be one of `f16` or `f32`, is wanted in `f64`.

use thalweg_libraries::cublas::{self, Gemm};
use thalweg::half::f16;
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input a: [f16];
        input b: [f16];
        output c: [f64];
        device dc: [f64];
        stage load { copy a -> da; copy b -> db; }
        stage multiply { call cublas::gemm_out(Gemm::new(1, 1, 1), 1.0, &da, &db, out dc); }
        stage store { copy dc -> c; }
    }
}

fn main() {}
