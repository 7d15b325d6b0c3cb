// A kernel in Rust takes `self`.

use thalweg::prelude::*;

struct Filter;

impl Filter {
    #[kernel]
    fn k(&self, i: Index, y: &mut Out<[f32]>) {
        let Some(y) = y.get_mut(i) else { return };
        *y = 1.0;
    }
}

fn main() {}
