// A variable in a pattern has the name of an import, which may be a constant.

use thalweg::prelude::*;

mod limits {
    #![allow(non_upper_case_globals)]
    pub const most: u32 = 3;
}

#[kernel]
fn k(i: Index, x: &[u32], y: &mut Out<[u32]>) {
    use limits::most;

    let Some(y) = y.get_mut(i) else { return };
    *y = match x[i] {
        0 => 1,
        most => most,
        _ => 2,
    };
}

fn main() {}
