//! Measuring what the devices of a machine share: all links at once, those behind one port, and the links between
//! devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::measure::{COPIES, Direction, LARGE, LEAST, MANY, On, Rig, SMALL, TAG, quickest, seconds};
use super::{OFF, file, given, kept_file, refused};
use crate::base::error::Result;
use crate::base::machine::{LinkModel, MachineModel, PortModel};
use crate::base::model::DeviceModel;
use crate::device::devices::Devices;
use crate::device::memory::peer_copy;
use crate::device::shared::Shared;
use crate::device::{Device, stream::Stream};
use crate::driver::{DriverResult, Link};

/// Devices share something if together they have less than this share of what each has alone.
const SHARED: f64 = 0.95;

/// Two directions.
const BOTH: [Direction; 2] = [Direction::ToDevice, Direction::ToHost];

/// The machines that this process has measured, or of which it has read what an earlier one measured: their devices in
/// order, and the models.
static KNOWN: Mutex<Vec<(Vec<Weak<Shared>>, MachineModel)>> = Mutex::new(Vec::new());

impl MachineModel {
    /// Measures several GPUs now, in some tenths of a second: each link, all links at once, the pairs that share a port,
    /// and the links between GPUs. Nothing else should use the machine meanwhile. Later
    /// [reports](crate::Report::shared), predictions and findings of this process know the result. The model of
    /// simulated devices of one machine is not measured, since it is known.
    ///
    /// `THALWEG_CACHE` keeps what was measured of GPUs, for these GPUs in this order and their driver. The first profile
    /// or prediction of a later process reads it; if it cannot be read or has another format, that profile or prediction
    /// measures, as the first one of all does. With `THALWEG_CALIBRATION=off` they neither read nor measure anything, and
    /// only this function measures. A file that the variable names is of one device: each of these devices is what it
    /// says, and what they share is measured, and kept, all the same.
    ///
    /// A simulated machine made of the result behaves like the real one, as far as it can. Of one GPU, it answers what
    /// several would give before one has them: `MachineModel::from(vec![gpu.calibration().clone(); 4])`, with
    /// [`host_memory`](Self::host_memory) as far as it is known.
    ///
    /// ```
    /// use thalweg::Device;
    /// use thalweg::sim::MachineModel;
    ///
    /// let devices = Device::simulated_machine(MachineModel::l40s()); // or `Device::all()?`
    /// let model = MachineModel::calibrate(&devices[..2])?;
    /// assert_eq!(model.ports[0].devices, [0, 1]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// The list is empty, or has a device twice; memory does not suffice (64 MiB on each device and as much page-locked
    /// memory for each, or less if that is not free); a device fails; or this is called inside a host function.
    pub fn calibrate(devices: &(impl Devices + ?Sized)) -> Result<Self> {
        let devices = devices.list();
        crate::device::devices::check(&devices)?;
        devices.iter().try_for_each(|device| device.driver().may_wait())?;
        let model = match of_simulated(&devices) {
            Some(model) => model,
            None => {
                let model = measured(&devices)?;
                // If each operation is waited for, the measurement tells nothing to other processes.
                if let Some(path) = file_of(&devices).filter(|_| !is_synchronous(&devices)) {
                    // If the file cannot be written, the next process measures again.
                    let _ = file::save(&model, &path);
                }
                model
            }
        };
        Ok(model.known_of(&devices))
    }

    /// Loads a model from a file that [`save`](Self::save) has written.
    ///
    /// # Errors
    /// [`ErrorKind::Environment`](crate::ErrorKind::Environment) if the file cannot be read, is no calibration of a
    /// machine or has another format, or if a field is missing, unknown or out of its range. A port or a link of a
    /// device that the machine does not have is out of its range, too.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        file::load(path).map_err(|message| refused(path, message))
    }

    /// Saves the model as TOML, a line for each field, in the units of [`DeviceModel::save`]: first the
    /// [`host_memory`](Self::host_memory), then a table for each device, port and link.
    ///
    /// ```
    /// use thalweg::sim::MachineModel;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("machine.toml");
    /// let model = MachineModel::l40s(); // or `MachineModel::calibrate(&Device::all()?)?`
    /// model.save(&path)?;
    /// assert_eq!(MachineModel::load(&path)?, model);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Environment`](crate::ErrorKind::Environment) if the file cannot be written, or would be one that
    /// [`load`](Self::load) refuses: the machine has no devices or too many for a file of 1 MiB, or a field is out of
    /// its range.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        file::save(self, path).map_err(|message| refused(path, message))
    }

    /// The model of these devices, if this process knows it: they are simulated, or were measured or looked for before.
    pub(crate) fn known(devices: &[Device]) -> Option<Self> {
        of_simulated(devices).or_else(|| {
            let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().find(|(of, _)| are(of, devices)).map(|(_, model)| model.clone())
        })
    }

    /// The model of these devices. That of GPUs is read if an earlier process has kept it, and otherwise measured.
    pub(crate) fn find(devices: &[Device]) -> Option<Self> {
        let known = Self::known(devices);
        let is_off = || given().is_some_and(|value| value == OFF);
        if known.is_some() || !devices.iter().all(Device::is_gpu) || is_off() {
            return known;
        }
        let kept = kept(devices).map(|model| model.known_of(devices));
        kept.or_else(|| (!is_synchronous(devices)).then(|| Self::calibrate(devices).ok()).flatten())
    }

    /// Notes that this is the model of these devices, for later reports of this process.
    fn known_of(self, devices: &[Device]) -> Self {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, _)| of.iter().all(|device| device.strong_count() > 0) && !are(of, devices));
        known.push((devices.iter().map(|device| Arc::downgrade(&device.shared)).collect(), self.clone()));
        self
    }
}

