// A struct of kernels is not plain data.

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy)]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

fn main() {}
