//! The proof that ranks cannot stand still, against a model of several ranks that shares no code with the
//! compiler.
//!
//! Random pipelines with collectives are written as source text and expanded. If one is accepted, the hosts
//! of several ranks carry its expansion out, each with values of its own where they may differ, and their
//! devices do what is enqueued in bad orders: they must come to an end. If one is refused, the rules of the
//! book have to say so, and each expression that is refused lets the ranks of the text itself stand still, or
//! belongs to one of a few classes in which the form alone decides. Each wait that only the order of
//! collectives needs is left out in turn, and lets them stand still too.
//!
//! `THALWEG_ORACLE=100000` tries more programs, `THALWEG_SEED=7` begins with another seed.

use crate::{emitted, random};

mod accepted;
mod by_hand;
mod devices;
mod expansion;
mod expr;
mod generate;
mod host;
mod pipeline;
mod refused;
mod rules;
mod tally;
mod values;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use random::{Random, setting};
use tally::{Case, Tally};

const PROGRAMS: u64 = 10_000;
const FIRST: u64 = 5_000_000;

#[test]
fn what_is_accepted_never_stands_still_and_what_is_refused_could() {
    let programs = setting("THALWEG_ORACLE", PROGRAMS);
    let first = setting("THALWEG_SEED", FIRST);
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let part = |thread: u64| {
        let mut tally = Tally::default();
        for seed in (first..first + programs).filter(|seed| seed % threads == thread) {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| judge(seed, &mut tally))) {
                say!("the program of seed {seed} cannot be judged");
                resume_unwind(panic);
            }
        }
        tally
    };
    let mut tally = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        parts.fold(Tally::default(), Tally::and)
    });
    tally.tell(&format!("{programs} random programs of several ranks:"));
    assert!(tally.failures.is_empty(), "failed: {:?}", tally.failures.keys());
    if programs >= PROGRAMS {
        enough(&mut tally);
    }
}

/// Each kind of program is there often enough to mean something, and what is refused by form alone is rare.
fn enough(tally: &mut Tally) {
    for (what, least) in [
        ("accepted", 4_000),
        ("accepted: collectives carried out", 100_000),
        ("order: without it they stand still", 1_500),
        ("refused: they stand still", 3_000),
        ("by hand: accepted", 600),
        ("by hand: refused without a wait, and they stand still", 150),
    ] {
        assert!(tally.of(what) >= least, "{what}: {}", tally.of(what));
    }
    let by_form: usize = refused::BY_FORM.iter().map(|class| tally.of(class)).sum();
    let all = by_form + tally.of("refused: they stand still");
    assert!(by_form * 4 <= all, "{by_form} of {all} are refused by form alone");
    let idle = tally.of("order: never carried out together");
    let orders = idle + tally.of("order: without it they stand still");
    assert!(idle * 5 <= orders, "{idle} of {orders} orders are of what is never carried out");
}

fn judge(seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let pipeline = generate::pipeline(&mut random);
    let expansion = expansion::expand(&pipeline, None);
    expansion.errors.iter().for_each(|error| emitted::in_style(&error.text));
    let mut said = BTreeMap::new();
    for error in &expansion.errors {
        *said.entry(emitted::code(&error.text)).or_default() += 1;
    }
    let reading = rules::read(&pipeline);
    let expected = rules::expected(&pipeline, &reading);
    let mut case = Case { seed, expansion: &expansion, pipeline: &pipeline, tally };
    if said != expected {
        let kind = match (said.is_empty(), expected.is_empty()) {
            (true, false) => "accepted against a rule",
            (false, true) => "refused by no rule",
            _ => "refused by another rule",
        };
        case.fail(kind, &format!("expected {expected:?}"));
        return;
    }
    expected.keys().for_each(|code| case.count(format!("refused by {code}")));
    if expected.is_empty() {
        case.count("accepted");
        accepted::judge(&mut case, &mut random);
    } else if pipeline.mistake.is_none() {
        refused::judge(&mut case, &reading, &mut random);
    }
}
