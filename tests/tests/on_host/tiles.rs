//! Tiles and rows of blocks: the C++ that is made of them gives what the kernels give on the simulated device,
//! whatever turns the threads take.

use thalweg::__private::Kernel;
use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg_tests::on_host::{Argument, OnHost, Outcome, Turns};

use super::blocks::{program, simulated, slice};

const WIDE: usize = 8;

/// Each matrix transposed, and 1 added to what is on the tiles' own diagonals.
#[kernel]
fn turned(block: Block<3>, x: &[u32], y: &mut Out<[u32]>) {
    const TALL: usize = 4;
    let mut tile = block.shared_padded::<[[u32; TALL]; WIDE], { 1 + 2 }>();
    let [items, rows, columns] = block.shape(y);
    for at in block.tiles::<TALL, WIDE>(y) {
        block.fill(&mut tile, |[r, c]| {
            let (row, column) = (at.left() + r, at.top() + c);
            if row < columns && column < rows { x[(at.item() * columns + row) * rows + column] } else { 77 }
        });
        let last = block.reduce(
            |t| {
                let row = &tile[t.rank() % WIDE];
                let mut sum = row[0] ^ items as u32;
                for value in tile[t.rank() % WIDE].iter() {
                    sum = sum.wrapping_mul(31).wrapping_add(*value);
                }
                for value in &row[1..] {
                    sum ^= *value;
                }
                sum
            },
            |a, b| a.wrapping_mul(7).wrapping_add(b),
        );
        block.fill(&mut y.tile(at), |at| {
            let [r, c] = at;
            tile[c][r] + if r == c { 1 + last % 2 } else { 0 }
        });
    }
}

/// Differences along all rows but the last, with the sum of the row in front; tiles of another parameter have their numbers.
#[kernel]
#[allow(clippy::explicit_counter_loop, reason = "the tiles of a block have no `enumerate`")]
fn differences(block: Block<2>, x: &[i32], y: &mut Own<[i32]>, z: &mut Own<[[i16; 2]]>) {
    let [rows, columns] = block.shape(y);
    for row in block.rows(y) {
        if row.get() + 1 == rows {
            continue;
        }
        let x = &x[row.get() * columns..(row.get() + 1) * columns];
        let sum = block.reduce(
            |t| {
                let mut sum = 0_i32;
                for c in t.of_block(columns) {
                    sum = sum.wrapping_add(x[c]);
                }
                sum
            },
            |a, b| a.wrapping_add(b),
        );
        block.fill(&mut y.row(row), |c| if c == 0 { sum } else { x[c].wrapping_sub(x[c - 1]) });
    }
    let mut turn = 0_i16;
    for at in block.tiles::<3, 5>(z) {
        if turn == 2 {
            break;
        }
        block.fill(&mut z.tile(at), |[r, c]| [turn * 100 + (at.top() + r) as i16, (at.left() + c) as i16]);
        turn += 1;
    }
}

