//! What goes over connections: bytes, frames, messages, and the proofs of a common token.

mod bytes;
mod frame;
mod message;
mod poll;
mod secret;
mod sockets;

pub(super) use bytes::{Reader, Writer};
pub(super) use frame::{Filled, Inbox, Outbox};
pub(super) use message::{Hello, Message, Person, Welcome, from_rank, from_zero};
pub(super) use poll::{Ready, Waker, poll};
pub(super) use secret::{Key, Nonce, Proof, nonce};
pub(super) use sockets::{connect, is_loopback, keep_alive, listen_anywhere, listen_at, prepare};

/// The connection between rank 0 and another rank.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: std::net::TcpStream,
    pub(super) inbox: Inbox,
    pub(super) outbox: Outbox,
}
