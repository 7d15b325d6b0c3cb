//! [`RanksDetail`]: what can happen between the ranks of a world.

use std::fmt;
use std::time::Duration;

/// A rank, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The rank, from 0.
    pub rank: usize,
    /// The name of its host.
    pub host: String,
    /// The number of its process.
    pub process: u32,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} (host {}, process {})", self.rank, self.host, self.process)
    }
}

/// What happened between ranks, or kept them from meeting. The kind of the error is
/// [`Environment`](super::ErrorKind::Environment) for the first of these, up to [`Forked`](Self::Forked), and
/// [`Ranks`](super::ErrorKind::Ranks) for the others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RanksDetail {
    /// An environment variable, or an argument in its place, has a value that it cannot have.
    #[error("`{given}` {problem}")]
    Variable {
        /// The variable and its value, such as `RANK=3x`.
        given: String,
        /// What is wrong with it.
        problem: String,
    },
    /// One of the variables that belong together is not set.
    #[error(
        "`{given}` is set, and `{missing}` is not\n  \
         note: only together do they say which rank this process is, and where rank 0 is"
    )]
    Incomplete {
        /// A variable that is set, and its value.
        given: String,
        /// The one that is not.
        missing: &'static str,
    },
    /// MPI's launcher has started ranks on several hosts and gives none of them the address of rank 0.
    #[error(
        "the ranks are on several hosts, and nothing says on which of them rank 0 is\n  \
         note: `{given}` is of MPI's launcher, which gives no address\n  \
         help: `mpirun -x MASTER_ADDR=HOST …` with the host of rank 0; other launchers than OpenMPI's take \
         `-env MASTER_ADDR HOST`"
    )]
    NoAddress {
        /// The launcher's variable with the rank.
        given: String,
    },
    /// The host of rank 0 has a name that nothing resolves.
    #[error("`{given}` names no host that can be found: {message}")]
    Unresolved {
        /// The variable, or the argument, with its value.
        given: String,
        /// The system's message.
        message: String,
    },
    /// The system refuses a socket or a thread that the ranks need.
    #[error("ranks need {what}, which the system refuses: {message}")]
    System {
        /// What is needed.
        what: &'static str,
        /// The system's message.
        message: String,
    },
    /// Ranks in several processes need a system that this is not.
    #[error("ranks in several processes need Linux or another Unix")]
    Unsupported,
    /// NCCL, which carries out collectives between GPUs, is not there.
    #[error(
        "no NCCL for collectives between GPUs: its library could not be loaded\n  looked for {}\n  \
         help: install PyPI's `nvidia-nccl-cu13` (or `-cu12`, as CUDA's driver is), or the system's `libnccl2`, and put \
         its folder on the library path",
        looked_for.join(",\n    ")
    )]
    NoNccl {
        /// Names and paths of the library, in the order they were tried.
        looked_for: Vec<String>,
    },
    /// NCCL is there but lacks what is needed.
    #[error(
        "NCCL is too old: {found}, and ranks need 2.18 or a later one\n  \
         help: install PyPI's `nvidia-nccl-cu13` (or `-cu12`, as CUDA's driver is), or the system's newer `libnccl2`"
    )]
    OldNccl {
        /// The release that was found, or the function that it lacks.
        found: String,
    },
    /// This process was forked from one of the ranks.
    #[error(
        "this process was forked from a rank of a world and is none of its ranks\n  \
         help: fork first, or start another program"
    )]
    Forked,
    /// Rank 0 cannot listen, since another program does.
    #[error(
        "rank 0 cannot listen at {place}: another program has {}\n  help: {}",
        if *several { "each of these ports" } else { "the port" },
        "choose another port, or end a former run that still has it"
    )]
    PortTaken {
        /// The host and its ports.
        place: String,
        /// Whether there were several ports to choose from.
        several: bool,
    },
    /// Nobody listens where rank 0 should be.
    #[error("rank 0 was not found at {place} within {}{}", seconds(*limit), last(why))]
    NotFound {
        /// The host and its ports.
        place: String,
        /// How long it was looked for.
        limit: Duration,
        /// The reason why the last attempt failed; may be empty.
        why: String,
    },
    /// The rank 0 that listens belongs to another world.
    #[error(
        "rank 0 at {place} is of another world, since its token differs\n  \
         help: the ranks of a world are given the same `THALWEG_TOKEN`, or are started by one launcher"
    )]
    Token {
        /// The host and the port.
        place: String,
    },
    /// Rank 0 was found and then no longer answered.
    #[error("rank 0 at {place} has not answered within {}", seconds(*limit))]
    Silent {
        /// The host and the port.
        place: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// Ranks have not come to the meeting.
    #[error("{} of {size} {} not come within {}", these(ranks), have(ranks), seconds(*limit))]
    Missing {
        /// These ranks.
        ranks: Vec<usize>,
        /// The ranks of the world.
        size: usize,
        /// How long they were waited for.
        limit: Duration,
    },
    /// A rank has another version of this crate than rank 0.
    #[error("{who} has thalweg {its}, and rank 0 has {own}: all ranks need the same version")]
    Version {
        /// The rank.
        who: Who,
        /// Its version of the crate and of the protocol.
        its: String,
        /// Those of rank 0.
        own: String,
    },
    /// A rank was told another number of ranks than rank 0.
    #[error("{who} is one of {its} ranks, and rank 0 is one of {own}: all ranks need the same number")]
    Size {
        /// The rank.
        who: Who,
        /// The number that it was told.
        its: usize,
        /// The number that rank 0 was told.
        own: usize,
    },
    /// A rank has a number that no rank of this world has.
    #[error("{who} is none of the {size} ranks, which count from 0")]
    Outside {
        /// The rank.
        who: Who,
        /// The ranks of the world.
        size: usize,
    },
    /// Two processes claim to be the same rank.
    #[error(
        "rank {} came twice: from host {}, process {}, and host {}, process {}",
        one.rank, one.host, one.process, other.host, other.process
    )]
    Twice {
        /// The one that came first.
        one: Box<Who>,
        /// The other.
        other: Box<Who>,
    },
    /// A rank's process has ended without leaving the world.
    #[error("{who} has died")]
    Died {
        /// The rank.
        who: Who,
    },
    /// A rank has failed and says so.
    #[error("{who} has failed: {text}")]
    Failed {
        /// The rank.
        who: Who,
        /// Its own text.
        text: String,
    },
    /// A rank that others still need has left the world.
    #[error("{who} has left the world")]
    Left {
        /// The rank.
        who: Who,
    },
    /// Ranks have not come where others wait for them.
    #[error("{} {} not come to `{what}` within {}", these(ranks), have(ranks), seconds(*limit))]
    Late {
        /// Where the others wait.
        what: String,
        /// Those that have not come.
        ranks: Vec<usize>,
        /// How long they were waited for.
        limit: Duration,
    },
    /// Two ranks do different things, where all of them do the same.
    #[error(
        "rank {one} has come to `{what}`, and rank {other} to `{other_what}`\n  \
         note: all ranks of a world do the same, in the same order"
    )]
    Differ {
        /// One of them.
        one: usize,
        /// What it does.
        what: String,
        /// The other.
        other: usize,
        /// What that one does.
        other_what: String,
    },
    /// A rank gives the others more than it may.
    #[error("`{what}` gives {bytes} bytes to the other ranks, and {most} bytes are the most")]
    TooLarge {
        /// The gather.
        what: String,
        /// The bytes that it gives.
        bytes: usize,
        /// The most that it may give.
        most: usize,
    },
    /// Data was to be exchanged with a rank that does not exist.
    #[error("there is no rank {rank} to exchange data with: the world has {size}, which count from 0")]
    NoSuchRank {
        /// The number.
        rank: usize,
        /// The ranks of the world.
        size: usize,
    },
    /// A message between two ranks is not the one that is expected.
    #[error(
        "rank {from} has sent {sent} bytes as message {number} to rank {to}, \
         which expects {expected} bytes as message {awaited}\n  \
         note: both ranks have to exchange the same, in the same order"
    )]
    Message {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// The number of the message between the two, from 0.
        number: u64,
        /// Its length.
        sent: u64,
        /// The number that the receiver waits for.
        awaited: u64,
        /// The length that the receiver waits for.
        expected: u64,
    },
    /// Two ranks exchange data, and one of them does not move on.
    #[error(
        "rank {rank} waits for {who}, which has exchanged nothing with it for {}", seconds(*limit)
    )]
    Stuck {
        /// The rank that waits.
        rank: usize,
        /// The one that it waits for.
        who: Who,
        /// How long it has waited.
        limit: Duration,
    },
    /// The connection between two ranks cannot be made, or breaks.
    #[error("the connection from rank {rank} to {who} has failed: {message}")]
    Connection {
        /// The rank that has noticed.
        rank: usize,
        /// The other end.
        who: Who,
        /// The system's message.
        message: String,
    },
    /// A rank has sent bytes that make no message.
    #[error("{who} has sent something that is no message of a rank")]
    Garbled {
        /// The rank.
        who: Who,
    },
    /// Ranks say different things of what they are about to do together.
    #[error("the ranks do not agree: {why}")]
    Disagree {
        /// Who says what.
        why: String,
    },
    /// A collective operation cannot take place.
    #[error("{why}")]
    Apart {
        /// The reason, as the device tells it.
        why: String,
        /// The ranks that have failed, as far as the world knows.
        ranks: Vec<usize>,
    },
    /// A rank begins a run while another one of the same world is under way.
    #[error(
        "another run of this world is under way on this rank\n  \
         note: which of two comes first could differ from rank to rank\n  \
         help: run `{pipeline}` after it"
    )]
    Busy {
        /// The pipeline.
        pipeline: &'static str,
    },
    /// A rank begins a run with collectives while another world has one on the same device.
    #[error(
        "another run with collectives is under way on this device\n  \
         note: a device carries out one collective at a time, and which of two comes first could differ from rank to \
         rank\n  \
         help: run `{pipeline}` after it"
    )]
    BusyDevice {
        /// The pipeline.
        pipeline: &'static str,
    },
    /// A run of several ranks ends where its sources do.
    #[error(
        "the ranks of `{pipeline}` cannot agree on its chunks: this run ends where its sources do\n  \
         help: give one argument whose length is known, such as a slice, or a source of parts: \
         `source::read_parts`"
    )]
    UnknownLength {
        /// The pipeline.
        pipeline: &'static str,
    },
    /// A rank has several devices.
    #[error(
        "a rank has one device, but this pipeline has {devices}\n  help: start a process for each device"
    )]
    SeveralDevices {
        /// The devices.
        devices: usize,
    },
    /// There are fewer GPUs than ranks of a host.
    #[error(
        "there is no device for local rank {rank}: this host has {ranks} ranks and fewer devices\n  \
         help: start as many ranks on each host as it has devices, or say `THALWEG_DEVICE=cpu`"
    )]
    TooFewDevices {
        /// The rank among those of its host.
        rank: usize,
        /// The ranks of the host.
        ranks: usize,
    },
    /// A part of a buffer is not within it.
    #[error("`{buffer}[{start}..{end}]` is not within `{buffer}`, which has {len} elements")]
    Part {
        /// The buffer.
        buffer: &'static str,
        /// The first element.
        start: usize,
        /// The element after the last.
        end: usize,
        /// The elements of the buffer.
        len: usize,
    },
    /// The two sides of a collective do not fit.
    #[error(
        "`{}` has {} elements and `{}` {}, which do not fit {ranks} ranks", one.0, one.1, other.0, other.1
    )]
    Parts {
        /// A side, and its elements.
        one: (&'static str, usize),
        /// The other.
        other: (&'static str, usize),
        /// The number of ranks.
        ranks: usize,
    },
    /// A halo is too long for its buffer.
    #[error(
        "`{buffer}` has {len} element{}, but an exchange with a halo of {halo} needs {}: {halo} at each end for the neighbours, and as many of its own",
        if *len == 1 { "" } else { "s" }, halo.saturating_mul(3)
    )]
    Halo {
        /// The buffer.
        buffer: &'static str,
        /// Elements of the halo, on each side.
        halo: usize,
        /// Elements of the buffer.
        len: usize,
    },
    /// Ranks do not pass to those who receive from them.
    #[error("the two sides of this `pass` do not fit: {why}")]
    Unmatched {
        /// Who names whom.
        why: String,
    },
    /// Another rank has told this one what has happened.
    #[error("{text}")]
    Told {
        /// The text, as the other rank has it.
        text: String,
        /// The ranks that it is about.
        ranks: Vec<usize>,
    },
}

