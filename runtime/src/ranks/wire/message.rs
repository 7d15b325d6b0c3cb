//! [`Message`]: everything that rank 0 and another rank tell each other. This folder's README has the order.

use std::time::Duration;

use super::bytes::{Reader, Writer};
use super::frame::frame;
use super::secret::{Key, Nonce, Proof};
use crate::ranks::members::{MOST, MOST_OF_TEXT};
use crate::ranks::text::cut;

/// What each greeting and hello begin with.
const MAGIC: [u8; 8] = *b"thalweg\n";
/// The version of everything behind greeting and hello. Those two never change.
const PROTOCOL: u16 = 1;

/// The most bytes of a message from somebody who is not known yet.
const MOST_OF_A_STRANGER: usize = 1 << 10;
/// The most bytes of a failure's text.
const MOST_OF_A_FAILURE: usize = 16 << 10;

/// The most bytes of a message that rank 0 accepts: before it knows the rank, and afterwards.
pub(in crate::ranks) fn from_rank(is_known: bool) -> usize {
    if is_known { (MOST + MOST_OF_TEXT + 64).max(2 * MOST_OF_A_FAILURE) } else { MOST_OF_A_STRANGER }
}

/// The most bytes of a message that another rank accepts from rank 0: before it knows rank 0, and afterwards.
pub(in crate::ranks) fn from_zero(is_known: bool, size: usize) -> usize {
    let gathered = size.saturating_mul(MOST + 16);
    // A text about ranks has their numbers beside it.
    if is_known { gathered.saturating_add(2 * MOST_OF_A_FAILURE) } else { 2 * MOST_OF_A_FAILURE }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ranks) enum Message {
    /// Rank 0 to whoever connects: a number that was never used before.
    Greeting { version: String, nonce: Nonce },
    /// The answer: who comes, with a proof that both have the same token.
    Hello { proof: Proof, signed: Vec<u8> },
    /// Rank 0 has another token.
    Refused,
    /// Rank 0 has the same token, which it proves too. The meeting ends after this time at the latest.
    Accepted { proof: Proof, remaining: Duration },
    /// All ranks are there.
    Welcome(Welcome),
    /// A rank comes to its next gather.
    Gather { limit: Duration, what: String, payload: Vec<u8> },
    /// All ranks have come.
    Gathered { number: u64, payloads: Vec<Vec<u8>> },
    /// The world has failed.
    Failure { ranks: Vec<usize>, text: String },
    /// A rank leaves.
    Goodbye { rank: usize },
}

/// Who comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ranks) struct Hello {
    pub(in crate::ranks) version: String,
    pub(in crate::ranks) nonce: Nonce,
    pub(in crate::ranks) rank: usize,
    pub(in crate::ranks) size: usize,
    pub(in crate::ranks) person: Person,
}

/// Where a rank runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ranks) struct Person {
    pub(in crate::ranks) host: String,
    pub(in crate::ranks) process: u32,
    /// Its address as rank 0 sees it, if that was asked.
    pub(in crate::ranks) address: String,
    /// The port where it listens for other ranks' data.
    pub(in crate::ranks) port: u16,
}

/// What a rank needs to know of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ranks) struct Welcome {
    /// A number that was never used before, for the connections of pairs.
    pub(in crate::ranks) session: Nonce,
    /// The ranks, in their order.
    pub(in crate::ranks) people: Vec<Person>,
}

