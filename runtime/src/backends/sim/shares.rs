//! [`Shares`]: the links of a machine's devices, and what devices share, which limits them together.

use super::active::Active;
use super::demand::Engine;
use super::model::{Nanos, nanos, rate};
use crate::base::machine::{LinkModel, MachineModel, PortModel};

/// The rates of links and of what devices share, in bytes a nanosecond.
#[derive(Debug)]
pub(super) struct Shares {
    /// That of the host's memory, for copies in both directions.
    host_memory: f64,
    ports: Vec<Port>,
    /// The links between devices.
    links: Vec<Link>,
    /// Of each device's own link, the rates to the device and to the host.
    own: Vec<[f64; 2]>,
}

#[derive(Debug)]
struct Port {
    devices: Vec<usize>,
    to_device: f64,
    to_host: f64,
}

/// A link between two devices, the same in both directions.
#[derive(Debug)]
struct Link {
    devices: [usize; 2],
    rate: f64,
    latency: Nanos,
}

impl Shares {
    pub(crate) fn new(model: &MachineModel) -> Self {
        let port = |port: &PortModel| Port {
            devices: port.devices.clone(),
            to_device: rate(port.to_device),
            to_host: rate(port.to_host),
        };
        let link = |link: &LinkModel| Link {
            devices: link.devices,
            rate: rate(link.rate),
            latency: nanos(link.latency),
        };
        Self {
            host_memory: rate(model.host_memory),
            ports: model.ports.iter().map(port).collect(),
            links: model.links.iter().map(link).collect(),
            own: model.devices.iter().map(|device| [rate(device.to_device), rate(device.to_host)]).collect(),
        }
    }

    fn link(&self, [from, to]: [usize; 2]) -> Option<&Link> {
        self.links.iter().find(|link| link.devices == [from, to] || link.devices == [to, from])
    }

    /// Whether copies between two devices go directly.
    pub(crate) fn are_linked(&self, devices: [usize; 2]) -> bool {
        self.link(devices).is_some()
    }

    /// The latency of the link between two devices, if there is one.
    pub(crate) fn latency(&self, devices: [usize; 2]) -> Option<Nanos> {
        self.link(devices).map(|link| link.latency)
    }

    /// The rate of a copy from one device to another if there is no other copy: that of the link between them, or of the
    /// slower one of their own.
    pub(crate) fn between(&self, devices: Option<[usize; 2]>) -> f64 {
        let Some(devices @ [from, to]) = devices else { return f64::INFINITY };
        self.link(devices).map_or_else(|| self.own[from][1].min(self.own[to][0]), |link| link.rate)
    }

    /// Lowers the rates of copies that together exceed what they share.
    pub(crate) fn limit(&self, active: &mut [Active]) {
        if active.iter().any(|active| active.between.is_some()) {
            self.limit_peers(active);
        }
        for Port { devices, to_device, to_host } in &self.ports {
            lower(active, *to_device, |active| f64::from(self.goes_to(active, devices)));
            lower(active, *to_host, |active| f64::from(self.comes_from(active, devices)));
        }
        lower(active, self.host_memory, |active| match active.engine {
            Engine::CopyToDevice | Engine::CopyToHost => 1.0,
            // It is written there, and read.
            Engine::Peer if !active.between.is_some_and(|between| self.are_linked(between)) => 2.0,
            _ => 0.0,
        });
    }

    fn limit_peers(&self, active: &mut [Active]) {
        for Link { devices: [one, other], rate, .. } in &self.links {
            for between in [[*one, *other], [*other, *one]] {
                lower(active, *rate, |active| f64::from(active.between == Some(between)));
            }
        }
        for (device, [to_device, to_host]) in self.own.iter().enumerate() {
            lower(active, *to_device, |active| f64::from(self.goes_to(active, &[device])));
            lower(active, *to_host, |active| f64::from(self.comes_from(active, &[device])));
        }
    }

    /// Whether a copy goes from the host's memory to one of these devices.
    fn goes_to(&self, active: &Active, devices: &[usize]) -> bool {
        match active.between {
            Some(between @ [_, to]) => !self.are_linked(between) && devices.contains(&to),
            None => active.engine == Engine::CopyToDevice && devices.contains(&active.device),
        }
    }

    /// Whether a copy goes from one of these devices to the host's memory.
    fn comes_from(&self, active: &Active, devices: &[usize]) -> bool {
        match active.between {
            Some(between @ [from, _]) => !self.are_linked(between) && devices.contains(&from),
            None => active.engine == Engine::CopyToHost && devices.contains(&active.device),
        }
    }
}

/// Lowers the rates of those that share, all by the same factor, if they exceed this one together. `times` says how often
/// each byte of a transfer counts.
fn lower(active: &mut [Active], most: f64, times: impl Fn(&Active) -> f64) {
    let counted = |active: &Active| if active.transferring { times(active) } else { 0.0 };
    let together: f64 = active.iter().map(|active| active.rate * counted(active)).sum();
    if together > most {
        let shares = active.iter_mut().filter(|active| counted(active) > 0.0);
        shares.for_each(|active| active.rate *= most / together);
    }
}
