// A pattern has the name of a constant, which C++ would take for a variable.

use thalweg::prelude::*;

#[allow(non_upper_case_globals)]
const limit: u32 = 3;

#[kernel]
fn k(i: Index, x: &[u32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = match x[i] {
        0 => 1,
        limit => limit,
        _ => 2,
    };
}

fn main() {}
