//! How the connection of a pair begins: both ends prove that they belong to this session of the world.
//!
//! The end that accepts sends 32 bytes that were never used before. The end that connects answers with its
//! rank, such bytes of its own, and a proof. The first end then answers with a proof of its own. Each of these
//! messages has a fixed length.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use crate::ranks::wire::{Key, Nonce, Proof, Reader, Writer, nonce, prepare};

const CLAIM: usize = 4 + size_of::<Nonce>() + size_of::<Proof>();

/// How far a beginning is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The other end has still something to say.
    Waits,
    /// Both have proved it. The other end has this rank.
    Done(usize),
    /// The other end is gone, or is no rank of this session.
    Over,
}

/// Bytes of a fixed number that arrive bit by bit.
#[derive(Debug)]
struct Awaited {
    bytes: Vec<u8>,
    length: usize,
}

impl Awaited {
    fn new(length: usize) -> Self {
        Self { bytes: Vec::with_capacity(length), length }
    }

    /// Reads up to the last of the bytes, and none behind it. Returns whether all are there.
    fn fill(&mut self, mut stream: &TcpStream) -> io::Result<bool> {
        while self.bytes.len() < self.length {
            let mut room = [0; CLAIM];
            match stream.read(&mut room[..self.length - self.bytes.len()]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.bytes.extend_from_slice(&room[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

fn claim(key: &Key, label: &str, from: usize, to: usize, numbers: [&Nonce; 2]) -> Proof {
    let Writer(ranks) = Writer::default().rank(from).rank(to);
    key.proof(label, &[&ranks, numbers[0], numbers[1]])
}

fn is_claim(proof: &Proof, key: &Key, label: &str, from: usize, to: usize, numbers: [&Nonce; 2]) -> bool {
    let Writer(ranks) = Writer::default().rank(from).rank(to);
    key.accepts(proof, label, &[&ranks, numbers[0], numbers[1]])
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}

/// Sends a few bytes, which a new connection takes at once.
fn say(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    match stream.write(bytes)? {
        length if length == bytes.len() => Ok(()),
        _ => Err(ErrorKind::WriteZero.into()),
    }
}

/// A connection that this rank makes.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) stream: TcpStream,
    own: Nonce,
    /// The other end's number, and then its proof.
    number: Awaited,
    proof: Awaited,
}

impl Caller {
    pub(super) fn new(stream: TcpStream) -> Self {
        let (number, proof) = (Awaited::new(size_of::<Nonce>()), Awaited::new(size_of::<Proof>()));
        Self { stream, own: nonce(), number, proof }
    }

    /// Goes on with what has arrived from the rank `to`.
    pub(super) fn go_on(&mut self, key: &Key, from: usize, to: usize) -> Progress {
        self.try_to(key, from, to).unwrap_or(Progress::Over)
    }

    fn try_to(&mut self, key: &Key, from: usize, to: usize) -> io::Result<Progress> {
        let has_number = self.number.bytes.len() == size_of::<Nonce>();
        if !has_number {
            if !self.number.fill(&self.stream)? {
                return Ok(Progress::Waits);
            }
            let its = array(&self.number.bytes);
            let proof = claim(key, "connects", from, to, [&its, &self.own]);
            let Writer(bytes) = Writer::default().rank(from).raw(&self.own).raw(&proof);
            say(&self.stream, &bytes)?;
        }
        if !self.proof.fill(&self.stream)? {
            return Ok(Progress::Waits);
        }
        let its = array(&self.number.bytes);
        let is_right = is_claim(&array(&self.proof.bytes), key, "accepts", from, to, [&its, &self.own]);
        Ok(if is_right { Progress::Done(to) } else { Progress::Over })
    }
}

/// A connection that somebody has made to this rank.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) stream: TcpStream,
    pub(super) since: Instant,
    own: Nonce,
    claim: Awaited,
}

impl Guest {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        let own = nonce();
        prepare(&stream)?;
        say(&stream, &own)?;
        Ok(Self { stream, since: Instant::now(), own, claim: Awaited::new(CLAIM) })
    }

    /// Goes on with what has arrived.
    pub(super) fn go_on(&mut self, key: &Key, to: usize) -> Progress {
        self.try_to(key, to).unwrap_or(Progress::Over)
    }

    fn try_to(&mut self, key: &Key, to: usize) -> io::Result<Progress> {
        if !self.claim.fill(&self.stream)? {
            return Ok(Progress::Waits);
        }
        let mut from = Reader(&self.claim.bytes);
        let (Some(rank), Some(its), Some(proof)) = (from.rank(), from.array(), from.array::<32>()) else {
            return Ok(Progress::Over);
        };
        if !is_claim(&proof, key, "connects", rank, to, [&self.own, &its]) {
            return Ok(Progress::Over);
        }
        say(&self.stream, &claim(key, "accepts", rank, to, [&self.own, &its]))?;
        Ok(Progress::Done(rank))
    }
}
