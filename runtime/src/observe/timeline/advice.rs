//! The texts about each [`Cause`], with advice.

use std::collections::BTreeMap;
use std::time::Duration;

use super::findings::{Cause, Finding};
use super::text::count;
use super::{Basis, Engine, Timeline};
use crate::base::plan::{OperationKind, auto_depth};

impl Cause {
    /// Its name, in a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::PageableSource => "pageable source",
            Self::TooFewCopyThreads => "too few copy threads",
            Self::SourceOrSink => "source or sink",
            Self::LinkContention => "link contention",
            Self::ChunkTooSmall => "chunk too small",
            Self::ChunkTooLarge => "chunk too large",
            Self::KernelTooSmall => "kernel too small to fill the device",
            Self::NullStream => "null stream",
            Self::OneStream => "one stream",
            Self::HostFunction => "streams wait for a host function",
            Self::Ranks => "streams wait for other ranks",
            Self::DepthTooSmall => "depth too small",
            Self::Carry => "chunks wait for each other",
            Self::HostMemory => "the host's memory binds",
            Self::SharedPort => "a port that devices share binds",
        }
    }
}

impl Timeline {
    pub(super) fn finding(&self, cause: Cause, lost: Duration) -> Finding {
        let share = lost.as_secs_f64() / self.time().as_secs_f64().max(f64::MIN_POSITIVE);
        let (note, help) = self.words(cause);
        Finding { cause, lost, share, note, help }
    }

    fn words(&self, cause: Cause) -> (String, String) {
        let report = &self.report;
        let gbs = |rate: f64| format!("{:.0} GB/s", rate / 1e9);
        match cause {
            Cause::PageableSource => {
                let rate = report.bytes_staged as f64 / self.time().as_secs_f64().max(f64::MIN_POSITIVE);
                let names = self.staged_hosts();
                let what = format!("{names} in ordinary memory, staged by the CPU at {}", gbs(rate));
                (what, "use a `PinnedBuf`".to_owned())
            }
            Cause::TooFewCopyThreads => {
                let (rate, thread) = (self.spec.host_memcpy, self.spec.thread_memcpy);
                let what = format!(
                    "{} staged by the CPU, which copies at {}, a thread at {}",
                    self.staged_hosts(),
                    gbs(rate),
                    gbs(thread)
                );
                let threads = count(self.spec.copy_threads(), "core");
                (what, format!("let the process have {threads}, or use a `PinnedBuf`"))
            }
            Cause::SourceOrSink => {
                let names = self.hosts_named(|operation| self.is_streamed(operation));
                let what = format!("{names} streamed: the CPU reads or writes each chunk");
                (what, "a quicker source or sink, or a `PinnedBuf`".to_owned())
            }
            Cause::LinkContention => {
                let both = self.busy(Engine::ToDevice).min(self.busy(Engine::ToHost)) > self.time() / 4;
                if both {
                    let what = "copies both ways share the link".to_owned();
                    (what, "copy less: smaller elements, `resident`, `device`".to_owned())
                } else {
                    let what = "copies are slower than the link was when it was measured".to_owned();
                    (what, "see who else uses it".to_owned())
                }
            }
            Cause::ChunkTooSmall => {
                let each = report.enqueuing.as_secs_f64() * 1e6 / report.chunks.max(1) as f64;
                let what = format!(
                    "{} of {}, each {each:.1} us of the host's time",
                    count(report.chunks, "chunk"),
                    count(report.chunk, "item")
                );
                let &Basis { auto_chunk, graph, .. } = &self.basis;
                let help = match (auto_chunk, graph) {
                    (false, false) => "`chunk = auto`, larger chunks, or `mode = graph`",
                    (false, true) => "`chunk = auto`, or larger chunks",
                    (true, false) if report.bytes_staged == 0 => "`mode = graph`",
                    (true, _) => "",
                };
                (what, help.to_owned())
            }
            Cause::ChunkTooLarge => {
                let what = match report.chunks {
                    1 => "1 chunk: nothing overlaps".to_owned(),
                    chunks => format!("{chunks} chunks: the first comes in and the last goes out alone"),
                };
                let help = if self.basis.auto_chunk { "" } else { "`chunk = auto`, or smaller chunks" };
                (what, help.to_owned())
            }
            Cause::KernelTooSmall => {
                let least = self.spans.iter().filter(|span| span.blocks > 0).min_by_key(|span| span.blocks);
                let of =
                    least.map_or((0, ""), |span| (span.blocks, self.plan.operations[span.operation].text));
                let what = format!(
                    "`{}` has {} for {} multiprocessors",
                    of.1,
                    count(of.0, "block"),
                    self.spec.multiprocessors
                );
                (what, "more blocks, or a stream for each slot".to_owned())
            }
            Cause::NullStream => {
                let named = self.plan.streams.iter().find(|stream| stream.null);
                let what = format!("`{}` is the default stream", named.map_or("", |stream| stream.name));
                (what, "write `stream s;`, one for each stage".to_owned())
            }
            Cause::OneStream => self.on_one_stream(),
            Cause::HostFunction => {
                let function = self.plan.operations.iter().find_map(|operation| match operation.kind {
                    OperationKind::Host { function } => Some(function),
                    _ => None,
                });
                let what = format!("streams wait for `{}` on the CPU", function.unwrap_or("then"));
                (what, "make it quicker, or a `then`, which nothing waits for".to_owned())
            }
            Cause::Ranks => {
                let what = format!("nothing else is at work during `{}`", self.longest_collective());
                (what, "put it on a stream of its own, before work that does not need its result".to_owned())
            }
            Cause::DepthTooSmall => {
                let what = match report.depth {
                    1 => "chunks wait for the one ring slot".to_owned(),
                    depth => format!("chunks wait for one of {depth} ring slots"),
                };
                let auto = auto_depth(self.plan);
                let more = format!("`depth = {}`", auto.max(report.depth + 1));
                // If `depth` was left out, it is already as large as it can be.
                let help = match self.basis.auto_depth {
                    true if report.depth < auto => "smaller chunks, or a larger `budget`".to_owned(),
                    true => more,
                    false => more + ", or leave it out",
                };
                (what, help)
            }
            Cause::HostMemory | Cause::SharedPort => {
                let what = report.shared.as_ref().map_or_else(String::new, ToString::to_string);
                let less = "copy less: smaller elements, `resident`, `device`";
                let enough = report.shared.as_ref().and_then(|shared| shared.enough);
                let help = match enough {
                    Some(enough) => format!("{} would do, or {less}", count(enough, "device")),
                    None => less.to_owned(),
                };
                (what, help)
            }
            Cause::Carry => {
                let what = "each chunk waits for the one before".to_owned();
                (what, "hand on less, or later".to_owned())
            }
        }
    }

