//! [`Finding`]: what keeps a run from its limit.
//!
//! The limit of a run is the engine with the most work, busy from the beginning to the end. Beyond that, time
//! is lost while the engine waits, and while it is slower than it could be. For each gap, the search goes
//! back to what the next operation waited for: an operation on its stream, an event, a ring slot, or the
//! host.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::{Engine, Span, Timeline};
use crate::base::model::DeviceModel;
use crate::base::plan::{BufferKind, Distance, OperationKind};

/// A finding below this share of a run is left out.
const WORTH_A_WORD: f64 = 0.03;

/// An operation that begins within this time after another may be its successor: an event is seen, or a
/// launch begins, a little later.
const SOON: Duration = Duration::from_micros(2);

/// There are too few copying threads if there are fewer than this share of those that keep up with the link.
const FEW_THREADS: f64 = 0.5;
/// A copy is small if its bytes take less than this multiple of the time that any copy takes.
const FIXED: u32 = 10;

/// Staged data matter from this share of the bytes copied that way.
const SHARE_OF_BYTES: f64 = 0.01;

/// Why a run took longer than it might have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The CPU copies between ordinary and page-locked memory, and cannot keep up with the link.
    PageableSource,
    /// The CPU copies between ordinary and page-locked memory with too few threads to keep up with the link.
    TooFewCopyThreads,
    /// Data of a source or a sink pass through the CPU.
    SourceOrSink,
    /// Copies both ways share the link, or someone else uses it too.
    LinkContention,
    /// The fixed cost of a chunk, in the host's calls or before an engine begins, is too much for its bytes.
    ChunkTooSmall,
    /// The first chunk takes long to come in and the last one to go out, while nothing else is at work.
    ChunkTooLarge,
    /// A kernel has fewer blocks than the device has multiprocessors.
    KernelTooSmall,
    /// Work that could overlap is on the default stream, which serialises it.
    NullStream,
    /// Work that could overlap is on one stream.
    OneStream,
    /// Streams wait for a function on the CPU.
    HostFunction,
    /// Streams wait for other ranks.
    Ranks,
    /// The next chunk waits for a ring slot.
    DepthTooSmall,
    /// Each chunk waits for the data that the one before hands on.
    Carry,
    /// The copies of all devices reach the rate of the host's memory.
    HostMemory,
    /// The copies of the devices behind one port reach its rate.
    SharedPort,
}

/// One reason why a run stays behind its limit. `Display` prints it as rustc would.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The cause.
    pub cause: Cause,
    /// An estimate of how much shorter the run would have been without it.
    pub lost: Duration,
    /// The same as a share of the run, from 0 to 1.
    pub share: f64,
    /// The facts.
    pub note: String,
    /// Advice.
    pub help: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cause, share, note, help, .. } = self;
        write!(f, "{}: {:.0} % of the run\n  note: {note}\n  help: {help}", cause.name(), 100.0 * share)
    }
}

/// Whether a run of this time has lost enough of it.
pub(super) fn worth_a_word(lost: Duration, time: Duration) -> bool {
    lost > time.mul_f64(WORTH_A_WORD) && !lost.is_zero()
}

impl Timeline {
    /// The reasons why the run stays behind its limit, the most expensive first. Those below 3 % of the run
    /// are left out.
    ///
    /// Those of a timeline [of all ranks](Self::of_all_ranks) are about the rank for which the others wait, and say
    /// which one that is and how long they wait.
    pub fn findings(&self) -> Vec<Finding> {
        if let Some((rank, own)) = self.awaited_rank().and_then(|rank| Some((rank, self.of_rank(rank)?))) {
            return self.findings_of_rank(rank, &own);
        }
        let lost = self.losses();
        let mut found: Vec<_> = lost
            .into_iter()
            .filter(|(_, lost)| worth_a_word(*lost, self.time()))
            .map(|(cause, lost)| self.finding(cause, lost))
            .collect();
        found.sort_by_key(|finding| std::cmp::Reverse(finding.lost));
        let of_the_chunk = [Cause::ChunkTooSmall, Cause::ChunkTooLarge];
        // In a serial run each chunk's own costs show that overlap would hide.
        let serial = [Cause::NullStream, Cause::OneStream, Cause::DepthTooSmall];
        let is_serial = |finding: &Finding| serial.contains(&finding.cause);
        if let Some(first) = found.iter().position(is_serial) {
            let mut index = 0..;
            found.retain(|finding| {
                let after = index.next().is_some_and(|index| index > first);
                !(after && of_the_chunk.contains(&finding.cause))
            });
        }
        // If the runtime chose the chunk, its size is the best that is known; other advice may help.
        found.retain(|finding| !(of_the_chunk.contains(&finding.cause) && finding.help.is_empty()));
        // Chunks may be both too small and too large; of two contradicting pieces of advice one is given.
        let mut said = found.iter().map(|finding| finding.cause).filter(|cause| of_the_chunk.contains(cause));
        if let (Some(_), Some(lesser)) = (said.next(), said.next()) {
            found.retain(|finding| finding.cause != lesser);
        }
        found
    }

