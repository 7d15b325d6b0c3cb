//! [`Cpu`]: the CPU as a device.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::carry::Hands;
use super::machine;
use super::options::CpuOptions;
use super::state::State;
use crate::base::error::Result;
use crate::base::model::DeviceModel;
use crate::driver::{Info, Kind};

/// The CPU as a device.
pub(crate) struct Cpu {
    pub(super) info: Info,
    /// The multiprocessors of the GPU whose limits it has: blocks that wait for each other must fit on them.
    pub(super) multiprocessors: u64,
    pub(super) hands: Hands,
    pub(super) made: Instant,
    state: Mutex<State>,
    /// Signalled when something has moved, if a thread sleeps.
    pub(super) moved: Condvar,
}

impl Cpu {
    /// # Errors
    /// The number of threads is 0, or the environment variable for it is no number.
    pub(crate) fn new(options: CpuOptions) -> Result<Self> {
        let threads = options.count()?;
        let memory = options.memory_or(machine::memory());
        // What runs here is to run on a GPU, so its limits are those of one.
        let like = DeviceModel::h200();
        let info = Info {
            name: machine::processor(),
            kind: Kind::Cpu { threads },
            index: None,
            memory,
            compute_capability: like.compute_capability,
            // One processor takes any number of blocks.
            multiprocessors: 1,
            priorities: like.priorities,
            cache: machine::cache(),
            max_shared: like.max_shared,
            cooperative: true,
        };
        Ok(Self {
            info,
            multiprocessors: u64::from(like.multiprocessors),
            hands: Hands::new(threads),
            made: Instant::now(),
            state: Mutex::new(State::new(memory)),
            moved: Condvar::new(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // No code of the user's runs under the lock, so a panic cannot leave the state half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).discard();
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpu").field("name", &self.info.name).finish_non_exhaustive()
    }
}