/// This crate's version, and that of the protocol.
pub(super) fn version() -> String {
    format!("{} (protocol {PROTOCOL})", env!("CARGO_PKG_VERSION"))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Person {
    fn encode(&self, to: Writer) -> Writer {
        let Self { host, process, address, port } = self;
        to.bytes(host.as_bytes()).u32(*process).bytes(address.as_bytes()).u16(*port)
    }

    fn decode(from: &mut Reader<'_>) -> Option<Self> {
        let (host, process) = (from.text()?, from.u32()?);
        Some(Self { host, process, address: from.text()?, port: from.u16()? })
    }
}

impl Hello {
    /// This process's version, rank, size and whereabouts.
    pub(in crate::ranks) fn new(nonce: Nonce, rank: usize, size: usize, person: Person) -> Self {
        Self { version: version(), nonce, rank, size, person }
    }

    /// The message, for the rank 0 that has greeted with this number.
    pub(in crate::ranks) fn signed(&self, key: &Key, greeting: &Nonce) -> Message {
        let to = Writer::default().raw(&MAGIC).bytes(self.version.as_bytes()).raw(&self.nonce);
        let Writer(signed) = self.person.encode(to.rank(self.rank).rank(self.size));
        Message::Hello { proof: key.proof("hello", &[greeting, &signed]), signed }
    }

    pub(in crate::ranks) fn decode(signed: &[u8]) -> Option<Self> {
        let mut from = Reader(signed);
        (from.array()? == MAGIC).then_some(())?;
        let (version, nonce) = (from.text()?, from.array()?);
        let (rank, size) = (from.rank()?, from.rank()?);
        let person = Person::decode(&mut from)?;
        from.end()?;
        Some(Self { version, nonce, rank, size, person })
    }
}

impl Message {
    /// What rank 0 says to whoever connects.
    pub(in crate::ranks) fn greeting(nonce: Nonce) -> Self {
        Self::Greeting { version: version(), nonce }
    }

    /// The failure of a world, with a text that is not too long.
    pub(in crate::ranks) fn failure(detail: &crate::base::error::RanksDetail) -> Self {
        let text = cut(&detail.to_string(), MOST_OF_A_FAILURE).to_owned();
        let mut ranks = detail.ranks();
        ranks.truncate(MOST_OF_A_FAILURE / 8);
        Self::Failure { ranks, text }
    }

    /// The frame of this message.
    pub(in crate::ranks) fn encode(&self) -> Vec<u8> {
        let to = Writer::default();
        let (kind, Writer(body)) = match self {
            Self::Greeting { version, nonce } => (1, to.raw(&MAGIC).bytes(version.as_bytes()).raw(nonce)),
            Self::Hello { proof, signed } => (2, to.raw(proof).raw(signed)),
            Self::Refused => (3, to),
            Self::Accepted { proof, remaining } => (4, to.raw(proof).u64(milliseconds(*remaining))),
            Self::Welcome(Welcome { session, people }) => {
                let to = to.raw(session).rank(people.len());
                (5, people.iter().fold(to, |to, person| person.encode(to)))
            }
            Self::Gather { limit, what, payload } => {
                (6, to.u64(milliseconds(*limit)).bytes(what.as_bytes()).bytes(payload))
            }
            Self::Gathered { number, payloads } => {
                let to = to.u64(*number).rank(payloads.len());
                (7, payloads.iter().fold(to, |to, payload| to.bytes(payload)))
            }
            Self::Failure { ranks, text } => {
                let to = to.rank(ranks.len());
                (8, ranks.iter().fold(to, |to, rank| to.rank(*rank)).bytes(text.as_bytes()))
            }
            Self::Goodbye { rank } => (9, to.rank(*rank)),
        };
        frame(kind, &body)
    }

    /// The message of a frame; `None` if it is none.
    pub(in crate::ranks) fn decode(kind: u8, body: &[u8]) -> Option<Self> {
        let mut from = Reader(body);
        let message = match kind {
            1 => {
                (from.array()? == MAGIC).then_some(())?;
                Self::Greeting { version: from.text()?, nonce: from.array()? }
            }
            2 => {
                let proof = from.array()?;
                Self::Hello { proof, signed: std::mem::take(&mut from.0).to_vec() }
            }
            3 => Self::Refused,
            4 => Self::Accepted { proof: from.array()?, remaining: Duration::from_millis(from.u64()?) },
            5 => Self::Welcome(Welcome { session: from.array()?, people: from.list(Person::decode)? }),
            6 => {
                let limit = Duration::from_millis(from.u64()?);
                Self::Gather { limit, what: from.text()?, payload: from.bytes()?.to_vec() }
            }
            7 => {
                let number = from.u64()?;
                Self::Gathered { number, payloads: from.list(|from| from.bytes().map(<[u8]>::to_vec))? }
            }
            8 => Self::Failure { ranks: from.list(Reader::rank)?, text: from.text()? },
            9 => Self::Goodbye { rank: from.rank()? },
            _ => return None,
        };
        from.end()?;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Message> {
        let person =
            |host: &str| Person { host: host.to_owned(), process: 7, address: "::1".to_owned(), port: 9 };
        let hello = Hello::new([3; 32], 2, 4, person("a"));
        vec![
            Message::greeting([1; 32]),
            hello.signed(&Key::of_token(Some("token")), &[1; 32]),
            Message::Refused,
            Message::Accepted { proof: [5; 32], remaining: Duration::from_millis(1234) },
            Message::Welcome(Welcome { session: [9; 32], people: vec![person("a"), person("b")] }),
            Message::Gather { limit: Duration::from_secs(1), what: "run 4".to_owned(), payload: vec![1, 2] },
            Message::Gathered { number: 3, payloads: vec![vec![1], vec![], vec![2, 3]] },
            Message::Failure { ranks: vec![2, 3], text: "it failed".to_owned() },
            Message::Goodbye { rank: 3 },
        ]
    }

    #[test]
    fn every_message_is_read_as_it_was_written() {
        for message in all() {
            let frame = message.encode();
            assert_eq!(Message::decode(frame[4], &frame[5..]).as_ref(), Some(&message));
        }
    }

    #[test]
    fn a_message_that_is_cut_off_or_too_long_is_none() {
        // A hello ends where its frame ends, and is looked at separately.
        for message in all().into_iter().filter(|message| !matches!(message, Message::Hello { .. })) {
            let frame = message.encode();
            for end in 5..frame.len() {
                assert_eq!(Message::decode(frame[4], &frame[5..end]), None, "{message:?} up to {end}");
            }
            let long = [&frame[5..], &[0]].concat();
            assert_eq!(Message::decode(frame[4], &long), None, "{message:?}");
        }
        assert_eq!(Message::decode(77, &[]), None);
    }

    #[test]
    fn a_count_without_its_items_allocates_nothing_for_them() {
        let body = Writer::default().u64(0).u32(u32::MAX).0;
        assert_eq!(Message::decode(7, &body), None);
    }

    #[test]
    fn a_hello_is_read_as_it_was_written() {
        let person = Person { host: "a".to_owned(), process: 7, address: String::new(), port: 9 };
        let hello = Hello::new([3; 32], 2, 4, person);
        let Message::Hello { signed, .. } = hello.signed(&Key::of_token(None), &[1; 32]) else {
            unreachable!()
        };
        assert_eq!(Hello::decode(&signed), Some(hello));
        assert_eq!(Hello::decode(&signed[1..]), None);
    }

    #[test]
    fn the_largest_messages_fit_their_limits() {
        let gather =
            Message::Gather { limit: Duration::MAX, what: "w".repeat(MOST_OF_TEXT), payload: vec![0; MOST] };
        assert!(gather.encode().len() - 5 <= from_rank(true));
        let gathered = Message::Gathered { number: 0, payloads: vec![vec![0; MOST]; 3] };
        assert!(gathered.encode().len() - 5 <= from_zero(true, 3));
        let person = Person { host: "h".repeat(255), process: 7, address: String::new(), port: 9 };
        let hello = Hello::new([3; 32], 2, 4, person).signed(&Key::of_token(None), &[1; 32]);
        assert!(hello.encode().len() - 5 <= from_rank(false));
    }
}
