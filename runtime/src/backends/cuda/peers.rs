//! Copies between the memories of two GPUs.

use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::api::{PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_NOT_ENABLED};
use super::context::Context;
use super::sys::CUcontext;
use crate::driver::{DriverResult, Link, Peer};

/// What its peers call a GPU: its context.
pub(super) fn name(context: &Context) -> Peer {
    Peer(context.address() as u64)
}

/// The context of that [name](name).
pub(super) fn context(peer: Peer) -> CUcontext {
    ptr::with_exposed_provenance_mut(peer.0 as usize)
}

/// The peers to which this crate has enabled a context's access. The context may be shared with other libraries, which
/// need the access that they have enabled.
#[derive(Debug, Default)]
pub(super) struct Enabled(Mutex<Vec<usize>>);

impl Enabled {
    fn all(&self) -> MutexGuard<'_, Vec<usize>> {
        // Nothing of the user's runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A GPU's context, with the peers to which it has access.
pub(super) type End<'d> = (&'d Context, &'d Enabled);

/// Makes copies between two GPUs go directly, in both directions, if the machine can do it. Otherwise the driver
/// itself copies through the host's memory.
pub(super) fn connect(one: End<'_>, other: End<'_>) -> DriverResult<Link> {
    if one.0.device() == other.0.device() {
        return Ok(Link::Direct);
    }
    for ((context, _), (peer, _)) in [(one, other), (other, one)] {
        let mut can = 0;
        // SAFETY: `can` is a place for the result, and both are devices of the driver.
        unsafe { context.enter()?.cuDeviceCanAccessPeer(&mut can, context.device(), peer.device()) }?;
        if can == 0 {
            return Ok(Link::OverHost);
        }
    }
    for ((context, enabled), (peer, _)) in [(one, other), (other, one)] {
        // SAFETY: both contexts are live, and the first is current. Flags must be 0.
        match unsafe { context.enter()?.cuCtxEnablePeerAccess(peer.handle(), 0) } {
            Ok(()) => enabled.all().push(peer.address()),
            Err(error) if error.code == PEER_ACCESS_ALREADY_ENABLED => {}
            // A GPU has a limited number of peers (`cuCtxEnablePeerAccess`).
            Err(_) => return disconnect(one, other).map(|()| Link::OverHost),
        }
    }
    Ok(Link::Direct)
}

/// Makes copies between two GPUs go through the host's memory again, as far as this crate has enabled something else.
pub(super) fn disconnect(one: End<'_>, other: End<'_>) -> DriverResult<()> {
    for ((context, enabled), (peer, _)) in [(one, other), (other, one)] {
        let mut enabled = enabled.all();
        if !enabled.contains(&peer.address()) {
            continue;
        }
        // SAFETY: both contexts are live, and the first is current.
        match unsafe { context.enter()?.cuCtxDisablePeerAccess(peer.handle()) } {
            Err(error) if error.code != PEER_ACCESS_NOT_ENABLED => return Err(error),
            Ok(()) | Err(_) => enabled.retain(|known| *known != peer.address()),
        }
    }
    Ok(())
}
