// A kernel is called as if it were a function.

use thalweg_kernels::histogram_u8;

fn main() {
    let (x, mut counts) = ([1], [0; 256]);
    histogram_u8(1, &x, &mut counts);
}
