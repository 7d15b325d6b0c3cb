//! `resident` data of a run on several devices: copied from the host to the first device, and from there to the others,
//! if it has a link to each. The host's memory is read once, and its links are left to the others.

use crate::base::error::{Error, Result};
use crate::device::Device;
use crate::device::memory::{Direction, NO_OPERATION, copied_between};
use crate::device::stream::{Event, Stream};
use crate::driver::{Command, DevicePtr, DriverResult, Link};
use crate::engine::Pipeline;
use crate::engine::arguments::shared::{Moved, Shared};
use crate::engine::arguments::{HostMemory, HostSource};
use crate::engine::call::Call;
use crate::engine::explain::explain;
use crate::engine::purpose::Purpose;
use crate::engine::staging::transfer::Transfer;

/// Bytes that go on from the first device while the next ones come from the host.
const PIECE: usize = 16 << 20;

/// Copies the resident data of a run to all devices, if each has a link to the first one. Otherwise all copy their own, at
/// the same time. A prediction only notes it.
///
/// # Errors
/// The device that has failed. Nothing is being copied any more, or the memory is left to the devices.
pub(super) fn replicate(calls: &mut [Call<'_, '_>]) -> Result<()> {
    let Some((first, others)) = calls.split_first_mut() else { return Ok(()) };
    let is_resident = |shared: &Shared<'_>| shared.moved.is_none() && shared.resident().is_some();
    let all = first.arguments.shared.iter().enumerate();
    let residents: Vec<usize> =
        all.filter(|(_, shared)| is_resident(shared)).map(|(index, _)| index).collect();
    let predicts = first.purpose == Purpose::Predict;
    let is_linked = |call: &Call<'_, '_>| are_linked(&first.pipeline.device, &call.pipeline.device, predicts);
    if residents.is_empty() || others.is_empty() || !others.iter().all(is_linked) {
        return Ok(());
    }
    let mut moved = vec![Moved::default(); residents.len()];
    if !predicts {
        let copied = residents.iter().map(|index| copy(first, others, *index)).collect();
        let copied = waited_for(copied, first, others);
        if copied.is_err() {
            leave_unless_drained(first, others);
        }
        moved = copied?;
    }
    for (index, moved) in residents.into_iter().zip(moved) {
        // What a prediction says of the first device is not known yet.
        first.arguments.shared[index].moved = (!predicts).then_some(moved);
        others.iter_mut().for_each(|call| call.arguments.shared[index].moved = Some(Moved::default()));
    }
    Ok(())
}

/// Whether copies between two devices go directly. A link that cannot be trusted is none, and a prediction tries none.
fn are_linked(one: &Device, other: &Device, predicts: bool) -> bool {
    let link = || match predicts && one.is_gpu() {
        true => one.known_link(other),
        false => one.link(other).ok(),
    };
    one.is_peer_of(other) && link() == Some(Link::Direct)
}

fn stream(pipeline: &Pipeline) -> Option<&Stream> {
    pipeline.streams.all().first()
}

/// Where a device has the data that are shared, and its stream for them.
fn place<'p>(call: &'p Call<'_, '_>, index: usize) -> Option<(Transfer<'p>, DevicePtr)> {
    let Pipeline { device, ring, .. } = &*call.pipeline;
    let transfer = Transfer { device, stream: stream(call.pipeline)?, ring };
    let place = transfer.place(&call.arguments.shared[index])?;
    Some((transfer, place))
}

/// Enqueues the copies of one resident.
fn copy(first: &Call<'_, '_>, others: &[Call<'_, '_>], index: usize) -> Result<Moved> {
    let explained = |call: &Call<'_, '_>, error| call.pipeline.named(explain(call.pipeline.plan, error));
    let shared = &first.arguments.shared[index];
    let mut moved = Moved::default();
    let (Some((own, at)), Some(source)) = (place(first, index), shared.resident()) else { return Ok(moved) };
    let of_first = |error| explained(first, error);
    let arrived = Event::new(own.device).map_err(of_first)?;
    let pieces = pieces(source, shared.bytes);
    for (start, bytes) in pieces {
        upload(&own, at, source, (start, bytes), &mut moved).map_err(of_first)?;
        // SAFETY: the stream and the event are live, and the stream is waited for.
        unsafe { own.device.driver().record(arrived.raw, own.stream.raw, NO_OPERATION) }.map_err(of_first)?;
        for call in others {
            let Some((its, to)) = place(call, index) else { continue };
            let (to, from) = ((its.device, to.offset(start)), (own.device, at.offset(start)));
            let onward = copied_between(to, from, bytes)?;
            let enqueue = |command| {
                // SAFETY: both places have room for the data. They belong to pipelines that the run has borrowed
                // mutably, and are left to the devices if the streams cannot be waited for. The event is live
                // until then; what a stream waits for is the record, not the event.
                unsafe { its.device.driver().enqueue(command, its.stream.raw, NO_OPERATION) }
            };
            let done = enqueue(Command::Wait(arrived.raw)).and_then(|()| enqueue(onward));
            done.map_err(|error| explained(call, error))?;
        }
    }
    Ok(moved)
}

/// The parts in which an argument of so many bytes is copied: their starts and lengths. Pageable memory is staged in
/// smaller ones, and waited for.
fn pieces(source: &HostSource<'_>, bytes: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
    let piece = match source.memory {
        HostMemory::Pinned(_) => PIECE,
        HostMemory::Pageable(_) | HostMemory::Streamed => bytes.max(1),
    };
    (0..bytes).step_by(piece).map(move |start| (start, piece.min(bytes - start)))
}

/// Copies a part of an argument to the first device. If the memory is page-locked, that is not waited for.
fn upload(
    own: &Transfer<'_>,
    at: DevicePtr,
    source: &HostSource<'_>,
    (start, bytes): (usize, usize),
    moved: &mut Moved,
) -> DriverResult<()> {
    let HostMemory::Pinned(range) = &source.memory else {
        return own.move_all(at, source, bytes, Direction::In, moved);
    };
    moved.bytes += bytes as u64;
    // SAFETY: the argument has the part, and the run has borrowed it. The device has room for all of it, and both are
    // left to it if the stream cannot be waited for.
    unsafe {
        let (to, from) = (at.offset(start), range.ptr().cast_const().add(start));
        let upload = Command::CopyToDevice { to, from, bytes };
        own.device.driver().enqueue(upload, own.stream.raw, NO_OPERATION)
    }
}

/// Waits for all devices, whatever has come of the copies.
fn waited_for<T>(copied: Result<T>, first: &Call<'_, '_>, others: &[Call<'_, '_>]) -> Result<T> {
    let mut failed: Option<Error> = None;
    for call in std::iter::once(first).chain(others) {
        if let Some(Err(error)) = stream(call.pipeline).map(Stream::synchronize) {
            let named = || call.pipeline.named(explain(call.pipeline.plan, error));
            failed = failed.or_else(|| Some(named()));
        }
    }
    copied.and_then(|moved| failed.map_or(Ok(moved), Err))
}

/// Leaves the memory of all pipelines and arguments to the devices, unless all of them can be waited for.
fn leave_unless_drained(first: &mut Call<'_, '_>, others: &mut [Call<'_, '_>]) {
    let is_drained =
        |call: &Call<'_, '_>| stream(call.pipeline).is_none_or(|stream| stream.synchronize().is_ok());
    if is_drained(first) && others.iter().all(is_drained) {
        return;
    }
    let leave = |call: &mut Call<'_, '_>| {
        call.pipeline.poison();
        call.arguments.poison();
    };
    leave(first);
    others.iter_mut().for_each(leave);
}
