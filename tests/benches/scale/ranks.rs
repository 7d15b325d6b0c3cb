//! Ranks: this program starts itself again, once for each.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::Value;
use thalweg::prelude::*;
use thalweg_tests::launcher::{self, Launched, ended};

use crate::cpp::{Cpp, Rank};
use crate::nvcc::PEERS;
use crate::setting::{Arguments, Setting, is_gpu};
use crate::{all_reduce, faults, heat, training};

/// Says which of the programs a rank is to run.
const PROGRAM: &str = "THALWEG_SCALE_PROGRAM";
/// What a rank that has failed ends with.
pub const FAILED: i32 = 7;
/// How long ranks wait for each other.
pub const LIMIT: Duration = Duration::from_secs(60);
/// How long a launch may take in all.
const PATIENCE: Duration = Duration::from_secs(900);

/// The program that this process is to run as a rank, if it is one.
pub fn program() -> Option<String> {
    std::env::var(PROGRAM).ok()
}

/// What each process of a launch does. Rank 0 prints the result.
pub fn rank(program: &str, arguments: &Arguments) -> ExitCode {
    let outcome = World::options().limit(LIMIT).from_env().and_then(|world| {
        let result = match program {
            "all_reduce" => all_reduce::rank(&world, arguments)?,
            "training" => training::rank(&world, arguments)?,
            "heat" => heat::rank(&world, arguments)?,
            "faults" => faults::rank(&world)?,
            other => unreachable!("there is no program {other}"),
        };
        // Nobody leaves while another one still measures.
        world.barrier()?;
        Ok((world.rank() == 0).then_some(result))
    });
    match outcome {
        Ok(result) => {
            result.iter().for_each(|result| println!("result: {result}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::from(FAILED as u8)
        }
    }
}

/// The same rank with NCCL alone, where there is the C++. All ranks call it, after NCCL is loaded.
pub fn by_hand(world: &World) -> thalweg::Result<Option<Rank>> {
    let path = std::env::var_os(PEERS).filter(|_| world.device().is_ok_and(|device| is_gpu(&device)));
    path.map(|path| Cpp::load(Path::new(&path)).join(world)).transpose()
}

/// Starts so many ranks of a program.
pub fn launch(setting: &Setting, size: usize, program: &str) -> Launched {
    launcher::launch(size, || {
        let mut command = Command::new(std::env::current_exe().expect("the program's own path"));
        command.args(&setting.of_ranks).env(PROGRAM, program);
        if let Some(path) = &setting.peers {
            command.env(PEERS, path);
        }
        command
    })
}

/// The result of rank 0.
///
/// # Panics
/// A rank fails, or does not end.
pub fn result(setting: &Setting, size: usize, program: &str) -> Value {
    let launched = launch(setting, size, program);
    let mut result = Value::Null;
    for (number, rank) in launched.ranks.into_iter().enumerate() {
        let (code, said) = ended(rank, PATIENCE);
        assert!(code == Some(0), "rank {number} of {program} ends with {code:?}:\n{said}");
        if let Some((_, text)) = said.lines().find_map(|line| line.split_once("result:")) {
            result = serde_json::from_str(text).expect("JSON");
        }
    }
    result
}
