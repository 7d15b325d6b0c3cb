//! [`DriverError`]: an error of the driver.

use std::borrow::Cow;

use super::Unwritten;
use crate::base::in_rust::KernelFault;
use crate::base::tag::Tag;

/// An error code of CUDA's driver, or the same code from the simulated device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{call}` failed: {name} ({code}): {description}")]
#[non_exhaustive]
pub struct DriverError {
    /// The driver's function, such as `cuMemcpyHtoDAsync`.
    pub call: &'static str,
    /// CUDA's number for the error, such as 2 for `CUDA_ERROR_OUT_OF_MEMORY`.
    pub code: u32,
    /// CUDA's name for the error.
    pub name: Cow<'static, str>,
    /// CUDA's description of the error.
    pub description: Cow<'static, str>,
    /// The operation and chunk that failed, if the device can tell (the simulated device can).
    pub(crate) tag: Option<(u32, u64)>,
    /// The pipeline of that operation, as in `Tag`.
    pub(crate) pipeline: u32,
    /// Whether nothing works on the device from then on.
    pub(crate) lost: bool,
    /// What else is known about the error.
    pub(crate) detail: Option<Box<DriverDetail>>,
}

/// Details of an error that a driver does not report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DriverDetail {
    /// A kernel's host body panicked with this message.
    HostBody(String),
    /// A thread of a kernel in Rust panicked.
    KernelFault(KernelFault),
    /// A kernel has not written all that it promises to.
    Unwritten(Unwritten),
    /// The operation accesses the same memory as an earlier operation, and nothing orders them.
    Race { writes: bool, earlier: Tag, earlier_writes: bool },
    /// These operations use the memory.
    Users(Vec<Tag>),
    /// The device belongs to another process.
    Forked,
    /// Ranks cannot do together what they were to do.
    Ranks(Apart),
}

/// Why ranks cannot do together what they were to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Apart {
    pub(crate) why: String,
    /// The ranks that have failed, as far as the device knows.
    pub(crate) ranks: Vec<usize>,
}

impl From<String> for Apart {
    fn from(why: String) -> Self {
        Self { why, ranks: Vec::new() }
    }
}

impl DriverError {
    pub(crate) fn new(
        call: &'static str,
        code: u32,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Box<Self> {
        let (name, description) = (name.into(), description.into());
        // Boxed, since nearly all calls succeed and none of them should have to return a large value.
        Box::new(Self { call, code, name, description, tag: None, pipeline: 0, lost: false, detail: None })
    }

    /// Adds what else is known.
    pub(crate) fn with(mut self: Box<Self>, detail: DriverDetail) -> Box<Self> {
        self.detail = Some(Box::new(detail));
        self
    }

    /// Adds the operation that the error is about.
    pub(crate) fn about(mut self: Box<Self>, tag: Tag) -> Box<Self> {
        (self.tag, self.pipeline) = (Some((tag.operation, tag.chunk)), tag.pipeline);
        self
    }

    /// The same, with whether nothing works on the device from then on.
    pub(crate) fn lost(mut self: Box<Self>, lost: bool) -> Box<Self> {
        self.lost = lost;
        self
    }

    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.code == 2
    }

    /// Whether some earlier operation may have caused the error: CUDA reports a failure on the device by
    /// whatever call comes next.
    pub(crate) fn is_asynchronous(&self) -> bool {
        // Illegal address, launch timeout, assert, hardware stack, illegal instruction, misaligned address,
        // invalid address space, invalid PC, launch failed; ECC and NVLink errors.
        matches!(self.code, 700 | 702 | 710 | 714..=719 | 214 | 220)
    }
}