    /// The time lost to each cause.
    pub(super) fn losses(&self) -> BTreeMap<Cause, Duration> {
        if let Some(awaited) = self.awaited_rank().and_then(|rank| self.of_rank(rank)) {
            let mut lost = awaited.losses();
            *lost.entry(Cause::Ranks).or_default() += self.lost_by_ranks();
            return lost;
        }
        if let Some(last) = self.last_device() {
            return self.losses_of(last);
        }
        let mut lost = BTreeMap::new();
        let Some(engine) = self.bottleneck() else { return lost };
        let mut add = |cause, time: Duration| *lost.entry(cause).or_insert(Duration::ZERO) += time;
        self.waiting(engine, &mut add);
        self.working(engine, &mut add);
        lost
    }

    /// The time that several devices lose: that of the last one, of which some is due to what they share.
    fn losses_of(&self, last: usize) -> BTreeMap<Cause, Duration> {
        let mut lost = self.of_device(last).losses();
        if let Some(shared) = &self.report.shared {
            if let Some(contention) = lost.get_mut(&Cause::LinkContention) {
                *contention = contention.saturating_sub(shared.lost);
            }
            let cause = if shared.port.is_empty() { Cause::HostMemory } else { Cause::SharedPort };
            lost.insert(cause, shared.lost);
        }
        lost
    }

    /// The time in which the engine waits.
    fn waiting(&self, engine: Engine, add: &mut impl FnMut(Cause, Duration)) {
        let past = Past::new(self);
        let staging = self.staging_work();
        let (mut free, mut timed) = (Duration::ZERO, true);
        let (mut lost, mut unknown) = (BTreeMap::<Cause, Duration>::new(), Vec::new());
        for (index, span) in self.spans.iter().enumerate().filter(|(_, span)| span.engine == engine) {
            let are_timed = std::mem::replace(&mut timed, !span.estimated) && timed;
            let waits = span.start > free;
            // While the ring fills, operations wait for other things than later.
            if waits && span.chunk < self.report.depth {
                self.blame(&past, &staging, index, free, span.start, add);
            } else if waits && are_timed {
                let mut add = |cause, time| *lost.entry(cause).or_default() += time;
                self.blame(&past, &staging, index, free, span.start, &mut add);
            } else if waits {
                unknown.push((index, free));
            }
            free = free.max(span.end);
        }
        // A gap next to a span that was not timed is attributed like the gaps between timed ones, if there
        // are any.
        let known: Duration = lost.values().sum();
        let mut more = Duration::ZERO;
        for (index, free) in unknown {
            match known.is_zero() {
                true => self.blame(&past, &staging, index, free, self.spans[index].start, add),
                false => more += self.spans[index].start - free,
            }
        }
        for (cause, time) in lost {
            let share = time.as_secs_f64() / known.as_secs_f64().max(f64::MIN_POSITIVE);
            add(cause, time + more.mul_f64(share));
        }
        // The time after its last operation belongs to the last chunk.
        let after = self.time().saturating_sub(free);
        add(staging.binds_after(self, free).unwrap_or(Cause::ChunkTooLarge), after);
    }

