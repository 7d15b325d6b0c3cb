// A function of the result, which `matmul` applies, is given to `gemm_out`.

use thalweg_libraries::cublas::{self, Gemm};
use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input a: [f32];
        input b: [f32];
        output c: [f32];
        device dc: [f32];
        stage load { copy a -> da; copy b -> db; }
        stage multiply { call cublas::gemm_out(Gemm::new(1, 1, 1).relu(), 1.0, &da, &db, out dc); }
        stage store { copy dc -> c; }
    }
}

fn main() {}
