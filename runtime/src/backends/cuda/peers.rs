//! Copies between the memories of two GPUs.

use std::ptr;

use super::api::{Api, PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_NOT_ENABLED};
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

/// Makes copies between two GPUs go directly, in both directions, if the machine can do it. Otherwise the driver
/// itself copies through the host's memory.
pub(super) fn connect(one: &Context, other: &Context) -> DriverResult<Link> {
    if one.device() == other.device() {
        return Ok(Link::Direct);
    }
    let api = one.enter()?;
    for (device, peer) in [(one, other), (other, one)] {
        let mut can = 0;
        // SAFETY: `can` is a place for the result, and both are devices of the driver.
        unsafe { api.cuDeviceCanAccessPeer(&mut can, device.device(), peer.device()) }?;
        if can == 0 {
            return Ok(Link::OverHost);
        }
    }
    for (context, peer) in [(one, other), (other, one)] {
        // SAFETY: both contexts are live, and the first is current. Flags must be 0.
        let enabled = unsafe { context.enter()?.cuCtxEnablePeerAccess(peer.handle(), 0) };
        match enabled {
            Ok(()) => {}
            Err(error) if error.code == PEER_ACCESS_ALREADY_ENABLED => {}
            // A GPU has a limited number of peers (`cuCtxEnablePeerAccess`).
            Err(_) => return disconnect(one, other).map(|()| Link::OverHost),
        }
    }
    Ok(Link::Direct)
}

/// Makes copies between two GPUs go through the host's memory again.
pub(super) fn disconnect(one: &Context, other: &Context) -> DriverResult<()> {
    for (context, peer) in [(one, other), (other, one)] {
        let api: &Api = context.enter()?;
        // SAFETY: both contexts are live, and the first is current.
        match unsafe { api.cuCtxDisablePeerAccess(peer.handle()) } {
            Err(error) if error.code != PEER_ACCESS_NOT_ENABLED => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
