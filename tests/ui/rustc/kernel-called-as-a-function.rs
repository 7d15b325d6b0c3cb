// A kernel is called as if it were a function.

use thalweg_kernels::top_k;

fn main() {
    let (x, mut values, mut indices) = ([1.0], [0.0], [0]);
    top_k(1, 1, 1, &x, &mut values, &mut indices);
}