    /// Finds the cause why a span did not begin between `from` and `to`.
    ///
    /// The search follows what the span waited for, and what that waited for, back to the work under way at
    /// `from`. If something on that way could have been avoided, such as the wait for a ring slot, or came
    /// late, it is the cause of the whole gap.
    fn blame(
        &self,
        past: &Past,
        staging: &StagingWork,
        index: usize,
        from: Duration,
        to: Duration,
        add: &mut impl FnMut(Cause, Duration),
    ) {
        let (mut index, mut to) = (index, to);
        let mut root = None;
        let (mut at_work, mut late, mut latencies) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        loop {
            let span = &self.spans[index];
            let constraint = past.constraint(self, index);
            // From then on nothing on the device was in the way.
            let free = constraint.map_or(Duration::ZERO, |(before, _)| self.spans[before].end);
            let is_late = span.enqueued > free + if constraint.is_some() { SOON } else { Duration::ZERO };
            if is_late && constraint.is_some() {
                root = root.max(Some((Rank::Host, self.host(staging))));
            }
            let free = free.clamp(from, to);
            let there = if is_late { span.enqueued.clamp(free, to) } else { free };
            late += there - free;
            let rest = to - there;
            match staging.causes[span.operation] {
                Some(cause) if rest > SOON || constraint.is_none() => add(cause, rest),
                _ => latencies += rest,
            }
            let Some((before, link)) = constraint else { break };
            let earlier = &self.spans[before];
            root = root.max(if is_late { None } else { self.link(span, earlier, link) });
            if earlier.end <= from {
                break;
            }
            let begun = earlier.start.max(from);
            let busy = earlier.end.min(to).saturating_sub(begun);
            match earlier.engine {
                Engine::Host => add(Cause::HostFunction, busy),
                Engine::Network => add(Cause::Ranks, busy),
                Engine::ToDevice | Engine::Compute | Engine::ToHost => at_work += busy,
            }
            (index, to) = (before, begun);
        }
        if from.is_zero() && self.copies_shared() {
            // The shared data come before everything else. The link's part of that time is unavoidable.
            add(self.staging(), staging.shared.min(late));
        } else {
            add(self.host(staging), late);
        }
        match root {
            Some((_, cause)) => add(cause, at_work + latencies),
            // Before its first operation the engine has to wait. Later another engine has a little more to
            // do.
            None if from.is_zero() => add(Cause::ChunkTooLarge, at_work + latencies),
            None => add(Cause::ChunkTooSmall, latencies),
        }
    }

    /// The cause, if the tie between a span and an earlier one could have been avoided.
    fn link(&self, span: &Span, earlier: &Span, link: Link) -> Option<(Rank, Cause)> {
        let slot = (Rank::Slot, Cause::DepthTooSmall);
        match link {
            Link::Previous => Some((Rank::Carry, Cause::Carry)),
            Link::Stream if self.plan.streams[self.rows[span.row].stream].null => {
                Some((Rank::Stream, Cause::NullStream))
            }
            // On a stream of a slot's own, the span waits for the slot.
            Link::Stream if self.rows[span.row].slot.is_some() => {
                (span.chunk != earlier.chunk).then_some(slot)
            }
            Link::Stream if earlier.engine != span.engine => Some((Rank::Stream, Cause::OneStream)),
            Link::Slot => Some(slot),
            Link::Stream | Link::Chunk => None,
        }
    }

