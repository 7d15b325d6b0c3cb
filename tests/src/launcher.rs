//! A launcher of ranks: starts processes with the variables of torchrun, whose own store it plays by occupying
//! `MASTER_PORT`.

use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The ranks of a program, in processes of their own.
#[derive(Debug)]
pub struct Launched {
    /// The processes, in the order of ranks. Their output is piped.
    pub ranks: Vec<Child>,
    /// The store of torchrun, which no rank may need.
    _store: TcpListener,
}

/// A run of its own, as torchrun's run ids are.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// Starts `size` ranks, each by such a command.
pub fn launch(size: usize, command: impl Fn() -> Command) -> Launched {
    let store = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = store.local_addr().expect("it is bound").port();
    let run = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
    let rank = |rank: usize| {
        let mut command = command();
        for (name, value) in
            [("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", size), ("LOCAL_WORLD_SIZE", size)]
        {
            command.env(name, value.to_string());
        }
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        command.env("TORCHELASTIC_RUN_ID", &run).env("TORCHELASTIC_RESTART_COUNT", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a process")
    };
    Launched { ranks: (0..size).map(rank).collect(), _store: store }
}

impl Launched {
    /// Waits for all ranks, each of which has to succeed, and returns the lines that begin with `result:`.
    ///
    /// # Panics
    /// A rank fails, or has no such line.
    pub fn results(self) -> Vec<String> {
        let outputs = self.ranks.into_iter().map(|rank| rank.wait_with_output().expect("its output"));
        outputs.enumerate().map(|(rank, output)| result(rank, &output)).collect()
    }
}

fn result(rank: usize, output: &Output) -> String {
    let [text, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "rank {rank} fails\n{text}\n{errors}");
    let line = text.lines().find_map(|line| Some(line.split_once("result:")?.1));
    line.unwrap_or_else(|| panic!("rank {rank} has no result\n{text}\n{errors}")).trim().to_owned()
}

/// Waits until a process has ended, and returns its code and everything that it has said. It is killed if it does not end
/// within the limit.
///
/// # Panics
/// It does not end within the limit.
pub fn ended(mut rank: Child, limit: Duration) -> (Option<i32>, String) {
    let since = Instant::now();
    let status = loop {
        if let Some(status) = rank.try_wait().expect("it can be waited for") {
            break status;
        }
        if since.elapsed() > limit {
            rank.kill().expect("it can be killed");
            let _ = rank.wait();
            panic!("a rank has not ended within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let mut said = String::new();
    let out = rank.stdout.take().map(|out| Box::new(out) as Box<dyn Read>);
    let err = rank.stderr.take().map(|err| Box::new(err) as Box<dyn Read>);
    for mut stream in out.into_iter().chain(err) {
        let _ = stream.read_to_string(&mut said);
    }
    (status.code(), said)
}
