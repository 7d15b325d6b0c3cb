// A kernel changes a `static mut` of the host's program.

use thalweg::prelude::*;

static mut COUNT: u32 = 0;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    unsafe { COUNT += 1 };
    *y = x[i];
}

fn main() {}
