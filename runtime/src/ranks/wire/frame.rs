//! [`Inbox`] and [`Outbox`]: frames on a connection that nobody waits at.
//!
//! A frame is the length of its body as 32 bits, a byte that says what it is, and the body.

use std::io::{ErrorKind, Read, Write};

/// Bytes before the body.
const HEADER: usize = 5;
/// Bytes that are read at a time.
const PIECE: usize = 16 << 10;

/// A frame that no rank sends.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::ranks) struct Garbled;

/// The state of a connection after it was read from.
#[derive(Debug)]
pub(in crate::ranks) enum Filled {
    Open,
    /// The other end is closed, or the connection is broken.
    Ended,
}

/// Bytes that have arrived.
#[derive(Debug)]
pub(in crate::ranks) struct Inbox {
    bytes: Vec<u8>,
    /// The first byte of the next frame.
    start: usize,
    /// The most bytes of a body.
    most: usize,
}

impl Inbox {
    /// An inbox for bodies of at most so many bytes.
    pub(in crate::ranks) fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, most }
    }

    /// Changes what is accepted from here on.
    pub(in crate::ranks) fn allow(&mut self, most: usize) {
        self.most = most;
    }

    /// Reads some of what has arrived. More may have.
    pub(in crate::ranks) fn fill(&mut self, mut stream: impl Read) -> Filled {
        self.bytes.drain(..self.start);
        self.start = 0;
        let mut piece = [0; PIECE];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return Filled::Ended,
                Ok(length) => {
                    self.bytes.extend_from_slice(&piece[..length]);
                    return Filled::Open;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Filled::Open,
                Err(_) => return Filled::Ended,
            }
        }
    }

    /// The next frame: what it is, and its body; `None` if it is not all there. A length beyond the limit is
    /// refused before anything is allocated for it.
    pub(in crate::ranks) fn next(&mut self) -> Result<Option<(u8, &[u8])>, Garbled> {
        let rest = &self.bytes[self.start..];
        let Some((&[a, b, c, d, kind], rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > self.most {
            return Err(Garbled);
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        self.start += HEADER + length;
        Ok(Some((kind, body)))
    }
}

/// A frame with this body.
pub(super) fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes()[..], &[kind], body].concat()
}

/// Bytes that are to be sent.
#[derive(Debug, Default)]
pub(in crate::ranks) struct Outbox {
    bytes: Vec<u8>,
    start: usize,
    /// Whether the connection takes no more.
    is_broken: bool,
}

impl Outbox {
    /// Adds a frame, and sends as much as the connection takes at once.
    pub(in crate::ranks) fn send(&mut self, stream: impl Write, frame: &[u8]) {
        if !self.is_broken {
            self.bytes.extend_from_slice(frame);
            self.flush(stream);
        }
    }

    /// Sends as much as the connection takes at once. A broken connection is noticed by whoever reads from it.
    pub(in crate::ranks) fn flush(&mut self, mut stream: impl Write) {
        while self.start < self.bytes.len() {
            match stream.write(&self.bytes[self.start..]) {
                Ok(length) if length > 0 => self.start += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => {
                    self.is_broken = true;
                    break;
                }
            }
        }
        self.bytes.clear();
        self.start = 0;
    }

    /// Whether some bytes wait for the connection to take them.
    pub(in crate::ranks) fn is_waiting(&self) -> bool {
        !self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let bytes = [frame(1, b"one"), frame(2, b""), frame(3, &[7; 1000])].concat();
        for piece in [1, 2, 5, 7, 1000] {
            let (mut inbox, mut frames) = (Inbox::new(1000), Vec::new());
            for piece in bytes.chunks(piece) {
                assert!(matches!(inbox.fill(piece), Filled::Open));
                while let Some((kind, body)) = inbox.next().expect("frames") {
                    frames.push((kind, body.to_vec()));
                }
            }
            assert_eq!(frames, [(1, b"one".to_vec()), (2, Vec::new()), (3, vec![7; 1000])]);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_by_its_header_alone() {
        let mut inbox = Inbox::new(100);
        inbox.fill(&[101, 0, 0, 0, 1][..]);
        assert_eq!(inbox.next(), Err(Garbled));
        assert!(inbox.bytes.capacity() < 100);
    }

    #[test]
    fn the_end_of_a_connection_is_told() {
        assert!(matches!(Inbox::new(100).fill(&[][..]), Filled::Ended));
    }
}
