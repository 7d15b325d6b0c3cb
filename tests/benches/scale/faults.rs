//! A rank is killed while all are in collectives: each other one has to end with an error, soon.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thalweg::prelude::*;
use thalweg_tests::launcher::{Launched, ended};

use crate::aims::{Aim, Outcome};
use crate::all_reduce::Means;
use crate::measure::{quantile, random};
use crate::ranks::{self, FAILED, LIMIT};
use crate::setting::Setting;

/// Kills, of another rank at another moment each.
const KILLS: usize = 10;
const RUNNING: &str = "it has run once";

/// On all devices.
pub fn faults(setting: &Setting) -> thalweg::Result<Outcome> {
    let size = setting.devices.len();
    if size == 1 {
        return Ok(Outcome::skipped("faults", "With one device there is no other rank."));
    }
    let mut seconds = Vec::new();
    for kill in 0..KILLS {
        let mut launched = ranks::launch(setting, size, "faults");
        wait_until_running(&mut launched);
        // Moments and ranks that differ, the same in every run of the program.
        std::thread::sleep(Duration::from_millis((kill * 37 % 100) as u64));
        let victim = kill * 3 % size;
        let mut others = launched.ranks;
        let mut killed = others.remove(victim);
        killed.kill().and_then(|()| killed.wait()).expect("it runs until it is killed");
        let since = Instant::now();
        for rank in others {
            let (code, said) = ended(rank, LIMIT);
            let names_it = said.contains(&format!("rank {victim}"));
            assert!(code == Some(FAILED) && names_it, "rank {victim} is killed: {code:?}\n{said}");
        }
        seconds.push(since.elapsed().as_secs_f64());
    }
    let slowest = seconds.iter().copied().fold(0.0, f64::max);
    println!(
        "\n{KILLS} times one of {size} ranks was killed; all others ended with an error that names it, \
         within {slowest:.2} s (median {:.2} s)",
        quantile(seconds.iter().copied(), 0.5)
    );
    let aims =
        vec![Aim { name: "s until all ended, after a kill", wanted: "<= 60", found: vec![(size, slowest)] }];
    Ok(Outcome { json: json!({ "ranks": size, "seconds": seconds }), aims })
}

/// Waits until all ranks have run once.
fn wait_until_running(launched: &mut Launched) {
    for rank in &mut launched.ranks {
        let mut lines = BufReader::new(rank.stdout.as_mut().expect("it is piped")).lines();
        let is_running = lines.any(|line| line.is_ok_and(|line| line.contains(RUNNING)));
        assert!(is_running, "a rank ends before it has run");
    }
}

/// A rank: collectives until another rank has failed.
pub fn rank(world: &World) -> thalweg::Result<Value> {
    let device = world.device()?;
    let mut means = Means::options(&device).world(world).build()?;
    let mut y = DeviceBuf::from_slice(&device, &random(1, 1 << 22))?;
    for run in 0.. {
        means.run(20, &mut y)?;
        if run == 0 {
            println!("{RUNNING}");
            std::io::stdout().flush().expect("the launcher reads it");
        }
    }
    unreachable!("a rank is killed")
}
