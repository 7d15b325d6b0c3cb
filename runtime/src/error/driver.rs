//! [`DriverError`]: what the driver says.

use std::borrow::Cow;

/// An error code of CUDA's driver, or the same code from the simulated device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{call}` failed: {name} ({code}): {description}")]
#[non_exhaustive]
pub struct DriverError {
    /// The driver's function, `cuMemcpyHtoDAsync`.
    pub call: &'static str,
    /// CUDA's number, 2 for `CUDA_ERROR_OUT_OF_MEMORY`.
    pub code: u32,
    /// CUDA's name for it.
    pub name: Cow<'static, str>,
    /// CUDA's words for it.
    pub description: Cow<'static, str>,
    /// The operation and chunk that failed, where the device can tell (the simulated device can).
    pub(crate) tag: Option<(u32, u64)>,
    /// The kernel whose host body panicked, and the panic's message.
    pub(crate) host_body: Option<String>,
}

impl DriverError {
    pub(crate) fn new(
        call: &'static str,
        code: u32,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { call, code, name: name.into(), description: description.into(), tag: None, host_body: None }
    }

    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.code == 2
    }

    /// Whether some earlier operation may have caused it: CUDA reports what goes wrong on the device with whatever call
    /// comes next.
    pub(crate) fn is_asynchronous(&self) -> bool {
        // Illegal address, launch timeout, assert, hardware stack, illegal instruction, misaligned address, invalid
        // address space, invalid PC, launch failed; ECC and NVLink errors.
        matches!(self.code, 700 | 702 | 710 | 714..=719 | 214 | 220)
    }
}
