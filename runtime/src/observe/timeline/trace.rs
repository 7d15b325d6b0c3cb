//! A timeline in the Trace Event Format, which Perfetto and `chrome://tracing` show.
//!
//! The JSON is written by hand: a crate for it would be a large dependency of every program that uses this
//! one, for events of a fixed form, in which only strings need care.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};

use super::axis::nanoseconds;
use super::lanes::lanes;
use super::text::unraw;
use super::{Engine, Span, Timeline};
use crate::base::plan::Distance;

/// The number of the first process whose threads are streams: the only one, or that of rank 0.
const STREAMS: u64 = 1;

impl Timeline {
    /// The run as JSON in the Trace Event Format, for [Perfetto](https://ui.perfetto.dev) or
    /// `chrome://tracing`.
    ///
    /// Each stream is a thread, each operation a slice with its chunk, bytes, rate and place in the source.
    /// Arrows are the plan's waits. A counter for each engine says how many operations it was at. Of
    /// [all ranks](Self::of_all_ranks), each is a process.
    pub fn trace(&self) -> String {
        let mut out = Vec::new();
        // Writing to memory does not fail, and the JSON written is UTF-8.
        let _ = self.write_trace(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Writes what [`trace`](Self::trace) returns, one event a line. Each event is a separate write: use a
    /// [`BufWriter`](io::BufWriter) for files.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_trace(&self, to: impl Write) -> io::Result<()> {
        let mut to = Events { to, separator: "\n" };
        let said = self.heading().join(", ");
        write!(
            to.to,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"run\":{}}},\"traceEvents\":[",
            Text(&said)
        )?;
        let ranks = self.ranks() as u64;
        let mut numbers = Numbers { thread: STREAMS + ranks.max(1), arrow: 0 };
        if ranks == 0 {
            let name = format!("{}, {}", self.heading().swap_remove(0), self.origin());
            self.process(STREAMS, &name, None, &mut numbers, &mut to)?;
        }
        for rank in 0..self.ranks() {
            let Some(part) = self.part_of_rank(rank) else { continue };
            let name = format!("rank {rank}: {}, {}", part.heading().swap_remove(0), part.origin());
            let process = STREAMS + rank as u64;
            part.process(process, &name, Some(process), &mut numbers, &mut to)?;
        }
        write!(to.to, "\n]}}")
    }

    /// Writes a process whose threads are the streams. `engines`: the process of the counters, if it is not one of its
    /// own.
    fn process(
        &self,
        process: u64,
        name: &str,
        engines: Option<u64>,
        numbers: &mut Numbers,
        to: &mut Events<impl Write>,
    ) -> io::Result<()> {
        let (lanes, of_rows) = lanes(self);
        let threads = Threads::new(process, numbers.thread, &of_rows);
        numbers.thread = threads.next + u64::from(engines.is_none());
        to.metadata(process, process, "process", name, process)?;
        if engines.is_none() {
            to.metadata(threads.next, threads.next, "process", "engines", threads.next)?;
        }
        self.name_threads(&threads, &of_rows, to)?;
        // Events are in order of time; of those that begin at the same time the longest is first, so that a
        // viewer may nest them.
        let mut order: Vec<_> =
            (0..self.spans.len()).filter(|&i| self.spans[i].row < self.rows.len()).collect();
        order.sort_by_key(|&i| (self.spans[i].start, std::cmp::Reverse(self.spans[i].end)));
        let thread = |index: usize| threads.of(self.spans[index].row, lanes[index]);
        for &index in &order {
            self.slice(&self.spans[index], (process, thread(index)), to)?;
        }
        self.arrows(&order, (process, &mut numbers.arrow), thread, to)?;
        self.counters(engines.unwrap_or(threads.next), to)
    }

    /// Writes the names of threads, and their order.
    fn name_threads(
        &self,
        threads: &Threads,
        of_rows: &[usize],
        to: &mut Events<impl Write>,
    ) -> io::Result<()> {
        let process = threads.process;
        for (row, (named, &lanes)) in self.rows.iter().zip(of_rows).enumerate() {
            for lane in 0..lanes {
                let thread = threads.of(row, lane);
                match lane {
                    0 => to.metadata(process, thread, "thread", unraw(&named.name), thread)?,
                    _ => {
                        let name = format!("{}, at the same time {lane}", unraw(&named.name));
                        to.metadata(process, thread, "thread", &name, thread)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn slice(
        &self,
        span: &Span,
        (process, thread): (u64, u64),
        to: &mut Events<impl Write>,
    ) -> io::Result<()> {
        let operation = &self.plan.operations[span.operation];
        let (stage, Span { chunk, engine, .. }) = (Text(unraw(self.stage(span))), *span);
        let site = format!("{}:{}:{}", self.plan.file, operation.line, operation.column);
        let (site, enqueued) = (Text(&site), Micros(nanoseconds(span.enqueued)));
        let mut args = format!(
            r#"{{"stage":{stage},"chunk":{chunk},"engine":"{engine}","enqueued (us)":{enqueued},"site":{site}"#
        );
        if span.estimated {
            args.push_str(",\"estimated\":true");
        }
        if span.bytes > 0 {
            args.push_str(&format!(",\"bytes\":{}", span.bytes));
        }
        if let Some(rate) = span.rate() {
            args.push_str(&format!(",\"GB/s\":{:.2}", rate / 1e9));
        }
        if span.blocks > 0 {
            args.push_str(&format!(",\"blocks\":{}", span.blocks));
        }
        let (start, time) = (Begin(nanoseconds(span.start)), Micros(nanoseconds(span.time())));
        let name = Text(operation.text);
        to.event(format_args!(
            r#""ph":"X","pid":{process},"tid":{thread},"ts":{start},"dur":{time},"name":{name},"cat":{stage},"args":{args}}}"#
        ))
    }

    /// Writes an arrow from each operation that records an event to each that waits for it.
    fn arrows(
        &self,
        order: &[usize],
        (process, id): (u64, &mut u64),
        thread: impl Fn(usize) -> u64,
        to: &mut Events<impl Write>,
    ) -> io::Result<()> {
        // The first and the last span of each operation of each chunk.
        let mut ends: HashMap<(usize, usize), (usize, usize)> = HashMap::new();
        for &index in order {
            let Span { operation, chunk, .. } = self.spans[index];
            ends.entry((operation, chunk)).or_insert((index, index)).1 = index;
        }
        for wait in self.plan.waits {
            let recorded = &self.plan.events[wait.event];
            let back = match wait.distance {
                Distance::Same => 0,
                Distance::Previous => 1,
                Distance::Reuse => self.report.depth,
            };
            for &index in order {
                let Span { operation, chunk, start, .. } = self.spans[index];
                let is_first = ends.get(&(operation, chunk)).is_some_and(|&(first, _)| first == index);
                if operation != wait.operation || !is_first {
                    continue;
                }
                let from = chunk.checked_sub(back).and_then(|chunk| ends.get(&(recorded.operation, chunk)));
                let Some(&(_, from)) = from else { continue };
                *id += 1;
                // The arrow begins within the slice, whose end is no longer part of it, and never points to
                // an earlier time.
                let Span { start: began, end, .. } = self.spans[from];
                let (start, began) = (nanoseconds(start), nanoseconds(began));
                let at = nanoseconds(end).saturating_sub(1).min(start).max(began);
                for (phase, index, at) in [(r#""s""#, from, at), (r#""f","bp":"e""#, index, start)] {
                    let (tid, at, name) = (thread(index), Begin(at), Text(recorded.name));
                    to.event(format_args!(
                        r#""ph":{phase},"pid":{process},"tid":{tid},"ts":{at},"id":{id},"name":{name},"cat":"wait""#
                    ))?;
                }
            }
        }
        Ok(())
    }

    /// Writes how many operations each engine was at, whenever that changed.
    fn counters(&self, process: u64, to: &mut Events<impl Write>) -> io::Result<()> {
        for engine in Engine::ALL {
            let of_it = || self.spans.iter().filter(|span| span.engine == engine && !span.time().is_zero());
            let mut changes: Vec<_> = of_it().map(|span| (nanoseconds(span.start), 1)).collect();
            changes.extend(of_it().map(|span| (nanoseconds(span.end), -1)));
            changes.sort_unstable();
            let mut operations: i64 = 0;
            for (index, &(time, change)) in changes.iter().enumerate() {
                operations += change;
                // Of changes at the same time, only the last counts.
                if changes.get(index + 1).is_none_or(|&(next, _)| next > time) {
                    let at = Micros(time);
                    to.event(format_args!(
                        r#""ph":"C","pid":{process},"tid":{process},"ts":{at},"name":"{engine}","args":{{"operations":{operations}}}"#
                    ))?;
                }
            }
        }
        Ok(())
    }
}

/// The writer of events.
struct Events<W> {
    to: W,
    /// The separator before the next event.
    separator: &'static str,
}

impl<W: Write> Events<W> {
    /// Writes one event with these `fields`.
    fn event(&mut self, fields: fmt::Arguments<'_>) -> io::Result<()> {
        write!(self.to, "{}{{{fields}}}", self.separator)?;
        self.separator = ",\n";
        Ok(())
    }

    /// Writes the name of a process or thread, and its place among the others.
    fn metadata(&mut self, pid: u64, tid: u64, of: &str, name: &str, place: u64) -> io::Result<()> {
        let name = Text(name);
        self.event(format_args!(
            r#""ph":"M","pid":{pid},"tid":{tid},"name":"{of}_name","args":{{"name":{name}}}"#
        ))?;
        self.event(format_args!(
            r#""ph":"M","pid":{pid},"tid":{tid},"name":"{of}_sort_index","args":{{"sort_index":{place}}}"#
        ))
    }
}

/// The next unused numbers.
struct Numbers {
    thread: u64,
    arrow: u64,
}

/// The numbers of threads.
struct Threads {
    process: u64,
    /// The first thread of each row.
    first: Vec<u64>,
    /// The first unused number.
    next: u64,
}

impl Threads {
    /// Those of the rows of a process, from `next` on.
    fn new(process: u64, next: u64, of_rows: &[usize]) -> Self {
        let mut threads = Self { process, first: Vec::with_capacity(of_rows.len()), next };
        for lanes in of_rows {
            threads.first.push(threads.next);
            threads.next += *lanes as u64;
        }
        threads
    }

    fn of(&self, row: usize, lane: usize) -> u64 {
        self.first[row] + lane as u64
    }
}

/// Nanoseconds, printed as microseconds with a fraction, as the format requires.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// The time at which a slice begins, in microseconds, and a tenth of a nanosecond more: Perfetto multiplies
/// binary fractions by 1000 and rounds down, so that otherwise a slice could begin before the end of the one
/// before it, and be dropped.
struct Begin(u64);

impl fmt::Display for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}1", Micros(self.0))
    }
}

/// A string of JSON.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\0'..' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}
