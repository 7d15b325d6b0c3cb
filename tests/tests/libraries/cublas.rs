//! cuBLAS from pipelines: on the simulated device, and on a GPU.

use thalweg::half::{bf16, f16};
use thalweg::prelude::*;
use thalweg_libraries::cublas::{self, Batch, Element, Gemm, Gemv, Product, Scale, Vector};
use thalweg_tests::book::{in_listing, recorded};
use thalweg_tests::on_each_device;
use thalweg_tests::products::{Exact, Number, Numbers, Shape};

on_each_device! {
    products_are_those_of_a_plain_loop;
    batches_are_products_one_by_one;
    products_of_vectors;
    sums_of_vectors;
    what_is_no_number;
    numbers_near_zero;
    tf32_is_as_exact_as_it_says;
    many_chunks_on_many_streams;
    dimensions_that_do_not_fit;
    pipelines_of_the_book;
}

// ANCHOR: multiply
stream_pipeline! {
    /// Each chunk is one product, or one batch of them.
    pipeline Multiply<T: Product<C>, C: Element> {
        param gemm: Gemm;
        param batch: Option<Batch>;
        param alpha: C::Scale;
        param beta: C::Scale;
        param lengths: [usize; 3];
        input a: [T; lengths[0]];
        input b: [T; lengths[1]];
        inout c: [C; lengths[2]];
        chunk _x = 1;
        stage load { copy a -> da; copy b -> db; copy c -> dc; }
        stage multiply { call multiply(gemm, batch, alpha, &da, &db, beta, &mut dc); }
        stage store { copy dc -> c; }
    }
}

#[allow(clippy::too_many_arguments, reason = "they are the routine's")]
fn multiply<T: Product<C>, C: Element>(
    queue: &Enqueue<'_>,
    gemm: Gemm,
    batch: Option<Batch>,
    alpha: C::Scale,
    a: DeviceSlice<'_, T>,
    b: DeviceSlice<'_, T>,
    beta: C::Scale,
    c: DeviceSliceMut<'_, C>,
) -> thalweg::Result<()> {
    match batch {
        None => cublas::gemm(queue, gemm, alpha, a, b, beta, c),
        Some(batch) => cublas::gemm_batched(queue, gemm, batch, alpha, a, b, beta, c),
    }
}
// ANCHOR_END: multiply

stream_pipeline! {
    pipeline MultiplyOut<T: Product<C>, C: Element> {
        param gemm: Gemm;
        param batch: Batch;
        param alpha: C::Scale;
        param lengths: [usize; 3];
        input a: [T; lengths[0]];
        input b: [T; lengths[1]];
        output c: [C; lengths[2]];
        output d: [C; lengths[2]];
        device dc: [C; lengths[2]];
        device dd: [C; lengths[2]];
        chunk _x = 1;
        stage load { copy a -> da; copy b -> db; }
        stage multiply {
            call cublas::gemm_out(gemm, alpha, &da, &db, out dc);
            call cublas::gemm_batched_out(gemm, batch, alpha, &da, &db, out dd);
        }
        stage store { copy dc -> c; copy dd -> d; }
    }
}

const SIZES: [usize; 8] = [0, 1, 2, 3, 8, 17, 33, 64];

fn shapes(count: usize) -> impl Iterator<Item = Shape> {
    let mut numbers = Numbers(1);
    let every =
        SIZES.into_iter().flat_map(|m| SIZES.map(|n| (m, n))).flat_map(|(m, n)| SIZES.map(|k| [m, n, k]));
    // All combinations of transposes, with a gap behind one of the matrices.
    let every: Vec<_> = every.enumerate().collect();
    let step = every.len().div_ceil(count);
    every.into_iter().step_by(step.max(1)).flat_map(move |(_, [m, n, k])| {
        let gaps = [numbers.below(4), numbers.below(4), numbers.below(4)];
        [[false, false], [false, true], [true, false], [true, true]].map(|transposed| Shape {
            m,
            n,
            k,
            transposed,
            gaps: if transposed[0] { gaps } else { [0; 3] },
        })
    })
}

