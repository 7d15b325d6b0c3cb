//! Ranks that are processes: each test starts itself again.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// Set in a process that is a rank: `rank port silence`, the last in seconds.
const RANK: &str = "THALWEG_TEST_RANK";

/// Starts a rank, and waits until it has met the others.
fn start(rank: usize, port: u16, silence: u64) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", "ranks::tests::processes::a_rank_that_is_a_process", "--nocapture", "--ignored"])
        .env(RANK, format!("{rank} {port} {silence}"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test runs again");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    std::thread::spawn(move || lines.map_while(std::io::Result::ok).for_each(drop));
    child
}

#[test]
#[ignore = "it is a process of other tests"]
fn a_rank_that_is_a_process() {
    let Ok(seat_of) = std::env::var(RANK) else { return };
    let numbers: Vec<u64> = seat_of.split(' ').map(|number| number.parse().expect("a number")).collect();
    let (rank, port) =
        (usize::try_from(numbers[0]).expect("a rank"), u16::try_from(numbers[1]).expect("a port"));
    let limits = Limits { silence: Duration::from_secs(numbers[2]), ..limits() };
    let members = Members::meet(&seat(rank, 2, port, "token"), limits).expect("the test is the other rank");
    while members.gather("again", b"").wait().is_ok() {}
}

fn signal(child: &Child, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(child.id()).expect("a process")).expect("a process");
    kill_process(process, signal).expect("it is this test's own child");
}

#[test]
fn a_process_that_is_killed_has_died() {
    for other in [0, 1] {
        let port = port();
        let mut child = start(other, port, 20);
        let members = Members::meet(&seat(1 - other, 2, port, "token"), limits()).expect("both are there");
        members.gather("again", b"").wait().expect("both come");
        let (host, process) = (crate::ranks::environment::host_name(), child.id());
        signal(&child, Signal::KILL);
        let start = Instant::now();
        while members.failure().is_none() {
            assert!(start.elapsed() < LONG);
            std::thread::sleep(Duration::from_millis(1));
        }
        let text = members.failure().map(|failure| failure.to_string());
        assert_eq!(text, Some(format!("rank {other} (host {host}, process {process}) has died")));
        child.wait().expect("it has ended");
    }
}

#[test]
fn a_process_that_is_stopped_is_alive() {
    let port = port();
    let mut child = start(1, port, 1);
    let brief = Limits { silence: Duration::from_secs(1), ..limits() };
    let members = Members::meet(&seat(0, 2, port, "token"), brief).expect("both are there");
    members.gather("again", b"").wait().expect("both come");
    signal(&child, Signal::STOP);
    // Its kernel answers for it, three times as long as a machine may say nothing.
    let gathering = members.gather("again", b"");
    std::thread::sleep(Duration::from_secs(3));
    assert!(members.failure().is_none(), "{:?}", members.failure());
    signal(&child, Signal::CONT);
    assert_eq!(gathering.wait().expect("it goes on").len(), 2);
    // Both hold the world.
    drop((gathering, members));
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn rank_0_that_is_stopped_is_named_by_the_others() {
    let port = port();
    let mut child = start(0, port, 20);
    let members = Members::meet(&seat(1, 2, port, "token"), limits()).expect("both are there");
    members.gather("again", b"").wait().expect("both come");
    signal(&child, Signal::STOP);
    std::thread::sleep(Duration::from_millis(50));
    // It may have come to the next gather before it was stopped, and then not to the one after.
    let ahead: Vec<_> = (0..2).map(|_| members.gather_within("again", b"", SHORT)).collect();
    let texts: Vec<_> = ahead.into_iter().filter_map(|gathering| gathering.wait().err()).collect();
    assert_eq!(texts[0].to_string(), "rank 0 has not come to `again` within 0.4 s");
    signal(&child, Signal::KILL);
    child.wait().expect("it has ended");
}
