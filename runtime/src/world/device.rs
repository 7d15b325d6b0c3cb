//! The device of a rank.

use super::World;
use crate::base::error::{RanksDetail, Result};
use crate::device::Device;

impl World {
    /// This rank's device.
    ///
    /// A process that sees one GPU has that one, as under launchers that set `CUDA_VISIBLE_DEVICES`; one that sees
    /// several has the one of its [local rank](Self::local_rank), which for a world that was [split](Self::split) is that
    /// in the first one. Without a GPU it is that of [`Device::open`]. `THALWEG_DEVICE` names devices in place of the
    /// GPUs: one for all ranks (`cpu`, `sim`), or a list of which each rank takes its own (`cuda:0,2`).
    ///
    /// # Errors
    /// [`ErrorKind::Environment`](crate::ErrorKind::Environment): there are fewer GPUs than ranks of this host, or
    /// those of [`Device::open`].
    pub fn device(&self) -> Result<Device> {
        if let Some(own) = &self.0.own {
            return Ok(own.clone());
        }
        let Some((rank, ranks)) = self.place_on_host() else { return Device::open() };
        Device::of_several(rank)?.ok_or_else(|| RanksDetail::TooFewDevices { rank, ranks }.into())
    }

    /// The rank among those of its host, and how many these are, in the world from which all others were split; `None`
    /// if that is a world of one.
    pub(super) fn place_on_host(&self) -> Option<(usize, usize)> {
        self.0.before.or((self.size() > 1).then(|| self.0.members.local()))
    }
}