/// `alpha` and `beta`.
const SCALES: [(f64, f64); 6] = [(1.0, 0.0), (1.0, 1.0), (-0.5, 2.0), (0.0, 0.5), (0.0, 0.0), (0.0, 1.0)];

fn scale<S: Scale + Number>(value: f64) -> S {
    S::of(value)
}

fn products_are_those_of_a_plain_loop(device: &Device) {
    fn of<T: Number + Product<C>, C: Number>(device: &Device, count: usize)
    where
        C::Scale: Number,
    {
        let mut numbers = Numbers(7);
        let mut multiply = Multiply::<T, C>::options(device).build().unwrap();
        let mut tried = 0;
        for (shape, (alpha, beta)) in shapes(count).zip(SCALES.into_iter().cycle()) {
            let lengths = shape.lengths();
            let [a, b] = [lengths[0], lengths[1]].map(|len| numbers.vec::<T>(2 * len));
            let old = numbers.vec::<C>(2 * lengths[2]);
            let mut c = old.clone();
            multiply.run(shape.gemm(), None, scale(alpha), scale(beta), lengths, &a, &b, &mut c).unwrap();
            for (half, start) in [0, lengths[2]].into_iter().enumerate() {
                let part = |data: &[T], len: usize| data[half * len..][..len].to_vec();
                let (a, b) = (part(&a, lengths[0]), part(&b, lengths[1]));
                let old = &old[start..][..lengths[2]];
                let expected = shape.product(alpha, &a, &b, beta, old);
                shape.check::<T, C>(&c[start..][..lengths[2]], old, &expected);
            }
            tried += 1;
        }
        assert!(tried >= count, "{tried} products");
    }
    of::<f32, f32>(device, 512);
    of::<f64, f64>(device, 128);
    of::<f16, f16>(device, 128);
    of::<bf16, bf16>(device, 128);
    of::<f16, f32>(device, 128);
    of::<bf16, f32>(device, 128);
}

fn batches_are_products_one_by_one(device: &Device) {
    fn of<T: Number + Product<C>, C: Number>(device: &Device)
    where
        C::Scale: Number,
    {
        let mut numbers = Numbers(11);
        let mut multiply = Multiply::<T, C>::options(device).build().unwrap();
        let mut plain = MultiplyOut::<T, C>::options(device).build().unwrap();
        for (index, shape) in shapes(30).enumerate() {
            let one = shape.lengths();
            let (alpha, beta) = SCALES[index % SCALES.len()];
            let count = [1, 2, 5][index % 3];
            // Every other case has one `b` for all.
            let strides = [one[0] + index % 3, if index % 2 == 0 { 0 } else { one[1] }, one[2] + index % 5];
            let batch = Batch::new(count).stride_a(strides[0]).stride_b(strides[1]).stride_c(strides[2]);
            let lengths = [0, 1, 2].map(|i| (count - 1) * strides[i] + one[i]);
            let (a, b) = (numbers.vec::<T>(lengths[0]), numbers.vec::<T>(lengths[1]));
            let old = numbers.vec::<C>(lengths[2]);
            let mut c = old.clone();
            let scales = (scale(alpha), scale(beta));
            multiply.run(shape.gemm(), Some(batch), scales.0, scales.1, lengths, &a, &b, &mut c).unwrap();
            for i in 0..count {
                let [a, b] = [(&a, 0), (&b, 1)].map(|(data, of)| &data[i * strides[of]..][..one[of]]);
                let range = i * strides[2]..i * strides[2] + one[2];
                let expected = shape.product(alpha, a, b, beta, &old[range.clone()]);
                shape.check::<T, C>(&c[range.clone()], &old[range], &expected);
            }

            // All of the result is written, so its memory may hold anything before.
            let Shape { m, n, .. } = shape;
            if shape.gaps != [0; 3] || m * n == 0 {
                continue;
            }
            let (a, b) = (numbers.vec::<T>(one[0]), numbers.vec::<T>(one[1]));
            let (mut c, mut d) = (vec![C::of(0.0); one[2]], vec![C::of(0.0); one[2]]);
            let batch = Batch::new(1);
            plain.run(shape.gemm(), batch, scale(2.0), one, &a, &b, &mut c, &mut d).unwrap();
            let expected = shape.product(2.0, &a, &b, 0.0, &c);
            shape.check::<T, C>(&c, &c, &expected);
            shape.check::<T, C>(&d, &d, &expected);
        }
    }
    of::<f32, f32>(device);
    of::<f64, f64>(device);
    of::<f16, f32>(device);
    of::<bf16, bf16>(device);
}