    /// The time in which the engine is slower than it could be.
    fn working(&self, engine: Engine, add: &mut impl FnMut(Cause, Duration)) {
        let DeviceModel { to_device, to_host, multiprocessors, .. } = self.spec;
        let spans = self.spans.iter().filter(|span| span.engine == engine);
        match engine {
            Engine::ToDevice | Engine::ToHost => {
                let rate = if engine == Engine::ToDevice { to_device } else { to_host };
                for span in spans {
                    let alone = if rate > 0.0 { span.bytes as f64 / rate } else { 0.0 };
                    let alone = Duration::try_from_secs_f64(alone).unwrap_or_default();
                    let beyond = span.time().saturating_sub(alone);
                    let latency = self.spec.latency_of_copy(span.bytes);
                    // Sharing the link at most doubles a copy. The rest of a small copy's time is its own
                    // beginning and end.
                    let is_small = alone < latency.saturating_mul(FIXED);
                    let most = if is_small { alone } else { Duration::MAX };
                    let shared = beyond.saturating_sub(latency).min(most);
                    add(Cause::ChunkTooSmall, beyond - shared);
                    add(Cause::LinkContention, shared);
                }
            }
            Engine::Compute => {
                let mut until = Duration::ZERO;
                for span in spans {
                    // Time that kernels share counts once.
                    let time = span.end.saturating_sub(span.start.max(until));
                    until = until.max(span.end);
                    if (1..u64::from(multiprocessors)).contains(&span.blocks) {
                        let idle = 1.0 - span.blocks as f64 / f64::from(multiprocessors);
                        add(Cause::KernelTooSmall, time.mul_f64(idle));
                    }
                }
            }
            Engine::Network => {}
            Engine::Host => spans.for_each(|span| {
                if matches!(self.plan.operations[span.operation].kind, OperationKind::Host { .. }) {
                    add(Cause::HostFunction, span.time());
                }
            }),
        }
    }

    /// Whether data are copied in for the whole run.
    fn copies_shared(&self) -> bool {
        // A device of several may have them from another one.
        let is_one_of_several = self.rows.iter().any(|row| row.device.is_some());
        if is_one_of_several && self.plan.buffers.iter().any(|buffer| buffer.kind == BufferKind::Resident) {
            return true;
        }
        let in_chunks = self.spans.iter().filter(|span| span.engine == Engine::ToDevice);
        self.report.bytes_to_device > in_chunks.map(|span| span.bytes).sum()
    }

    /// The cause if the host is late.
    fn host(&self, staging: &StagingWork) -> Cause {
        if staging.chunks > staging.calls { staging.cause } else { Cause::ChunkTooSmall }
    }

    /// The CPU's copies and calls.
    pub(super) fn staging_work(&self) -> StagingWork {
        let DeviceModel { host_memcpy, host_call, launch_call, .. } = self.spec;
        let time = |bytes: u64| {
            let seconds = if host_memcpy > 0.0 { bytes as f64 / host_memcpy } else { 0.0 };
            Duration::try_from_secs_f64(seconds).unwrap_or_default()
        };
        let call = |span: &Span| if span.engine == Engine::Compute { launch_call } else { host_call };
        // The bytes of each operation, with its engine.
        let mut bytes = vec![(0, None); self.plan.operations.len()];
        let mut of_engine = BTreeMap::<Engine, u64>::new();
        let [mut streamed, mut pageable] = [0, 0];
        for span in &self.spans {
            *of_engine.entry(span.engine).or_default() += span.bytes;
            if span.staged {
                bytes[span.operation] = (bytes[span.operation].0 + span.bytes, Some(span.engine));
                *if self.is_streamed(span.operation) { &mut streamed } else { &mut pageable } += span.bytes;
            }
        }
        let matters = |bytes: u64, engine: &Engine| bytes as f64 >= SHARE_OF_BYTES * of_engine[engine] as f64;
        let cause = |(operation, (bytes, engine)): (usize, (u64, Option<Engine>))| {
            let cause = if self.is_streamed(operation) { Cause::SourceOrSink } else { self.staging() };
            engine.filter(|engine| matters(bytes, engine)).map(|_| cause)
        };
        StagingWork {
            causes: bytes.into_iter().enumerate().map(cause).collect(),
            cause: if streamed > pageable { Cause::SourceOrSink } else { self.staging() },
            chunks: time(self.bytes_of_staged_spans()),
            shared: time(self.report.bytes_staged.saturating_sub(self.bytes_of_staged_spans())),
            calls: self.spans.iter().map(call).sum(),
        }
    }

    /// Whether an operation copies from a source or to a sink.
    pub(super) fn is_streamed(&self, operation: usize) -> bool {
        match self.plan.operations[operation].kind {
            OperationKind::Upload { host, .. } | OperationKind::Download { host, .. } => {
                self.basis.streamed.get(host).is_some_and(|streamed| *streamed)
            }
            _ => false,
        }
    }

    /// Bytes that were staged chunk by chunk, not for the whole run.
    pub(super) fn bytes_of_staged_spans(&self) -> u64 {
        self.spans.iter().filter(|span| span.staged).map(|span| span.bytes).sum()
    }

