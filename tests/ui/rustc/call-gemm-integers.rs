// cuBLAS is given matrices of integers.

use thalweg_libraries::cublas::{self, Gemm};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input a: [i32];
        input b: [i32];
        output c: [i32];
        device dc: [i32];
        stage load { copy a -> da; copy b -> db; }
        stage multiply { call cublas::gemm_out(Gemm::new(1, 1, 1), 1, &da, &db, out dc); }
        stage store { copy dc -> c; }
    }
}

fn main() {}