    /// The collective that takes most of the run.
    fn longest_collective(&self) -> &'static str {
        let mut times = BTreeMap::<usize, Duration>::new();
        for span in self.spans.iter().filter(|span| span.engine == Engine::Network) {
            *times.entry(span.operation).or_default() += span.time();
        }
        // Among those that take equally long it is the first one.
        let longest = times.into_iter().rev().max_by_key(|(_, time)| *time);
        longest.map_or("a collective", |(operation, _)| self.plan.operations[operation].text)
    }

    /// Describes work that could overlap but is on one stream: whole stages, operations of one stage, or
    /// both.
    fn on_one_stream(&self) -> (String, String) {
        let operations = || self.plan.operations.iter().enumerate();
        let engines = |stage: usize| {
            let of_stage = operations().filter(move |(_, operation)| operation.stage == stage);
            of_stage.filter_map(|(index, _)| {
                self.spans.iter().find(|span| span.operation == index).map(|span| span.engine)
            })
        };
        let mixed = |stage: &usize| {
            let mut engines = engines(*stage);
            engines.next().is_some_and(|first| engines.any(|other| other != first))
        };
        let mixed: Vec<_> = (0..self.plan.stages.len())
            .filter(mixed)
            .map(|stage| format!("`{}`", self.plan.stages[stage]))
            .collect();
        // Stages that name no stream have one each.
        let share = operations().any(|(index, operation)| {
            let later = &self.plan.operations[index + 1..];
            later.iter().any(|other| other.stream == operation.stream && other.stage != operation.stage)
        });
        let each_its_own = "give each its own, or leave `on` out";
        let split = |stages: &str| {
            format!("split {stages}: a stage for what goes in, for kernels and for what comes out")
        };
        match (&mixed[..], share) {
            ([], _) => ("stages that could overlap are on one stream".to_owned(), each_its_own.to_owned()),
            (mixed, false) => {
                let has = if mixed.len() == 1 { "has" } else { "have" };
                let names = mixed.join(", ");
                (format!("{names} {has} operations that could overlap"), split(&names))
            }
            (mixed, true) => {
                let names = mixed.join(", ");
                let what = format!("stages that could overlap are on one stream, and parts of {names} too");
                (what, format!("{}; {each_its_own}", split(&names)))
            }
        }
    }

    /// The staged data: the arguments, or the data that the whole run shares if they are more.
    fn staged_hosts(&self) -> String {
        let in_chunks = self.bytes_of_staged_spans();
        if self.report.bytes_staged.saturating_sub(in_chunks) > in_chunks {
            return "what the run shares is".to_owned();
        }
        // A run does not wait for an argument of which little is staged.
        let causes = self.staging_work().causes;
        self.hosts_named(|operation| causes[operation].is_some() && !self.is_streamed(operation))
    }

    /// The arguments that are staged by such operations: `` `x` is ``, `` `x`, `z` are ``.
    fn hosts_named(&self, by: impl Fn(usize) -> bool) -> String {
        let is_staged = |host: usize| {
            let mut staged = self.spans.iter().filter(|span| span.staged && by(span.operation));
            staged.any(|span| match self.plan.operations[span.operation].kind {
                OperationKind::Upload { host: of, .. } | OperationKind::Download { host: of, .. } => {
                    of == host
                }
                _ => false,
            })
        };
        let hosts = self.plan.hosts.iter().enumerate().filter(|(host, _)| is_staged(*host));
        let names: Vec<_> = hosts.map(|(_, host)| format!("`{}`", host.name)).collect();
        match names.len() {
            0 | 1 => format!("{} is", names.concat()),
            _ => format!("{} are", names.join(", ")),
        }
    }
}
