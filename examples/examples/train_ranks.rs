//! A small network that learns to read digits, on one, two, four or eight ranks: each has a part of every batch, as
//! with `torch.nn.parallel.DistributedDataParallel`.
//!
//! ```text
//! cargo run --release --example train_ranks -- [--steps N] [--seed N] [--save FILE] [--load FILE]
//!     [--timeline FILE]
//! torchrun --no-python --nproc-per-node 4 target/release/examples/train_ranks
//! mpirun -n 4 target/release/examples/train_ranks
//! ```
//!
//! `--save` writes the network to a file every few steps, and `--load` continues from one, with the bits of a
//! run without interruption. `--timeline` draws some of its steps as an SVG file, with those of all ranks
//! one below the other.
//!
//! Any of these numbers of ranks comes to the same bits on processors. Without a launcher there is one.

use std::error::Error;
use std::path::{Path, PathBuf};

use lexopt::ValueExt;
use thalweg::prelude::*;

#[path = "train_ranks/checkpoint.rs"]
mod checkpoint;
#[path = "train_ranks/digits.rs"]
mod digits;
#[path = "train_ranks/network.rs"]
mod network;
use checkpoint::Checkpoint;
use digits::{Digits, TESTING, TRAINING, order};
use network::{BATCH, Classify, FIRST, PARTS, SECOND, Train};

/// Steps from one line of output to the next.
const STEPS: u64 = 60;
/// Steps of a timeline.
const DRAWN: u64 = 4;
/// How far a step goes.
const RATE: f32 = 0.3;

/// What the command line says.
struct Arguments {
    steps: u64,
    seed: u64,
    save: Option<PathBuf>,
    load: Option<PathBuf>,
    timeline: Option<PathBuf>,
}

impl Arguments {
    fn read() -> Result<Self, lexopt::Error> {
        let mut given = Self { steps: 480, seed: 1, save: None, load: None, timeline: None };
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            use lexopt::Arg::Long;
            match argument {
                Long("steps") => given.steps = parser.value()?.parse()?,
                Long("seed") => given.seed = parser.value()?.parse()?,
                Long("save") => given.save = Some(parser.value()?.into()),
                Long("load") => given.load = Some(parser.value()?.into()),
                Long("timeline") => given.timeline = Some(parser.value()?.into()),
                _ => return Err(argument.unexpected()),
            }
        }
        Ok(given)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = Arguments::read()?;
    let world = World::from_env()?;
    if !PARTS.is_multiple_of(world.size()) {
        let size = world.size();
        return Err(format!(
            "a batch has {PARTS} parts, which {size} ranks cannot share: start 1, 2, 4 or 8"
        )
        .into());
    }
    let device = world.device()?;
    let mut train = Train::options(&device).world(&world).build()?;
    let mut network = begin(&world, &given)?;

    let (begun, mut timeline) = (network.steps, given.timeline.as_deref());
    while network.steps < given.steps {
        let at_once = if timeline.is_some() { DRAWN } else { STEPS };
        let steps = at_once.min(STEPS - network.steps % STEPS).min(given.steps - network.steps);
        // In its first steps a library makes its handles, for which everything else waits.
        let is_drawn = network.steps > begun || network.steps + steps == given.steps;
        let drawn = if is_drawn { timeline.take() } else { None };
        let loss = advance(&mut train, &world, &mut network, steps, drawn)?;
        let is_told = network.steps.is_multiple_of(STEPS) || network.steps == given.steps;
        if world.rank() == 0 && is_told {
            println!("step {:4}   loss {loss:.3}", network.steps);
            given.save.iter().try_for_each(|path| network.save(path))?;
        }
    }

    let right = right(&device, &world, &network)?;
    let share = 100.0 * right as f64 / TESTING as f64;
    if world.rank() == 0 {
        println!("{right} of {TESTING} other digits are read correctly: {share:.1} %");
    }
    if share > 90.0 { Ok(()) } else { Err("the network reads too badly".into()) }
}

/// The network that rank 0 begins with. The other ranks know the seed and the steps from it, and get the
/// weights in the first chunk.
fn begin(world: &World, given: &Arguments) -> Result<Checkpoint, Box<dyn Error>> {
    let network = match &given.load {
        Some(path) if world.rank() == 0 => Checkpoint::load(path)?,
        _ => Checkpoint::new(given.seed),
    };
    let [seed, steps] = world.all_gather([network.seed, network.steps])?[0];
    if steps >= given.steps {
        return Err(
            format!("{steps} steps are behind the network, so none of {} is left", given.steps).into()
        );
    }
    if world.rank() == 0 {
        return Ok(network);
    }
    Ok(Checkpoint { seed, steps, first: vec![0.0; FIRST], second: vec![0.0; SECOND] })
}

/// Trains for a few steps, and returns the mean loss of the last one on rank 0.
fn advance(
    train: &mut Train,
    world: &World,
    network: &mut Checkpoint,
    steps: u64,
    timeline: Option<&Path>,
) -> Result<f32, Box<dyn Error>> {
    let own = world.part(BATCH);
    let numbers = (network.steps..network.steps + steps).flat_map(|step| {
        let (epoch, batch) = (step as usize * BATCH / TRAINING, step as usize * BATCH % TRAINING);
        order(network.seed, epoch)[batch..batch + BATCH][own.clone()].to_vec()
    });
    let Digits { images, labels } = Digits::draw(network.seed, numbers);
    let mut loss = vec![0.0; steps as usize];
    let (first, second) = (&mut network.first[..], &mut network.second[..]);
    match timeline {
        Some(path) => {
            let timeline = train.profile(RATE, &images, &labels, &mut loss, first, second)?;
            // Rank 0 has those of all.
            if let Some(all) = timeline.of_all_ranks(world)? {
                let written = std::fs::write(path, all.svg());
                written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))?;
            }
        }
        None => drop(train.run(RATE, &images, &labels, &mut loss, first, second)?),
    }
    network.steps += steps;
    Ok(loss[steps as usize - 1] / BATCH as f32)
}

/// How many of the images that were not trained on the network reads correctly. Each rank looks at some of
/// them.
fn right(device: &Device, world: &World, network: &Checkpoint) -> thalweg::Result<u64> {
    let own = world.part(TESTING);
    let digits = Digits::draw(network.seed, own.map(|number| TRAINING + number));
    let mut guesses = vec![0; digits.labels.len()];
    Classify::new(device)?.run(&digits.images, &mut guesses, &network.first, &network.second)?;
    let right = guesses.iter().zip(&digits.labels).filter(|(guess, label)| guess == label).count();
    Ok(world.all_gather(right as u64)?.iter().sum())
}
