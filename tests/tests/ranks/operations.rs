//! Each operation, on several ranks, on one chunk and on what is carried.

use thalweg::half;
use thalweg::prelude::*;
use thalweg::sim::{MachineModel, SimulatedMachine, ranks};

use super::{Place, add_to, on};

/// Checks something for worlds of several sizes.
fn in_worlds(check: impl Fn(Place)) {
    [1, 2, 3, 4, 7].into_iter().map(Place::Simulated).for_each(check);
}

/// A world of one needs no other ranks, nor NCCL.
#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_alone_carries_out_all_of_them() {
    let checks = [check_reduced, check_one_rank, check_parts, check_passed_on, check_borders];
    checks.into_iter().for_each(|check| check(Place::Gpu));
}

/// What a rank has: `10 * rank + item`.
fn own(rank: usize, items: usize) -> Vec<f32> {
    (0..items).map(|item| (10 * rank + item) as f32).collect()
}

macro_rules! in_place {
    ($name:ident: $element:ty; $($operation:tt)+) => {
        stream_pipeline! {
            pipeline $name {
                input x: [$element];
                output y: [$element];
                chunk c = 4;
                stream up;
                stream net;
                stream down;
                stage load on up { copy x -> d; }
                stage share on net { $($operation)+ }
                stage store on down { copy d -> y; }
            }
        }
    };
}

in_place! { Sums: f32; all_reduce sum d; }
in_place! { Means: f32; all_reduce mean d; }
in_place! { Least: f32; all_reduce min d; }
in_place! { Greatest: f32; all_reduce max d; }
in_place! { Products: f32; all_reduce product d; }
in_place! { ToLast: f32; reduce sum d to world.size - 1; }
in_place! { FromLast: f32; broadcast d from world.size - 1; }
in_place! { Waited: f32; barrier; }
in_place! { Integers: i64; all_reduce sum d; }
in_place! { Halves: half::f16; all_reduce sum d; }

macro_rules! of_all_ranks {
    ($pipeline:ident, $size:expr) => {
        on($size, |world| {
            let x = own(world.rank(), 10);
            let mut y = vec![0.0; 10];
            let mut pipeline = $pipeline::options(&world.device()?).world(world).build()?;
            let report = pipeline.run(&x, &mut y)?;
            assert_eq!((report.chunks, report.items), (3, 10));
            Ok(y)
        })
    };
}

/// What all ranks' elements of an item become.
fn reduced(size: usize, of: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    let all: Vec<_> = (0..size).map(|rank| own(rank, 10)).collect();
    (0..10).map(|item| in_pairs(&all.iter().map(|own| own[item]).collect::<Vec<_>>(), &of)).collect()
}

/// Neighbours first, then pairs of neighbours: the order of a tree.
fn in_pairs(numbers: &[f32], of: &impl Fn(f32, f32) -> f32) -> f32 {
    match numbers {
        [] => unreachable!("there is a rank"),
        [one] => *one,
        several => {
            let (low, high) = several.split_at(several.len().div_ceil(2).next_power_of_two());
            of(in_pairs(low, of), in_pairs(high, of))
        }
    }
}

#[test]
fn every_rank_gets_what_all_have_reduced() {
    in_worlds(check_reduced);
}

fn check_reduced(place: Place) {
    let size = place.size();
    let same = |all: Vec<Vec<f32>>, expected: Vec<f32>| {
        assert!(all.iter().all(|y| *y == expected), "{size} ranks: {all:?}, not {expected:?}");
    };
    let sums = reduced(size, |a, b| a + b);
    same(of_all_ranks!(Means, place), sums.iter().map(|sum| sum / size as f32).collect());
    same(of_all_ranks!(Sums, place), sums);
    same(of_all_ranks!(Least, place), reduced(size, f32::min));
    same(of_all_ranks!(Greatest, place), reduced(size, f32::max));
    same(of_all_ranks!(Products, place), reduced(size, |a, b| a * b));
}

#[test]
fn one_rank_gets_it_or_gives_its_own() {
    in_worlds(check_one_rank);
}

fn check_one_rank(place: Place) {
    let size = place.size();
    let reduced_there = of_all_ranks!(ToLast, place);
    let given = of_all_ranks!(FromLast, place);
    let waited = of_all_ranks!(Waited, place);
    for rank in 0..size {
        let expected = if rank == size - 1 { reduced(size, |a, b| a + b) } else { own(rank, 10) };
        assert_eq!(reduced_there[rank], expected, "rank {rank} of {size}");
        assert_eq!(given[rank], own(size - 1, 10), "rank {rank} of {size}");
        assert_eq!(waited[rank], own(rank, 10), "rank {rank} of {size}");
    }
}

