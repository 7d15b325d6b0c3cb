//! [`MachineModel`]: the devices of a machine, and what they share.

use std::fmt;
use std::time::Duration;

use super::model::DeviceModel;

/// The sizes and speeds of a machine: its devices, and what they share.
///
/// ```
/// use thalweg::sim::MachineModel;
///
/// let mut machine = MachineModel::h200(4);
/// machine.host_memory = 100e9;
/// assert_eq!(machine.devices.len(), 4);
/// ```
///
/// A machine of other devices is made of their models: `MachineModel::from(vec![DeviceModel::a100(); 2])`, which share
/// nothing at first. As in a [`DeviceModel`], a rate that is zero, negative or not a number is no limit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MachineModel {
    /// The devices.
    pub devices: Vec<DeviceModel>,
    /// Rate at which all copies between devices and the host's memory together access that memory, in both directions,
    /// in bytes a second.
    pub host_memory: f64,
    /// The ports that several devices share.
    pub ports: Vec<PortModel>,
    /// The links between devices. Copies between two devices without a link go through the host's memory.
    pub links: Vec<LinkModel>,
}

/// A link between two devices of a machine, such as NVLink.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LinkModel {
    /// The two devices, as indices of [`MachineModel::devices`].
    pub devices: [usize; 2],
    /// Rate in each direction, in bytes a second. As in a [`MachineModel`], one that is zero is no limit.
    pub rate: f64,
    /// Time until the first byte of a copy moves.
    pub latency: Duration,
}

impl LinkModel {
    /// A link with this rate in each direction, in bytes a second.
    pub fn new(devices: [usize; 2], rate: f64, latency: Duration) -> Self {
        Self { devices, rate, latency }
    }

    /// Links between each two of so many devices.
    pub fn mesh(devices: usize, rate: f64, latency: Duration) -> Vec<Self> {
        let of = |one| (one + 1..devices).map(move |other| Self::new([one, other], rate, latency));
        (0..devices).flat_map(of).collect()
    }
}

/// A port of the host through which several devices copy, such as that of a PCIe switch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PortModel {
    /// The devices, as indices of [`MachineModel::devices`]. Others are ignored. A device's own link limits its copies,
    /// too.
    pub devices: Vec<usize>,
    /// Rate of all copies to these devices together, in bytes a second.
    pub to_device: f64,
    /// Rate of all copies from these devices together, in bytes a second.
    pub to_host: f64,
}

impl PortModel {
    /// A port with these rates, in bytes a second.
    pub fn new(devices: Vec<usize>, to_device: f64, to_host: f64) -> Self {
        Self { devices, to_device, to_host }
    }
}

/// Devices that share nothing.
impl From<Vec<DeviceModel>> for MachineModel {
    fn from(devices: Vec<DeviceModel>) -> Self {
        Self { devices, host_memory: 0.0, ports: Vec::new(), links: Vec::new() }
    }
}

impl MachineModel {
    /// The part of the machine with some of its devices, which are then numbered in this order.
    pub(crate) fn part(&self, numbers: &[usize]) -> Self {
        let position = |number: usize| numbers.iter().position(|of_part| *of_part == number);
        let port = |port: &PortModel| PortModel {
            devices: port.devices.iter().filter_map(|number| position(*number)).collect(),
            ..port.clone()
        };
        let link = |link: &LinkModel| {
            let [one, other] = link.devices.map(position);
            Some(LinkModel { devices: [one?, other?], ..link.clone() })
        };
        Self {
            devices: numbers.iter().filter_map(|number| self.devices.get(*number).cloned()).collect(),
            host_memory: self.host_memory,
            ports: self.ports.iter().map(port).collect(),
            links: self.links.iter().filter_map(link).collect(),
        }
    }

    /// What devices share: the host's memory and ports, with the directions that count.
    pub(crate) fn shared_places(&self) -> Vec<SharedPlace> {
        let all: Vec<usize> = (0..self.devices.len()).collect();
        let memory = SharedPlace { port: None, devices: all, ways: [true; 2], rate: self.host_memory };
        let of_port = |port: &PortModel, rate, ways| {
            let devices = port.devices.clone();
            SharedPlace { port: Some(devices.clone()), devices, ways, rate }
        };
        let ports = self.ports.iter().flat_map(|port| {
            [of_port(port, port.to_device, [true, false]), of_port(port, port.to_host, [false, true])]
        });
        ports.chain([memory]).filter(|place| place.devices.len() > 1 && place.rate > 0.0).collect()
    }

    /// The bytes a second that a copy of so many bytes moves while it is under way, if nothing else is: to the device
    /// (`way` 0), or back.
    pub(crate) fn rate_of_copy(&self, device: usize, way: usize, bytes: u64) -> f64 {
        let Some(model) = self.devices.get(device) else { return 0.0 };
        let alone = time(bytes, [model.to_device, model.to_host][way]);
        let seconds = alone.as_secs_f64() + model.copy_latency.as_secs_f64();
        if alone.is_zero() || seconds <= 0.0 { 0.0 } else { bytes as f64 / seconds }
    }

    /// The share of its rate that a copy of a device keeps while another one goes the other way.
    pub(crate) fn duplex(&self, device: usize) -> f64 {
        let duplex = self.devices.get(device).map_or(1.0, |model| model.duplex);
        if duplex > 0.0 { duplex.min(1.0) } else { 1.0 }
    }

    /// The time that a device's own link takes for copies of so many bytes to it and back.
    pub(crate) fn own_link(&self, device: usize, [to_device, to_host]: [u64; 2]) -> Duration {
        let Some(model) = self.devices.get(device) else { return Duration::ZERO };
        let (up, down) = (time(to_device, model.to_device), time(to_host, model.to_host));
        let both = up.min(down);
        // Any rate may be given, and so any time.
        let slowed = Duration::try_from_secs_f64(both.as_secs_f64() / self.duplex(device));
        slowed.unwrap_or(Duration::MAX).saturating_add(up.max(down) - both)
    }