    /// Why staging is slow.
    fn staging(&self) -> Cause {
        let DeviceModel { host_memcpy, thread_memcpy, .. } = self.spec;
        let threads = if thread_memcpy > 0.0 { host_memcpy / thread_memcpy } else { f64::INFINITY };
        let enough = self.spec.copy_threads() as f64;
        if threads < FEW_THREADS * enough { Cause::TooFewCopyThreads } else { Cause::PageableSource }
    }
}

/// The CPU's work for a run, according to the calibration.
pub(super) struct StagingWork {
    /// Time to stage the data of chunks.
    chunks: Duration,
    /// Time to stage the data that the whole run shares.
    shared: Duration,
    /// Time to enqueue the operations.
    calls: Duration,
    /// For each operation, the cause if its copies wait for the CPU; `None` if too little of it is staged to
    /// matter.
    pub(super) causes: Vec<Option<Cause>>,
    /// The cause for most of the data staged in chunks.
    cause: Cause,
}

impl StagingWork {
    /// The cause, if the CPU spends most of the time after an engine is free with copies behind the last
    /// operation.
    fn binds_after(&self, timeline: &Timeline, free: Duration) -> Option<Cause> {
        let last = timeline.spans.iter().map(|span| span.end).max().unwrap_or_default();
        let after = timeline.time().saturating_sub(last);
        let results = timeline.spans.iter().filter(|span| span.staged && span.engine == Engine::ToHost);
        let results = results.filter_map(|span| self.causes[span.operation]).next();
        let shared = (self.shared > after / 2).then(|| timeline.staging());
        results.or(shared).filter(|_| after > last.saturating_sub(free))
    }
}

/// The order in which several obstacles on the way are blamed. More ring slots do not help if a stream
/// serialises the work, and nothing helps if chunks wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Host,
    Slot,
    Stream,
    Carry,
}

/// The tie between a span and an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// Both are on one stream.
    Stream,
    /// An event of the same chunk.
    Chunk,
    /// An event of the chunk before.
    Previous,
    /// An event of the chunk that had the ring slot.
    Slot,
}

/// Finds earlier spans.
struct Past {
    /// For each span, the one before it on its stream.
    before: Vec<Option<usize>>,
    /// For each operation of a chunk, its last span.
    last: BTreeMap<(usize, usize), usize>,
}

impl Past {
    fn new(timeline: &Timeline) -> Self {
        let mut on_row = vec![None; timeline.rows.len()];
        let mut before = Vec::with_capacity(timeline.spans.len());
        let mut last = BTreeMap::new();
        for (index, span) in timeline.spans.iter().enumerate() {
            before.push(on_row.get_mut(span.row).and_then(|row| row.replace(index)));
            last.insert((span.operation, span.chunk), index);
        }
        Self { before, last }
    }

    /// Of the spans that a span had to wait for, the one that ended last, with the tie to it.
    fn constraint(&self, timeline: &Timeline, index: usize) -> Option<(usize, Link)> {
        let span = &timeline.spans[index];
        let depth = timeline.report.depth;
        let waits = timeline.plan.waits.iter().filter(|wait| wait.operation == span.operation);
        let waited = waits.filter_map(|wait| {
            let (back, link) = match wait.distance {
                Distance::Same => (0, Link::Chunk),
                Distance::Previous => (1, Link::Previous),
                Distance::Reuse => (depth, Link::Slot),
            };
            let operation = timeline.plan.events[wait.event].operation;
            let chunk = span.chunk.checked_sub(back)?;
            // An event covers all earlier operations on its stream.
            let covered = (0..=operation).rev().find_map(|earlier| {
                let same =
                    timeline.plan.operations[earlier].stream == timeline.plan.operations[operation].stream;
                self.last.get(&(earlier, chunk)).filter(|_| same)
            })?;
            Some((*covered, link))
        });
        let stream = self.before[index].map(|before| (before, Link::Stream));
        let earlier = waited.chain(stream).filter(|(before, _)| *before < index);
        earlier.max_by_key(|(before, _)| timeline.spans[*before].end)
    }
}