/// Whether each operation of some of these devices is waited for.
fn is_synchronous(devices: &[Device]) -> bool {
    devices.iter().any(|device| device.driver().is_synchronous())
}

/// The file of these GPUs' calibration, if it is kept.
fn file_of(devices: &[Device]) -> Option<PathBuf> {
    let identity = |device: &Device| device.driver().identity().filter(|_| device.is_gpu());
    let identities: Vec<_> = devices.iter().map(identity).collect::<Option<_>>()?;
    // Hosts that share the folder may have the same GPUs at the same places, and other links and memory.
    let host = ["/etc/machine-id", "/proc/sys/kernel/hostname"].map(|name| fs::read_to_string(name).ok());
    kept_file(&format!("{host:?}{identities:?}"), "machine")
}

/// What an earlier process has measured of these GPUs.
fn kept(devices: &[Device]) -> Option<MachineModel> {
    let kept: MachineModel = file::load(&file_of(devices)?).ok()?;
    // What they share was measured apart from what each is alone, which has a file of its own or is given.
    let models: Vec<_> = devices.iter().map(|device| device.calibration().clone()).collect();
    (kept.devices.len() == models.len()).then_some(MachineModel { devices: models, ..kept })
}

/// Whether these are the devices, in this order.
fn are(known: &[Weak<Shared>], devices: &[Device]) -> bool {
    known.len() == devices.len()
        && known
            .iter()
            .zip(devices)
            .all(|(known, device)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(&device.shared)))
}

/// The part of a simulated machine, if all devices are of the same one.
fn of_simulated(devices: &[Device]) -> Option<MachineModel> {
    let first = devices.first()?;
    let others = devices.iter().skip(1);
    if !others.clone().all(|other| first.is_peer_of(other)) {
        return None;
    }
    let (model, _) = first.driver().machine()?;
    let numbers: Option<Vec<_>> =
        devices.iter().map(|device| device.driver().machine().map(|(_, number)| number)).collect();
    Some(model.part(&numbers?))
}

fn measured(devices: &[Device]) -> Result<MachineModel> {
    let models: Vec<_> = devices.iter().map(|device| device.calibration().clone()).collect();
    let mut bytes = LARGE;
    let rigs = loop {
        match devices.iter().map(|device| Rig::new(device, bytes)).collect::<DriverResult<Vec<_>>>() {
            Ok(rigs) => break rigs,
            Err(error) if error.is_out_of_memory() && bytes > LEAST => bytes /= 2,
            Err(error) => return Err(error.into()),
        }
    };
    let model = of_rigs(&rigs, models);
    if model.is_err() && rigs.iter().any(Rig::is_lost) {
        // A copy that cannot be waited for may be one from the memory of a device to that of another.
        rigs.iter().for_each(Rig::leave);
    }
    model
}

fn of_rigs(rigs: &[Rig<'_>], models: Vec<DeviceModel>) -> Result<MachineModel> {
    for rig in rigs {
        rig.warm_up()?;
    }
    let mut model = MachineModel::from(models);
    let alone = |directions: &[Direction]| -> DriverResult<Vec<Timed<'_>>> {
        let one = |rig| Ok(Timed { rig, rate: rate(&[Timed { rig, rate: 1.0 }], directions)? });
        rigs.iter().map(one).collect()
    };
    let ways = [alone(&BOTH[..1])?, alone(&BOTH[1..])?];
    let shares = ports(&ways)?;
    // What every two devices share is the memory.
    let pairs = rigs.len() * rigs.len().saturating_sub(1) / 2;
    if rigs.len() > 2 && shares.len() < pairs {
        model.ports = merged(shares);
    }
    let both = alone(&BOTH)?;
    let together = rate(&both, &BOTH)?;
    if together < SHARED * within_ports(&both, &model.ports) {
        model.host_memory = together;
    }
    model.links = links(rigs)?;
    Ok(model)
}