#[test]
fn other_numbers_are_reduced_too() {
    let integers = on(3, |world| {
        let (x, mut y) = ([i64::MAX, world.rank() as i64], [0; 2]);
        Integers::options(&world.device()?).world(world).build()?.run(&x, &mut y)?;
        Ok(y)
    });
    assert!(integers.iter().all(|y| *y == [i64::MAX.wrapping_mul(3), 3]), "they wrap around: {integers:?}");
    let halves = on(4, |world| {
        let x = [half::f16::from_f32(0.5 + world.rank() as f32)];
        let mut y = [half::f16::ZERO];
        Halves::options(&world.device()?).world(world).build()?.run(&x, &mut y)?;
        Ok(y[0].to_f32())
    });
    assert_eq!(halves, [8.0; 4]);
}

stream_pipeline! {
    pipeline Parts {
        input x: [f32];
        output gathered: [f32; 3 * world.size] per chunk;
        output at_root: [f32; 3 * world.size] per chunk;
        output scattered: [f32; 3] per chunk;
        output added: [f32; 3] per chunk;
        output turned: [f32; 3 * world.size] per chunk;
        device own: [f32; 3] per chunk;
        device back: [f32; 3] per chunk;
        device mine: [f32; 3] per chunk;
        chunk c = 1;
        stage load { copy x -> _d; fill own = (10 * world.rank + c.index) as f32; }
        stage share {
            all_gather own -> all;
            gather own -> root to world.size - 1;
            scatter root -> back from world.size - 1;
            reduce_scatter sum all -> mine;
            all_to_all all -> around;
        }
        stage store {
            copy all -> gathered;
            copy root -> at_root;
            copy back -> scattered;
            copy mine -> added;
            copy around -> turned;
        }
    }
}

#[test]
fn parts_go_to_and_come_from_all() {
    in_worlds(check_parts);
}

fn check_parts(place: Place) {
    let size = place.size();
    let all = on(place, |world| {
        let mut outputs: [Vec<f32>; 5] = [3 * size, 3 * size, 3, 3, 3 * size].map(|len| vec![-1.0; 2 * len]);
        let [gathered, at_root, scattered, added, turned] = &mut outputs;
        let mut parts = Parts::options(&world.device()?).world(world).build()?;
        parts.run(&[0.0; 2], gathered, at_root, scattered, added, turned)?;
        Ok(outputs)
    });
    for (rank, [gathered, at_root, scattered, added, turned]) in all.into_iter().enumerate() {
        let of = |rank: usize, chunk: usize| [(10 * rank + chunk) as f32; 3];
        let of_all = |chunk| (0..size).flat_map(move |rank| of(rank, chunk)).collect::<Vec<f32>>();
        let chunks = |of: &dyn Fn(usize) -> Vec<f32>| [of(0), of(1)].concat();
        assert_eq!(gathered, chunks(&of_all), "rank {rank} of {size}");
        let at_the_last = if rank == size - 1 { chunks(&of_all) } else { vec![0.0; 6 * size] };
        assert_eq!(at_root, at_the_last, "rank {rank} of {size}");
        assert_eq!(scattered, chunks(&|chunk| of(rank, chunk).to_vec()), "rank {rank} of {size}");
        // All ranks have the same, so each element is that of this rank, as often as there are ranks.
        let sum = |chunk| of(rank, chunk).map(|x| x * size as f32).to_vec();
        assert_eq!(added, chunks(&sum), "rank {rank} of {size}");
        let from_each = |chunk| (0..size).flat_map(|_| of(rank, chunk)).collect::<Vec<f32>>();
        assert_eq!(turned, chunks(&from_each), "rank {rank} of {size}");
    }
}

stream_pipeline! {
    pipeline Shifts {
        input x: [f32; 2];
        output left: [f32; 2];
        output right: [f32; 2];
        output both: [f32; 2];
        chunk c = 3;
        device from_left: [f32; 2];
        device from_right: [f32; 2];
        device around: [f32; 2];
        stage load { copy x -> d; }
        stage share {
            pass d -> from_left to if rank + 1 < world.size { Some(rank + 1) } else { None };
            pass d -> from_right from (rank + 1 < world.size).then_some(rank + 1);
            pass d -> around from (rank + world.size - 1) % world.size to (rank + 1) % world.size;
        }
        stage store { copy from_left -> left; copy from_right -> right; copy around -> both; }
    }
}

