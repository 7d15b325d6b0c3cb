//! Joining a world: connects the device with those of all other ranks, and lets each kind of collective take
//! place once.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use super::aside::{aside, named_thread};
use super::communicator::Communicator;
use super::handle::Handle;
use super::library::Nccl;
use super::patience::Patience;
use super::scratch::Scratch;
use super::sys::{NCCL_UNIQUE_ID_BYTES, ncclUniqueId};
use super::warm;
use crate::backends::cuda::api::Api;
use crate::backends::cuda::context::Context;
use crate::base::error::{Apart, DriverDetail, DriverError, Error, RanksDetail};
use crate::driver::DriverResult;
use crate::driver::collective::Joining;
use crate::driver::fault::invalid_value;

/// What rank 0 gives to all others.
///
/// # Errors
/// There is no NCCL, or it finds no network.
pub(super) fn identity() -> Result<Vec<u8>, Error> {
    let nccl = Nccl::get()?;
    let mut id = ncclUniqueId { internal: [0; NCCL_UNIQUE_ID_BYTES] };
    // SAFETY: `id` is a place for the result.
    let code = unsafe { nccl.ncclGetUniqueId(&mut id) };
    nccl.check("ncclGetUniqueId", code)?;
    Ok(id.internal.map(c_char::cast_unsigned).to_vec())
}

/// Lets a device be a rank. The context is current.
///
/// # Errors
/// NCCL is missing or refuses something; a rank is gone, or does not come within the world's limit.
pub(super) fn join(api: &Api, context: &Arc<Context>, world: &Joining) -> Result<Arc<Communicator>, Error> {
    let nccl = Nccl::get()?;
    if !context.is_primary() {
        // NCCL uses CUDA's runtime, which uses primary contexts.
        let text =
            "a device of another library's context that is not its GPU's primary one cannot join ranks";
        return Err(invalid_value("ncclCommInitRankConfig", text).into());
    }
    let id: [u8; NCCL_UNIQUE_ID_BYTES] = world.identity.as_slice().try_into().map_err(|_| {
        RanksDetail::Disagree { why: "rank 0 has another kind of device, which has no NCCL".to_owned() }
    })?;
    let id = ncclUniqueId { internal: id.map(u8::cast_signed) };
    let scratch = Scratch::allocate(api)?;
    // SAFETY: the device's context is current.
    let handle = unsafe { Handle::begin(nccl, id, [world.rank, world.size]) }.inspect_err(|_| {
        // SAFETY: the context is current, and nothing has used the memory.
        unsafe { scratch.free(api) };
    })?;
    let communicator = Communicator::new((nccl, handle), context, world, scratch, api.has_write_value());
    let communicator = Arc::new(communicator);
    let patience = Patience::new(world);
    let joined = communicator.connect(|| patience.ask()).and_then(|()| {
        warm_up(&communicator, world, &patience)?;
        look_after(&communicator, world.limit)
    });
    if let Err(error) = joined {
        // Nobody knows whether the memory is still used, so it stays.
        communicator.end_aside();
        return Err(explained(error));
    }
    Ok(communicator)
}

/// Lets each kind of collective take place once. Its calls may wait for ranks that never come.
fn warm_up(communicator: &Arc<Communicator>, world: &Joining, patience: &Patience<'_>) -> DriverResult<()> {
    let (its, number) = (Arc::clone(communicator), [world.rank, world.size]);
    let work = move || warm::up(its.context.enter()?, &its, number);
    aside("ncclCommInitRankConfig", work, || patience.ask())
}

/// Starts the thread that looks after a communicator until it is given up.
fn look_after(communicator: &Arc<Communicator>, limit: Duration) -> DriverResult<()> {
    let its = Arc::clone(communicator);
    let started = named_thread().spawn(move || its.look_after(limit));
    started.map(drop).map_err(|error| {
        let text = format!("the system refuses the thread that looks after it: {error}");
        invalid_value("ncclCommInitRankConfig", text)
    })
}

/// An error of joining in a user's terms.
fn explained(error: Box<DriverError>) -> Error {
    match error.detail.as_deref() {
        Some(DriverDetail::Ranks(Apart { why, ranks })) => {
            RanksDetail::Apart { why: why.clone(), ranks: ranks.clone() }.into()
        }
        _ => error.into(),
    }
}
