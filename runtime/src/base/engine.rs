//! [`Engine`]: what carries operations out.

/// What carries operations out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// The copy engine from the host to the device.
    ToDevice,
    /// The multiprocessors: kernels, fills, copies on the device.
    Compute,
    /// The copy engine from the device to the host.
    ToHost,
    /// The CPU: `host` functions and callbacks.
    Host,
}
