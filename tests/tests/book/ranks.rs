//! The page on ranks.

use std::fs::File;
use std::path::Path;

// ANCHOR: pipeline
use thalweg::prelude::*;
use thalweg::sim::{MachineModel, ranks};

/// The gradient of the squared error, element by element of `w`.
#[kernel]
#[requires(x.len() == w.len() * t.len())]
fn gradient(i: Index, w: &[f32], x: &[f32], t: &[f32], g: &mut Out<[f32]>) {
    let Some(g) = g.get_mut(i) else { return };
    let (k, i) = (w.len(), i.get());
    let mut sum = 0.0;
    for n in 0..t.len() {
        let mut error = -t[n];
        for j in 0..k {
            error += w[j] * x[n * k + j];
        }
        sum += error * x[n * k + i];
    }
    *g = sum;
}

/// `w -= rate * g`
#[kernel]
fn sgd(i: Index, rate: f32, g: &[f32], w: &mut Own<[f32]>) {
    let Some(w) = w.get_mut(i) else { return };
    *w -= rate * g[i];
}

stream_pipeline! {
    /// A step of gradient descent for each chunk.
    pipeline Fit {
        uniform param rate: f32;
        input x: [f32; 3];
        input t: [f32];
        carry w: [f32; 3];
        device g: [f32; 3] per chunk;
        chunk c = 8;
        stream math;
        stream comm;

        stage load { copy x -> dx; copy t -> dt; }
        stage back on math { gradient<<<1, 32>>>(&w, &dx, &dt, out g); }
        stage share on comm { all_reduce sum g; }
        stage step on math { sgd<<<1, 32>>>(rate, &g, &mut w); }
    }
}
// ANCHOR_END: pipeline

// ANCHOR: run
fn fit(world: &World) -> thalweg::Result<[f32; 3]> {
    let device = world.device()?;
    let mut fit = Fit::options(&device).world(world).build()?;
    // Each rank has its part of the data; here it makes them.
    let own = world.part(256);
    let x: Vec<[f32; 3]> = own.map(|n| [(n % 7) as f32 / 7.0, (n % 11) as f32 / 11.0, 1.0]).collect();
    let t: Vec<f32> = x.iter().map(|[a, b, _]| 2.0 * a - 3.0 * b + 1.0).collect();
    let mut w = [0.0; 3];
    for _ in 0..200 {
        fit.run(0.02, x.as_flattened(), &t, &mut w)?;
    }
    Ok(w)
}
// ANCHOR_END: run

// ANCHOR: main
fn program() -> thalweg::Result<()> {
    let world = World::from_env()?;
    let w = fit(&world)?;
    if world.rank() == 0 {
        println!("{w:.3?}");
    }
    Ok(())
}
// ANCHOR_END: main

#[test]
fn ranks_fit_together() -> thalweg::Result<()> {
    program()?;
    // ANCHOR: simulated
    let all = ranks(MachineModel::h200(4), fit);
    // ANCHOR_END: simulated
    for w in all {
        let w = w?;
        assert!((w[0] - 2.0).abs() < 0.05 && (w[1] + 3.0).abs() < 0.05 && (w[2] - 1.0).abs() < 0.05, "{w:?}");
    }
    Ok(())
}

// ANCHOR: epochs
/// In `x.npy` there is an array of the shape (n, 3), and in `t.npy` one of the shape (n).
fn fit_files(world: &World, folder: &Path) -> Result<[f32; 3], Box<dyn std::error::Error + Send + Sync>> {
    let open = |name| File::open(folder.join(name));
    let items = source::npy_shape(&mut open("x.npy")?)?[0];
    let block = 16;
    let seed = world.seed()?;
    let mut fit = Fit::options(&world.device()?).world(world).build()?;
    let mut w = [0.0; 3];
    for epoch in 0..200 {
        let blocks = world.shuffled(items.div_ceil(block), seed + epoch);
        let parts = blocks.into_iter().map(|n| n * block..items.min((n + 1) * block));
        let x = source::npy_parts(open("x.npy")?, parts.clone());
        let t = source::npy_parts(open("t.npy")?, parts);
        fit.run(0.02, x, t, &mut w)?;
    }
    Ok(w)
}
// ANCHOR_END: epochs

stream_pipeline! {
    pipeline Through {
        input x: [f32; 3];
        output y: [f32; 3];
        chunk c = 16;
        stage there { copy x -> d; }
        stage back { copy d -> y; }
    }
}

