//! How some ranks of a world find each other for a world of their own.

use super::Mesh;
use crate::base::error::RanksDetail;
use crate::ranks::environment::{Meeting, Seat, host_name};
use crate::ranks::rendezvous::refused;
use crate::ranks::wire::{listen_anywhere, listen_at, nonce};

/// The name of this host for itself.
const LOOPBACK: &str = "127.0.0.1";

impl Mesh {
    /// Where this rank will listen for the others, and a token that only the ranks of this world learn.
    pub(in crate::ranks) fn lead(&self) -> Result<Vec<u8>, RanksDetail> {
        let refused = |error: &std::io::Error| refused("a port for a world of some ranks", error);
        let listener = match self.is_at_loopback() {
            true => listen_at(LOOPBACK, 0),
            false => listen_anywhere(0),
        };
        let port =
            listener.and_then(|listener| listener.local_addr()).map_err(|error| refused(&error))?.port();
        Ok([port.to_le_bytes().as_slice(), &nonce()].concat())
    }

    /// The seat of a rank in a world of these ranks, of which the first leads and has said this.
    pub(in crate::ranks) fn seat(&self, ranks: &[usize], place: usize, way: &[u8]) -> Option<Seat> {
        let (port, token) = way.split_first_chunk::<2>()?;
        let ports = vec![u16::from_le_bytes(*port)];
        let leader = *ranks.first()?;
        let host = match self.own.addresses.get(leader)? {
            Some(address) => address.ip().to_string(),
            // It leads itself.
            None if self.is_at_loopback() => LOOPBACK.to_owned(),
            None => host_name(),
        };
        let given = format!("rank {leader} at {host}");
        let token = token.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Some(Seat {
            rank: place,
            size: ranks.len(),
            local_rank: None,
            local_size: None,
            token: Some(token),
            meeting: Some(Meeting { host, given, ports }),
        })
    }

    fn is_at_loopback(&self) -> bool {
        self.own.listener.local_addr().is_ok_and(|address| address.ip().is_loopback())
    }
}
