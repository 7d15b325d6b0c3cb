//! [`Mesh`]: data between ranks in host memory, on a connection for each pair of ranks that has any.
//!
//! A connection is made when a pair first needs it, since a world has many more pairs than are ever used, and
//! devices that have a link of their own use none. The higher rank of a pair connects, the lower one accepts.

mod exchange;
mod lead;
mod line;
mod pair;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::shared::Shared;
use super::wire::{Key, Waker};
use crate::base::error::{RanksDetail, Who};
use exchange::Exchange;
use line::Line;
use pair::{Caller, Guest};

/// The connections of this rank to others.
#[derive(Debug)]
pub(super) struct Mesh {
    own: Own,
    /// One exchange at a time.
    peers: Mutex<Peers>,
}

/// What does not change.
#[derive(Debug)]
struct Own {
    rank: usize,
    key: Key,
    people: Arc<[Who]>,
    addresses: Vec<Option<SocketAddr>>,
    listener: TcpListener,
    shared: Arc<Shared>,
    /// Woken when the world fails and when a rank leaves.
    waker: Arc<Waker>,
}

/// The connections.
#[derive(Debug, Default)]
struct Peers {
    lines: BTreeMap<usize, Line>,
    callers: BTreeMap<usize, Caller>,
    guests: Vec<Guest>,
}

impl Mesh {
    pub(super) fn new(
        rank: usize,
        key: Key,
        people: Arc<[Who]>,
        addresses: Vec<Option<SocketAddr>>,
        listener: TcpListener,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let waker = Arc::new(Waker::new()?);
        let its = Arc::clone(&waker);
        shared.on_news(Box::new(move || its.wake()));
        let own = Own { rank, key, people, addresses, listener, shared, waker };
        Ok(Self { own, peers: Mutex::default() })
    }

    /// Where this rank listens.
    #[cfg(test)]
    pub(super) fn port(&self) -> u16 {
        self.own.listener.local_addr().map_or(0, |address| address.port())
    }

    /// Sends and receives all at once, and returns when everything has been sent and received. `limit` is how
    /// long nothing may move.
    pub(super) fn exchange(
        &self,
        sends: &[(usize, &[u8])],
        receives: &mut [(usize, &mut [u8])],
        limit: Duration,
    ) -> Result<(), RanksDetail> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        Exchange::new(&self.own, &mut peers, sends, receives)?.run(limit)
    }
}
