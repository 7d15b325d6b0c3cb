//! cuBLAS's routines on the CPU, for the simulated device.

use super::element::{Element, Scale};
use super::matmul::Activation;
use super::shape::Matrix;

/// The elements from row to row and from column to column of a matrix, or of its transpose.
fn strides(matrix: &Matrix, transposed: bool) -> [isize; 2] {
    // A leading dimension that was checked against a slice fits, unless there is only one row, which does not
    // use it.
    let ld = matrix.ld as isize;
    if transposed { [1, ld] } else { [ld, 1] }
}

/// `c <- alpha * op(a) * op(b) + beta * c` for each matrix of a batch. With `beta == 0`, `c` is not read;
/// with `alpha == 0`, `a` and `b` are not read.
pub(super) fn gemm<T: Element<Scale = C::Scale>, C: Element>(
    [a, b, c]: [&Matrix; 3],
    [transpose_a, transpose_b]: [bool; 2],
    alpha: C::Scale,
    (a_data, b_data): (&[T], &[T]),
    beta: C::Scale,
    c_data: &mut [C],
) {
    let [m, n] = [c.rows, c.columns];
    let k = if transpose_a { a.rows } else { a.columns };
    let zero = C::Scale::default();
    if m == 0 || n == 0 {
        return;
    }
    for index in 0..c.count {
        let c_data = &mut c_data[index * c.stride..];
        if k == 0 || alpha == zero {
            scale(c, beta, c_data);
            continue;
        }
        let old = |i: usize, j: usize| if beta == zero { zero } else { c_data[i * c.ld + j].widened() };
        let mut product: Vec<_> = (0..m * n).map(|at| old(at / n, at % n)).collect();
        let of_index = (&a_data[index * a.stride..], &b_data[index * b.stride..]);
        accumulate([a, b], [transpose_a, transpose_b], [m, n, k], alpha, of_index, beta, &mut product);
        for (i, row) in product.chunks(n).enumerate() {
            for (c, &value) in c_data[i * c.ld..].iter_mut().zip(row) {
                *c = C::rounded(value);
            }
        }
    }
}

/// `product <- alpha * op(a) * op(b) + beta * product`, of one matrix of `m` rows of `n` elements.
fn accumulate<T: Element>(
    [a, b]: [&Matrix; 2],
    [transpose_a, transpose_b]: [bool; 2],
    [m, n, k]: [usize; 3],
    alpha: T::Scale,
    (a_data, b_data): (&[T], &[T]),
    beta: T::Scale,
    product: &mut [T::Scale],
) {
    let wide = |matrix: &Matrix, data: &[T]| -> Vec<T::Scale> {
        let used = (matrix.rows - 1) * matrix.ld + matrix.columns;
        data[..used].iter().map(|x| x.widened()).collect()
    };
    let (wide_a, wide_b) = (wide(a, a_data), wide(b, b_data));
    assert_eq!(product.len(), m * n);
    // SAFETY: `wide_a` and `wide_b` reach to the last elements of `a` and `b`, which have `m`, `k` and `n`
    // rows and columns as they are read; `product` has `m` rows of `n` elements.
    unsafe {
        Scale::product(
            [m, n, k],
            alpha,
            (wide_a.as_ptr(), strides(a, transpose_a)),
            (wide_b.as_ptr(), strides(b, transpose_b)),
            beta,
            (product.as_mut_ptr(), [n as isize, 1]),
        );
    }
}

/// `d <- f(alpha * op(a) * op(b) + bias)`.
pub(super) fn matmul<T: Element<Scale = f32>, C: Element<Scale = f32>>(
    [a, b, d]: [&Matrix; 3],
    [transpose_a, transpose_b]: [bool; 2],
    alpha: f32,
    data: (&[T], &[T]),
    bias: Option<&[C]>,
    activation: Activation,
    d_data: &mut [C],
) {
    let [m, n] = [d.rows, d.columns];
    if m == 0 || n == 0 {
        return;
    }
    let k = if transpose_a { a.rows } else { a.columns };
    let mut product = vec![0.0; m * n];
    accumulate([a, b], [transpose_a, transpose_b], [m, n, k], alpha, data, 0.0, &mut product);
    for (at, (d, value)) in d_data.iter_mut().zip(product).enumerate() {
        let value = bias.map_or(value, |bias| value + bias[at % n].widened());
        *d = C::rounded(match activation {
            Activation::None => value,
            Activation::Relu => value.relu(),
            Activation::Gelu => value.gelu(),
        });
    }
}

/// `c <- beta * c`, of one matrix.
fn scale<C: Element>(c: &Matrix, beta: C::Scale, data: &mut [C]) {
    let zero = C::Scale::default();
    if c.columns == 0 || beta == C::Scale::ONE {
        return;
    }
    for i in 0..c.rows {
        for value in &mut data[i * c.ld..][..c.columns] {
            *value = C::rounded(if beta == zero { zero } else { beta.times(value.widened()) });
        }
    }
}