pub(super) fn run<K: Kernel>(
    program: &OnHost,
    grid: (u32, u32, u32),
    block: u32,
    order: u64,
    arguments: &[Argument],
) -> Outcome {
    let turns = Turns { steps: 50_000_000, ..Turns::new(grid, (block, 1, 1), 0) }.order(order);
    let name = format!("in_rust_0::{}", K::INFO.symbol);
    // SAFETY: the arguments are those that the kernel declares, and it is checked that it stays within them.
    unsafe { program.launch(&name, turns, arguments) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(super) fn shaped<T, const D: usize>(x: &mut [T], shape: [usize; D]) -> [Argument; 2] {
    assert_eq!(x.len(), shape.iter().product());
    [Argument::pointer(x.as_mut_ptr()), Argument::value(&shape.map(|length| length as u64))]
}

#[test]
fn tiles_are_the_same_with_every_grid() {
    let (device, stream) = simulated();
    let (kernel, program) = (turned::load(&device).unwrap(), program::<turned>());
    for shape in [[1, 1, 1], [2, 5, 9], [3, 8, 16], [1, 13, 30]] {
        let len = shape.iter().product();
        let x: Vec<u32> = (0..len).map(|i| (i * 7919 % 1009) as u32).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        for (grid, block) in [((1, 1, 1), 1), ((2, 1, 2), 33), ((1, 3, 1), 8), ((4, 4, 4), 64)] {
            let mut y = DeviceBuf::<u32>::zeroed(&device, len).unwrap();
            let y_as = Shaped::new(&mut y, shape);
            kernel.launch(stream.config(grid, block, 0), &on_device, y_as).unwrap();
            let expected = y.to_vec().unwrap();
            for order in 0..4 {
                let mut found = vec![0_u32; len];
                let all = [slice(&x), shaped(&mut found, shape)].concat();
                assert_eq!(run::<turned>(&program, grid, block, order, &all).faults, []);
                assert_eq!(found, expected, "{shape:?} by {grid:?} x {block}, order {order}");
            }
        }
    }
}

#[test]
fn rows_and_tiles_of_two_parameters_are_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (differences::load(&device).unwrap(), program::<differences>());
    for (rows, columns) in [(1, 1), (4, 3), (7, 40)] {
        let x: Vec<i32> = (0..rows * columns).map(|i| (i * 7919 % 1009) as i32 - 500).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        for (grid, block) in [((1, 1, 1), 1), ((2, 2, 1), 33), ((3, 1, 1), 64)] {
            let mut y = DeviceBuf::<i32>::zeroed(&device, x.len()).unwrap();
            let mut z = DeviceBuf::<i16>::zeroed(&device, 2 * 11 * 9).unwrap();
            let (y_as, z_as) = (Shaped::new(&mut y, [rows, columns]), Shaped::new(&mut z, [11, 9]));
            kernel.launch(stream.config(grid, block, 0), &on_device, y_as, z_as).unwrap();
            let expected = (y.to_vec().unwrap(), z.to_vec().unwrap());
            for order in 0..4 {
                let mut found = (vec![0_i32; x.len()], vec![[0_i16; 2]; 11 * 9]);
                let [y, z] = [shaped(&mut found.0, [rows, columns]), shaped(&mut found.1, [11, 9])];
                let all = [slice(&x), y, z].concat();
                assert_eq!(run::<differences>(&program, grid, block, order, &all).faults, []);
                let found = (found.0, found.1.concat());
                assert_eq!(found, expected, "{rows} x {columns} by {grid:?} x {block}, order {order}");
            }
        }
    }
}

/// The product of two matrices, in tiles of 16 by 16 of which each of 16 threads has 4 by 4 elements.
#[kernel(threads = 16)]
fn product(block: Block<2>, k: usize, a: &[f32], b: &[f32], c: &mut Own<[f32]>) {
    const TILE: usize = 16;
    const DEPTH: usize = 4;
    let mut rows = block.shared_padded::<[[f32; TILE]; DEPTH], 4>();
    let mut columns = block.shared::<[[f32; TILE]; DEPTH]>();
    let [m, n] = block.shape(c);
    for at in block.tiles::<TILE, TILE>(c) {
        let mut sums = block.private([[0.0_f32; 4]; TILE / 4]);
        for from in (0..k).step_by(DEPTH) {
            block.fill_columns(&mut rows, |[inner, row]| {
                let (row, inner) = (at.top() + row, from + inner);
                if row < m && inner < k { a[row * k + inner] } else { 0.0 }
            });
            block.fill_columns(&mut columns, |[inner, column]| {
                let (inner, column) = (from + inner, at.left() + column);
                if inner < k && column < n { b[inner * n + column] } else { 0.0 }
            });
            block.each(|t| {
                let part = at.part::<4, 4>(t);
                #[unroll(2)]
                for inner in 0..DEPTH {
                    #[unroll]
                    for i in 0..4 {
                        for j in (0..block.threads() / 4).rev() {
                            let (row, column) = (rows[inner][part.row(i)], columns[inner][part.column(j)]);
                            sums[t][i][j] = row.mul_add(column, sums[t][i][j]);
                        }
                    }
                }
            });
        }
        block.fill_parts(&mut c.tile(at), |t| sums[t]);
    }
}

/// Parts of single rows and columns, which depend on the thread.
#[kernel]
#[allow(clippy::needless_range_loop, reason = "kernels have no iterators that write")]
fn parts(block: Block<3>, y: &mut Out<[u32]>) {
    for at in block.tiles::<6, 9>(y) {
        block.fill_parts(&mut y.tile(at), |t| {
            let part = at.part::<3, 3>(t);
            let mut own = [[7_u32; 3]; 3];
            #[unroll]
            for i in 0..=2 {
                own[i][2] = (part.row(i) * 10 + part.column(i)) as u32;
                own[i][1] += t.rank() as u32 + at.item() as u32;
            }
            own
        });
    }
}

#[test]
fn parts_of_threads_are_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (product::load(&device).unwrap(), program::<product>());
    for [m, n, k] in [[1, 1, 1], [16, 16, 4], [35, 20, 7], [3, 40, 0]] {
        let data = |len: usize| (0..len).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<_>>();
        let (a, b) = (data(m * k), data(k * n));
        let [on_device, other] = [&a, &b].map(|x| DeviceBuf::from_slice(&device, x).unwrap());
        for grid in [(1, 1, 1), (2, 3, 1)] {
            let mut c = DeviceBuf::<f32>::zeroed(&device, m * n).unwrap();
            let c_as = Shaped::new(&mut c, [m, n]);
            kernel.launch(stream.config(grid, 16, 0), k, &on_device, &other, c_as).unwrap();
            let expected = c.to_vec().unwrap();
            for order in 0..4 {
                let mut found = vec![0.0_f32; m * n];
                let k = [Argument::value(&(k as u64))];
                let all = [&k[..], &slice(&a), &slice(&b), &shaped(&mut found, [m, n])].concat();
                assert_eq!(run::<product>(&program, grid, 16, order, &all).faults, []);
                assert_eq!(found, expected, "{m} x {n}, {k}", k = a.len() / m);
            }
        }
    }
}

#[test]
fn a_block_has_as_many_threads_as_a_tile_has_parts() {
    let (device, stream) = simulated();
    let (kernel, program) = (parts::load(&device).unwrap(), program::<parts>());
    let shape = [2, 7, 12];
    let mut y = DeviceBuf::<u32>::zeroed(&device, 2 * 7 * 12).unwrap();
    kernel.launch(stream.config((2, 1, 1), 6, 0), Shaped::new(&mut y, shape)).unwrap();
    for order in 0..4 {
        let mut found = vec![0_u32; 2 * 7 * 12];
        let all = shaped(&mut found, shape);
        assert_eq!(run::<parts>(&program, (2, 1, 1), 6, order, &all).faults, []);
        assert_eq!(found, y.to_vec().unwrap());
        assert!(!run::<parts>(&program, (2, 1, 1), 5, order, &all).faults.is_empty());
    }
    kernel.launch(stream.config((2, 1, 1), 5, 0), Shaped::new(&mut y, shape)).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("a tile has 6 parts, and the block 5 threads"), "{said}");
}
