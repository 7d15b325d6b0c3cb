// A struct of elements has a gap between two fields.

use thalweg::prelude::*;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Tagged {
    tag: u8,
    value: f32,
}

fn main() {}
