//! Errors with CUDA's codes, for the devices whose memory is the host's, and failures that wait to be
//! reported.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{DriverResult, Tag};
use crate::base::crews;
use crate::base::error::{Apart, DriverDetail, DriverError};
use crate::base::in_rust::KernelFault;
use crate::base::unwind::drop_payload;

pub(crate) fn invalid_value(call: &'static str, description: impl Into<String>) -> Box<DriverError> {
    DriverError::new(call, 1, "CUDA_ERROR_INVALID_VALUE", description.into())
}

pub(crate) fn out_of_memory(call: &'static str, requested: usize, free: u64) -> Box<DriverError> {
    let description = format!("{requested} bytes were asked for, {free} are free");
    DriverError::new(call, 2, "CUDA_ERROR_OUT_OF_MEMORY", description)
}

pub(crate) fn invalid_handle(call: &'static str, what: &str) -> Box<DriverError> {
    let description = format!("this {what} does not exist, or no longer");
    DriverError::new(call, 400, "CUDA_ERROR_INVALID_HANDLE", description)
}

/// A body that waited for its own device would wait for itself, and one that waited for another device would
/// delay everything. On a GPU a body may not call the driver at all: another thread may occupy the driver and
/// wait for the device.
pub(crate) fn refuse_inside(call: &'static str) -> DriverResult<()> {
    if !crews::is_inside() {
        return Ok(());
    }
    let description =
        "a kernel's host body and a host function cannot wait for the device that executes them";
    Err(DriverError::new(call, 800, "CUDA_ERROR_NOT_PERMITTED", description))
}

pub(crate) fn not_ready(call: &'static str) -> Box<DriverError> {
    DriverError::new(call, 600, "CUDA_ERROR_NOT_READY", "the event is not complete")
}

/// The error of a launch whose host body has panicked.
pub(crate) fn of_panic(tag: Tag, payload: Box<dyn Any + Send>) -> Box<DriverError> {
    let payload = match payload.downcast::<KernelFault>() {
        Ok(fault) => return in_kernel(tag, *fault),
        Err(payload) => payload,
    };
    match payload.downcast::<RanksFailed>() {
        Ok(failed) => between_ranks(tag, failed.0),
        Err(payload) => panicked(tag, message(payload)),
    }
}

/// The payload with which a collective unwinds that cannot take place.
pub(crate) struct RanksFailed(pub String);

/// The error of a collective that cannot take place.
pub(crate) fn between_ranks(tag: Tag, apart: impl Into<Apart>) -> Box<DriverError> {
    let apart = apart.into();
    let error = DriverError::new("collective", 999, "RANKS", apart.why.clone());
    error.about(tag).with(DriverDetail::Ranks(apart))
}

fn panicked(tag: Tag, message: String) -> Box<DriverError> {
    let description = format!("the kernel's host body panicked: {message}");
    let error = DriverError::new("cuLaunchKernel", 719, "CUDA_ERROR_LAUNCH_FAILED", description);
    error.about(tag).with(DriverDetail::HostBody(message))
}

/// The error of a kernel in Rust whose thread panicked.
fn in_kernel(tag: Tag, fault: KernelFault) -> Box<DriverError> {
    let description = format!("the kernel failed {fault}");
    let error = DriverError::new("cuLaunchKernel", 719, "CUDA_ERROR_LAUNCH_FAILED", description);
    error.about(tag).with(DriverDetail::KernelFault(fault))
}

/// The text of a panic.
fn message(payload: Box<dyn Any + Send>) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "no message".to_owned(),
    };
    drop_payload(payload);
    text
}

/// The error of memory that is to be freed while these operations use it.
pub(crate) fn in_use(call: &'static str, users: &[Tag]) -> Box<DriverError> {
    let names: Vec<_> = users.iter().map(|&tag| name(tag)).collect();
    let description = format!(
        "the memory is still in use by {}: synchronise with it before the memory is freed",
        names.join(" and ")
    );
    let error = invalid_value(call, description);
    let error = if let Some(&tag) = users.first() { error.about(tag) } else { error };
    error.with(DriverDetail::Users(users.to_vec()))
}

pub(crate) fn name(tag: Tag) -> String {
    format!("operation {} of chunk {}", tag.operation, tag.chunk)
}

/// The failure of a stream, until the stream's next synchronisation reports it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub error: Box<DriverError>,
    reported: AtomicBool,
}

impl Failure {
    pub(crate) fn new(error: Box<DriverError>) -> Self {
        Self { error, reported: AtomicBool::new(false) }
    }

    /// The error, unless the failing stream has already reported it.
    pub(crate) fn pending(&self) -> DriverResult<()> {
        if self.reported.load(Ordering::Acquire) { Ok(()) } else { Err(self.error.clone()) }
    }

    pub(crate) fn report(&self) -> Box<DriverError> {
        self.reported.store(true, Ordering::Release);
        self.error.clone()
    }
}
