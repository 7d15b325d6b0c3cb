// A macro of the user's own has the name of Rust's.

use thalweg::prelude::*;

#[allow(unused_imports, unused_macros, reason = "kernels have the macro of Rust itself")]
mod checks {
    macro_rules! check {
        ($($any:tt)*) => {};
    }
    pub(crate) use check as assert;
}

#[kernel]
fn halve(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    checks::assert!(x.len() > 1);
    *y = 0.5 * x[1];
}

fn main() {}