#[test]
fn ranks_pass_on_what_they_have() {
    in_worlds(check_passed_on);
}

fn check_passed_on(place: Place) {
    let size = place.size();
    let all = on(place, |world| {
        let mut outputs: [Vec<f32>; 3] = [14; 3].map(|len| vec![-1.0; len]);
        let [left, right, both] = &mut outputs;
        let mut shifts = Shifts::options(&world.device()?).world(world).build()?;
        shifts.run(&own(world.rank(), 14), left, right, both)?;
        Ok(outputs)
    });
    for (rank, [left, right, both]) in all.into_iter().enumerate() {
        let of = |rank: Option<usize>| {
            rank.filter(|rank| *rank < size).map_or(vec![0.0; 14], |rank| own(rank, 14))
        };
        assert_eq!(left, of(rank.checked_sub(1)), "rank {rank} of {size}");
        assert_eq!(right, of(Some(rank + 1)), "rank {rank} of {size}");
        assert_eq!(both, own((rank + size - 1) % size, 14), "rank {rank} of {size}");
    }
}

stream_pipeline! {
    pipeline Borders {
        input _turns: [u8];
        carry line: [f32; 8];
        carry ring: [f32; 8];
        chunk c = 1;
        stage all { copy _turns -> _d; exchange line: halo 2; exchange ring: halo 2 periodic; }
    }
}

#[test]
fn neighbours_exchange_their_borders() {
    in_worlds(check_borders);
}

fn check_borders(place: Place) {
    let size = place.size();
    let all = on(place, |world| {
        let (mut line, mut ring) = (own(world.rank(), 8), own(world.rank(), 8));
        Borders::options(&world.device()?).world(world).build()?.run(&[0], &mut line, &mut ring)?;
        Ok((line, ring))
    });
    for (rank, (line, ring)) in all.into_iter().enumerate() {
        let mut expected = own(rank, 8);
        if rank > 0 {
            expected[..2].copy_from_slice(&own(rank - 1, 8)[4..6]);
        }
        if rank + 1 < size {
            expected[6..].copy_from_slice(&own(rank + 1, 8)[2..4]);
        }
        assert_eq!(line, expected, "rank {rank} of {size}");
        let mut expected = own(rank, 8);
        expected[..2].copy_from_slice(&own((rank + size - 1) % size, 8)[4..6]);
        expected[6..].copy_from_slice(&own((rank + 1) % size, 8)[2..4]);
        assert_eq!(ring, expected, "rank {rank} of {size}, periodic");
    }
}

stream_pipeline! {
    pipeline Gradients {
        uniform param often: usize;
        input x: [f32];
        carry g: [f32; 4] = 0.0;
        carry w: [f32; 6] = 1.0;
        chunk c = 5;
        stream math;
        stream net;
        stage back on math { copy x -> _d; add_to<<<1, 32>>>(1.0 + world.rank as f32, &mut g); }
        stage share on net { if c.index % often == often - 1 { all_reduce sum g[1..3]; } }
        stage step on math { add_to<<<1, 32>>>(0.5, &mut w); }
    }
}

/// Gradients may be kept for several steps before they are shared, and only a part of them.
#[test]
fn what_is_carried_is_shared_in_parts_and_now_and_then() {
    let all = on(2, |world| {
        let (mut g, mut w) = ([0.0; 4], [0.0; 6]);
        let mut gradients = Gradients::options(&world.device()?).world(world).build()?;
        gradients.run(2, &[0.0; 20], &mut g, &mut w)?;
        Ok((g, w))
    });
    // Four chunks: 2 r, then the sum of both; 2 r more, and the sum of both again.
    let shared = 2.0 * (2.0 + 4.0) + 2.0 + 4.0;
    for (rank, (g, w)) in all.into_iter().enumerate() {
        let alone = 4.0 * (1.0 + rank as f32);
        assert_eq!(g, [alone, shared, shared, alone], "rank {rank}");
        assert_eq!(w, [3.0; 6]);
    }
}

