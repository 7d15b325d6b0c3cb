// A kernel is called as if it were a function.

use thalweg_kernels::scale_f32;

fn main() {
    let (x, mut y) = ([1.0], [0.0]);
    scale_f32(1, 2.0, 0.0, &x, &mut y);
}
