//! Kernels with a thread for each element.

use thalweg_kernels::{
    add_f32, add_f64, black_scholes, clamp_f32, clamp_f64, daxpy, exp_f32, exp_f64, multiply_f32,
    multiply_f64, relu_f32, relu_f64, saxpy, scale_f32, scale_f64, sqrt_f32, sqrt_f64,
};

use super::*;
use thalweg_tests::by_hand::saxpy as by_hand_saxpy;

/// What maps of a type are given.
struct Data<T> {
    a: T,
    b: T,
    low: T,
    high: T,
    x: Vec<T>,
    y: Vec<T>,
    old: Vec<T>,
}

/// Each operation is rounded by itself, and both sides call one C library: the bits are the same.
macro_rules! maps {
    ($(
        $test:ident of $kernel:ident by $any:path:
            |$data:ident: $ty:ty| $($argument:ident = $kind:ident($value:expr)),*;
    )*) => {$(
        #[test]
        fn $test() {
            let mut bench = Bench::of::<$kernel>();
            for len in LENGTHS {
                for block in [1, 32, 100, 256, 1024] {
                    let [x, y, old] = [(); 3].map(|()| $any(&mut bench.random, len));
                    let [a, b, low, width] =
                        [-4.0, -4.0, -2.0, 0.0].map(|least| bench.random.between(least, 4.0) as $ty);
                    let $data = Data { a, b, low, high: low + width, x, y, old };
                    same!(bench, $kernel, covering(len, block), Tolerance::Exact;
                        $($argument = $kind($value)),*);
                }
            }
            bench.finish(180, 150_000);
        }
    )*};
}
maps! {
    scale_of_floats of scale_f32 by Random::any_floats:
        |d: f32| a = value(d.a), b = value(d.b), x = read(&d.x), y = write(&d.old);
    scale_of_doubles of scale_f64 by any_doubles:
        |d: f64| a = value(d.a), b = value(d.b), x = read(&d.x), y = write(&d.old);
    add_of_floats of add_f32 by Random::any_floats:
        |d: f32| x = read(&d.x), y = read(&d.y), z = write(&d.old);
    add_of_doubles of add_f64 by any_doubles:
        |d: f64| x = read(&d.x), y = read(&d.y), z = write(&d.old);
    multiply_of_floats of multiply_f32 by Random::any_floats:
        |d: f32| x = read(&d.x), y = read(&d.y), z = write(&d.old);
    multiply_of_doubles of multiply_f64 by any_doubles:
        |d: f64| x = read(&d.x), y = read(&d.y), z = write(&d.old);
    exp_of_floats of exp_f32 by Random::any_floats: |d: f32| x = read(&d.x), y = write(&d.old);
    exp_of_doubles of exp_f64 by any_doubles: |d: f64| x = read(&d.x), y = write(&d.old);
    sqrt_of_floats of sqrt_f32 by Random::any_floats: |d: f32| x = read(&d.x), y = write(&d.old);
    sqrt_of_doubles of sqrt_f64 by any_doubles: |d: f64| x = read(&d.x), y = write(&d.old);
    relu_of_floats of relu_f32 by Random::any_floats: |d: f32| x = read(&d.x), y = write(&d.old);
    relu_of_doubles of relu_f64 by any_doubles: |d: f64| x = read(&d.x), y = write(&d.old);
    clamp_of_floats of clamp_f32 by Random::any_floats:
        |d: f32| low = value(d.low), high = value(d.high), x = read(&d.x), y = write(&d.old);
    clamp_of_doubles of clamp_f64 by any_doubles:
        |d: f64| low = value(d.low), high = value(d.high), x = read(&d.x), y = write(&d.old);
    sum_in_place_of_floats of saxpy by Random::any_floats:
        |d: f32| a = value(d.a), x = read(&d.x), y = write(&d.y);
    sum_in_place_of_doubles of daxpy by any_doubles:
        |d: f64| a = value(d.a), x = read(&d.x), y = write(&d.y);
}

/// The same by hand. Grids that are too small, and with more than one axis: what the threads do not reach stays
/// as it is. The host rounds product and sum by themselves here; a GPU rounds those of the kernel by hand once.
#[test]
fn sums_in_place_by_hand() {
    let mut bench = Bench::new("../../tests/cu/by_hand/saxpy.cu", &["saxpy"]);
    for len in LENGTHS {
        let launches = [covering(len, 256), ((1, 1, 1), (1, 1, 1), 0), ((3, 2, 2), (16, 8, 8), 100)];
        for launch in launches {
            let (x, y) = (bench.random.any_floats(len), bench.random.any_floats(len));
            same!(bench, by_hand_saxpy as "saxpy", launch, Tolerance::Exact;
                n = value(len as u32), a = value(1.7), x = read(&x), y = write(&y));
        }
    }
    bench.finish(108, 100_000);
}

/// Both sides have the same operations in the same order.
#[test]
fn prices() {
    let mut bench = Bench::of::<black_scholes>();
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
            same!(bench, black_scholes, covering(len, block), Tolerance::Exact;
                rate = value(0.05_f32), spot = read(&spot), strike = read(&strike), years = read(&years),
                volatility = read(&volatility), call = write(&old), put = write(&old));
        }
    }
    bench.finish(108, 200_000);
}
