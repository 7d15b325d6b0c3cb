//! [`CpuOptions`]: how many threads and how much memory the CPU has as a device.

use crate::base::error::{Detail, Result};

/// The environment variable for the number of threads.
const THREADS: &str = "THALWEG_CPU_THREADS";

/// How much of the machine the [CPU as a device](crate::Device::cpu_with) uses.
///
/// ```
/// use thalweg::{CpuOptions, Device};
///
/// let device = Device::cpu_with(CpuOptions::default().threads(2))?;
/// assert!(device.to_string().ends_with("(2 threads)"));
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct CpuOptions {
    threads: Option<usize>,
    memory: Option<u64>,
}

impl CpuOptions {
    /// The number of threads on which kernels run. More than the process has cores are allowed, and take turns
    /// on these. Without it `THALWEG_CPU_THREADS` counts, and without that the cores that the process may use:
    /// its affinity and the quota of its cgroup are heeded.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// The largest number of bytes that buffers may have together, on the device and in page-locked memory.
    /// Without it, that is all of the machine's memory, or what the process's cgroup may have of it.
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    pub(super) fn memory_or(&self, all: u64) -> u64 {
        self.memory.unwrap_or(all)
    }

    /// The number of threads.
    ///
    /// # Errors
    /// It is 0, or the environment variable is no number.
    pub(super) fn count(&self) -> Result<usize> {
        let count = match self.threads {
            Some(threads) => threads,
            None => match std::env::var_os(THREADS).filter(|value| !value.is_empty()) {
                None => std::thread::available_parallelism().map_or(1, usize::from),
                Some(value) => {
                    let number = value.to_str().and_then(|value| value.trim().parse().ok());
                    number.filter(|&number| number > 0).ok_or_else(|| Detail::CpuThreads {
                        asked: format!("`{THREADS}={}`", value.to_string_lossy()),
                    })?
                }
            },
        };
        if count == 0 {
            return Err(Detail::CpuThreads { asked: "`CpuOptions::threads(0)`".to_owned() }.into());
        }
        // A pool cannot have more.
        Ok(count.min(rayon::max_num_threads()))
    }
}
