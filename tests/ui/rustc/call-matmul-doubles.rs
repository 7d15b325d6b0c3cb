// cuBLASLt's products with functions are of `f32`, and are given `f64`.

use thalweg_libraries::cublas::{self, Gemm};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input a: [f64];
        input b: [f64];
        output c: [f64];
        device dc: [f64];
        stage load { copy a -> da; copy b -> db; }
        stage multiply { call cublas::matmul(Gemm::new(1, 1, 1).relu(), 1.0, &da, &db, out dc); }
        stage store { copy dc -> c; }
    }
}

fn main() {}
