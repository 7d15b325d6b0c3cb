//! `sync = manual` as a whole, against a brute-force model of CUDA that shares no code with the compiler.
//!
//! Random pipelines are written as source text and expanded. The model carries out their calls at concrete
//! depths and looks at every two instances that touch the same memory: a program that orders them at every
//! depth must be accepted, and every other one refused. Programs that other rules refuse are predicted from
//! those rules.
//!
//! `THALWEG_ORACLE=100000` tries more programs, `THALWEG_SEED=7` begins with another seed.

use crate::{emitted, random};

mod device;
mod expansion;
mod generate;
mod pipeline;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use device::{Call, Conflicts, Execution, chunks};
use emitted::Said;
use expansion::{Expansion, expand};
use generate::Source;
use pipeline::{Line, Of, Pipeline};
use random::{Random, setting};
use rules::{Bound, Wait};

const PROGRAMS: u64 = 4_000;
const DEPTHS: RangeInclusive<usize> = 1..=4;
/// If the model finds more order than the compiler, it also looks at these depths, since the compiler's order
/// holds for all.
const MORE_DEPTHS: RangeInclusive<usize> = 5..=8;

/// The results, and how often each occurred.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<String, usize>,
    /// Each kind of failure with its first program.
    failures: BTreeMap<&'static str, (usize, String)>,
}

impl Tally {
    fn count(&mut self, what: impl Into<String>) {
        self.add(what, 1);
    }

    fn add(&mut self, what: impl Into<String>, more: usize) {
        *self.counts.entry(what.into()).or_default() += more;
    }

    fn of(&self, what: &str) -> usize {
        self.counts.get(what).copied().unwrap_or(0)
    }

    fn fail(&mut self, kind: &'static str, expansion: &Expansion, seed: u64, detail: impl Into<String>) {
        let first = || {
            let errors: Vec<_> = expansion.errors.iter().map(|error| error.text.as_str()).collect();
            let detail = detail.into();
            (0, format!("seed {seed}: {detail}\n{}{}", expansion.text, errors.join("\n")))
        };
        self.failures.entry(kind).or_insert_with(first).0 += 1;
    }
}

#[test]
fn exactly_what_is_ordered_at_every_depth_is_accepted() {
    let programs = setting("THALWEG_ORACLE", PROGRAMS);
    let first = setting("THALWEG_SEED", 1_000_000);
    let mut tally = Tally::default();
    for seed in first..first + programs {
        let mut random = Random::new(seed);
        let mut pipeline = generate::pipeline(&mut random);
        let source = generate::events(&mut pipeline, &mut random);
        let mutations = *random.pick(&[0, 1, 1, 1, 1, 2, 3]);
        for _ in 0..mutations {
            generate::mutate(&mut pipeline, &mut random);
        }
        let correct = source != Source::Random && mutations == 0;
        tally.count(format!("{} of {source:?}", if mutations == 0 { "as it is" } else { "mutated" }));
        judge(&pipeline, correct, seed, &mut tally);
    }
    say!("{programs} random programs with events by hand, depths {DEPTHS:?}:");
    for (what, count) in &tally.counts {
        say!("    {what}: {count}");
    }
    for (kind, (count, first)) in &tally.failures {
        println!("FAILED {count} times: {kind}, first\n{first}\n");
    }
    assert!(tally.failures.is_empty(), "failed: {:?}", tally.failures.keys());
    // Each kind of program is there often enough to mean something.
    if programs >= PROGRAMS {
        for (what, least) in [
            ("accepted", 800),
            ("rejected as races", 800),
            ("redundant waits", 800),
            ("advice that mends", 800),
        ] {
            assert!(tally.of(what) >= least, "{what}: {}", tally.of(what));
        }
    }
}

