//! Commands as calls of CUDA's driver.

use super::api::Api;
use super::fill::fill;
use super::handles::{event_handle, stream_handle};
use super::host::HostFunctions;
use super::nccl::Communicators;
use super::{graph, launch, peers, rows};
use crate::driver::{Command, DriverResult, RawEvent, RawStream, Tag};

/// Enqueues a command that does something, and returns the name of the driver's function that did it. It is
/// `None` for a graph, which is not waited for even if each operation is.
///
/// # Safety
/// As [`Driver::enqueue`](crate::driver::Driver::enqueue); the context is current.
#[inline]
pub(super) unsafe fn enqueue(
    (api, functions, communicators): (&Api, &HostFunctions, &Communicators),
    command: Command<'_>,
    raw: RawStream,
    tag: Tag,
) -> DriverResult<Option<&'static str>> {
    let (call, stream) = (command.call(), stream_handle(raw));
    // SAFETY: by the caller's promise the stream and the events are live and of this device; memory that is
    // copied, filled, or used by a kernel or a graph stays allocated until that has completed, and host
    // memory that is written is untouched; ranges on the device do not overlap, and a fill's is aligned to
    // its words; and a launch has its kernel's parameters.
    unsafe {
        match command {
            Command::CopyToDevice { to, from, bytes } => {
                api.cuMemcpyHtoDAsync_v2(to.0, from.cast(), bytes, stream)?;
            }
            Command::CopyToHost { to, from, bytes } => {
                api.cuMemcpyDtoHAsync_v2(to.cast(), from.0, bytes, stream)?;
            }
            Command::CopyOnDevice { to, from, bytes } => {
                api.cuMemcpyDtoDAsync_v2(to.0, from.0, bytes, stream)?;
            }
            Command::CopyBetween { to, from, bytes } => {
                let [of_to, of_from] = [to.0, from.0].map(peers::context);
                api.cuMemcpyPeerAsync(to.1.0, of_to, from.1.0, of_from, bytes, stream)?;
            }
            Command::CopyRows(rows) => api.cuMemcpy2DAsync_v2(&rows::copy(&rows), stream)?,
            Command::Fill { to, pattern, count } => fill(api, to.0, pattern, count, stream)?,
            Command::Launch(launched) => return launch::enqueue(api, launched, stream).map(Some),
            Command::Host { job, .. } => functions.run(api, raw, job)?,
            Command::Signal(signal) => functions.signal(api, raw, signal)?,
            Command::Record(event) => record(api, event, raw)?,
            Command::Wait(event) => wait(api, event, raw)?,
            Command::Collective(collective) => communicators.post(api, collective, raw, tag)?,
            Command::Graph { graph, .. } => return graph::launch(api, graph, stream).map(|()| None),
        }
    }
    Ok(Some(call))
}

/// Makes the event stand for everything enqueued on the stream so far.
///
/// # Safety
/// Both are live, and of this device; the context is current.
#[inline]
pub(super) unsafe fn record(api: &Api, event: RawEvent, stream: RawStream) -> DriverResult<()> {
    // SAFETY: the caller's promise.
    unsafe { api.cuEventRecord(event_handle(event), stream_handle(stream)) }
}

/// Makes all later operations on the stream start after the event's latest record.
///
/// # Safety
/// Both are live, the stream is of this device, and the event of it or of a peer; the context is current.
#[inline]
pub(super) unsafe fn wait(api: &Api, event: RawEvent, stream: RawStream) -> DriverResult<()> {
    // The last argument means no flags.
    // SAFETY: the caller's promise.
    unsafe { api.cuStreamWaitEvent(stream_handle(stream), event_handle(event), 0) }
}
