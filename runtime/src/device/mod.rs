//! [`Device`]: a GPU, or the simulated device.

mod calibration;
pub(crate) mod checked;
pub(crate) mod devices;
pub(crate) mod faults;
pub(crate) mod function;
mod handle;
pub(crate) mod launch;
pub(crate) mod memory;
mod open;
pub(crate) mod pending;
pub(crate) mod range;
pub(crate) mod registered;
mod release;
mod shared;
pub(crate) mod slices;
pub(crate) mod stream;
pub(crate) mod views;

pub use devices::Devices;
pub use handle::Device;