/// The same in every order that the streams allow, on graphs and on the processor.
#[test]
fn orders_and_modes_make_no_difference() {
    let expected = of_all_ranks!(Sums, 3);
    for seed in 0..40 {
        let machine = SimulatedMachine::from(MachineModel::h200(3)).adversarial(seed);
        let all = ranks(machine, |world| {
            let mut y = vec![0.0; 10];
            let options = Sums::options(&world.device()?).world(world);
            let options = if seed % 2 == 0 { options } else { options.graph() };
            options.build()?.run(&own(world.rank(), 10), &mut y)?;
            Ok::<_, Error>(y)
        });
        let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
        assert_eq!(all, expected, "seed {seed}");
    }
}

/// Virtual time is that of the links, and the same in every run.
#[test]
fn collectives_take_the_time_of_the_links() {
    let time = |size| {
        let all = on(size, |world| {
            let x = vec![1.0; 1 << 20];
            let mut y = x.clone();
            let mut sums = Sums::options(&world.device()?).world(world).chunk(1 << 18).build()?;
            let timeline = sums.profile(&x, &mut y)?;
            let network = thalweg::timeline::Engine::Network;
            assert_eq!(y, vec![size as f32; 1 << 20]);
            Ok((timeline.time(), timeline.spans.iter().filter(|span| span.engine == network).count()))
        });
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
        all[0]
    };
    let (one, two, again) = (time(1), time(2), time(2));
    assert_eq!(two, again);
    assert_eq!((one.1, two.1), (0, 4), "a world of one has nothing to send");
    assert!(two.0 > one.0, "{two:?} {one:?}");
}

stream_pipeline! {
    pipeline Prefixes {
        uniform param n: usize;
        input x: [f32; 4];
        output gathered: [f32; 4 * world.size];
        output sum: [f32; 4];
        chunk c = 1;
        stage load { copy x -> a; fill b = 0.0; }
        stage share { all_gather a[..n] -> b[..n * world.size]; all_reduce sum a; }
        stage store { copy b -> gathered; copy a -> sum; }
        device b: [f32; 4 * world.size];
    }
}

/// A collective of no elements leaves nothing behind for the next one, on simulated devices and on processors.
#[test]
fn a_part_may_be_empty() {
    let run = |world: &World, device: &Device, n: usize| {
        let (mut gathered, mut sum) = ([9.0; 8], [9.0; 4]);
        let mut prefixes = Prefixes::options(device).world(world).build()?;
        prefixes.run(n, &[1.0 + world.rank() as f32; 4], &mut gathered, &mut sum)?;
        Ok::<_, Error>((gathered, sum))
    };
    for (n, expected) in [(0, [0.0; 8]), (1, [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])] {
        assert_eq!(on(2, |world| run(world, &world.device()?, n)), [(expected, [3.0; 4]); 2]);
        std::thread::scope(|scope| {
            let worlds = World::together(2);
            let ranks: Vec<_> = worlds
                .into_iter()
                .map(|world| scope.spawn(move || run(&world, &Device::cpu()?, n)))
                .collect();
            for rank in ranks {
                assert_eq!(rank.join().unwrap().unwrap(), (expected, [3.0; 4]));
            }
        });
    }
}

/// A range and numbers on which collectives depend, in all forms in which a program names constants.
mod constants {
    use std::ops::Range;

    use thalweg::prelude::*;

    use crate::on;

    const PART: Range<usize> = 1..3;
    const STEPS: [usize; 2] = [1, 2];
    static ROOT: usize = 1;

    struct Of;

    impl Of {
        const LEAST: Option<usize> = Some(2);
    }

    stream_pipeline! {
        pipeline Named<const N: usize> {
            inout y: [u32; 4];
            stage load { copy y -> dy; }
            stage share {
                if Some(N) >= Of::LEAST && u8::MAX > 3 && [None, Some(3)][1] > Of::LEAST {
                    repeat STEPS[1] { all_reduce sum dy[PART]; }
                }
                broadcast dy from ROOT;
            }
            stage store { copy dy -> y; }
        }
    }

    #[test]
    fn are_uniform_in_all_forms() {
        let all = on(2, |world| {
            let mut y = [1 + world.rank() as u32; 4];
            Named::<2>::options(&world.device()?).world(world).build()?.run(&mut y)?;
            let mut z = [1 + world.rank() as u32; 4];
            Named::<1>::options(&world.device()?).world(world).build()?.run(&mut z)?;
            Ok((y, z))
        });
        // 1 + 2 on both, and that twice.
        assert_eq!(all, [([2, 6, 6, 2], [2; 4]); 2]);
    }
}