fn judge(pipeline: &Pipeline, correct: bool, seed: u64, tally: &mut Tally) {
    let expansion = expand(pipeline, true);
    let codes: BTreeSet<&str> = expansion.errors.iter().map(|error| emitted::code(&error.text)).collect();
    expansion.errors.iter().for_each(|error| emitted::in_style(&error.text));
    let flow = rules::data_flow(pipeline);
    let bound = rules::bind(pipeline);
    if !flow.is_empty() {
        // The data flow is judged before the events are.
        flow.iter().for_each(|code| tally.count(format!("refused by {code}")));
        if codes != flow {
            tally.fail("another rule of the data flow", &expansion, seed, format!("{flow:?} is broken"));
        }
        return;
    }
    if !bound.broken.is_empty() {
        let broken = &bound.broken;
        broken.iter().for_each(|codes| tally.count(format!("refused by {}", codes.join(" or "))));
        let said = |rule: &&[&str]| rule.iter().any(|code| codes.contains(code));
        let known = |code: &&str| broken.iter().any(|rule| rule.contains(code));
        if !broken.iter().all(said) || !codes.iter().all(known) {
            tally.fail("another rule of events", &expansion, seed, format!("{broken:?} is broken"));
        }
        return;
    }
    if !codes.iter().all(|code| *code == "TW0201") {
        tally.fail("refused by a rule that it keeps", &expansion, seed, "");
        return;
    }
    let conflicts = Conflicts::of(pipeline);
    let calls = bound.calls(pipeline, |_| true);
    let race = race(pipeline, &conflicts, &calls, DEPTHS);
    let literal = self::race(pipeline, &conflicts, &device::as_written(pipeline), DEPTHS);
    if literal.is_some() != race.is_some() {
        // This happens with a wait between an operation and its record, or with marks far from their
        // operations.
        let safer = if race.is_some() { "as written" } else { "as bound" };
        tally.count(format!("ordered {safer} only"));
    }
    let model = Model { pipeline, bound: &bound, conflicts: &conflicts };
    match (codes.is_empty(), race) {
        (true, Some(race)) => tally.fail("false accept", &expansion, seed, race),
        (true, None) => {
            tally.count("accepted");
            model.accepted(&calls, &expansion, seed, tally);
        }
        (false, Some(race)) => {
            if correct {
                tally.fail("the events of a correct source race", &expansion, seed, race);
            }
            tally.count("rejected as races");
            for error in &expansion.errors {
                model.rejected(error, &calls, &expansion, seed, tally);
            }
            mend(pipeline, &expansion, seed, tally);
        }
        (false, None) => match self::race(pipeline, &conflicts, &calls, MORE_DEPTHS) {
            Some(_) => tally.count("rejected as races at a depth of 5 or more"),
            None => tally.fail("false reject", &expansion, seed, ""),
        },
    }
}

/// A race at one of these depths, in words.
fn race(
    pipeline: &Pipeline,
    conflicts: &Conflicts,
    calls: &[Call],
    depths: RangeInclusive<usize>,
) -> Option<String> {
    let mut depths = depths;
    depths.find_map(|depth| {
        let run = Execution::new(pipeline, calls, depth, chunks(depth));
        let ((op, chunk), (other, later)) = conflicts.race(&run, depth)?;
        Some(format!(
            "operation {op} of chunk {chunk} races operation {other} of chunk {later} at depth {depth}"
        ))
    })
}

struct Model<'a> {
    pipeline: &'a Pipeline,
    bound: &'a Bound,
    conflicts: &'a Conflicts,
}

