// A struct of kernels has a field whose bytes may be wrong.

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy)]
struct Cell {
    value: f32,
    used: [bool; 4],
}

fn main() {}
