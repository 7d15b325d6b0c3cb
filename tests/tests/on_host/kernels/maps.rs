//! Kernels with a thread for each element.

use thalweg_kernels::{
    add_f32, add_f64, black_scholes, clamp_f32, clamp_f64, daxpy, exp_f32, exp_f64, multiply_f32,
    multiply_f64, relu_f32, relu_f64, saxpy, scale_f32, scale_f64, sqrt_f32, sqrt_f64,
};

use super::*;

/// Every map of one type. Each operation is rounded by itself, and both sides call one C library: the bits
/// are the same.
macro_rules! maps {
    (
        $name:ident of $ty:ident by $any:expr;
        $scale:ident as $scale_name:literal, $add:ident as $add_name:literal,
        $multiply:ident as $multiply_name:literal, $exp:ident as $exp_name:literal,
        $sqrt:ident as $sqrt_name:literal, $relu:ident as $relu_name:literal,
        $clamp:ident as $clamp_name:literal
    ) => {
        #[test]
        fn $name() {
            let kernels =
                [$scale_name, $add_name, $multiply_name, $exp_name, $sqrt_name, $relu_name, $clamp_name];
            let mut bench = Bench::new("map.cu", &kernels);
            for len in LENGTHS {
                for block in [1, 32, 100, 256, 1024] {
                    let [x, y, old] = [(); 3].map(|()| $any(&mut bench.random, len));
                    let [a, b, low, width] =
                        [-4.0, -4.0, -2.0, 0.0].map(|least| bench.random.between(least, 4.0) as $ty);
                    let (launch, n) = (covering(len, block), len as u32);
                    same!(bench, $scale as $scale_name, launch, Tolerance::Exact;
                        n = value(n), a = value(a), b = value(b), x = read(&x), y = write(&old));
                    same!(bench, $add as $add_name, launch, Tolerance::Exact;
                        n = value(n), x = read(&x), y = read(&y), z = write(&old));
                    same!(bench, $multiply as $multiply_name, launch, Tolerance::Exact;
                        n = value(n), x = read(&x), y = read(&y), z = write(&old));
                    same!(bench, $exp as $exp_name, launch, Tolerance::Exact;
                        n = value(n), x = read(&x), y = write(&old));
                    same!(bench, $sqrt as $sqrt_name, launch, Tolerance::Exact;
                        n = value(n), x = read(&x), y = write(&old));
                    same!(bench, $relu as $relu_name, launch, Tolerance::Exact;
                        n = value(n), x = read(&x), y = write(&old));
                    same!(bench, $clamp as $clamp_name, launch, Tolerance::Exact;
                        n = value(n), low = value(low), high = value(low + width), x = read(&x),
                        y = write(&old));
                }
            }
            bench.finish(1260, 1_000_000);
        }
    };
}
maps! {
    maps_of_floats of f32 by Random::any_floats;
    scale_f32 as "scale<float>", add_f32 as "add<float>", multiply_f32 as "multiply<float>",
    exp_f32 as "exponential<float>", sqrt_f32 as "square_root<float>", relu_f32 as "relu<float>",
    clamp_f32 as "clamp<float>"
}
maps! {
    maps_of_doubles of f64 by any_doubles;
    scale_f64 as "scale<double>", add_f64 as "add<double>", multiply_f64 as "multiply<double>",
    exp_f64 as "exponential<double>", sqrt_f64 as "square_root<double>", relu_f64 as "relu<double>",
    clamp_f64 as "clamp<double>"
}

/// Grids that are too small, and with more than one axis: what the threads do not reach stays as it is. The
/// host rounds product and sum by themselves here, as the host bodies do; a GPU rounds those of `saxpy` once.
#[test]
fn sums_in_place() {
    let mut singles = Bench::new("saxpy.cu", &["saxpy"]);
    let mut doubles = Bench::new("map.cu", &["daxpy"]);
    for len in LENGTHS {
        let launches = [covering(len, 256), ((1, 1, 1), (1, 1, 1), 0), ((3, 2, 2), (16, 8, 8), 100)];
        for launch in launches {
            let (x, y) = (singles.random.any_floats(len), singles.random.any_floats(len));
            same!(singles, saxpy as "saxpy", launch, Tolerance::Exact;
                n = value(len as u32), a = value(1.7), x = read(&x), y = write(&y));
            let (x, y) = (any_doubles(&mut doubles.random, len), any_doubles(&mut doubles.random, len));
            same!(doubles, daxpy as "daxpy", launch, Tolerance::Exact;
                n = value(len as u32), a = value(-0.3), x = read(&x), y = write(&y));
        }
    }
    singles.finish(108, 100_000);
    doubles.finish(108, 100_000);
}

/// Both sides have the same operations in the same order.
#[test]
fn prices() {
    let mut bench = Bench::new("black_scholes.cu", &["black_scholes"]);
    for len in LENGTHS {
        for block in [1, 64, 1000] {
            let mut column = |low, high, special| {
                let mut column = bench.random.floats(len, low, high);
                // Every fifth option is an odd one.
                for value in &mut column {
                    match bench.random.below(10) {
                        0 => *value = special,
                        1 => *value = bench.random.any_floats(1)[0],
                        _ => {}
                    }
                }
                column
            };
            let (spot, strike) = (column(1.0, 200.0, 0.0), column(1.0, 200.0, -1.0));
            let (years, volatility) = (column(0.01, 3.0, 0.0), column(0.05, 0.9, 0.0));
            let old = vec![7.0; len];
            same!(bench, black_scholes as "black_scholes", covering(len, block), Tolerance::Exact;
                n = value(len as u32), rate = value(0.05_f32), spot = read(&spot), strike = read(&strike),
                years = read(&years), volatility = read(&volatility), call = write(&old), put = write(&old));
        }
    }
    bench.finish(108, 200_000);
}
