//! cuBLAS's routines on the CPU, for devices on the host.

use std::borrow::Cow;

use rayon::prelude::*;

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
        let of_index = (&a_data[index * a.stride..], &b_data[index * b.stride..]);
        let transpose = [transpose_a, transpose_b];
        // A matrix of one row may have any leading dimension.
        let ld = if m == 1 { n } else { c.ld };
        if let Some(product) = C::as_scale_mut(&mut c_data[..(m - 1) * ld + n]) {
            accumulate([a, b], transpose, [m, n, k], alpha, of_index, beta, (product, ld));
            continue;
        }
        let old = |i: usize, j: usize| if beta == zero { zero } else { c_data[i * c.ld + j].widened() };
        let mut product: Vec<_> = (0..m * n).map(|at| old(at / n, at % n)).collect();
        accumulate([a, b], transpose, [m, n, k], alpha, of_index, beta, (&mut product, n));
        for (i, row) in product.chunks(n).enumerate() {
            for (c, &value) in c_data[i * c.ld..].iter_mut().zip(row) {
                *c = C::rounded(value);
            }
        }
    }
}

/// The elements of a matrix in the type in which sums are taken.
fn widened<'a, T: Element>(matrix: &Matrix, data: &'a [T]) -> Cow<'a, [T::Scale]> {
    let data = &data[..(matrix.rows - 1) * matrix.ld + matrix.columns];
    match T::as_scale(data) {
        Some(data) => Cow::Borrowed(data),
        None => Cow::Owned(data.par_iter().map(|x| x.widened()).collect()),
    }
}

/// `product <- alpha * op(a) * op(b) + beta * product`, of one matrix of `m` rows of `n` elements. With `product`
/// comes the number of elements from row to row.
fn accumulate<T: Element>(
    [a, b]: [&Matrix; 2],
    [transpose_a, transpose_b]: [bool; 2],
    [m, n, k]: [usize; 3],
    alpha: T::Scale,
    (a_data, b_data): (&[T], &[T]),
    beta: T::Scale,
    (product, ld): (&mut [T::Scale], usize),
) {
    let (wide_a, wide_b) = (widened(a, a_data), widened(b, b_data));
    assert!(n <= ld && product.len() >= (m - 1) * ld + n);
    let rows = rows_at_once([m, n, k]);
    let ([a_row, a_column], of_b) = (strides(a, transpose_a), strides(b, transpose_b));
    product[..(m - 1) * ld + n].par_chunks_mut(rows.saturating_mul(ld)).enumerate().for_each(
        |(part, product)| {
            let first = part * rows * a_row as usize;
            // SAFETY: `wide_a` and `wide_b` reach to the last elements of `a` and `b`, which have `m`, `k` and `n`
            // rows and columns as they are read, and the rows of `a` from `part * rows` on begin at `first`. Each row
            // that is multiplied here has `n` elements in `product`: `ld` are not less, and the last one ends with
            // it.
            unsafe {
                Scale::product(
                    [product.len().div_ceil(ld), n, k],
                    alpha,
                    (wide_a.as_ptr().add(first), [a_row, a_column]),
                    (wide_b.as_ptr(), of_b),
                    beta,
                    (product.as_mut_ptr(), [ld as isize, 1]),
                );
            }
        },
    );
}

/// The rows of a product are computed in groups of a multiple of this: it is one of the rows that
/// `matrixmultiply` computes at a time, so that a row has the same bits in any group.
const ROWS: usize = 64;

/// A product of fewer multiplications is over before another thread has begun.
const WORTH_A_THREAD: usize = 1 << 20;

/// How many rows of a product a thread computes, of those of the pool that calls.
fn rows_at_once([m, n, k]: [usize; 3]) -> usize {
    let threads = m.saturating_mul(n).saturating_mul(k) / WORTH_A_THREAD;
    m.div_ceil(threads.clamp(1, rayon::current_num_threads())).next_multiple_of(ROWS)
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
    accumulate([a, b], [transpose_a, transpose_b], [m, n, k], alpha, data, 0.0, (&mut product, n));
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

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;

    /// The product of two matrices of numbers that are not exact, by so many threads.
    fn product<T: Element<Scale = T>>(threads: usize, transpose: [bool; 2], number: fn(f64) -> T) -> Vec<T> {
        let [m, n, k] = [333, 70, 129];
        let shape =
            |rows, columns, transposed: bool| if transposed { [columns, rows] } else { [rows, columns] };
        let a = Matrix::new("a", "m x k", shape(m, k, transpose[0]), None);
        let b = Matrix::new("b", "k x n", shape(k, n, transpose[1]), None);
        let data = |step: usize| {
            (0..m * k).map(|i| number((i * step % 1013) as f64 / 1013.0 - 0.4)).collect::<Vec<_>>()
        };
        let (a_data, b_data) = (data(7), data(11));
        let mut product = data(3)[..m * n].to_vec();
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let (alpha, beta) = (number(0.7), number(0.3));
        let data = (&a_data[..], &b_data[..]);
        pool.install(|| accumulate([&a, &b], transpose, [m, n, k], alpha, data, beta, (&mut product, n)));
        product
    }

    #[test]
    fn a_product_has_the_same_bits_on_any_number_of_threads() {
        for transpose in [[false, false], [true, false], [false, true], [true, true]] {
            let one = product(1, transpose, |x| x as f32);
            assert!(one.iter().any(|x| *x != 0.0));
            for threads in [2, 3, 7] {
                assert_eq!(product(threads, transpose, |x| x as f32), one, "{threads} threads");
            }
            assert_eq!(product(4, transpose, |x| x), product(1, transpose, |x| x));
        }
    }

    #[test]
    fn parts_of_a_product_are_whole_groups_of_rows() {
        let pool = ThreadPoolBuilder::new().num_threads(4).build().expect("a pool");
        let rows = |size| pool.install(|| rows_at_once(size));
        assert_eq!(rows([1, 1, 1]), 64);
        assert_eq!(rows([100, 100, 100]), 128);
        assert_eq!(rows([2048, 2048, 2048]), 512);
        assert_eq!(rows([1000, 1000, 1000]), 256);
    }
}
