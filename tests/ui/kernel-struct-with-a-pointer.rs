// A struct that a kernel takes by value holds a pointer.

use thalweg::prelude::*;

#[kernels("sources/view.cu")]
unsafe extern "CUDA" {
    safe fn clear(view: [u64; 2]);
}

fn main() {}