/// A device and what it moves alone, in bytes a second.
#[derive(Clone, Copy)]
struct Timed<'r> {
    rig: &'r Rig<'r>,
    rate: f64,
}

/// The bytes a second of large copies of some devices at once, in these directions. Slower devices copy less, so that all
/// are done at the same time if they share nothing.
fn rate(timed: &[Timed<'_>], directions: &[Direction]) -> DriverResult<f64> {
    let most = timed.iter().map(|timed| timed.rate).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let bytes = |timed: &Timed<'_>| ((timed.rig.bytes as f64 * timed.rate / most) as usize).max(SMALL) & !63;
    let copies = |count: usize| {
        quickest(|| {
            let drivers = || timed.iter().map(|timed| timed.rig.device.driver());
            let from = drivers().map(|driver| driver.clock()).max().unwrap_or_default();
            // In a simulated machine the devices begin at the same time.
            drivers().for_each(|driver| driver.not_before(from));
            let started: Vec<Duration> = drivers().map(|driver| driver.clock()).collect();
            for _ in 0..count {
                timed.iter().try_for_each(|timed| timed.rig.enqueue_copies(directions, bytes(timed)))?;
            }
            timed.iter().try_for_each(|timed| timed.rig.streams.iter().try_for_each(Stream::synchronize))?;
            let took = drivers().zip(started).map(|(driver, from)| driver.clock().saturating_sub(from));
            Ok(took.max().unwrap_or_default().as_secs_f64())
        })
    };
    let each = (copies(2 * COPIES)? - copies(COPIES)?) / COPIES as f64;
    let all: usize = timed.iter().map(|timed| bytes(timed) * directions.len()).sum();
    Ok(all as f64 / each.max(1e-12))
}

/// The pairs of devices that share a port. `ways`: what each device moves alone, in either direction.
fn ports(ways: &[Vec<Timed<'_>>; 2]) -> DriverResult<Vec<PortModel>> {
    let mut pairs = Vec::new();
    for one in 0..ways[0].len() {
        for other in one + 1..ways[0].len() {
            let mut rates = [0.0; 2];
            let mut is_shared = false;
            for ((found, direction), timed) in rates.iter_mut().zip(BOTH).zip(ways) {
                let pair = [timed[one], timed[other]];
                *found = rate(&pair, &[direction])?;
                is_shared |= *found < SHARED * (pair[0].rate + pair[1].rate);
            }
            if is_shared {
                pairs.push(PortModel::new(vec![one, other], rates[0], rates[1]));
            }
        }
    }
    Ok(pairs)
}

/// The bytes a second both ways of all devices, if nothing but these ports limits them.
fn within_ports(both: &[Timed<'_>], ports: &[PortModel]) -> f64 {
    let of_port = |port: &PortModel| {
        let alone: f64 = port.devices.iter().map(|device| both[*device].rate).sum();
        alone.min(port.to_device + port.to_host)
    };
    let is_behind_none = |device: &usize| !ports.iter().any(|port| port.devices.contains(device));
    let others: f64 = (0..both.len()).filter(is_behind_none).map(|device| both[device].rate).sum();
    ports.iter().map(of_port).sum::<f64>() + others
}

/// Pairs that have a device in common are behind one port.
fn merged(pairs: Vec<PortModel>) -> Vec<PortModel> {
    let mut ports: Vec<PortModel> = Vec::new();
    for pair in pairs {
        match ports.iter_mut().find(|port| pair.devices.iter().any(|device| port.devices.contains(device))) {
            Some(port) => {
                let new = pair.devices.iter().filter(|device| !port.devices.contains(device)).copied();
                let new: Vec<_> = new.collect();
                port.devices.extend(new);
            }
            None => ports.push(pair),
        }
    }
    ports
}

/// The links between devices over which copies go directly.
fn links(rigs: &[Rig<'_>]) -> Result<Vec<LinkModel>> {
    let mut links = Vec::new();
    for (one, first) in rigs.iter().enumerate() {
        for (other, second) in rigs.iter().enumerate().skip(one + 1) {
            let is_direct = first.device.is_peer_of(second.device);
            if is_direct && matches!(first.device.link(second.device), Ok(Link::Direct)) {
                links.push(link([one, other], first, second)?);
            }
        }
    }
    Ok(links)
}

fn link(devices: [usize; 2], from: &Rig<'_>, to: &Rig<'_>) -> Result<LinkModel> {
    let copies = |bytes: usize, count: usize| -> DriverResult<f64> {
        quickest(|| {
            from.time(|| {
                for _ in 0..count {
                    let (target, source) =
                        ((to.device, to.on_device[1].ptr), (from.device, from.on_device[0].ptr));
                    let copy = peer_copy(target, source, bytes);
                    // SAFETY: both have at least `bytes`, and live until the stream has been waited for; nothing else
                    // accesses them.
                    unsafe { from.device.driver().enqueue(copy, from.stream(On::First).raw, TAG) }?;
                }
                Ok(())
            })
        })
    };
    let bytes = from.bytes.min(to.bytes);
    let large = (copies(bytes, 2 * COPIES)? - copies(bytes, COPIES)?) / COPIES as f64;
    let small = (copies(SMALL, 2 * MANY)? - copies(SMALL, MANY)?) / MANY as f64;
    let rate = bytes as f64 / (large - small).max(1e-12);
    Ok(LinkModel::new(devices, rate, seconds(small)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{DriverCall, Effect, Fault, SimulatedMachine};

    /// Measures simulated devices as if nothing were known of them.
    fn measured_again(machine: MachineModel) -> MachineModel {
        measured(&Device::simulated_machine(machine)).expect("a measurement")
    }

    #[track_caller]
    fn is_about(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.02, "{found:e} is not {expected:e}");
    }

    #[test]
    fn what_a_machine_shares_is_found() {
        let machine = measured_again(MachineModel::h200(4));
        assert_eq!((machine.devices.len(), machine.ports.len(), machine.links.len()), (4, 0, 6));
        is_about(machine.host_memory, 213.8e9);
        machine.links.iter().for_each(|link| is_about(link.rate, 396e9));
        // A device more than it takes to reach the host's memory.
        let two = measured_again(MachineModel::h200(2));
        assert_eq!((two.host_memory, two.ports.len(), two.links.len()), (0.0, 0, 1));
    }

    #[test]
    fn devices_behind_a_port_are_found() {
        let mut model = MachineModel::l40s();
        model.host_memory = 0.0;
        let machine = measured_again(model);
        let ports: Vec<_> = machine.ports.iter().map(|port| port.devices.clone()).collect();
        assert_eq!(ports, [[0, 1], [2, 3]]);
        is_about(machine.ports[0].to_device, 25e9);
        is_about(machine.ports[1].to_host, 26e9);
        assert_eq!((machine.host_memory, &machine.links[..]), (0.0, &[][..]));
        let nothing = measured_again(MachineModel::from(vec![DeviceModel::a100(); 3]));
        assert_eq!((nothing.host_memory, nothing.ports, nothing.links), (0.0, Vec::new(), Vec::new()));
    }

    /// Each alone has another rate, so that equal copies would end at different times.
    #[test]
    fn unequal_devices_share_nothing() {
        let models = vec![DeviceModel::h200(), DeviceModel::a100(), DeviceModel::t4()];
        let machine = measured_again(models.into());
        assert_eq!((machine.host_memory, machine.ports, machine.links), (0.0, Vec::new(), Vec::new()));
        let mut pair = MachineModel::unequal();
        pair.host_memory = 40e9;
        // The directions of a link are not equally fast, so that one of them ends before the other.
        let found = measured_again(pair).host_memory;
        assert!((38e9..40.1e9).contains(&found), "{found:e}");
    }

    /// A device that is lost meanwhile leaves all memory to the devices.
    #[test]
    fn a_measurement_that_fails_says_so() {
        static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());
        for effect in [Effect::Fails, Effect::Lost] {
            for copy in [0, 40, 200] {
                let fault = Fault::nth(DriverCall::Copy, copy, effect);
                let machine = SimulatedMachine::from(MachineModel::h200(2)).with_fault(0, fault);
                let devices = Device::simulated_machine(machine);
                KEPT.lock().expect("no panic").extend(devices.clone());
                assert!(measured(&devices).is_err(), "{effect:?} at copy {copy}");
            }
        }
    }

    #[test]
    fn what_is_known_is_not_measured() {
        let devices = Device::simulated_machine(MachineModel::h200(4));
        let part = MachineModel::known(&[devices[2].clone(), devices[0].clone()]).expect("it is simulated");
        assert_eq!((part.devices.len(), part.links.len()), (2, 1));
        let before = devices[0].driver().clock();
        assert_eq!(MachineModel::calibrate(&devices).expect("it is known"), MachineModel::h200(4));
        assert_eq!(devices[0].driver().clock(), before);
        // Devices that were made one by one share nothing, and nothing is known of them together.
        let apart = [(); 2].map(|()| Device::simulated(DeviceModel::h200()));
        assert_eq!(MachineModel::known(&apart), None);
        assert!(MachineModel::calibrate(&[]).is_err());
        assert!(MachineModel::calibrate(&[devices[0].clone(), devices[0].clone()]).is_err());
    }
}
