//! cuBLASLt from pipelines: on the simulated device, and on a GPU.

// ANCHOR: uses
use thalweg::half::{bf16, f16};
use thalweg::prelude::*;
use thalweg_libraries::cublas::{self, Activated, Gemm, Matmul, Product};
// ANCHOR_END: uses
use thalweg_tests::on_each_device;
use thalweg_tests::products::{Number, Numbers, Shape};

on_each_device! {
    products_with_a_bias_and_a_function;
    dimensions_that_do_not_fit;
    pipelines_of_the_book;
}

stream_pipeline! {
    pipeline Layer<T: Product<C>, C: Activated> {
        param matmul: Matmul;
        param lengths: [usize; 4];
        input a: [T; lengths[0]];
        input b: [T; lengths[1]];
        input bias: [C; lengths[3]];
        output d: [C; lengths[2]];
        output e: [C; lengths[2]];
        device dd: [C; lengths[2]];
        device de: [C; lengths[2]];
        chunk _x = 1;
        stage load { copy a -> da; copy b -> db; copy bias -> dbias; }
        stage multiply {
            call cublas::matmul(matmul, 0.5, &da, &db, out dd);
            call cublas::matmul_bias(matmul, 0.5, &da, &db, &dbias, out de);
        }
        stage store { copy dd -> d; copy de -> e; }
    }
}

fn products_with_a_bias_and_a_function(device: &Device) {
    fn of<T: Number + Product<C>, C: Number + Activated>(device: &Device) {
        let gelu = |x: f64| {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        };
        type Function = fn(f64) -> f64;
        type With = fn(Gemm) -> Matmul;
        let functions: [(With, Function); 3] =
            [(Matmul::from, |x| x), (Gemm::relu, |x| x.max(0.0)), (Gemm::gelu, gelu)];
        let mut numbers = Numbers(19);
        let mut layer = Layer::<T, C>::options(device).build().unwrap();
        for (m, n, k) in [(1, 8, 8), (16, 8, 32), (40, 64, 24), (3, 5, 7), (128, 72, 200)] {
            for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                // cuBLASLt uses matrix units for rows of whole 16 bytes; it multiplies other sizes on other
                // units.
                let shape = Shape { m, n, k, transposed, gaps: [0; 3] };
                let [a, b, c] = shape.lengths();
                let lengths = [a, b, c, n];
                let (a, b) = (numbers.vec::<T>(2 * a), numbers.vec::<T>(2 * b));
                let bias = numbers.vec::<C>(2 * n);
                for (matmul, function) in functions {
                    let (mut d, mut e) = (vec![C::of(9.0); 2 * c], vec![C::of(9.0); 2 * c]);
                    layer.run(matmul(shape.gemm()), lengths, &a, &b, &bias, &mut d, &mut e).unwrap();
                    for half in 0..2 {
                        let (a, b) = (&a[half * lengths[0]..], &b[half * lengths[1]..]);
                        let exact = shape.product(0.5, a, b, 0.0, &d[..c]);
                        for (at, exact) in exact.into_iter().enumerate() {
                            let exact = exact.unwrap();
                            let bias = bias[half * n + at % n].exact();
                            let is_gelu = function(-1.0) < 0.0 && function(-1.0) > -1.0;
                            for (got, exact) in [(&d, exact), (&e, exact.plus(bias))] {
                                let got = got[half * c + at].exact();
                                // The functions' slopes are at most 1.13; `tanh` of the device is exact to
                                // 2^-10.
                                let tanh = if is_gelu { exact.value().abs() / 1024.0 } else { 0.0 };
                                let bound = 1.13 * shape.bound::<T, C>(exact) + tanh;
                                let expected = function(exact.value());
                                assert!(
                                    (got - expected).abs() <= bound,
                                    "{shape:?} at {at}: {got}, not {expected}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
    of::<f32, f32>(device);
    of::<f16, f16>(device);
    of::<bf16, bf16>(device);
    of::<f16, f32>(device);
}

fn dimensions_that_do_not_fit(device: &Device) {
    let gemm = Gemm::new(2, 3, 4);
    let mut layer = Layer::<f32, f32>::options(device).build().unwrap();
    let mut run = |gemm: Gemm, lengths: [usize; 4]| {
        let [a, b, mut d, bias] = lengths.map(|len| vec![1.0; len]);
        let mut e = d.clone();
        layer.run(gemm.into(), lengths, &a, &b, &bias, &mut d, &mut e).unwrap_err()
    };
    let text = |error: Error| error.to_string().lines().next().unwrap().to_owned();
    let expected = "`matmul_bias`: `bias` is a vector of n = 1 x 3, which takes 3 elements, but it has 2, of buffer `dbias`";
    assert_eq!(text(run(gemm, [8, 12, 6, 2])), expected);
    assert_eq!(text(run(Gemm::new(2, 3, 0), [1, 1, 6, 3])), "`matmul`: k is 0, but it must be at least 1");
    let expected = "`matmul`: `d` is m x n = 2 x 3, which takes 6 elements, but it has 8, of buffer `dd`";
    assert_eq!(text(run(gemm, [8, 12, 8, 3])), expected);
    let expected =
        "`matmul`: the leading dimension of `d` is 4, but it must be its 3 columns: all of it is written";
    assert_eq!(text(run(gemm.ldc(4), [8, 12, 8, 3])), expected);
}

// ANCHOR: layer
stream_pipeline! {
    /// A layer of a neural network: `y <- max(0, x * w + bias)`, for rows of `k` elements.
    pipeline Dense {
        param k: usize;
        param n: usize;
        input x: [f16; k];
        resident w: [f16];
        resident bias: [f16];
        output y: [f16; n];
        device dy: [f16; n];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage multiply { call cublas::matmul_bias(Gemm::new(c.len, n, k).relu(), 1.0, &dx, &w, &bias, out dy); }
        stage store { copy dy -> y; }
    }
}
// ANCHOR_END: layer

fn pipelines_of_the_book(device: &Device) {
    let (rows, k, n) = (2500, 8, 16);
    let mut numbers = Numbers(31);
    let shape = Shape { m: rows, n, k, transposed: [false; 2], gaps: [0; 3] };

    let (x, w) = (numbers.vec::<f16>(rows * k), numbers.vec::<f16>(k * n));
    let bias = numbers.vec::<f16>(n);
    let mut y = vec![f16::ZERO; rows * n];
    Dense::new(device).unwrap().run(k, n, &x, &w, &bias, &mut y).unwrap();
    for (at, exact) in shape.product(1.0, &x, &w, 0.0, &y).into_iter().enumerate() {
        let exact = exact.unwrap().plus(bias[at % n].exact());
        let expected = exact.value().max(0.0);
        let bound = shape.bound::<f16, f16>(exact);
        assert!((y[at].exact() - expected).abs() <= bound, "{at}: {}, not {expected}", y[at]);
    }
}
