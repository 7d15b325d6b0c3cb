// A struct of elements has a `bool`.

use thalweg::prelude::*;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Flag {
    set: bool,
}

fn main() {}
