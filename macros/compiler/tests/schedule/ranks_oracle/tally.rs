//! What came of the programs.

use std::collections::BTreeMap;

use super::expansion::Expansion;
use super::host::{Command, What};
use super::pipeline::Pipeline;

/// The results, and how often each occurred.
#[derive(Default)]
pub struct Tally {
    counts: BTreeMap<String, usize>,
    /// Each kind of failure with its first program.
    pub failures: BTreeMap<&'static str, (usize, String)>,
}

impl Tally {
    pub fn and(mut self, other: Self) -> Self {
        other.counts.into_iter().for_each(|(what, count)| *self.counts.entry(what).or_default() += count);
        for (kind, (count, first)) in other.failures {
            self.failures.entry(kind).or_insert((0, first)).0 += count;
        }
        self
    }

    pub fn of(&self, what: &str) -> usize {
        self.counts.get(what).copied().unwrap_or(0)
    }

    pub fn tell(&self, headline: &str) {
        say!("{headline}");
        for (what, count) in &self.counts {
            say!("    {what}: {count}");
        }
        for (kind, (count, first)) in &self.failures {
            println!("FAILED {count} times: {kind}, first\n{first}\n");
        }
    }
}

/// One program, and where its results go.
pub struct Case<'a> {
    pub seed: u64,
    pub expansion: &'a Expansion,
    pub pipeline: &'a Pipeline,
    pub tally: &'a mut Tally,
}

impl Case<'_> {
    pub fn count(&mut self, what: impl Into<String>) {
        self.add(what, 1);
    }

    pub fn add(&mut self, what: impl Into<String>, more: usize) {
        *self.tally.counts.entry(what.into()).or_default() += more;
    }

    pub fn fail(&mut self, kind: &'static str, detail: &str) {
        self.fail_in(kind, self.expansion, detail);
    }

    /// Reports a failure of another text of this program.
    pub fn fail_in(&mut self, kind: &'static str, expansion: &Expansion, detail: &str) {
        let first = || {
            let errors: Vec<_> = expansion.errors.iter().map(|error| error.text.as_str()).collect();
            (0, format!("seed {}: {detail}\n{}{}", self.seed, expansion.text, errors.join("\n")))
        };
        self.tally.failures.entry(kind).or_insert_with(first).0 += 1;
    }
}

/// A command in words.
pub fn in_words(pipeline: &Pipeline) -> impl Fn(&Command) -> String {
    let text = |op: usize| pipeline.op(pipeline.ops()[op].op);
    move |Command { queue, chunk, what }| {
        let what = match what {
            What::Work(op) => text(*op),
            What::Together(op, key) => format!("{} {:?}", text(*op), key.told),
            What::Wait(record) => format!("wait for record {record}"),
            What::Record(record) => format!("record {record}"),
        };
        format!("`{what}` of chunk {chunk} on queue {queue}")
    }
}
