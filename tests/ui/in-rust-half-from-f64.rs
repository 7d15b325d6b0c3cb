// A kernel makes a half of a double.

use thalweg::half::f16;
use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f64], y: &mut Out<[f16]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = f16::from_f64(x[i]);
}

fn main() {}
