//! The examples of ranks, in processes of their own: on several ranks they print what they print on one, and
//! come to the same bits.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use thalweg::prelude::*;
use thalweg::sim::{MachineModel, SimulatedMachine, ranks};
use thalweg::timeline::{Engine, Timeline};

use super::{command, ended};

#[path = "../../examples/heat_ranks.rs"]
#[allow(dead_code, reason = "an example's `main` runs it")]
mod heat_ranks;

/// A folder of a test's own, which is empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ranks").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the folder of an earlier test");
    }
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn as_str(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// What each of so many ranks of an example prints, whose processes are started with the variables of
/// torchrun.
fn launch(example: &str, arguments: &[&str], size: usize, device: &str) -> Vec<Output> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
    // The store of torchrun, which listens at `MASTER_PORT`.
    let store = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = store.local_addr().expect("it is bound").port();
    let start = |rank: usize| {
        let mut command = on(example, arguments, device);
        command.envs([("RANK", rank), ("LOCAL_RANK", rank)].map(|(name, rank)| (name, rank.to_string())));
        command.env("WORLD_SIZE", size.to_string()).env("LOCAL_WORLD_SIZE", size.to_string());
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        command.env("TORCHELASTIC_RUN_ID", &run).env("TORCHELASTIC_RESTART_COUNT", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect(example)
    };
    let ranks: Vec<_> = (0..size).map(start).collect();
    ranks.into_iter().map(|rank| rank.wait_with_output().expect(example)).collect()
}

/// What rank 0 of a launch prints. All ranks succeed, and the others print nothing.
fn launched(example: &str, arguments: &[&str], size: usize, device: &str) -> String {
    let texts: Vec<_> = launch(example, arguments, size, device).iter().map(succeeded).collect();
    assert!(texts[1..].iter().all(String::is_empty), "another rank prints something: {texts:?}");
    texts[0].clone()
}

/// An example on a device, with one thread if it is the processor.
fn on(example: &str, arguments: &[&str], device: &str) -> Command {
    let mut command = command(example, arguments);
    command.env("THALWEG_DEVICE", device).env("THALWEG_CPU_THREADS", "1");
    command
}

/// What a program that has succeeded has printed.
fn succeeded(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn alone(example: &str, arguments: &[&str], device: &str) -> String {
    succeeded(&on(example, arguments, device).output().expect(example))
}

#[test]
fn the_plate_of_several_ranks_is_as_warm_as_that_of_one() {
    let expected = alone("heat_ranks", &[], "sim");
    for device in ["sim", "cpu"] {
        for size in [1, 2, 4] {
            assert_eq!(launched("heat_ranks", &[], size, device), expected, "{size} on {device}");
        }
    }
    assert_eq!(launched("heat_ranks", &[], 3, "cpu"), expected, "3 ranks have rows in unequal parts");
}

/// A plate of so many rows and columns after some turns, on so many ranks, and the timeline of each.
fn plate(rows: usize, columns: usize, size: usize) -> (Vec<f32>, Vec<Timeline>) {
    let row = |row: usize| (0..columns).map(move |column| ((row * 31 + column * 17) % 23) as f32);
    let mut machine = MachineModel::h200(size);
    // A kernel takes longer than an exchange, as it does on a larger plate.
    machine.devices.iter_mut().for_each(|device| device.memory_rate /= 16.0);
    let all = ranks(SimulatedMachine::from(machine), |world| {
        let inside = world.part(rows - 2);
        let own = inside.start + 1..inside.end + 1;
        let mut plate = heat_ranks::Plate::options(&world.device()?).world(world).build()?;
        let mut u: Vec<f32> = own.clone().flat_map(row).collect();
        let mut ends: Vec<f32> =
            [own.start - 1, own.start, own.end - 1, own.end].into_iter().flat_map(row).collect();
        let mut v = vec![0.0; u.len()];
        let timeline = plate.profile(own.len(), columns, 0.2, &[0; 4], &mut u, &mut v, &mut ends)?;
        Ok::<_, Error>((u, timeline))
    });
    let all = all.into_iter().map(|one| one.unwrap_or_else(|error| panic!("{error}")));
    let (parts, timelines): (Vec<_>, Vec<_>) = all.unzip();
    (parts.concat(), timelines)
}

#[test]
fn ranks_may_have_one_row_of_a_plate_or_none() {
    for columns in [1, 2, 3, 40] {
        let (expected, _) = plate(9, columns, 1);
        for size in 2..10 {
            let (found, _) = plate(9, columns, size);
            assert_eq!(found, expected, "{columns} columns on {size} ranks");
        }
    }
}

/// The first and the last row of a rank travel while the others are computed.
#[test]
fn a_plate_hides_its_exchange() {
    let (_, timelines) = plate(1026, 1024, 2);
    for (rank, timeline) in timelines.iter().enumerate() {
        let of = |engine| timeline.spans.iter().filter(move |span| span.engine == engine);
        assert_eq!(of(Engine::Network).count(), 8, "an exchange for each step");
        for exchange in of(Engine::Network) {
            let beside = of(Engine::Compute)
                .map(|span| span.end.min(exchange.end).saturating_sub(span.start.max(exchange.start)));
            let hidden: Duration = beside.sum();
            assert_eq!(hidden, exchange.end - exchange.start, "rank {rank}: {exchange:?}");
        }
    }
}

#[test]
fn ranks_train_to_the_bits_of_one() {
    let folder = folder("train");
    let trained = |name: &str, train: &dyn Fn(&[&str]) -> String| {
        let path = folder.join(name);
        let text = train(&["--save", as_str(&path)]);
        (text, fs::read(path).expect("the network"))
    };
    let expected = trained("alone", &|arguments| alone("train_ranks", arguments, "sim"));
    for device in ["sim", "cpu"] {
        for size in [1, 2, 4, 8] {
            let name = format!("{size}-{device}");
            let found = trained(&name, &|arguments| launched("train_ranks", arguments, size, device));
            assert_eq!(found.0, expected.0, "{name}");
            assert!(found.1 == expected.1, "{name}: the weights have other bits");
        }
    }
}

/// A run that stops in the middle, on one rank, and goes on on two. Only rank 0 reads the file.
#[test]
fn training_goes_on_from_a_checkpoint() {
    let folder = folder("restart");
    let [whole, half, rest] = ["whole", "half", "rest"].map(|name| folder.join(name));
    let expected = alone("train_ranks", &["--save", as_str(&whole)], "cpu");
    // The network of so few steps may read badly, for which the program ends with an error.
    let begun = on("train_ranks", &["--steps", "150", "--save", as_str(&half)], "cpu").output();
    let begun = String::from_utf8_lossy(&begun.expect("train_ranks").stdout).into_owned();
    let of_rank_0 = ["--load", as_str(&half), "--save", as_str(&rest)];
    let ended = launched("train_ranks", &of_rank_0, 2, "cpu");
    // The interrupted run says what it has come to at its last step.
    let steps = begun.lines().take_while(|line| line.starts_with("step ") && !line.contains(" 150 "));
    let all: Vec<_> = steps.chain(ended.lines()).collect();
    assert_eq!(all, expected.lines().collect::<Vec<_>>());
    let [whole, rest] = [&whole, &rest].map(|path| fs::read(path).expect("a checkpoint"));
    assert!(whole == rest, "the weights have other bits");
}

#[test]
fn rank_0_draws_the_timelines_of_all() {
    let folder = folder("timelines");
    let expected = alone("train_ranks", &[], "sim");
    for size in [1, 2, 4] {
        let path = folder.join(format!("{size}.svg"));
        let text = launched("train_ranks", &["--timeline", as_str(&path)], size, "sim");
        assert_eq!(text, expected, "a profile changes nothing");
        let picture = fs::read_to_string(path).expect("a picture");
        assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"), "{size} ranks");
        for rank in 0..5 {
            assert_eq!(picture.contains(&format!(">r{rank} ")), rank < size, "rank {rank} of {size}");
        }
    }
    assert_eq!(fs::read_dir(folder).expect("the folder").count(), 3, "other ranks write nothing");
}

#[test]
fn other_numbers_of_ranks_and_other_files_are_refused() {
    for output in launch("train_ranks", &[], 3, "cpu") {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.contains("a batch has 8 parts, which 3 ranks cannot share: start 1, 2, 4 or 8"),
            "{text}"
        );
    }
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let (code, text) = ended("train_ranks", &["--load", other]);
    assert!(code == Some(1) && text.contains("is no checkpoint of this network"), "{text}");
    let (code, text) = ended("train_ranks", &["--load", "nowhere"]);
    assert!(code == Some(1) && text.contains("`nowhere`: "), "{text}");
    let (code, text) = ended("train_ranks", &["--steps", "0"]);
    assert!(code == Some(1) && text.contains("none of 0 is left"), "{text}");
    let (code, text) = ended("train_ranks", &["--fast"]);
    assert!(code == Some(1) && text.contains("--fast"), "{text}");
}

/// The same under a launcher of MPI.
#[test]
#[ignore = "needs mpirun"]
fn mpirun_starts_ranks_too() {
    for example in ["heat_ranks", "train_ranks"] {
        let expected = alone(example, &[], "sim");
        for (size, device) in [("2", "sim"), ("4", "cpu")] {
            let mut mpirun = Command::new("mpirun");
            mpirun.args(["--oversubscribe", "-n", size]).arg(command(example, &[]).get_program());
            mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            mpirun.env("THALWEG_DEVICE", device).env("THALWEG_CPU_THREADS", "1");
            let output = mpirun.output().expect("mpirun");
            assert_eq!(succeeded(&output), expected, "{example}: {size} on {device}");
        }
    }
}