// ANCHOR: written
fn write(world: &World, folder: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut x = File::open(folder.join("x.npy"))?;
    let shape = source::npy_shape(&mut x)?;
    let own = world.part(shape[0]);
    let path = folder.join("y.npy");
    if world.rank() == 0 {
        File::create(&path)?;
    }
    world.barrier()?;
    let y = File::options().write(true).open(&path)?;
    let mut through = Through::options(&world.device()?).world(world).build()?;
    through.run(source::npy_parts(x, [own.clone()]), sink::npy_part(y, &shape, own))?;
    world.barrier()?;
    Ok(())
}
// ANCHOR_END: written

/// The files of the page, on several numbers of ranks.
#[test]
fn ranks_share_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let x: Vec<[f32; 3]> = (0..250).map(|n| [(n % 7) as f32 / 7.0, (n % 11) as f32 / 11.0, 1.0]).collect();
    let t: Vec<f32> = x.iter().map(|[a, b, _]| 2.0 * a - 3.0 * b + 1.0).collect();
    let create = |name| File::create(folder.path().join(name)).expect("a file");
    let device = Device::simulated(Simulation::h200());
    let mut through = Through::new(&device).expect("a pipeline");
    through.run(x.as_flattened(), sink::npy_items(create("x.npy"), &[3])).expect("a file");
    let mut numbers = Numbers::new(&device).expect("a pipeline");
    numbers.run(&t, sink::npy(create("t.npy"))).expect("a file");
    let read = |name| std::fs::read(folder.path().join(name)).expect("a file");
    for size in [1, 4] {
        for w in ranks(MachineModel::h200(size), |world| fit_files(world, folder.path())) {
            let w = w.expect("the files are there");
            let error = (w[0] - 2.0).abs().max((w[1] + 3.0).abs()).max((w[2] - 1.0).abs());
            assert!(error < 0.05, "{w:?}");
        }
        for written in ranks(MachineModel::h200(size), |world| write(world, folder.path())) {
            written.expect("the files are there");
        }
        assert_eq!(read("y.npy"), read("x.npy"));
    }
}

stream_pipeline! {
    pipeline Numbers {
        input x: [f32];
        output y: [f32];
        chunk c = 16;
        stage there { copy x -> d; }
        stage back { copy d -> y; }
    }
}

// ANCHOR: shift
stream_pipeline! {
    /// Each rank's items go to the rank after it; the last one's go nowhere.
    pipeline Shift {
        input x: [f32];
        output y: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage share {
            pass dx -> dy to if rank + 1 < world.size { Some(rank + 1) } else { None };
        }
        stage store { copy dy -> y; }
    }
}
// ANCHOR_END: shift

#[test]
fn ranks_pass_on() {
    let all = ranks(MachineModel::h200(3), |world| {
        let mut y = [-1.0; 2];
        Shift::options(&world.device()?).world(world).build()?.run(&[world.rank() as f32; 2], &mut y)?;
        Ok::<_, Error>(y)
    });
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert_eq!(all, [[0.0; 2], [0.0; 2], [1.0; 2]], "rank 0 gets zeros");
}

// ANCHOR: timeline
fn timeline(world: &World) -> thalweg::Result<Option<thalweg::Timeline>> {
    let mut fit = Fit::options(&world.device()?).world(world).build()?;
    let (x, t) = ([1.0; 3 * 32], [1.0; 32]);
    let own = fit.profile(0.02, &x, &t, &mut [0.0; 3])?;
    own.of_all_ranks(world) // `Some` on rank 0
}
// ANCHOR_END: timeline

#[test]
fn rank_0_has_the_timelines_of_all() -> thalweg::Result<()> {
    let mut all = ranks(MachineModel::h200(2), timeline).into_iter();
    let of_all = all.next().expect("rank 0")?.expect("it has it");
    assert!(all.next().expect("rank 1")?.is_none());
    thalweg_tests::book::recorded("ranks-timeline.txt", &of_all.to_string());
    thalweg_tests::book::recorded("ranks-timeline.svg", &of_all.svg());
    Ok(())
}

/// The error that the page shows.
#[test]
fn a_missing_rank_is_shown() {
    let all = ranks(MachineModel::h200(2), |world| match world.rank() {
        0 => fit(world).map(drop),
        _ => Fit::options(&world.device()?)
            .world(world)
            .build()?
            .run(0.5, &[0.0; 3], &[0.0], &mut [0.0; 3])
            .map(drop),
    });
    let text = all[0].as_ref().unwrap_err().to_string();
    let first = text.lines().next().unwrap_or_default().to_owned();
    thalweg_tests::book::recorded("ranks-disagree.txt", &first);
}
