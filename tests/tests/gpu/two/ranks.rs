//! Two ranks, each a thread with a GPU of its own, between which NCCL carries collectives out.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use thalweg::prelude::*;
use thalweg::{Device, ErrorKind, World};
use thalweg_libraries::cublas::{self, Gemm};

const ITEMS: usize = 3_000_000;

/// Adds elements of `z`.
#[kernel]
fn plus(i: Index, z: &[f32], x: &mut Own<[f32]>) {
    let Some(x) = x.get_mut(i) else { return };
    *x += z[i];
}

stream_pipeline! {
    pipeline Shared {
        input x: [f32];
        input z: [f32];
        output y: [f32];
        output n: [f32];
        device next: [f32];
        chunk c = 500_000;
        depth = 3;
        stream up;
        stream math;
        stream net;
        stream down;
        stage load on up { copy x -> d; copy z -> dz; }
        stage compute on math { plus<<<blocks(c.len, 256), 256>>>(&dz, &mut d); }
        stage share on net {
            all_reduce mean d;
            pass d -> next to (rank + 1) % world.size;
            barrier;
        }
        stage store on down { copy d -> y; copy next -> n; }
    }
}

/// Runs a program as two ranks, and returns what came of them.
fn ranks<R: Send>(program: impl Fn(&World, &Device) -> R + Sync) -> Vec<R> {
    ranks_within(Duration::from_secs(60), program)
}

fn ranks_within<R: Send>(limit: Duration, program: impl Fn(&World, &Device) -> R + Sync) -> Vec<R> {
    // A device carries out one run with collectives at a time, and another one is an error.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let worlds = World::options().limit(limit).together(2);
    thread::scope(|scope| {
        let run = |world: World| {
            let program = &program;
            scope.spawn(move || program(&world, &Device::cuda(world.rank()).expect("two GPUs")))
        };
        let threads: Vec<_> = worlds.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("the rank does not panic")).collect()
    })
}

#[test]
#[ignore = "needs two CUDA devices"]
fn gpus_share_what_each_has_computed() {
    ranks(|world, device| {
        let mut shared = Shared::options(device).world(world).build().expect("a pipeline");
        let own = [1.0, 4.0][world.rank()];
        let (x, z) = (vec![own; ITEMS], (0..ITEMS).map(|i| (i % 1000) as f32).collect::<Vec<_>>());
        let expected: Vec<f32> = z.iter().map(|z| z + 2.5).collect();
        for _ in 0..5 {
            let (mut y, mut n) = (vec![0.0; ITEMS], vec![0.0; ITEMS]);
            shared.run(&x, &z, &mut y, &mut n).expect("a run");
            assert!(y == expected && n == expected, "rank {}", world.rank());
        }
    });
}

