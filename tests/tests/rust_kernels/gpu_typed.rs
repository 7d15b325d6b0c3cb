//! Functions for several types on a GPU.

use thalweg::prelude::*;

use crate::typed::results;

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_calls_the_functions_that_rustc_chooses() {
    let gpu = results(&Device::cuda(0).expect("a GPU"));
    assert_eq!(gpu, results(&Device::simulated(Simulation::default())));
}