stream_pipeline! {
    pipeline Apply<T: Vector> {
        param gemv: Gemv;
        param alpha: T;
        param beta: T;
        param lengths: [usize; 3];
        input a: [T; lengths[0]];
        input x: [T; lengths[1]];
        inout y: [T; lengths[2]];
        output z: [T; lengths[2]];
        device dz: [T; lengths[2]];
        chunk _c = 1;
        stage load { copy a -> da; copy x -> dx; copy y -> dy; }
        stage apply {
            call cublas::gemv(gemv, alpha, &da, &dx, beta, &mut dy);
            call cublas::gemv_out(gemv, alpha, &da, &dx, out dz);
        }
        stage store { copy dy -> y; copy dz -> z; }
    }
}

fn products_of_vectors(device: &Device) {
    fn of<T: Number + Vector>(device: &Device) {
        let mut numbers = Numbers(13);
        let mut apply = Apply::<T>::options(device).build().unwrap();
        for (index, shape) in shapes(64).filter(|shape| shape.n == 1 && shape.m > 0).enumerate() {
            // The same as a product with one column.
            let transpose = shape.transposed[0];
            let shape = Shape { transposed: [transpose, false], gaps: [shape.gaps[0], 0, 0], ..shape };
            let lengths = shape.lengths();
            let (alpha, beta) = SCALES[index % SCALES.len()];
            let [rows, columns] = shape.stored()[0];
            let gemv = Gemv::new(rows, columns).lda(shape.ld()[0]);
            let gemv = if transpose { gemv.transpose() } else { gemv };
            let (a, x) = (numbers.vec::<T>(lengths[0]), numbers.vec::<T>(lengths[1]));
            let old = numbers.vec::<T>(lengths[2]);
            let (mut y, mut z) = (old.clone(), old.clone());
            apply.run(gemv, T::of(alpha), T::of(beta), lengths, &a, &x, &mut y, &mut z).unwrap();
            shape.check::<T, T>(&y, &old, &shape.product(alpha, &a, &x, beta, &old));
            shape.check::<T, T>(&z, &old, &shape.product(alpha, &a, &x, 0.0, &old));
        }
    }
    of::<f32>(device);
    of::<f64>(device);
}

