//! [`Line`]: the connection to another rank, and what is on its way there and back.
//!
//! A message is its number and its length, 64 bits each, and its bytes.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;

const HEADER: usize = 16;

/// The connection to another rank.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) stream: TcpStream,
    /// Messages that were sent and received so far.
    sent: u64,
    received: u64,
}

/// What an exchange sends to one rank, and receives from it.
#[derive(Debug, Default)]
pub(super) struct Traffic<'a> {
    sends: VecDeque<&'a [u8]>,
    receives: VecDeque<&'a mut [u8]>,
    /// Bytes of the first message that were sent, with its header.
    sent: usize,
    /// Bytes of the first message that have arrived, without its header.
    arrived: usize,
    header: [u8; HEADER],
    of_header: usize,
}

/// Why a line no longer works.
#[derive(Debug)]
pub(super) enum Broken {
    /// The message is not the one that is expected.
    Message { number: u64, sent: u64, awaited: u64, expected: u64 },
    /// The connection has ended.
    Ended(Option<io::Error>),
}

impl<'a> Traffic<'a> {
    pub(super) fn send(&mut self, bytes: &'a [u8]) {
        self.sends.push_back(bytes);
    }

    pub(super) fn receive(&mut self, into: &'a mut [u8]) {
        self.receives.push_back(into);
    }

    pub(super) fn sends(&self) -> bool {
        !self.sends.is_empty()
    }

    pub(super) fn receives(&self) -> bool {
        !self.receives.is_empty()
    }

    pub(super) fn is_over(&self) -> bool {
        self.sends.is_empty() && self.receives.is_empty()
    }
}

fn header(number: u64, length: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&number.to_le_bytes());
    header[8..].copy_from_slice(&(length as u64).to_le_bytes());
    header
}

fn number_and_length(header: [u8; HEADER]) -> (u64, u64) {
    let mut words = header.chunks_exact(8).map(|word| {
        let word = word.try_into().unwrap_or([0; 8]);
        u64::from_le_bytes(word)
    });
    (words.next().unwrap_or(0), words.next().unwrap_or(0))
}

/// Whether the connection has neither taken nor given a byte, and may later.
fn is_to_wait(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

impl Line {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, sent: 0, received: 0 }
    }

    /// Sends as much as the connection takes. Returns whether it has taken anything.
    pub(super) fn send(&mut self, traffic: &mut Traffic<'_>) -> Result<bool, Broken> {
        let mut has_moved = false;
        while let Some(&bytes) = traffic.sends.front() {
            let header = header(self.sent, bytes.len());
            let of_header = traffic.sent.min(HEADER);
            let parts =
                [IoSlice::new(&header[of_header..]), IoSlice::new(&bytes[traffic.sent - of_header..])];
            match (&self.stream).write_vectored(&parts) {
                Ok(0) => return Err(Broken::Ended(None)),
                Ok(length) => traffic.sent += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_to_wait(&error) => return Ok(has_moved),
                Err(error) => return Err(Broken::Ended(Some(error))),
            }
            has_moved = true;
            if traffic.sent == HEADER + bytes.len() {
                traffic.sends.pop_front();
                traffic.sent = 0;
                self.sent += 1;
            }
        }
        Ok(has_moved)
    }

    /// Receives what has arrived. Returns whether anything has.
    pub(super) fn receive(&mut self, traffic: &mut Traffic<'_>) -> Result<bool, Broken> {
        let mut has_moved = false;
        while let Some(into) = traffic.receives.front_mut() {
            let is_header = traffic.of_header < HEADER;
            let room = if is_header {
                &mut traffic.header[traffic.of_header..]
            } else {
                &mut into[traffic.arrived..]
            };
            match if room.is_empty() { Ok(0) } else { (&self.stream).read(room) } {
                Ok(0) if !room.is_empty() => return Err(Broken::Ended(None)),
                Ok(length) if is_header => traffic.of_header += length,
                Ok(length) => traffic.arrived += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_to_wait(&error) => return Ok(has_moved),
                Err(error) => return Err(Broken::Ended(Some(error))),
            }
            has_moved = true;
            if traffic.of_header < HEADER {
                continue;
            }
            let (number, sent) = number_and_length(traffic.header);
            let (awaited, expected) = (self.received, into.len() as u64);
            if (number, sent) != (awaited, expected) {
                return Err(Broken::Message { number, sent, awaited, expected });
            }
            if traffic.arrived == into.len() {
                traffic.receives.pop_front();
                (traffic.arrived, traffic.of_header) = (0, 0);
                self.received += 1;
            }
        }
        Ok(has_moved)
    }
}
