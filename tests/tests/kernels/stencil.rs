//! Stencils: the simulated device is compared with plain loops, and a GPU with the simulated device. All of
//! them give the same bits everywhere.

use proptest::prelude::*;
use thalweg::prelude::*;
use thalweg_kernels::{jacobi, stencil_3, stencil_5};
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::is;
use thalweg_tests::launches::{Dim3, LAUNCHES, Launch};
use thalweg_tests::random::Random;

stream_pipeline! {
    pipeline Weighted {
        param grid: Dim3;
        param block: Dim3;
        param shared: u32;
        param w: [f32; 5];
        input x: [f32] halo 1 = zero;
        input z: [f32] halo 2 = wrap;
        output three: [f32];
        output five: [f32];
        device d_three: [f32];
        device d_five: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; copy z -> dz; }
        stage weigh {
            stencil_3<<<grid, block, shared>>>(c.len as u32, w[0], w[1], w[2], &dx, out d_three);
            stencil_5<<<grid, block, shared>>>(c.len as u32, w[0], w[1], w[2], w[3], w[4], &dz, out d_five);
        }
        stage store { copy d_three -> three; copy d_five -> five; }
    }
}

fn weighted(device: &Device, launch: Launch, w: [f32; 5], x: &[f32]) -> thalweg::Result<[Vec<f32>; 2]> {
    let mut results = [vec![7.0; x.len()], vec![7.0; x.len()]];
    let [three, five] = &mut results;
    Weighted::new(device)?.run(launch.0, launch.1, launch.2, w, x, x, three, five)?;
    Ok(results)
}

stream_pipeline! {
    /// An item is a row.
    pipeline Step {
        param grid: Dim3;
        param block: Dim3;
        param shared: u32;
        param columns: u32;
        param height: u32;
        input u: [f32; columns as usize] halo 1 = zero;
        output v: [f32; columns as usize];
        device dv: [f32; columns as usize];
        chunk c = 7;
        stage load { copy u -> du; }
        stage step {
            jacobi<<<grid, block, shared>>>(c.len as u32, columns, c.start as u32, height, &du, out dv);
        }
        stage store { copy dv -> v; }
    }
}

fn stepped(
    device: &Device,
    launch: Launch,
    [height, columns]: [u32; 2],
    u: &[f32],
) -> thalweg::Result<Vec<f32>> {
    let mut v = vec![7.0; u.len()];
    Step::new(device)?.run(launch.0, launch.1, launch.2, columns, height, u, &mut v)?;
    Ok(v)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stencils_are_loops(len in 0..40_000_usize, launch in 0..LAUNCHES.len(), seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let x = random.any_floats(len);
        let w: [f32; 5] = random.floats(5, -2.0, 2.0).try_into().expect("five");
        let [three, five] = weighted(&Device::simulated(Simulation::default()), LAUNCHES[launch], w, &x).unwrap();
        let at = |i: usize, d: isize| x.get(i.wrapping_add_signed(d)).copied().unwrap_or(0.0);
        let expected: Vec<_> =
            (0..len).map(|i| w[0] * at(i, -1) + w[1] * at(i, 0) + w[2] * at(i, 1)).collect();
        assert_close(&three, &expected, Tolerance::Exact, "three");
        let at = |i: usize, d: isize| x[(i as isize + d).rem_euclid(len as isize) as usize];
        let weigh = |i| {
            w[0] * at(i, -2) + w[1] * at(i, -1) + w[2] * at(i, 0) + w[3] * at(i, 1) + w[4] * at(i, 2)
        };
        assert_close(&five, &(0..len).map(weigh).collect::<Vec<_>>(), Tolerance::Exact, "five");
    }

    #[test]
    fn jacobi_is_loops(height in 0..40_u32, columns in 1..50_u32, launch in 0..LAUNCHES.len(), seed in any::<u64>()) {
        let u = Random::new(seed).any_floats((height * columns) as usize);
        let v = stepped(&Device::simulated(Simulation::default()), LAUNCHES[launch], [height, columns], &u).unwrap();
        let columns = columns as usize;
        let expected: Vec<_> = (0..u.len())
            .map(|i| {
                let (row, column) = (i / columns, i % columns);
                if row == 0 || row + 1 == height as usize || column == 0 || column + 1 == columns {
                    u[i]
                } else {
                    ((u[i - columns] + u[i + columns]) + (u[i - 1] + u[i + 1])) / 4.0
                }
            })
            .collect();
        assert_close(&v, &expected, Tolerance::Exact, "a step");
    }

}

#[test]
fn what_would_leave_the_slices_is_refused() {
    let device = Device::simulated(Simulation::default());
    let (x, mut y) = ([0.0; 12], [0.0; 12]);
    let mut fixed = FixedStencil::new(&device).unwrap();
    // The launch stays within the slices, and leaves some elements out.
    is!(fixed.run(10, &x, &mut y).unwrap_err(), Unwritten { kernel: "stencil_3", unwritten: 2, .. });
    for n in [11, u32::MAX] {
        is!(fixed.run(n, &x, &mut y).unwrap_err(), Requires { kernel: "stencil_3", .. });
    }
    let mut fixed = FixedJacobi::new(&device).unwrap();
    for (rows, columns) in [(2, 4), (1, 5), (11, 1), (u32::MAX, u32::MAX), (u32::MAX, 1), (0, u32::MAX)] {
        is!(fixed.run(rows, columns, &x, &mut y).unwrap_err(), Requires { kernel: "jacobi", .. });
    }
}

stream_pipeline! {
    #[allow(deprecated, reason = "what the kernels write is of no interest")]
    pipeline FixedStencil {
        param n: u32;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 12;
        stage all {
            copy x -> dx;
            stencil_3<<<1, 32>>>(n, 1.0, 2.0, 3.0, &dx, out dy);
            copy dy -> y;
        }
    }
}

stream_pipeline! {
    #[allow(deprecated, reason = "what the kernel writes is of no interest")]
    pipeline FixedJacobi {
        param rows: u32;
        param columns: u32;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 12;
        stage all {
            copy x -> dx;
            jacobi<<<1, 32>>>(rows, columns, 0, 2, &dx, out dy);
            copy dy -> y;
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn stencils_are_the_same_on_a_gpu() {
    let run = |device: &Device| {
        let (mut random, mut cases) = (Random::new(1), Vec::new());
        for launch in LAUNCHES {
            for len in [0, 1, 2, 999, 1000, 1001, 100_000] {
                let x = random.any_floats(len);
                let [three, five] = weighted(device, launch, [0.3, -1.7, 0.9, 2.0, -0.1], &x)?;
                cases.push((format!("three of {len}, {launch:?}"), three));
                cases.push((format!("five of {len}, {launch:?}"), five));
            }
            for shape in [[0, 5], [1, 1], [2, 9], [9, 2], [7, 32], [8, 33], [100, 257], [1025, 1023]] {
                let u = random.any_floats((shape[0] * shape[1]) as usize);
                cases.push((format!("jacobi of {shape:?}, {launch:?}"), stepped(device, launch, shape, &u)?));
            }
        }
        Ok(cases)
    };
    let (gpu, simulated) = on_gpu_and_simulated(run);
    assert_eq!(gpu.len(), LAUNCHES.len() * 22);
    for ((what, gpu), (_, simulated)) in gpu.iter().zip(&simulated) {
        assert_close(gpu, simulated, Tolerance::Exact, what);
    }
}
