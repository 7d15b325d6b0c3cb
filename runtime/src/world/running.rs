//! [`Running`]: a run of a rank.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use super::World;
use crate::base::error::{RanksDetail, Result};
use crate::device::Device;

/// The devices on which runs with collectives are under way. Another world's run on the same one would mix its
/// collectives with these, perhaps in another order on another rank.
static DEVICES: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// A run of a rank, until this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    world: World,
    device: Option<Device>,
}

impl Running {
    pub(crate) fn world(&self) -> &World {
        &self.world
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
            devices.retain(|other| !other.same(device));
        }
        self.world.0.runs.store(false, Ordering::Release);
    }
}

impl World {
    /// Begins a run of this rank. `device`: that of its collectives, if it has some.
    ///
    /// # Errors
    /// Another one of this world, or on this device, is under way: which of two comes first could differ from rank to
    /// rank.
    pub(crate) fn begin_run(&self, pipeline: &'static str, device: Option<&Device>) -> Result<Running> {
        if self.0.runs.swap(true, Ordering::Acquire) {
            return Err(RanksDetail::Busy { pipeline }.into());
        }
        // From here on a return ends the run.
        let mut running = Running { world: self.clone(), device: None };
        if let Some(device) = device {
            let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
            if devices.iter().any(|other| other.same(device)) {
                drop(devices);
                return Err(RanksDetail::BusyDevice { pipeline }.into());
            }
            devices.push(device.clone());
            running.device = Some(device.clone());
        }
        Ok(running)
    }
}