impl Model<'_> {
    /// The generated code orders what the source does, and its warnings are true.
    fn accepted(&self, calls: &[Call], expansion: &Expansion, seed: u64, tally: &mut Tally) {
        let emitted = expansion.calls(self.pipeline);
        for depth in DEPTHS {
            let expected = Execution::new(self.pipeline, calls, depth, chunks(depth));
            if Execution::new(self.pipeline, &emitted, depth, chunks(depth)) != expected {
                tally.fail("the code orders something else", expansion, seed, format!("{emitted:?}"));
                break;
            }
        }
        let unused: BTreeSet<_> = expansion.warnings("TW0807").into_iter().collect();
        if unused != self.bound.unused.iter().copied().map(Some).collect() {
            tally.fail("another record is unused", expansion, seed, format!("{unused:?}"));
        }
        // A stage that has only marks does something.
        if !expansion.warnings("TW0208").is_empty()
            && self.pipeline.stages.iter().all(|stage| !stage.lines.is_empty())
        {
            tally.fail("a stage that does something is said to do nothing", expansion, seed, "");
        }
        self.redundant(expansion, seed, tally);
    }

    /// Without the waits that are called redundant, the order is the same, and each other wait orders its two
    /// ends.
    fn redundant(&self, expansion: &Expansion, seed: u64, tally: &mut Tally) {
        let said: Vec<_> = expansion.warnings("TW0806");
        let redundant: BTreeSet<_> = said.iter().flatten().copied().collect();
        let waits = &self.bound.waits;
        if said.len() != redundant.len()
            || !redundant.iter().all(|at| waits.iter().any(|wait| wait.at == *at))
        {
            tally.fail("a warning of no wait", expansion, seed, format!("{said:?}"));
        }
        tally.add("redundant waits", redundant.len());
        tally.add("needed waits", waits.len() - redundant.len());
        let kept = |index: usize| !redundant.contains(&waits[index].at);
        let least = self.bound.calls(self.pipeline, kept);
        if let Some(race) = race(self.pipeline, self.conflicts, &least, DEPTHS) {
            tally.fail("a redundant wait is needed", expansion, seed, race);
        }
        for (index, wait) in waits.iter().enumerate() {
            if kept(index) {
                let rest = self.bound.calls(self.pipeline, |other| kept(other) && other != index);
                if self.orders(&rest, wait, DEPTHS) && self.orders(&rest, wait, MORE_DEPTHS) {
                    tally.fail("no warning of a redundant wait", expansion, seed, format!("{wait:?}"));
                }
            } else if !self.orders(&least, wait, DEPTHS) {
                tally.fail("a redundant wait orders something", expansion, seed, format!("{wait:?}"));
            }
        }
    }

    fn orders(&self, calls: &[Call], wait: &Wait, mut depths: RangeInclusive<usize>) -> bool {
        depths.all(|depth| {
            let run = Execution::new(self.pipeline, calls, depth, chunks(depth));
            run.orders(wait.from, wait.to, wait.of.chunks(depth))
        })
    }

    /// The error is true: these two touch this data in no order.
    fn rejected(&self, error: &Said, calls: &[Call], expansion: &Expansion, seed: u64, tally: &mut Tally) {
        tally.count("races reported");
        let Some(Race { data, from, to, of }) = Race::read(error, expansion, self.pipeline) else {
            tally.fail("an error that cannot be read", expansion, seed, error.text.clone());
            return;
        };
        let is_race = |depth: usize| {
            let run = Execution::new(self.pipeline, calls, depth, chunks(depth));
            let apart = of.chunks(depth);
            // Within a chunk, the first is the one that is written first.
            (apart > 0 || from < to)
                && self.conflicts.clash_at(data, from, to, apart, depth)
                && !run.orders(from, to, apart)
        };
        if !DEPTHS.chain(MORE_DEPTHS).any(is_race) {
            tally.fail("an error of no race", expansion, seed, format!("{from} and {to}: {}", error.text));
        }
    }
}

/// The race that an error reports.
struct Race {
    data: usize,
    from: usize,
    to: usize,
    of: Of,
}

