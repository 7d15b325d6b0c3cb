// `#[kernel]` is on a struct.

use thalweg::prelude::*;

#[kernel]
struct Saxpy;

fn main() {}
