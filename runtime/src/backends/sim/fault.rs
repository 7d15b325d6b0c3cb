//! Errors with CUDA's codes for them, and failures that wait to be reported.

use std::sync::atomic::{AtomicBool, Ordering};

use super::inject::DriverCall;
use crate::base::error::Unwritten;
use crate::base::error::{DriverDetail, DriverError};
use crate::base::in_rust::KernelFault;
use crate::driver::{DriverResult, Tag};

pub(super) fn invalid_value(call: &'static str, description: impl Into<String>) -> DriverError {
    DriverError::new(call, 1, "CUDA_ERROR_INVALID_VALUE", description.into())
}

pub(super) fn out_of_memory(call: &'static str, requested: usize, free: u64) -> DriverError {
    let description = format!("{requested} bytes were asked for, {free} are free");
    DriverError::new(call, 2, "CUDA_ERROR_OUT_OF_MEMORY", description)
}

pub(super) fn invalid_handle(call: &'static str, what: &str) -> DriverError {
    let description = format!("this {what} does not exist, or no longer");
    DriverError::new(call, 400, "CUDA_ERROR_INVALID_HANDLE", description)
}

pub(super) fn not_permitted(call: &'static str) -> DriverError {
    DriverError::new(
        call,
        800,
        "CUDA_ERROR_NOT_PERMITTED",
        "a kernel's host body and a host function cannot wait for the device that executes them",
    )
}

pub(super) fn not_ready(call: &'static str) -> DriverError {
    DriverError::new(call, 600, "CUDA_ERROR_NOT_READY", "the event is not complete")
}

pub(super) fn stuck(call: &'static str) -> DriverError {
    DriverError::new(call, 999, "CUDA_ERROR_UNKNOWN", "the simulation has nothing to do, but work is left")
}

pub(super) fn panicked(tag: Tag, message: String) -> DriverError {
    let description = format!("the kernel's host body panicked: {message}");
    let error = DriverError::new("cuLaunchKernel", 719, "CUDA_ERROR_LAUNCH_FAILED", description);
    error.about(tag).with(DriverDetail::HostBody(message))
}

/// The error of a kernel in Rust whose thread panicked.
pub(super) fn in_kernel(tag: Tag, fault: KernelFault) -> DriverError {
    let description = format!("the kernel failed {fault}");
    let error = DriverError::new("cuLaunchKernel", 719, "CUDA_ERROR_LAUNCH_FAILED", description);
    error.about(tag).with(DriverDetail::KernelFault(fault))
}

/// The error of a kernel that has not written everything that it promises to.
pub(super) fn unwritten(tag: Tag, unwritten: Unwritten) -> DriverError {
    let error = DriverError::new("cuLaunchKernel", 999, "UNWRITTEN", unwritten.to_string());
    error.about(tag).with(DriverDetail::Unwritten(unwritten))
}

/// The error of two accesses that nothing orders. `earlier` was enqueued first.
pub(super) fn race(tag: Tag, writes: bool, earlier: Tag, earlier_writes: bool) -> DriverError {
    let verb = |writes| if writes { "writes" } else { "reads" };
    let description = format!(
        "{} {} memory that {} {}, and nothing orders them",
        name(tag),
        verb(writes),
        name(earlier),
        verb(earlier_writes)
    );
    let error = DriverError::new("race check", 999, "RACE", description).about(tag);
    error.with(DriverDetail::Race { writes, earlier, earlier_writes })
}

pub(super) fn in_use(call: &'static str, users: &[Tag]) -> DriverError {
    let names: Vec<_> = users.iter().map(|&tag| name(tag)).collect();
    let description = format!(
        "the memory is still in use by {}: synchronise with it before the memory is freed",
        names.join(" and ")
    );
    let error = invalid_value(call, description);
    let error = if let Some(&tag) = users.first() { error.about(tag) } else { error };
    error.with(DriverDetail::Users(users.to_vec()))
}

fn name(tag: Tag) -> String {
    format!("operation {} of chunk {}", tag.operation, tag.chunk)
}

/// The error of a call that a deliberate fault refuses.
pub(super) fn injected(call: &'static str, bytes: usize) -> DriverError {
    match DriverCall::of(call) {
        DriverCall::Allocate
        | DriverCall::AllocatePinned
        | DriverCall::CreateStream
        | DriverCall::CreateEvent => {
            let description = format!("{bytes} bytes were asked for, and a fault was injected");
            DriverError::new(call, 2, "CUDA_ERROR_OUT_OF_MEMORY", description)
        }
        _ => invalid_value(call, "a fault was injected"),
    }
}

/// The error of an operation that a deliberate fault makes fail on the device.
pub(super) fn failed(call: &'static str) -> DriverError {
    DriverError::new(call, 719, "CUDA_ERROR_LAUNCH_FAILED", "a fault was injected")
}

/// The same, with the loss of the device.
pub(super) fn lost(call: &'static str) -> DriverError {
    let description = "a fault was injected, and the device is lost";
    let error = DriverError::new(call, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", description);
    DriverError { lost: true, ..error }
}

/// The failure of a stream, until the stream's next synchronisation reports it.
#[derive(Debug)]
pub(super) struct Failure {
    pub error: DriverError,
    reported: AtomicBool,
}

impl Failure {
    pub(crate) fn new(error: DriverError) -> Self {
        Self { error, reported: AtomicBool::new(false) }
    }

    /// The error, unless the failing stream has already reported it.
    pub(crate) fn pending(&self) -> DriverResult<()> {
        if self.reported.load(Ordering::Acquire) { Ok(()) } else { Err(self.error.clone()) }
    }

    pub(crate) fn report(&self) -> DriverError {
        self.reported.store(true, Ordering::Release);
        self.error.clone()
    }
}