impl Race {
    fn read(error: &Said, expansion: &Expansion, pipeline: &Pipeline) -> Option<Self> {
        // Collectives that have no data in common have their order.
        let name = error.text.split_once("buffer `").and_then(|(_, rest)| Some(rest.split_once('`')?.0));
        let note = error.text.lines().find(|line| line.starts_with("note: "))?;
        let line = note.rsplit_once("at line ")?.1.parse().ok()?;
        let of = if note.contains("of the chunk before") {
            Of::Previous
        } else if note.contains("that used the ring slot before") {
            Of::Reuse
        } else {
            Of::This
        };
        let ops = pipeline.ops();
        let op = |line: usize| {
            let at = expansion.origin(line)?;
            ops.iter().position(|placed| placed.at == at)
        };
        let is_meant = |data: &pipeline::Data| match name {
            Some(name) => data.name == name,
            None => data.kind == pipeline::Kind::Together,
        };
        let data = pipeline.data.iter().position(is_meant)?;
        Some(Self { data, from: op(line)?, to: op(error.span.start().line)?, of })
    }
}

/// Follows the errors' advice until nothing is left to say: the pipeline is then accepted.
fn mend(pipeline: &Pipeline, expansion: &Expansion, seed: u64, tally: &mut Tally) {
    let mut pipeline = pipeline.clone();
    let mut errors = expansion.errors.iter().map(|error| error.text.clone()).collect::<Vec<_>>();
    let mut first = Race::read(&expansion.errors[0], expansion, &pipeline);
    // Each round orders one more conflict, and there are not that many.
    for _ in 0..40 {
        let Some((race, error)) = first.take().zip(errors.first()) else { break };
        if follow(&mut pipeline, &race, error).is_none() {
            tally.fail("advice that cannot be followed", expansion, seed, error.clone());
            return;
        }
        let mended = expand(&pipeline, true);
        if mended.errors.is_empty() {
            tally.count("advice that mends");
            return;
        }
        if mended.errors.iter().any(|error| emitted::code(&error.text) != "TW0201") {
            tally.fail("advice that breaks a rule", &mended, seed, format!("was {error}"));
            return;
        }
        errors = mended.errors.iter().map(|error| error.text.clone()).collect();
        first = Race::read(&mended.errors[0], &mended, &pipeline);
    }
    tally.fail("advice that does not help", &expand(&pipeline, true), seed, "");
}

/// Does what the help says.
fn follow(pipeline: &mut Pipeline, race: &Race, error: &str) -> Option<()> {
    let help = error.lines().find_map(|line| line.strip_prefix("help: "))?;
    if help.starts_with("move `") {
        let stream = help.split_once("to a stage on `")?.1.split_once('`')?.0;
        let stream = pipeline.streams.iter().position(|declared| declared.name == stream)?;
        let ops = [race.to, race.from].map(|op| pipeline.ops()[op].at);
        let at = ops.into_iter().find(|&(stage, line)| {
            matches!(&pipeline.stages[stage].lines[line], Line::Op(op) if op.on == Some(stream))
        });
        pipeline.split(at?);
        return Some(());
    }
    let written = |word: &str| {
        let start = help.find(&format!("`{word} "))? + word.len() + 2;
        Some(help[start..].split_once(";`")?.0.to_owned())
    };
    let wait = written("wait")?;
    let (event, of) = wait.split_once(" @ ").unwrap_or((&wait, ""));
    let of = match of {
        "" => Of::This,
        "previous" => Of::Previous,
        "reuse" => Of::Reuse,
        _ => return None,
    };
    let (from, to) = {
        let ops = pipeline.ops();
        (ops[race.from].at, ops[race.to].at)
    };
    // The later place first, so that the other stays valid.
    let wait = (to, Line::Wait(event.to_owned(), of));
    let mut lines = vec![wait];
    if let Some(event) = written("record") {
        lines.push(((from.0, from.1 + 1), Line::Record(event)));
    }
    lines.sort_by_key(|&(at, _)| at);
    for (at, line) in lines.into_iter().rev() {
        pipeline.insert(at, line);
    }
    Some(())
}
