// The block's variables cannot change in a phase, also not as parts of a tuple or an array.

use thalweg::prelude::*;

#[kernel]
fn parts(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let (mut a, mut b, mut c) = (1, 2, 3);
    block.each(|t| ((a, b), c) = ((x[t.rank()], b), c));
    block.each(|t| [a, b] = [x[t.rank()], a]);
    y.put(block.index(), a + b + c);
}

fn main() {}
