//! [`Devices`]: what a pipeline is built on, one device or several.

use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use super::handle::Device;
use crate::base::error::Detail;

/// One device or several: `&device`, `&devices` of a `Vec` or an array, `&devices[1..]`.
///
/// A pipeline on several devices deals the chunks of a run to them:
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::sim::MachineModel;
/// use thalweg_kernels::saxpy;
///
/// # stream_pipeline! {
/// #     pipeline Saxpy {
/// #         param a: f32;
/// #         input x: [f32];
/// #         inout y: [f32];
/// #         chunk c = auto;
/// #         stage load { copy x -> dx; copy y -> dy; }
/// #         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
/// #         stage store { copy dy -> y; }
/// #     }
/// # }
/// let devices = Device::simulated_machine(MachineModel::h200(2)); // or `Device::all()?`
/// let mut saxpy = Saxpy::options(&devices).chunk(100).build()?;
/// let mut y = vec![2.0; 1000];
/// let report = saxpy.run(3.0, &vec![1.0; 1000], &mut y)?;
/// assert_eq!(y, [5.0; 1000]);
/// assert_eq!(report.chunks, 10);
/// assert_eq!(report.parts.iter().map(|part| part.chunks).sum::<usize>(), 10);
/// # Ok::<(), Error>(())
/// ```
///
/// The list has at least one device, and each once. Simulated devices are not mixed with others, since their time is
/// not real. Those of one [machine](Device::simulated_machine) share one virtual time and the host's memory; those that
/// [`Device::simulated`] makes one by one share nothing.
#[diagnostic::on_unimplemented(
    message = "a pipeline cannot be built on `{Self}`",
    label = "expected a `Device`, or a slice, an array or a `Vec` of them"
)]
pub trait Devices {
    /// The devices, in the order in which reports and errors number them.
    fn list(&self) -> Vec<Device>;
}

impl Devices for Device {
    fn list(&self) -> Vec<Device> {
        vec![self.clone()]
    }
}

impl Devices for [Device] {
    fn list(&self) -> Vec<Device> {
        self.to_vec()
    }
}

impl<const N: usize> Devices for [Device; N] {
    fn list(&self) -> Vec<Device> {
        self.to_vec()
    }
}

impl Devices for Vec<Device> {
    fn list(&self) -> Vec<Device> {
        self.clone()
    }
}

/// Whatever stands for devices may lie behind a pointer.
macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<D: Devices + ?Sized> Devices for $pointer {
            fn list(&self) -> Vec<Device> {
                (**self).list()
            }
        }
    )*};
}
pointers!(&D, &mut D, Box<D>, Rc<D>, Arc<D>);

impl<D: Devices, F: FnOnce() -> D> Devices for LazyLock<D, F> {
    fn list(&self) -> Vec<Device> {
        (**self).list()
    }
}

/// Checks that a run can be shared by these devices.
pub(crate) fn check(devices: &[Device]) -> Result<(), Detail> {
    let Some((first, others)) = devices.split_first() else { return Err(Detail::NoDevices) };
    for (index, device) in devices.iter().enumerate() {
        if let Some(earlier) = devices[..index].iter().position(|other| other.same(device)) {
            return Err(Detail::SameDevice { device: device.label(), numbers: [earlier, index] });
        }
    }
    // The time of simulated devices is no real time.
    match others.iter().find(|other| other.is_simulated() != first.is_simulated()) {
        Some(other) => Err(Detail::DevicesDiffer { one: first.label(), other: other.label() }),
        None => Ok(()),
    }
}
