// A struct of kernels has a parameter.

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy)]
struct Pair<T> {
    a: T,
    b: T,
}

fn main() {}
