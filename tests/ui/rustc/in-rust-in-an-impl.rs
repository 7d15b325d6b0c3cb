// A kernel in Rust is in an `impl`.

use thalweg::prelude::*;

struct Filter;

impl Filter {
    #[kernel]
    fn k(i: Index, y: &mut Out<[f32]>) {
        let Some(y) = y.get_mut(i) else { return };
        *y = 1.0;
    }
}

fn main() {}
