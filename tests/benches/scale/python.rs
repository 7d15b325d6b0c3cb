//! Programs in Python (`scale.py`): workers that take turns with the other contenders, and runs of ranks.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::nvcc;

/// A way to write it in Python.
pub struct Kind {
    pub name: &'static str,
    /// What `scale.py` calls it.
    pub way: &'static str,
    /// Whether it launches the kernel that all others do.
    pub has_kernels: bool,
}

pub const KINDS: [Kind; 3] = [
    Kind { name: "CuPy, a thread for each GPU", way: "cupy-threads", has_kernels: true },
    Kind { name: "PyTorch, a thread for each GPU", way: "torch-threads", has_kernels: false },
    Kind { name: "PyTorch, a process for each GPU", way: "torch-processes", has_kernels: false },
];

/// The interpreter, if there is one to be used.
pub struct Python {
    command: Option<String>,
}

impl Python {
    pub fn new(has_gpus: bool) -> Self {
        let command = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        Self { command: (has_gpus && !command.is_empty()).then_some(command) }
    }

    fn command(&self, arguments: &[String]) -> Option<Command> {
        let mut command = Command::new(self.command.as_ref()?);
        let script = nvcc::folder("scale").join("scale.py");
        command.env("PYTHONUNBUFFERED", "1").arg(script).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Some(command)
    }

    /// Starts one that waits for its turns. `None`, and a line that says so, if it does not start.
    pub fn worker(&self, way: &str, numbers: [usize; 4]) -> Option<Worker> {
        let arguments = std::iter::once(way.to_owned()).chain(numbers.iter().map(usize::to_string));
        let mut child = match self.command(&arguments.collect::<Vec<_>>())?.spawn() {
            Ok(child) => child,
            Err(error) => {
                eprintln!("no {way} in this run: {error}");
                return None;
            }
        };
        let (to, from) =
            (child.stdin.take().expect("it is piped"), child.stdout.take().expect("it is piped"));
        let mut worker = Worker { child, to: Some(to), from: BufReader::new(from) };
        if worker.line().as_deref() == Some("ready") {
            return Some(worker);
        }
        eprintln!("no {way} in this run: it does not start, as is said above");
        None
    }

    /// Runs a program to its end, and returns the JSON of its last line. `None`, and a line that says so, if it fails.
    pub fn run(&self, program: &str, numbers: &[usize]) -> Option<Value> {
        let arguments = std::iter::once(program.to_owned()).chain(numbers.iter().map(usize::to_string));
        let output = self.command(&arguments.collect::<Vec<_>>())?.stderr(Stdio::inherit()).output();
        let text = match &output {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout),
            Ok(output) => {
                eprintln!("no {program} in Python in this run: {}", output.status);
                return None;
            }
            Err(error) => {
                eprintln!("no {program} in Python in this run: {error}");
                return None;
            }
        };
        let last = text.lines().rfind(|line| line.starts_with('{'))?;
        serde_json::from_str(last).ok()
    }
}

/// A process that does its work once for each line that it reads, and checks the result.
pub struct Worker {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Worker {
    /// Does the work once, and returns its seconds.
    pub fn turn(&mut self) -> f64 {
        let to = self.to.as_mut().expect("it is open until the worker is dropped");
        to.write_all(b"go\n").and_then(|()| to.flush()).expect("the worker in Python reads");
        let line = self.line().unwrap_or_default();
        line.parse().unwrap_or_else(|_| panic!("a worker in Python has ended: its message is above"))
    }

    /// The next line that is no message of a library.
    fn line(&mut self) -> Option<String> {
        let is_ours = |line: &String| line == "ready" || line.parse::<f64>().is_ok();
        (&mut self.from).lines().map_while(Result::ok).find(is_ours)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // At the end of its input it ends.
        self.to = None;
        let _ = self.child.wait();
    }
}
