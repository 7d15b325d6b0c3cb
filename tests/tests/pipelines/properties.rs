//! Random lengths, chunks, depths, shapes, parameters, kinds of memory and orders: the result is always that
//! of a plain loop.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::kernels::{sum_pairs, sum_rows, with_square};
use thalweg_tests::{Case, leaves_nothing, numbers, read, small, written};

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Two independent paths through the device; one has rows of `k` elements.
    pipeline Shaped {
        param k: usize;
        param copies: usize;
        input rows: [f32; k];
        output sums: [f32; copies];
        input x: [i32];
        output z: [i64];
        device d_sums: [f32; copies];
        device pairs: [i64; 2];
        device dz: [i64];
        chunk c = auto;
        stream work per slot;
        stage load { copy rows -> d_rows; copy x -> dx; }
        stage sum on work {
            sum_rows<<<blocks(c.len, 32), 32>>>(c.len as u32, k as u32, copies as u32, &d_rows, out d_sums);
        }
        stage square on work {
            with_square<<<blocks(c.len, 32), 32>>>(c.len as u32, &dx, out pairs);
            sum_pairs<<<blocks(c.len, 32), 32>>>(c.len as u32, &pairs, out dz);
        }
        stage store { copy d_sums -> sums; copy dz -> z; }
    }
}

fn any_case() -> impl Strategy<Value = Case> {
    let seed = proptest::option::of(0..u64::MAX);
    (0..600_usize, 1..200_usize, 1..7_usize, any::<bool>(), any::<bool>(), seed).prop_map(
        |(len, chunk, depth, pinned_in, pinned_out, seed)| Case {
            len,
            chunk,
            depth,
            pinned_in,
            pinned_out,
            seed,
        },
    )
}

/// Runs `check` on a device for the case, and checks that it leaves no memory behind.
fn on_device(
    case: Case,
    check: impl FnOnce(&Device) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let spec = Simulation::default();
    let device = small(case.seed.map_or(spec.clone(), |seed| spec.adversarial(seed)));
    leaves_nothing(&device, || check(&device))
}

fn failed(error: Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn saxpy_is_a_loop(
        case in any_case(),
        graph in any::<bool>(),
        a in -8..8_i8,
        again in 0..300_usize,
    ) {
        on_device(case, |device| {
            let Case { chunk, depth, pinned_in, pinned_out, .. } = case;
            let a = f32::from(a);
            let options = Saxpy::options(device).chunk(chunk).depth(depth);
            let mut pipeline = if graph { options.graph() } else { options }.build().map_err(failed)?;
            // The second run finds the ring, the staging and the graphs of the first.
            for len in [case.len, again] {
                let (x, start) = (numbers(len), numbers(3 * len).split_off(2 * len));
                let (report, y) = read!(device, pinned_in, x.clone(), |x| {
                    written!(device, pinned_out, start.clone(), |y| pipeline.run(a, x, y))
                });
                prop_assert_eq!(report.map_err(failed)?.chunks, len.div_ceil(chunk));
                prop_assert_eq!(y, start.iter().zip(&x).map(|(y, x)| y + a * x).collect::<Vec<_>>());
            }
            Ok(())
        })?;
    }

    #[test]
    fn shapes_are_loops(case in any_case(), graph in any::<bool>(), k in 1..7_usize, copies in 1..5_usize) {
        on_device(case, |device| {
            let Case { len, chunk, depth, pinned_in, pinned_out, .. } = case;
            let options = Shaped::options(device).chunk(chunk).depth(depth);
            let mut pipeline = if graph { options.graph() } else { options }.build().map_err(failed)?;
            let rows = numbers(len * k);
            let x: Vec<i32> = (0..len as i32).map(|i| i * i - 1000).collect();
            let mut sums = vec![f32::NAN; len * copies];
            let (report, z) = read!(device, pinned_in, rows.clone(), |rows| {
                written!(device, pinned_out, vec![0; len], |z| pipeline.run(k, copies, rows, &mut sums, &x, z))
            });
            report.map_err(failed)?;
            let square = |&x: &i32| i64::from(x) + i64::from(x) * i64::from(x);
            prop_assert_eq!(z, x.iter().map(square).collect::<Vec<_>>());
            let sum = |row: &[f32]| row.iter().sum::<f32>();
            let expected = rows.chunks(k).flat_map(|row| (0..copies).map(move |j| sum(row) * j as f32));
            prop_assert_eq!(sums, expected.collect::<Vec<_>>());
            Ok(())
        })?;
    }
}
