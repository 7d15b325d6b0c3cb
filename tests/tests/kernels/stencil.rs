//! Stencils: the simulated device is compared with plain loops, and a GPU with the simulated device. All of
//! them give the same bits everywhere.

use proptest::prelude::*;
use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_kernels::{jacobi, stencil_3, stencil_5};
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::is;
use thalweg_tests::random::Random;

stream_pipeline! {
    pipeline Weighted {
        param block: u32;
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
            stencil_3<<<blocks(c.len, block), block, shared>>>(w[0], w[1], w[2], &dx, out d_three);
            stencil_5<<<blocks(c.len, block), block, shared>>>(w[0], w[1], w[2], w[3], w[4], &dz, out d_five);
        }
        stage store { copy d_three -> three; copy d_five -> five; }
    }
}

fn weighted(device: &Device, block: u32, w: [f32; 5], x: &[f32]) -> thalweg::Result<[Vec<f32>; 2]> {
    let mut results = [vec![7.0; x.len()], vec![7.0; x.len()]];
    let [three, five] = &mut results;
    Weighted::new(device)?.run(block, block % 3, w, x, x, three, five)?;
    Ok(results)
}

stream_pipeline! {
    /// An item is a row.
    pipeline Step {
        param block: (u32, u32);
        param columns: u32;
        param height: u32;
        input u: [f32; columns as usize] halo 1 = zero;
        output v: [f32; columns as usize];
        device dv: [f32; columns as usize];
        chunk c = 7;
        stage load { copy u -> du; }
        stage step {
            jacobi<<<(blocks(columns as usize, block.0), blocks(c.len, block.1)), block>>>(
                columns, c.start as u32, height, &du, out dv as [c.len, columns as usize]);
        }
        stage store { copy dv -> v; }
    }
}

fn stepped(
    device: &Device,
    block: (u32, u32),
    [height, columns]: [u32; 2],
    u: &[f32],
) -> thalweg::Result<Vec<f32>> {
    let mut v = vec![7.0; u.len()];
    Step::new(device)?.run(block, columns, height, u, &mut v)?;
    Ok(v)
}

/// Blocks of the step, along x and y.
const BLOCKS: [(u32, u32); 6] = [(32, 8), (1, 1), (5, 13), (256, 1), (1, 64), (32, 32)];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stencils_are_loops(len in 0..40_000_usize, block in 1..=1024_u32, seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let x = random.any_floats(len);
        let w: [f32; 5] = random.floats(5, -2.0, 2.0).try_into().expect("five");
        let [three, five] = weighted(&Device::simulated(Simulation::default()), block, w, &x).unwrap();
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
    fn jacobi_is_loops(height in 0..40_u32, columns in 1..50_u32, block in 0..BLOCKS.len(), seed in any::<u64>()) {
        let u = Random::new(seed).any_floats((height * columns) as usize);
        let v = stepped(&Device::simulated(Simulation::default()), BLOCKS[block], [height, columns], &u).unwrap();
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
    let stream = Stream::new(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[0.0_f32; 12]).unwrap();
    let [mut ten, mut eleven] = [10, 11].map(|len| DeviceBuf::<f32>::zeroed(&device, len).unwrap());
    let three = stencil_3::load(&device).unwrap();
    three.launch(stream.config(1, 32, 0), 1.0, 2.0, 3.0, &x, &mut ten).unwrap();
    let refused = three.launch(stream.config(1, 32, 0), 1.0, 2.0, 3.0, &x, &mut eleven).unwrap_err();
    is!(refused, Requires { kernel: "stencil_3", .. });

    let step = jacobi::load(&device).unwrap();
    let launch = |rows: usize, columns: u32, shape: [usize; 2]| {
        let mut v = DeviceBuf::<f32>::zeroed(&device, rows * columns as usize).unwrap();
        step.launch(stream.config(1, (16, 16), 0), columns, 0, 2, &x, Shaped::new(&mut v, shape))
    };
    launch(2, 3, [2, 3]).unwrap();
    launch(1, 4, [1, 4]).unwrap();
    // More rows than `u` has, and rows of another length.
    for (rows, columns, shape) in [(3, 3, [3, 3]), (11, 1, [11, 1]), (2, 3, [3, 2])] {
        is!(launch(rows, columns, shape).unwrap_err(), Requires { kernel: "jacobi", .. });
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn stencils_are_the_same_on_a_gpu() {
    let run = |device: &Device| {
        let (mut random, mut cases) = (Random::new(1), Vec::new());
        for block in BLOCKS {
            let threads = block.0 * block.1;
            for len in [0, 1, 2, 999, 1000, 1001, 100_000] {
                let x = random.any_floats(len);
                let [three, five] = weighted(device, threads, [0.3, -1.7, 0.9, 2.0, -0.1], &x)?;
                cases.push((format!("three of {len}, {threads}"), three));
                cases.push((format!("five of {len}, {threads}"), five));
            }
            for shape in [[0, 5], [1, 1], [2, 9], [9, 2], [7, 32], [8, 33], [100, 257], [1025, 1023]] {
                let u = random.any_floats((shape[0] * shape[1]) as usize);
                cases.push((format!("jacobi of {shape:?}, {block:?}"), stepped(device, block, shape, &u)?));
            }
        }
        Ok(cases)
    };
    let (gpu, simulated) = on_gpu_and_simulated(run);
    assert_eq!(gpu.len(), BLOCKS.len() * 22);
    for ((what, gpu), (_, simulated)) in gpu.iter().zip(&simulated) {
        assert_close(gpu, simulated, Tolerance::Exact, what);
    }
}
