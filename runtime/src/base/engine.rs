//! [`Engine`]: the parts of a machine that carry out operations.

/// A part of the machine that carries out operations.
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
    /// The links to other ranks: collective operations.
    Network,
}
