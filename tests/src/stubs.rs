//! Runs tests with stubs in place of CUDA's libraries, which write down each call.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use thalweg::Device;

use crate::test_name;

/// Set in a process that has the stubs.
const CHILD: &str = "THALWEG_STUB_CHILD";

/// The libraries that have stubs.
pub struct Stubs {
    /// The module of the tests that name themselves: `module_path!()`.
    pub module: &'static str,
    /// The folder in which they are built and records are kept, apart from those with other flags: below
    /// `env!("CARGO_TARGET_TMPDIR")`.
    pub folder: &'static str,
    /// `libcuda` for `stubs/libcuda.c`.
    pub libraries: &'static [&'static str],
    /// Flags for the C compiler.
    pub flags: &'static [&'static str],
    /// Files that cannot be loaded, and whose names hide the machine's own libraries.
    pub broken: &'static [&'static str],
}

/// Whether this process has the stubs.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

impl Stubs {
    /// Stubs of the driver and the compiler.
    pub const fn driver(module: &'static str, folder: &'static str) -> Self {
        Self { module, folder, libraries: &["libcuda", "libnvrtc"], flags: &[], broken: &[] }
    }

    /// Runs `body` in a process of its own that finds the stubs in CUDA's place, and returns what they
    /// recorded.
    ///
    /// The process is this same test, run again: there `body` runs, and the answer is `None`.
    pub fn record(&self, test: &str, variables: &[(&str, &str)], body: fn(&Device)) -> Option<String> {
        if is_child() {
            body(&Device::open().expect("the stub's device"));
            return None;
        }
        Some(self.run_again(test, variables))
    }

    /// Runs this test in a process that has the stubs, and returns what they recorded.
    pub fn run_again(&self, test: &str, variables: &[(&str, &str)]) -> String {
        let folder = self.build();
        let record = folder.join(format!("{test}.calls"));
        let test = test_name(self.module, test);
        let _ = fs::remove_file(&record);
        let output = Command::new(std::env::current_exe().expect("the test's own path"))
            .args(["--exact", &test, "--nocapture"])
            .env_remove("THALWEG_SYNC")
            .env("THALWEG_CACHE", "off")
            // A stub's device has no meaningful rates, and measuring them would be in every record.
            .env("THALWEG_CALIBRATION", "off")
            .env("THALWEG_DEVICE", "cuda:0")
            .env("LD_LIBRARY_PATH", folder)
            .env("THALWEG_RECORD", &record)
            .env(CHILD, "1")
            .envs(variables.iter().copied())
            .output()
            .expect("the test runs again");
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        fs::read_to_string(record).expect("the record")
    }

    /// The folder with the stubs, built on first use.
    fn build(&self) -> PathBuf {
        static BUILT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
        let folder = PathBuf::from(self.folder);
        // The lock is held until they are built.
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if built.contains(&folder) {
            return folder;
        }
        fs::create_dir_all(&folder).expect("a folder for the stubs");
        for library in self.libraries {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("stubs/{library}.c"));
            // The folder is renamed into place, since another process may be using the one there.
            let unfinished = folder.join(format!("{library}.{}", std::process::id()));
            let status = Command::new("cc")
                .args(["-shared", "-fPIC", "-pthread", "-Wall", "-Werror", "-o"])
                .args([&unfinished, &source])
                .args(self.flags)
                .status();
            assert!(status.expect("a C compiler").success());
            fs::rename(unfinished, folder.join(format!("{library}.so"))).expect("the stub moves into place");
        }
        for file in self.broken {
            fs::write(folder.join(file), "no library").expect("a file that hides another");
        }
        built.push(folder.clone());
        folder
    }
}