impl RanksDetail {
    /// Whether the machine or its variables are the reason, and no rank.
    pub(super) fn is_of_the_environment(&self) -> bool {
        matches!(
            self,
            Self::Variable { .. }
                | Self::Incomplete { .. }
                | Self::NoAddress { .. }
                | Self::Unresolved { .. }
                | Self::System { .. }
                | Self::Unsupported
                | Self::NoNccl { .. }
                | Self::OldNccl { .. }
                | Self::Forked
        )
    }

    /// Whether it comes from another rank, or all ranks have it. What a rank does wrong by itself the others have to be
    /// told.
    pub(crate) fn is_known_to_all(&self) -> bool {
        !matches!(
            self,
            Self::Part { .. }
                | Self::Parts { .. }
                | Self::Halo { .. }
                | Self::Unmatched { .. }
                | Self::NoSuchRank { .. }
        )
    }

    /// The ranks that this is about.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        match self {
            Self::Missing { ranks, .. }
            | Self::Late { ranks, .. }
            | Self::Told { ranks, .. }
            | Self::Apart { ranks, .. } => ranks.clone(),
            Self::Version { who, .. }
            | Self::Size { who, .. }
            | Self::Outside { who, .. }
            | Self::Died { who }
            | Self::Failed { who, .. }
            | Self::Left { who }
            | Self::Stuck { who, .. }
            | Self::Connection { who, .. }
            | Self::Garbled { who } => vec![who.rank],
            Self::Twice { one, .. } => vec![one.rank],
            Self::Differ { one, other, .. } | Self::Message { from: one, to: other, .. } => {
                vec![*one, *other]
            }
            Self::NoSuchRank { rank, .. } => vec![*rank],
            Self::NotFound { .. } | Self::PortTaken { .. } | Self::Silent { .. } | Self::Token { .. } => {
                vec![0]
            }
            _ => Vec::new(),
        }
    }
}

