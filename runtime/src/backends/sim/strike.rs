//! The effects of deliberate faults where they strike.

use std::time::Duration;

use super::fault;
use super::inject::{DriverCall, Effect};
use super::machine::{Machine, Part};
use super::model::Nanos;
use super::queue::Work;
use crate::base::error::DriverError;
use crate::driver::{DriverResult, Tag};

impl Machine {
    /// Begins a call that enqueues no work. Returns whether it is to be carried out, or (`false`) only to
    /// report success.
    pub(crate) fn begin(
        &mut self,
        call: &'static str,
        device: usize,
        tag: Option<Tag>,
        bytes: usize,
    ) -> DriverResult<bool> {
        fault::refuse_inside(call)?;
        let Part { faults, host, .. } = &mut self.parts[device];
        faults.alive()?;
        let Some(effect) = faults.strike(DriverCall::of(call), tag, bytes as u64, false) else {
            return Ok(true);
        };
        let enqueues = matches!(call, "cuEventRecord" | "cuStreamWaitEvent");
        match effect {
            Effect::Slow(time) => {
                *host += nanos(time);
                Ok(true)
            }
            Effect::Omitted if enqueues => Ok(false),
            Effect::Lost => {
                let error = about(fault::lost(call), tag);
                self.lose(device, &error);
                Err(error)
            }
            Effect::Refused | Effect::Fails | Effect::Omitted => {
                Err(about(fault::injected(call, bytes), tag))
            }
        }
    }

    /// Changes work that is about to be enqueued according to a fault. `false` if it is not to be enqueued.
    pub(crate) fn tamper(
        &mut self,
        call: &'static str,
        device: usize,
        tag: Tag,
        work: &mut Work,
    ) -> DriverResult<bool> {
        let Some(effect) = self.parts[device].faults.strike(DriverCall::of(call), Some(tag), 0, false) else {
            return Ok(true);
        };
        match effect {
            Effect::Slow(time) => work.latency += nanos(time),
            Effect::Fails => work.fault = Some(fault::failed(call).about(tag)),
            Effect::Lost => work.fault = Some(fault::lost(call).about(tag)),
            Effect::Omitted => return Ok(false),
            Effect::Refused => return Err(fault::injected(call, 0).about(tag)),
        }
        Ok(true)
    }
}

fn about(error: Box<DriverError>, tag: Option<Tag>) -> Box<DriverError> {
    match tag {
        Some(tag) => error.about(tag),
        None => error,
    }
}

fn nanos(time: Duration) -> Nanos {
    time.as_nanos() as Nanos
}
