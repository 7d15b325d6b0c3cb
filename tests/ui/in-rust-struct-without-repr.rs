// A struct of kernels leaves its layout to rustc.

use thalweg::prelude::*;

#[device]
#[derive(Clone, Copy)]
struct Body {
    mass: f32,
    kind: u8,
}

fn main() {}
