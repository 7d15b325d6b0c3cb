//! The simulated device's own errors, beside [those](crate::driver::fault) that it has with others.

use super::inject::DriverCall;
use crate::base::error::{DriverDetail, DriverError, Unwritten};
use crate::driver::Tag;
use crate::driver::fault::name;
pub(super) use crate::driver::fault::{
    Failure, in_use, invalid_handle, invalid_value, not_ready, of_panic, out_of_memory, refuse_inside,
};

pub(super) fn stuck(call: &'static str) -> Box<DriverError> {
    DriverError::new(call, 999, "CUDA_ERROR_UNKNOWN", "the simulation has nothing to do, but work is left")
}

/// The error of a kernel that has not written everything that it promises to.
pub(super) fn unwritten(tag: Tag, unwritten: Unwritten) -> Box<DriverError> {
    let error = DriverError::new("cuLaunchKernel", 999, "UNWRITTEN", unwritten.to_string());
    error.about(tag).with(DriverDetail::Unwritten(unwritten))
}

/// The error of two accesses that nothing orders. `earlier` was enqueued first.
pub(super) fn race(tag: Tag, writes: bool, earlier: Tag, earlier_writes: bool) -> Box<DriverError> {
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

/// The error of a call that a deliberate fault refuses.
pub(super) fn injected(call: &'static str, bytes: usize) -> Box<DriverError> {
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
pub(super) fn failed(call: &'static str) -> Box<DriverError> {
    DriverError::new(call, 719, "CUDA_ERROR_LAUNCH_FAILED", "a fault was injected")
}

/// The same, with the loss of the device.
pub(super) fn lost(call: &'static str) -> Box<DriverError> {
    let description = "a fault was injected, and the device is lost";
    DriverError::new(call, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", description).lost(true)
}
