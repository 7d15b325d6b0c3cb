// A struct of kernels holds data of the host.

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy)]
struct Table {
    values: &'static [f32],
    scale: f32,
}

fn main() {}