    /// A machine with so many H200s, each on a PCIe 5 x16 link of its own, and with NVLink between all of them. The
    /// rates of the host's memory and of NVLink follow a measurement with four of them.
    pub fn h200(devices: usize) -> Self {
        let model = DeviceModel::h200();
        let links = LinkModel::mesh(devices, 396e9, model.copy_latency);
        // 106.9 GB/s each way.
        Self { host_memory: 213.8e9, links, ..vec![model; devices].into() }
    }

    /// A machine with four L40S, of which two each are behind a PCIe 4 x16 port, and without links between them. Rates are the vendor's or estimates,
    /// not measured.
    pub fn l40s() -> Self {
        let port = |devices| PortModel::new(devices, 25.0e9, 26.0e9);
        let ports = vec![port(vec![0, 1]), port(vec![2, 3])];
        Self { host_memory: 120e9, ports, ..vec![DeviceModel::l40s(); 4].into() }
    }

    /// A machine with two GPUs that differ: an A100 and a T4. Rates are estimates, not measured.
    pub fn unequal() -> Self {
        Self { host_memory: 80e9, ..vec![DeviceModel::a100(), DeviceModel::t4()].into() }
    }
}

/// A place that the copies of several devices go through.
#[derive(Debug, Clone)]
pub(crate) struct SharedPlace {
    /// The devices behind the port; `None` for the host's memory.
    pub(crate) port: Option<Vec<usize>>,
    pub(crate) devices: Vec<usize>,
    /// Whether copies to devices count, and those to the host.
    pub(crate) ways: [bool; 2],
    pub(crate) rate: f64,
}

impl SharedPlace {
    /// The least time of copies of so many bytes to each device and back.
    pub(crate) fn time(&self, bytes: &[[u64; 2]]) -> Duration {
        let of_device = |device: &usize| bytes.get(*device).copied().unwrap_or_default();
        let [to_device, to_host] = self.ways.map(u64::from);
        let counted = |[up, down]: [u64; 2]| up * to_device + down * to_host;
        time(self.devices.iter().map(of_device).map(counted).sum(), self.rate)
    }
}

/// What the devices of a run share, where it may have made the run longer: the host's memory, or a port.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SharedLimit {
    /// The numbers of the devices behind one port; empty for the host's memory, which the copies of all devices
    /// access.
    pub port: Vec<usize>,
    /// The rate of all copies together, in bytes a second: in both directions for the host's memory, in one for a
    /// port.
    pub rate: f64,
    /// The time that the copies take at this rate at least.
    pub time: Duration,
    /// How much shorter the run would be if the devices shared nothing. In a timeline it follows from what the copies at
    /// each moment want, otherwise from the bytes of all copies.
    pub lost: Duration,
    /// The least number of devices that would be about as fast, where that is known and fewer than there are.
    pub enough: Option<usize>,
}

impl fmt::Display for SharedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.rate / 1e9;
        match &self.port[..] {
            [] => write!(f, "the host's memory has {rate:.1} GB/s for the copies of all devices"),
            [others @ .., last] => {
                let others = others.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                write!(f, "devices {others} and {last} share a port of {rate:.1} GB/s")
            }
        }
    }
}

/// The time of so many bytes at a rate in bytes a second. A rate that is no positive number takes none.
fn time(bytes: u64, rate: f64) -> Duration {
    let seconds = if rate > 0.0 { bytes as f64 / rate } else { 0.0 };
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Four devices, two of them behind a port.
    fn machine() -> MachineModel {
        let mut machine = MachineModel::h200(4);
        machine.ports = vec![PortModel::new(vec![1, 2], 40e9, 60e9)];
        machine
    }

    #[test]
    fn each_place_counts_the_copies_that_go_through_it() {
        let places = machine().shared_places();
        let bytes = [[100 * MIB, 50 * MIB]; 4];
        let seconds: Vec<_> = places.iter().map(|place| place.time(&bytes).as_secs_f64()).collect();
        let mib = MIB as f64;
        let expected = [200.0 * mib / 40e9, 100.0 * mib / 60e9, 600.0 * mib / 213.8e9];
        assert!(
            seconds.iter().zip(expected).all(|(found, least)| (found - least).abs() < 1e-9),
            "{seconds:?}"
        );
        assert_eq!(places[0].port, Some(vec![1, 2]));
        assert!(MachineModel::from(vec![DeviceModel::h200(); 2]).shared_places().is_empty());
        assert!(MachineModel::h200(1).shared_places().is_empty());
    }

    #[test]
    fn a_part_has_what_its_devices_share() {
        let part = machine().part(&[2, 0, 1]);
        assert_eq!(part.devices.len(), 3);
        assert_eq!(part.ports[0].devices, [2, 0]);
        let mut links: Vec<_> = part.links.iter().map(|link| link.devices).collect();
        links.iter_mut().for_each(|link| link.sort_unstable());
        links.sort_unstable();
        assert_eq!(links, [[0, 1], [0, 2], [1, 2]]);
    }

    #[test]
    fn both_ways_over_a_link_take_longer_than_one() {
        let machine = MachineModel::h200(1);
        let [up, down, both] =
            [[MIB, 0], [0, MIB], [MIB, MIB]].map(|bytes| machine.own_link(0, bytes).as_secs_f64());
        assert!(up > 0.0 && down > 0.0 && both > up.max(down) && both < up + down);
        assert_eq!(machine.own_link(7, [MIB, MIB]), Duration::ZERO);
    }
}
