//! [`Seat`]: which rank a process is, and [`Meeting`], where it finds rank 0.

use std::net::Ipv6Addr;

use crate::base::error::{RanksDetail, Result};

/// The most ranks of a world. Each of them is a connection of rank 0.
pub(super) const MOST_RANKS: usize = 1 << 15;

/// Which rank a process is, and how it finds the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    /// The rank, from 0.
    pub(crate) rank: usize,
    /// The number of ranks.
    pub(crate) size: usize,
    /// The rank among those of this host, if the launcher says it.
    pub(crate) local_rank: Option<usize>,
    /// The number of ranks of this host, if the launcher says it.
    pub(crate) local_size: Option<usize>,
    /// What the ranks of this world know and others do not, if there is anything.
    pub(crate) token: Option<String>,
    /// Where rank 0 listens; `None` in a world of one.
    pub(crate) meeting: Option<Meeting>,
}

/// Where rank 0 listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meeting {
    /// The host, as a name or an address.
    pub(crate) host: String,
    /// What has named the host, such as `MASTER_ADDR=node7`.
    pub(crate) given: String,
    /// The ports. Rank 0 listens on the first that is free.
    pub(crate) ports: Vec<u16>,
}

impl Seat {
    /// A seat in the program's own words: the address of rank 0 is `host:port`, or `[::1]:29500` for IPv6.
    /// Without a token, any process that comes there with the right number of ranks belongs to the world.
    ///
    /// # Errors
    ///
    /// The rank is not below the size, or the address is none.
    pub(crate) fn by_hand(rank: usize, size: usize, address: &str, token: Option<String>) -> Result<Self> {
        let (host, port) = split(address)?;
        let meeting = Meeting { host, given: address.to_owned(), ports: vec![port] };
        let seat = Self { rank, size, local_rank: None, local_size: None, token, meeting: Some(meeting) };
        Ok(seat.checked()?)
    }

    /// The only seat of a world of one.
    pub(crate) fn alone() -> Self {
        Self { rank: 0, size: 1, local_rank: Some(0), local_size: Some(1), token: None, meeting: None }
    }

    /// Numbers that no world has are errors, whoever gave them.
    pub(super) fn checked(self) -> Result<Self, RanksDetail> {
        let wrong = |given: String, problem: String| Err(RanksDetail::Variable { given, problem });
        let &Self { rank, size, .. } = &self;
        if size == 0 || size > MOST_RANKS {
            return wrong(
                format!("size {size}"),
                format!("is no number of ranks: a world has 1 to {MOST_RANKS}"),
            );
        }
        if rank >= size {
            return wrong(format!("rank {rank}"), format!("is none of {size} ranks, which count from 0"));
        }
        Ok(self)
    }
}

impl Meeting {
    /// The place for messages: `host:port`, or `host, ports 1, 2 and 3`.
    pub(crate) fn place(&self) -> String {
        let host = &self.host;
        match self.ports.as_slice() {
            [port] => at(host, *port),
            ports => {
                let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
                format!("{host}, ports {}", ports.join(", "))
            }
        }
    }
}

/// `host:port`, with an IPv6 address in brackets.
pub(in crate::ranks) fn at(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Host and port of `host:port` or `[::1]:29500`.
fn split(address: &str) -> Result<(String, u16), RanksDetail> {
    let wrong =
        |problem: &str| RanksDetail::Variable { given: address.to_owned(), problem: problem.to_owned() };
    let is_none = "is no address of rank 0: write `host:port`, or `[::1]:29500` for IPv6";
    let (host, port) = address.trim().rsplit_once(':').ok_or_else(|| wrong(is_none))?;
    let port =
        port.parse().ok().filter(|port| *port > 0).ok_or_else(|| wrong("has no port from 1 to 65535"))?;
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) if inner.split('%').next().is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()) => inner,
        None if !host.is_empty() && !host.contains([':', '[', ']']) => host,
        _ => return Err(wrong(is_none)),
    };
    Ok((host.to_owned(), port))
}
