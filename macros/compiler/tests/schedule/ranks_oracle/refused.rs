//! Programs that the compiler refuses because ranks may differ: with each expression that is refused they can
//! stand still, unless its form alone is what is refused.

use super::devices::{Order, carry_out};
use super::host::{Deciding, Program, Told, What, World, turns};
use super::random::Random;
use super::rules::{Reading, Site};
use super::tally::{Case, in_words};

/// Why an expression is refused in which no ranks differ, or to no effect.
pub const BY_FORM: [&str; 3] = [
    "refused by form: its value is always the same",
    "refused by form: what it decides is never reached",
    "refused by form: either way the collectives have the same text",
];

/// Runs in which ranks have to differ.
const TRIES: usize = 60;
/// As many more before a refusal counts as wrong: some values differ to an effect in few worlds.
const LAST: usize = 5_000;
const SLOTS: usize = 2;

pub fn judge(case: &mut Case<'_>, reading: &Reading, random: &mut Random) {
    for (number, site) in reading.sites.iter().enumerate() {
        let judged = Judged { case, reading, number, site };
        let class = judged.class(random);
        match class {
            Some(class) => case.count(class),
            None => case.fail("a refusal that nothing explains", &format!("of `{}`", site.expr.text())),
        }
    }
}

struct Judged<'a, 'c> {
    case: &'a Case<'c>,
    reading: &'a Reading,
    number: usize,
    site: &'a Site,
}

impl Judged<'_, '_> {
    /// What the refusal of this expression is for.
    fn class(&self, random: &mut Random) -> Option<&'static str> {
        let (text, each) = (&self.reading.kinds, super::accepted::each(self.case.pipeline));
        if self.stands_still(TRIES, false, text, random) {
            return Some("refused: they stand still");
        }
        if !self.differs(random) {
            return Some(BY_FORM[0]);
        }
        let later = [(TRIES, text, BY_FORM[1]), (TRIES, &each, BY_FORM[2]), (LAST, text, BY_FORM[1])];
        let found =
            later.into_iter().find(|(tries, kinds, _)| self.stands_still(*tries, true, kinds, random));
        found.map(|(.., class)| class)
    }

    fn world(&self, random: &mut Random) -> World {
        let size = 2 + random.below(3);
        World::new(self.case.pipeline, SLOTS, size, random)
    }

    /// Whether ranks stand still that differ in this expression alone, whatever order they have. If it is
    /// forced, other blocks are decided at random.
    fn stands_still(&self, tries: usize, forced: bool, kinds: &[usize], random: &mut Random) -> bool {
        let program = Program { steps: &self.reading.steps, streams: &[(false, false)], kinds };
        (0..tries).any(|_| {
            let world = self.world(random);
            let decided: Vec<bool> = (0..self.reading.blocks.max(1)).map(|_| random.chance(50)).collect();
            let forced = forced.then_some(&decided[..]);
            let mut traces = program.traces(&world, Deciding { only: Some(self.number), forced });
            traces.iter_mut().for_each(|trace| trace.retain(|at| matches!(at.what, What::Together(..))));
            carry_out(&traces, &mut Order::Late { ops: &[], chunk: 0 }, &in_words(self.case.pipeline))
                .is_some()
        })
    }

    /// Whether two ranks have two values of it in some chunk.
    fn differs(&self, random: &mut Random) -> bool {
        let Site { expr, in_pass, counts, .. } = self.site;
        let told = Told { expr: expr.clone(), in_pass: *in_pass, site: None };
        (0..TRIES).any(|_| {
            let world = self.world(random);
            (0..world.chunks).any(|chunk| {
                let values = |rank| {
                    let values = told.values(&world.scope(rank, chunk));
                    if *counts { vec![turns(values[0])] } else { values }
                };
                (1..world.ranks.len()).any(|rank| values(rank) != values(0))
            })
        })
    }
}
