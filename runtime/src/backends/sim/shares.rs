//! [`Shares`]: what the devices of a machine share, which limits them together.

use super::active::Active;
use super::demand::Engine;
use super::model::rate;
use crate::base::model::{MachineModel, PortModel};

/// The rates that devices share, in bytes a nanosecond.
#[derive(Debug)]
pub(super) struct Shares {
    /// That of the host's memory, for copies in both directions.
    host_memory: f64,
    ports: Vec<Port>,
}

#[derive(Debug)]
struct Port {
    devices: Vec<usize>,
    to_device: f64,
    to_host: f64,
}

impl Shares {
    pub(crate) fn new(model: &MachineModel) -> Self {
        let port = |port: &PortModel| Port {
            devices: port.devices.clone(),
            to_device: rate(port.to_device),
            to_host: rate(port.to_host),
        };
        Self { host_memory: rate(model.host_memory), ports: model.ports.iter().map(port).collect() }
    }

    /// Lowers the rates of copies that together exceed what they share.
    pub(crate) fn limit(&self, active: &mut [Active]) {
        for Port { devices, to_device, to_host } in &self.ports {
            for (engine, most) in [(Engine::CopyToDevice, to_device), (Engine::CopyToHost, to_host)] {
                let shares = |active: &Active| active.engine == engine && devices.contains(&active.device);
                lower(active, *most, shares);
            }
        }
        lower(active, self.host_memory, |active| {
            matches!(active.engine, Engine::CopyToDevice | Engine::CopyToHost)
        });
    }
}

/// Lowers the rates of those that share, all by the same factor, if they exceed this one together.
fn lower(active: &mut [Active], most: f64, shares: impl Fn(&Active) -> bool) {
    let is_moving = |active: &Active| active.transferring && shares(active);
    let together: f64 = active.iter().filter(|active| is_moving(active)).map(|active| active.rate).sum();
    if together > most {
        active
            .iter_mut()
            .filter(|active| is_moving(active))
            .for_each(|active| active.rate *= most / together);
    }
}