/// `5 s`, `0.25 s`
fn seconds(limit: Duration) -> String {
    let milliseconds = limit.as_millis();
    let text = format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The reason of the last attempt, on a line of its own.
fn last(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!("\n  note: the last attempt failed: {why}") }
}

/// `rank 1`, `ranks 1 and 3`, `ranks 1, 3 and 5 to 63`
fn these(ranks: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = ranks;
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(rank, expected)| *rank == expected).count();
        // Two neighbours are two ranks, and three are a range.
        let taken = if run > 2 { run } else { 1 };
        parts.push(if run > 2 { format!("{first} to {}", first + run - 1) } else { first.to_string() });
        rest = &rest[taken..];
    }
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    match parts.split_last() {
        Some((last, [])) => format!("{noun} {last}"),
        Some((last, others)) => format!("{noun} {} and {last}", others.join(", ")),
        None => "no rank".to_owned(),
    }
}

fn have(ranks: &[usize]) -> &'static str {
    if ranks.len() == 1 { "has" } else { "have" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_ranks_in_words() {
        assert_eq!(these(&[2]), "rank 2");
        assert_eq!(these(&[1, 3]), "ranks 1 and 3");
        assert_eq!(these(&[1, 2]), "ranks 1 and 2");
        assert_eq!(these(&[1, 3, 5, 6, 7, 8]), "ranks 1, 3 and 5 to 8");
        assert_eq!(these(&[1, 2, 3]), "ranks 1 to 3");
    }

    #[test]
    fn texts_have_limits_in_seconds() {
        assert_eq!(seconds(Duration::from_secs(300)), "300 s");
        assert_eq!(seconds(Duration::from_millis(250)), "0.25 s");
        assert_eq!(seconds(Duration::from_millis(1500)), "1.5 s");
    }

    #[test]
    fn a_missing_rank_is_told_from_several() {
        let missing = |ranks: &[usize]| {
            RanksDetail::Missing { ranks: ranks.to_vec(), size: 4, limit: Duration::from_secs(5) }.to_string()
        };
        assert_eq!(missing(&[2, 3]), "ranks 2 and 3 of 4 have not come within 5 s");
        assert_eq!(missing(&[1]), "rank 1 of 4 has not come within 5 s");
    }
}