#[test]
#[ignore = "needs two CUDA devices"]
fn a_rank_that_fails_ends_the_run_of_the_other() {
    let began = Instant::now();
    let errors = ranks(|world, device| {
        let mut shared = Shared::options(device).world(world).build().expect("a pipeline");
        let fails = world.rank() == 1;
        let x = source::from_fn(move |c, slot: &mut [f32]| {
            slot.fill(1.0);
            if fails && c.index == 3 {
                // The other rank waits in its collective meanwhile.
                thread::sleep(Duration::from_millis(500));
                return Err(std::io::Error::other("the disk is on fire"));
            }
            Ok(slot.len())
        });
        let (z, mut y, mut n) = (vec![1.0; ITEMS], vec![0.0; ITEMS], vec![0.0; ITEMS]);
        shared.run(x, &z, &mut y, &mut n).expect_err("the run fails")
    });
    let text = errors[0].to_string();
    assert!(matches!(errors[0].kind(), ErrorKind::Ranks(_)), "{text}");
    assert!(text.contains("rank 1") && text.contains("the disk is on fire"), "{text}");
    assert_eq!(errors[0].place().stage, Some("share"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
}

#[test]
#[ignore = "needs two CUDA devices"]
fn a_rank_that_stands_still_ends_the_run_of_the_other_after_the_limit() {
    let limit = Duration::from_secs(12);
    let outcomes = ranks_within(limit, |world, device| {
        let mut shared = Shared::options(device).world(world).build().expect("a pipeline");
        let stands = world.rank() == 1;
        let x = source::from_fn(move |c, slot: &mut [f32]| {
            slot.fill(1.0);
            if stands && c.index == 3 {
                thread::sleep(limit + Duration::from_secs(6));
            }
            Ok(slot.len())
        });
        let (z, mut y, mut n) = (vec![1.0; ITEMS], vec![0.0; ITEMS], vec![0.0; ITEMS]);
        let began = Instant::now();
        let error = shared.run(x, &z, &mut y, &mut n).expect_err("the run fails");
        (error, began.elapsed())
    });
    let (error, waited) = &outcomes[0];
    let text = error.to_string();
    assert!(matches!(error.kind(), ErrorKind::Ranks(_)), "{text}");
    assert!(text.contains("rank 0 has waited 12 s for other ranks"), "{text}");
    assert_eq!(error.place().stage, Some("share"), "{text}");
    assert!((limit..limit + Duration::from_secs(4)).contains(waited), "{waited:?}");
    let text = outcomes[1].0.to_string();
    assert!(text.contains("rank 0"), "the one that was late hears of it: {text}");
}

/// The side of the matrices.
const SIDE: usize = 256;

stream_pipeline! {
    /// A library is called while collectives are under way, and makes its handles and workspaces there.
    pipeline Products {
        input x: [f32; SIDE * SIDE];
        output y: [f32; SIDE * SIDE];
        device p: [f32; SIDE * SIDE];
        chunk c = 1;
        depth = 3;
        stream up;
        stream math;
        stream net;
        stream down;
        stage load on up { copy x -> d; }
        stage share on net { all_reduce sum d; }
        stage square on math { call cublas::gemm_out(Gemm::new(SIDE, SIDE, SIDE), 1.0, &d, &d, out p); }
        stage sum on net { all_reduce sum p; }
        stage store on down { copy p -> y; }
    }
}

#[test]
#[ignore = "needs two CUDA devices"]
fn libraries_are_called_beside_collectives() {
    const CHUNKS: usize = 12;
    ranks(|world, device| {
        let mut products = Products::options(device).world(world).build().expect("a pipeline");
        // Twice the identity and once: their sum's square is nine times the identity, on both.
        let own = (world.rank() + 1) as f32;
        let x: Vec<f32> = (0..CHUNKS * SIDE * SIDE)
            .map(|i| if (i % (SIDE * SIDE)).is_multiple_of(SIDE + 1) { own } else { 0.0 })
            .collect();
        let expected: Vec<f32> = x.iter().map(|x| if *x == 0.0 { 0.0 } else { 18.0 }).collect();
        for _ in 0..3 {
            let mut y = vec![0.0; CHUNKS * SIDE * SIDE];
            products.run(&x, &mut y).expect("a run");
            assert!(y == expected, "rank {}", world.rank());
        }
    });
}

stream_pipeline! {
    /// Small chunks, whose time is that of the host's calls.
    pipeline WithCollective {
        inout y: [f32; 256];
        chunk c = 1;
        depth = 4;
        stage load { copy y -> d; }
        stage share { all_reduce max d; }
        stage store { copy d -> y; }
    }
}

stream_pipeline! {
    pipeline WithoutCollective {
        inout y: [f32; 256];
        chunk c = 1;
        depth = 4;
        stage load { copy y -> d; }
        stage store { copy d -> y; }
    }
}

#[test]
#[ignore = "needs two CUDA devices"]
fn what_a_collective_costs_a_chunk() {
    const CHUNKS: usize = 2000;
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let times = ranks(|world, device| {
        let mut with = WithCollective::options(device).world(world).build().expect("a pipeline");
        let mut without = WithoutCollective::new(device).expect("a pipeline");
        let (mut of_with, mut of_without) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            let mut y: Vec<f32> = (0..256 * CHUNKS).map(|i| (i + world.rank()) as f32).collect();
            let began = Instant::now();
            with.run(&mut y).expect("a run");
            of_with.push(began.elapsed().as_secs_f64() / CHUNKS as f64 * 1e6);
            assert!(y.iter().enumerate().all(|(i, y)| *y == (i + 1) as f32), "the greater one");
            let began = Instant::now();
            without.run(&mut y).expect("a run");
            of_without.push(began.elapsed().as_secs_f64() / CHUNKS as f64 * 1e6);
        }
        (median(of_with), median(of_without))
    });
    let (with, without) = times[0];
    println!("a chunk of 1 KiB with an all_reduce: {with:.1} us; without: {without:.1} us");
    assert!(with > without, "{with} and {without}");
}
