//! The meeting of the ranks: rank 0 listens ([`host`]), the others come ([`join`]).

mod host;
mod join;
mod reception;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

use super::environment::{Meeting, Seat, host_name};
use super::members::{Identity, Limits};
use super::wire::{Connection, Key, Person, is_loopback, listen_anywhere, listen_at};
use crate::base::error::{RanksDetail, Who};

/// What a rank has after the meeting.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) identity: Identity,
    /// The key for the connections of pairs.
    pub(super) key: Key,
    /// Where each rank listens for other ranks' data; `None` for this rank.
    pub(super) addresses: Vec<Option<SocketAddr>>,
    /// Where this one does.
    pub(super) listener: TcpListener,
    /// At rank 0 the connections of the others, by their rank; at another rank the one to rank 0.
    pub(super) connections: Vec<Option<Connection>>,
}

/// Meets the other ranks of the world.
pub(super) fn meet(seat: &Seat, meeting: &Meeting, limits: Limits) -> Result<Met, RanksDetail> {
    let listener = data_listener(meeting).map_err(|error| refused("a port for data", &error))?;
    let port = listener.local_addr().map_err(|error| refused("a port for data", &error))?.port();
    let me = Person { host: host_name(), process: std::process::id(), address: String::new(), port };
    match seat.rank {
        0 => host::host(seat, meeting, limits, me, listener),
        _ => join::join(seat, meeting, limits, me, listener),
    }
}

fn data_listener(meeting: &Meeting) -> std::io::Result<TcpListener> {
    if is_loopback(&meeting.host) { listen_at(&meeting.host, 0) } else { listen_anywhere(0) }
}

/// The error of something that the system refuses.
pub(super) fn refused(what: &'static str, error: &std::io::Error) -> RanksDetail {
    RanksDetail::System { what, message: error.to_string() }
}

/// A rank, as messages name it.
fn who(rank: usize, person: &Person) -> Who {
    Who { rank, host: person.host.clone(), process: person.process }
}

/// The identity of a rank among these. What the launcher says of its host comes before what their names say.
fn identity(seat: &Seat, people: &[Person]) -> Identity {
    let people: Arc<[Who]> = people.iter().enumerate().map(|(rank, person)| who(rank, person)).collect();
    let mut identity = Identity::new(seat.rank, people);
    if let (Some(rank), Some(size)) = (seat.local_rank, seat.local_size) {
        identity.local = (rank, size);
    }
    identity
}

/// Where each rank listens for data. `zero` is where this rank has found rank 0.
fn addresses(people: &[Person], own: usize, zero: SocketAddr) -> Vec<Option<SocketAddr>> {
    let address = |(rank, person): (usize, &Person)| {
        let seen = person.address.parse::<IpAddr>().ok();
        // What rank 0 sees at its own loopback is on its host, as rank 0 itself is.
        let ip = seen.filter(|ip| own == 0 || !ip.is_loopback()).unwrap_or(zero.ip());
        let mut address = SocketAddr::new(ip, person.port);
        // An address that is valid on one link only is reached by the same link as rank 0.
        if let (SocketAddr::V6(address), SocketAddr::V6(zero)) = (&mut address, zero)
            && address.ip().is_unicast_link_local()
        {
            address.set_scope_id(zero.scope_id());
        }
        (rank != own).then_some(address)
    };
    people.iter().enumerate().map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(address: &str) -> Person {
        Person { host: "h".to_owned(), process: 7, address: address.to_owned(), port: 9 }
    }

    fn found(own: usize, zero: &str) -> Vec<Option<String>> {
        let people = [person(""), person("127.0.0.1"), person("10.0.0.2"), person("fe80::3")];
        let zero = zero.parse().expect("an address");
        addresses(&people, own, zero)
            .into_iter()
            .map(|address| address.map(|address| address.to_string()))
            .collect()
    }

    #[test]
    fn ranks_on_the_host_of_rank_0_are_found_where_rank_0_is() {
        let expected = ["10.0.0.1:9", "10.0.0.1:9", "", "[fe80::3]:9"];
        let expected = expected.map(|address| Some(address.to_owned()).filter(|address| !address.is_empty()));
        assert_eq!(found(2, "10.0.0.1:5"), expected);
        assert_eq!(found(1, "127.0.0.1:5")[0].as_deref(), Some("127.0.0.1:9"));
    }

    #[test]
    fn addresses_of_one_link_are_reached_by_the_link_to_rank_0() {
        assert_eq!(found(2, "[fe80::1%4]:5")[3].as_deref(), Some("[fe80::3%4]:9"));
    }
}