stream_pipeline! {
    pipeline Add<T: Element> {
        param alpha: T::Scale;
        input x: [T];
        inout y: [T];
        chunk _c = 100;
        stage load { copy x -> dx; copy y -> dy; }
        stage add { call cublas::axpy(alpha, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn sums_of_vectors(device: &Device) {
    fn of<T: Number>(device: &Device)
    where
        T::Scale: Number,
    {
        let mut numbers = Numbers(17);
        let mut add = Add::<T>::options(device).build().unwrap();
        for (len, alpha) in [(1, 1.0), (99, -0.5), (100, 2.0), (350, 0.25), (70, 0.0)] {
            let (x, old) = (numbers.vec::<T>(len), numbers.vec::<T>(len));
            let mut y = old.clone();
            add.run(scale(alpha), &x, &mut y).unwrap();
            for ((y, x), old) in y.iter().zip(&x).zip(&old) {
                let exact = alpha * x.exact() + old.exact();
                let size = (alpha * x.exact()).abs() + old.exact().abs();
                let bound = 2.0 * T::SUMMING * size + 2.0 * T::ROUNDING * exact.abs() + T::LEAST;
                assert!((y.exact() - exact).abs() <= bound, "{alpha} * {x:?} + {old:?} is {y:?}");
            }
        }
    }
    of::<f32>(device);
    of::<f64>(device);
    of::<f16>(device);
    of::<bf16>(device);
}

fn what_is_no_number(device: &Device) {
    let gemm = Gemm::new(2, 2, 2);
    let mut multiply = Multiply::<f32, f32>::options(device).build().unwrap();
    let nan = f32::NAN;
    let mut run = |alpha, a: [f32; 4], b: [f32; 4], beta, mut c: [f32; 4]| {
        multiply.run(gemm, None, alpha, beta, [4; 3], &a, &b, &mut c).unwrap();
        c
    };
    let (one, x) = ([1.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(run(1.0, one, x, 0.0, [nan; 4]), x, "with beta 0, c is not read");
    assert_eq!(
        run(0.0, [nan; 4], [nan; 4], 2.0, x),
        [2.0, 4.0, 6.0, 8.0],
        "with alpha 0, a and b are not read"
    );
    assert_eq!(run(0.0, [nan; 4], [nan; 4], 0.0, [nan; 4]), [0.0; 4]);
    let c = run(1.0, [nan, 0.0, 0.0, 1.0], x, 0.0, x);
    assert!(c[0].is_nan() && c[1].is_nan() && c[2..] == [3.0, 4.0], "{c:?}");
    let c = run(1.0, one, [f32::INFINITY, 1.0, 1.0, 1.0], 0.0, x);
    assert!(c[0] == f32::INFINITY && c[1] == 1.0 && c[2].is_nan() && c[3] == 1.0, "{c:?}");
    let c = run(1.0, one, x, 1.0, [nan, 1.0, 1.0, 1.0]);
    assert!(c[0].is_nan() && c[1..] == [3.0, 4.0, 5.0], "{c:?}");
}

fn numbers_near_zero(device: &Device) {
    let mut single = Multiply::<f32, f32>::options(device).build().unwrap();
    let mut c = [0.0_f32];
    single.run(Gemm::new(1, 1, 1), None, 1.0, 0.0, [1; 3], &[1e-20], &[1e-20], &mut c).unwrap();
    assert!(c[0].is_subnormal() && (c[0] - 1e-40).abs() <= 1e-45, "{c:?}");
    single.run(Gemm::new(1, 1, 1), None, 1.0, 0.0, [1; 3], &[1e-40], &[1e20], &mut c).unwrap();
    assert!((c[0] / 1e-20 - 1.0).abs() < 1e-5, "{c:?}");
    let mut half = Multiply::<f16, f16>::options(device).build().unwrap();
    let tiny = f16::from_bits(3);
    let (a, b) = ([tiny; 16], [f16::ONE; 16]);
    let mut c = [f16::ZERO];
    half.run(Gemm::new(1, 1, 16), None, 1.0, 0.0, [16, 16, 1], &a, &b, &mut c).unwrap();
    assert_eq!(c[0].to_bits(), 48, "the sum of 16 times 3 of the smallest");
}

/// Matrices of `f32` whose elements lose bits, if that is allowed and the device has such units.
fn tf32_is_as_exact_as_it_says(device: &Device) {
    let shape = Shape { m: 64, n: 64, k: 64, transposed: [false; 2], gaps: [0; 3] };
    let mut numbers = Numbers(23);
    let (a, b) = (numbers.vec::<f32>(64 * 64), numbers.vec::<f32>(64 * 64));
    let mut c = vec![0.0_f32; 64 * 64];
    let mut multiply = Multiply::<f32, f32>::options(device).build().unwrap();
    multiply.run(shape.gemm().tf32(), None, 1.0, 0.0, [64 * 64; 3], &a, &b, &mut c).unwrap();
    let expected = shape.product(1.0, &a, &b, 0.0, &c);
    for (c, expected) in c.iter().zip(expected) {
        let (exact, size) = expected.map(|expected| (expected.value(), expected.size)).unwrap();
        // Each factor is rounded, or cut off, to 10 bits after the first; sums are cut off to 23 bits.
        let bound = (2.0 / 1024.0 + 67.0 / f64::from(1 << 23)) * size;
        assert!((f64::from(*c) - exact).abs() <= bound, "{c}, not {exact}");
    }
    multiply.run(shape.gemm(), None, 1.0, 0.0, [64 * 64; 3], &a, &b, &mut c).unwrap();
    shape.check::<f32, f32>(&c, &c, &shape.product(1.0, &a, &b, 0.0, &c));
}

stream_pipeline! {
    /// Two stages that multiply at once, on streams of their own.
    pipeline Two {
        param k: usize;
        input x: [f32; k];
        input z: [f32; k];
        resident w: [f32];
        output y: [f32; k];
        output u: [f32; k];
        device dy: [f32; k];
        device du: [f32; k];
        device dv: [f32; k];
        chunk c = 7;
        stream one;
        stream two;
        stream both per slot;
        stage load { copy x -> dx; copy z -> dz; }
        stage first on one { call cublas::gemm_out(Gemm::new(c.len, k, k), 1.0, &dx, &w, out dy); }
        stage second on two { call cublas::gemm_out(Gemm::new(c.len, k, k).transpose_b(), 2.0, &dz, &w, out du); }
        stage third on both {
            call cublas::matmul(Gemm::new(c.len, k, k), 1.0, &dy, &w, out dv);
            call cublas::axpy(1.0, &dv, &mut du);
        }
        stage store { copy dy -> y; copy du -> u; }
    }
}

fn many_chunks_on_many_streams(device: &Device) {
    let k = 32;
    let items = 7 * 20 + 3;
    let mut numbers = Numbers(29);
    let (x, z, w) = (numbers.vec::<f32>(items * k), numbers.vec::<f32>(items * k), numbers.vec::<f32>(k * k));
    let shape = Shape { m: items, n: k, k, transposed: [false; 2], gaps: [0; 3] };
    let transposed = Shape { transposed: [false, true], ..shape };
    for depth in [1, 2, 3, 5] {
        for graph in [false, true] {
            let options = Two::options(device).depth(depth);
            let mut two = if graph { options.graph() } else { options }.build().unwrap();
            for _ in 0..2 {
                let (mut y, mut u) = (vec![0.0; items * k], vec![0.0; items * k]);
                two.run(k, &x, &z, &w, &mut y, &mut u).unwrap();
                shape.check::<f32, f32>(&y, &y, &shape.product(1.0, &x, &w, 0.0, &y));
                // The last result is a sum of two products; one of them has a factor that was rounded
                // already.
                let first = transposed.product(2.0, &z, &w, 0.0, &u);
                let second = shape.product(1.0, &y, &w, 0.0, &u);
                let sum = first.iter().zip(&second).map(|(a, b)| {
                    let (a, b) = (a.unwrap(), b.unwrap());
                    Some(Exact { added: a.product, size: a.size + b.size, ..b })
                });
                shape.check::<f32, f32>(&u, &u, &sum.collect::<Vec<_>>());
            }
        }
    }
}

fn dimensions_that_do_not_fit(device: &Device) {
    let mut multiply = Multiply::<f32, f32>::options(device).build().unwrap();
    let mut run = |gemm, batch, lengths: [usize; 3]| {
        let [a, b, mut c] = lengths.map(|len| vec![1.0; len]);
        multiply.run(gemm, batch, 1.0, 1.0, lengths, &a, &b, &mut c).unwrap_err()
    };
    let gemm = Gemm::new(2, 3, 4);
    let error = run(gemm, None, [9, 12, 6]);
    recorded("libraries-dimensions.txt", &in_listing(&error, file!(), "multiply"));
    let kind = |error: Error| match thalweg_libraries::Error::of(&error) {
        Some(thalweg_libraries::Error::Dimensions { routine, argument, needed, len, .. }) => {
            (*routine, *argument, *needed, *len)
        }
        _ => panic!("{error}"),
    };
    assert_eq!(kind(run(gemm, None, [8, 11, 6])), ("gemm", "b", 12, 11));
    assert_eq!(kind(run(gemm, None, [8, 12, 7])), ("gemm", "c", 6, 7));
    assert_eq!(kind(run(gemm.transpose_a().lda(3), None, [8, 12, 6])), ("gemm", "a", 11, 8));
    assert_eq!(kind(run(gemm, Some(Batch::new(3)), [24, 36, 17])), ("gemm_batched", "c", 18, 17));
    let text = |error: Error| error.to_string().lines().next().unwrap().to_owned();
    let error = run(gemm.ldb(2), None, [8, 12, 6]);
    assert_eq!(
        text(error),
        "`gemm`: the leading dimension of `b` is 2, but it must be at least its 3 columns"
    );
    let error = run(gemm, Some(Batch::new(2).stride_c(5)), [16, 24, 11]);
    let expected =
        "`gemm_batched`: the stride of `c` is 5, but it must be at least the 6 elements of a matrix";
    assert_eq!(text(error), expected);
    let error = run(Gemm::new(1 << 31, 0, 0), None, [1; 3]);
    assert_eq!(text(error), "`gemm`: m is 2147483648, but it must be at most 2147483647");
}

// ANCHOR: composed
/// `y <- x * w1 * w2`: two products; the first goes into `t`. The weights are in one buffer.
fn two_products(
    queue: &Enqueue<'_>,
    [rows, k, n]: [usize; 3],
    x: DeviceSlice<'_, f32>,
    weights: DeviceSlice<'_, f32>,
    t: DeviceSliceOut<'_, f32>,
    y: DeviceSliceOut<'_, f32>,
) -> thalweg::Result<()> {
    let Some((w1, w2)) = weights.split_at(k * k) else {
        return Err(Error::routine("two_products", "there are too few weights"));
    };
    // `t` can be read once all of it is written.
    let mut t = t.into_mut();
    cublas::gemm(queue, Gemm::new(rows, k, k), 1.0, x, w1, 0.0, t.reborrow())?;
    cublas::gemm_out(queue, Gemm::new(rows, n, k), 1.0, t.as_slice(), w2, y)
}

stream_pipeline! {
    pipeline TwoProducts {
        param k: usize;
        param n: usize;
        input x: [f32; k];
        resident weights: [f32];
        output y: [f32; n];
        device _t: [f32; k];
        device dy: [f32; n];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage multiply { call two_products([c.len, k, n], &dx, &weights, out _t, out dy); }
        stage store { copy dy -> y; }
    }
}
// ANCHOR_END: composed

fn pipelines_of_the_book(device: &Device) {
    let (rows, k, n) = (2500, 8, 16);
    let mut numbers = Numbers(31);
    let shape = Shape { m: rows, n, k, transposed: [false; 2], gaps: [0; 3] };

    // Small whole numbers, whose sums are all exact.
    let mut whole = |len: usize| (0..len).map(|_| (numbers.next() * 8.0).round() as f32).collect::<Vec<_>>();
    let (x, weights) = (whole(rows * k), whole(k * k + k * n));
    let mut y = vec![0.0_f32; rows * n];
    TwoProducts::new(device).unwrap().run(k, n, &x, &weights, &mut y).unwrap();
    let first = Shape { n: k, ..shape }.product(1.0, &x, &weights[..k * k], 0.0, &x);
    let t: Vec<f32> = first.into_iter().map(|value| value.unwrap().value() as f32).collect();
    let expected = shape.product(1.0, &t, &weights[k * k..], 0.0, &y);
    assert!(y.iter().zip(expected).all(|(y, expected)| f64::from(*y) == expected.unwrap().value()));
}
