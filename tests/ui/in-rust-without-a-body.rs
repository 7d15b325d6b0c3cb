// `#[kernel]` is on a function without a body.

use thalweg::prelude::*;

trait Filter {
    #[kernel]
    fn k(i: Index, y: &mut Out<[f32]>);
}

fn main() {}
