//! Ranks in processes of their own, on processors and on simulated devices, over loopback.

use std::io::{BufRead, BufReader, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use thalweg::prelude::*;
use thalweg_tests::launcher::{self, Launched, ended};

use super::add_to;

/// Says which of the programs a rank is to run.
const PROGRAM: &str = "THALWEG_TEST_PROGRAM";

/// What a rank that was told of a failure ends with.
const TOLD: i32 = 7;

/// How long the other ranks may take to end when one was killed.
const SOON: Duration = Duration::from_secs(10);

/// Starts `size` ranks, each a process that runs the test [`rank`] alone. `device`: the value of `THALWEG_DEVICE`.
pub(crate) fn launch(size: usize, program: &str, device: &str) -> Launched {
    launcher::launch(size, || {
        let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
        command.args(["processes::rank", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env("THALWEG_DEVICE", device).env(PROGRAM, program).env("THALWEG_CPU_THREADS", "1");
        command
    })
}

stream_pipeline! {
    pipeline Steps {
        uniform param rate: f32;
        input x: [f32];
        output y: [f32];
        carry w: [f32; 1000] = 1.0;
        carry edge: [f32; 8];
        chunk c = 100;
        stream math;
        stream net;
        stage load on math { copy x -> d; add_to<<<4, 256>>>(0.1 + world.rank as f32, &mut w); }
        stage share on net { all_reduce mean w; exchange edge: halo 2 periodic; all_reduce sum d; }
        stage step on math { add_to<<<4, 256>>>(rate, &mut w); copy d -> y; }
    }
}

/// A few steps of this rank; the bits of everything that came of it.
fn steps(world: &World) -> thalweg::Result<String> {
    steps_on(world, &world.device()?)
}

fn steps_on(world: &World, device: &Device) -> thalweg::Result<String> {
    let mut steps = Steps::options(device).world(world).build()?;
    let items = 450 - 50 * world.rank();
    let x: Vec<f32> = (0..items).map(|n| n as f32 / 3.0).collect();
    let (mut y, mut w) = (vec![0.0; items], vec![0.0; 1000]);
    let mut edge: [f32; 8] = std::array::from_fn(|n| (10 * world.rank() + n) as f32);
    steps.run(0.3, &x, &mut y, &mut w, &mut edge)?;
    let bits = |all: &[f32]| all.iter().fold(0_u64, |hash, x| hash.rotate_left(5) ^ u64::from(x.to_bits()));
    Ok(format!("{:x} {:x} {edge:?}", bits(&y), bits(&w)))
}

/// The same in a world of half of the ranks, and once more in that of all.
fn halves(world: &World) -> thalweg::Result<String> {
    let rank = world.rank() as u64;
    let half = world.split((rank != 2).then_some(rank % 2))?;
    let of_half = match &half {
        Some(half) => steps_on(half, &world.device()?)?,
        None => "alone".to_owned(),
    };
    Ok(format!("{of_half} {}", steps(world)?))
}

/// Runs until another rank has failed.
fn without_end(world: &World) -> thalweg::Result<String> {
    let mut steps = Steps::options(&world.device()?).world(world).build()?;
    let (x, mut y, mut w) = (vec![1.0; 400], vec![0.0; 400], vec![0.0; 1000]);
    for run in 0.. {
        steps.run(0.3, &x, &mut y, &mut w, &mut [0.0; 8])?;
        if run == 0 {
            println!("it has run once");
            std::io::stdout().flush().expect("the launcher reads it");
        }
    }
    unreachable!("a rank is killed")
}

/// What each process of a launch does; never a test of its own.
#[test]
#[ignore = "a rank, started by the launcher of other tests"]
fn rank() {
    let Ok(program) = std::env::var(PROGRAM) else { return };
    let outcome =
        World::options().limit(Duration::from_secs(60)).from_env().and_then(|world| match program.as_str() {
            "steps" => steps(&world),
            "halves" => halves(&world),
            "without end" => without_end(&world),
            "long timelines" => super::timelines::long(&world),
            "dies before its timeline" => super::timelines::dies(&world),
            other => unreachable!("there is no program {other}"),
        });
    match outcome {
        Ok(result) => println!("result: {result}"),
        Err(error) => {
            println!("{error}");
            std::process::exit(TOLD);
        }
    }
}

/// The same bits, whether ranks are threads or processes, on simulated devices or on processors.
#[test]
fn processes_come_to_the_same_as_threads() {
    for size in [1, 2, 4] {
        let simulated = super::on(size, steps);
        let worlds = World::together(size);
        let on_processors: Vec<String> = std::thread::scope(|scope| {
            let threads = worlds.iter().map(|world| {
                scope.spawn(move || {
                    let device = Device::cpu()?;
                    steps_on(world, &device)
                })
            });
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap().unwrap_or_else(|error| panic!("{error}")))
                .collect()
        });
        assert_eq!(simulated, on_processors, "{size} ranks");
        for device in ["cpu", "sim"] {
            assert_eq!(launch(size, "steps", device).results(), simulated, "{size} processes on {device}");
        }
    }
}

/// Ranks 0 and 4 have a world of their own, and ranks 1 and 3; rank 2 has none.
#[test]
fn a_world_of_some_ranks_is_as_any_other() {
    let all = super::on(5, halves);
    let pair = super::on(2, steps);
    for (rank, place) in [(0, 0), (4, 1), (1, 0), (3, 1)] {
        assert!(all[rank].starts_with(&pair[place]), "rank {rank}: {}, not {}", all[rank], pair[place]);
    }
    assert!(all[2].starts_with("alone"));
    assert_eq!(launch(5, "halves", "cpu").results(), all);
}

/// Waits until all ranks have run once.
fn wait_until_running(launched: &mut Launched) {
    for rank in &mut launched.ranks {
        let mut lines = BufReader::new(rank.stdout.as_mut().expect("it is piped")).lines();
        let is_running = lines.any(|line| line.is_ok_and(|line| line.contains("has run once")));
        assert!(is_running, "a rank ends before it has run");
    }
}

/// A rank that is killed, at any moment, ends all others with an error that names it.
#[test]
fn a_rank_that_is_killed_ends_the_others() {
    let times = std::env::var("THALWEG_KILLS").map_or(50, |times| times.parse().expect("a number"));
    let mut slowest = Duration::ZERO;
    for time in 0..times {
        let device = if time % 5 == 0 { "sim" } else { "cpu" };
        let mut launched = launch(4, "without end", device);
        wait_until_running(&mut launched);
        // Moments and ranks that differ, the same in every run of the test.
        std::thread::sleep(Duration::from_micros(time * 7919 % 25_000));
        let victim = (time * 3 + time / 4) as usize % 4;
        let mut ranks = launched.ranks;
        let mut killed = ranks.remove(victim);
        killed.kill().expect("it runs");
        killed.wait().expect("it can be waited for");
        let since = Instant::now();
        for rank in ranks {
            let (code, said) = ended(rank, SOON);
            let name = format!("rank {victim}");
            assert!(code == Some(TOLD) && said.contains(&name), "kill {time} of {name}: {code:?}\n{said}");
        }
        slowest = slowest.max(since.elapsed());
    }
    assert!(slowest < SOON, "{slowest:?}");
}
