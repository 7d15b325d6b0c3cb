// A pattern in capitals has the name of a variable, with which rustc would not compare.

use thalweg::prelude::*;

#[allow(non_snake_case)]
#[kernel]
fn k(i: Index, x: &[u32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let N = x[0];
    *y = match x[i] {
        N => 1,
        _ => 2,
    };
}

fn main() {}
