//! [`DriverError`]: what the driver says.

use std::borrow::Cow;

use super::Unwritten;
use crate::base::tag::Tag;

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
    /// The pipeline of that operation, as in `Tag`.
    pub(crate) pipeline: u32,
    /// Whether nothing works on the device from then on.
    pub(crate) lost: bool,
    /// What else is known of it.
    pub(crate) detail: Option<Box<Detail>>,
}

/// Details of an error that a driver does not report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A kernel's host body panicked with this message.
    HostBody(String),
    /// A kernel has not written all that it promises to.
    Unwritten(Unwritten),
    /// It accesses the same memory as an earlier operation, and nothing orders them.
    Race { writes: bool, earlier: Tag, earlier_writes: bool },
    /// These use the memory.
    Users(Vec<Tag>),
    /// The device is another process's.
    Forked,
}

impl DriverError {
    pub(crate) fn new(
        call: &'static str,
        code: u32,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (name, description) = (name.into(), description.into());
        Self { call, code, name, description, tag: None, pipeline: 0, lost: false, detail: None }
    }

    /// With what else is known.
    pub(crate) fn with(self, detail: Detail) -> Self {
        Self { detail: Some(Box::new(detail)), ..self }
    }

    /// With the operation that it is about.
    pub(crate) fn about(mut self, tag: Tag) -> Self {
        (self.tag, self.pipeline) = (Some((tag.operation, tag.chunk)), tag.pipeline);
        self
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
