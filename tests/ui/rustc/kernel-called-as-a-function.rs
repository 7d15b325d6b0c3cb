// A kernel is called as if it were a function.

use thalweg_kernels::histogram_f32;

fn main() {
    let (x, mut counts) = ([1.0], [0; 4]);
    histogram_f32(1, 4, 0.0, 1.0, &x, &mut counts);
}
