//! The rules of collectives, each as it stands in the book, and a pipeline's text as the hosts of ranks would
//! carry it out if nothing was refused.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::{Doubt, Expr, Names};
use super::host::{Of, Step, Told};
use super::pipeline::{Item, Op, Pipeline, Placed};

/// An expression in which ranks may differ by its form, and on which a collective depends.
#[derive(Debug)]
pub struct Site {
    pub code: &'static str,
    pub expr: Expr,
    pub in_pass: bool,
    /// Whether it is the number of turns of a `repeat`.
    pub counts: bool,
}

/// A pipeline as it is written.
pub struct Reading {
    /// All operations, on one stream and so in their natural order.
    pub steps: Vec<Step>,
    pub sites: Vec<Site>,
    /// For each operation, the first of the same text.
    pub kinds: Vec<usize>,
    pub blocks: usize,
}

pub fn read(pipeline: &Pipeline) -> Reading {
    let texts: Vec<_> = pipeline.ops().iter().map(|placed| pipeline.op(placed.op)).collect();
    let first = |text: &String| texts.iter().position(|other| other == text).unwrap_or_default();
    let kinds = texts.iter().map(first).collect();
    let mut reader = Reader { names: pipeline.names(), sites: Vec::new(), ops: 0, blocks: 0 };
    let items = pipeline.stages.iter().flat_map(|stage| &stage.items);
    let steps = items.map(|item| reader.item(item)).collect();
    Reading { steps, sites: reader.sites, kinds, blocks: reader.blocks }
}

struct Reader {
    names: Names,
    sites: Vec<Site>,
    ops: usize,
    blocks: usize,
}

impl Reader {
    fn items(&mut self, items: &[Item]) -> Vec<Step> {
        items.iter().map(|item| self.item(item)).collect()
    }

    fn item(&mut self, item: &Item) -> Step {
        match item {
            Item::Op(op) => {
                let number = self.ops;
                self.ops += 1;
                let Op::Together(together) = op else {
                    return Step::Work { op: number, stream: 0, of_items: true };
                };
                let told = together.told().into_iter();
                let told = told.map(|(expr, in_pass)| {
                    let doubt = self.names.doubt(expr, in_pass);
                    self.told(expr, (in_pass, false), doubt.map(|_| "TW1007"))
                });
                Step::Together { op: number, stream: 0, told: told.collect() }
            }
            Item::If(condition, then, otherwise) => {
                let otherwise = otherwise.as_deref().unwrap_or_default();
                let is_of_all = is_together(then) || is_together(otherwise);
                let (block, told) = self.block(condition, false, is_of_all);
                let then = self.items(then);
                Step::If(block, told, then, self.items(otherwise))
            }
            Item::Repeat(times, inside) => {
                let (block, told) = self.block(times, true, is_together(inside));
                Step::Repeat(block, told, self.items(inside))
            }
        }
    }

    fn block(&mut self, decides: &Expr, counts: bool, is_of_all: bool) -> (usize, Told) {
        let doubt = self.names.doubt(decides, false).filter(|_| is_of_all);
        let code = doubt.map(|doubt| if doubt == Doubt::Rank { "TW1002" } else { "TW1001" });
        self.blocks += 1;
        (self.blocks - 1, self.told(decides, (false, counts), code))
    }

    fn told(&mut self, expr: &Expr, (in_pass, counts): (bool, bool), code: Option<&'static str>) -> Told {
        let site = code.map(|code| {
            self.sites.push(Site { code, expr: expr.clone(), in_pass, counts });
            self.sites.len() - 1
        });
        Told { expr: expr.clone(), in_pass, site }
    }
}

/// Whether a collective stands there.
fn is_together(items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::Op(op) => matches!(op, Op::Together(_)),
        Item::If(_, then, otherwise) => is_together(then) || otherwise.as_deref().is_some_and(is_together),
        Item::Repeat(_, inside) => is_together(inside),
    })
}

/// How often each code is to be said.
pub fn expected(pipeline: &Pipeline, reading: &Reading) -> BTreeMap<&'static str, usize> {
    let mut codes = BTreeMap::new();
    if !pipeline.mistake.is_some_and(|mistake| mistake.early) {
        reading.sites.iter().for_each(|site| *codes.entry(site.code).or_default() += 1);
    }
    pipeline.mistake.iter().for_each(|mistake| *codes.entry(mistake.code).or_default() += 1);
    codes
}

/// A wait that orders two collectives which have no data in common.
pub struct OrderOnly {
    /// Its number among the waits.
    pub wait: usize,
    /// The collectives that come first, and those that wait.
    pub from: Vec<usize>,
    pub to: Vec<usize>,
    pub of: Of,
    /// The operations at its two ends.
    pub ends: (usize, usize),
}

/// The waits of this code that only the order of collectives needs.
pub fn order_only(pipeline: &Pipeline, steps: &[Step]) -> Vec<OrderOnly> {
    let ops = pipeline.ops();
    let mut records = BTreeMap::new();
    let mut waits = Vec::new();
    marks(steps, &mut records, &mut waits);
    let group = |op: usize| -> Vec<usize> {
        let is_of =
            |&other: &usize| other == op || ops[op].repeat.is_some() && ops[other].repeat == ops[op].repeat;
        (0..ops.len()).filter(is_of).collect()
    };
    let found = waits.into_iter().enumerate().filter_map(|(wait, (to, event, of))| {
        let from = *records.get(&event)?;
        let (first, second) = (group(from), group(to));
        if conflict(pipeline, &ops, &first, &second, of) {
            return None;
        }
        let together = |group: Vec<usize>| -> Vec<usize> {
            group.into_iter().filter(|&op| matches!(ops[op].op, Op::Together(_))).collect()
        };
        let ends = (from, to);
        Some(OrderOnly { wait, from: together(first), to: together(second), of, ends })
    });
    found.filter(|order| !order.from.is_empty() && !order.to.is_empty()).collect()
}

/// Whether two groups touch the same memory, so many chunks apart in a ring of several slots.
fn conflict(pipeline: &Pipeline, ops: &[Placed<'_>], first: &[usize], second: &[usize], of: Of) -> bool {
    let accesses =
        |group: &[usize]| -> BTreeSet<_> { group.iter().flat_map(|&op| ops[op].op.accesses()).collect() };
    let (first, second) = (accesses(first), accesses(second));
    first.iter().any(|&(data, _, writes)| {
        let kind = pipeline.data[data].kind;
        let is_same = match of {
            Of::This => true,
            Of::Previous => kind.is_shared(),
            Of::Reuse => !kind.is_host(),
        };
        is_same && second.iter().any(|&(other, _, also)| other == data && (writes || also))
    })
}

/// The operation of each event, and each wait's operation and event.
pub fn marks(steps: &[Step], records: &mut BTreeMap<String, usize>, waits: &mut Vec<(usize, String, Of)>) {
    for step in steps {
        match step {
            Step::Wait { op, event, of, .. } => waits.push((*op, event.clone(), *of)),
            Step::Record { op, event, .. } => drop(records.insert(event.clone(), *op)),
            _ => {}
        }
    }
}

/// The same steps without one of the waits.
pub fn without(steps: &[Step], wait: usize) -> Vec<Step> {
    let mut waits = 0;
    let kept = steps.iter().filter(|step| {
        let is_wait = matches!(step, Step::Wait { .. });
        waits += usize::from(is_wait);
        !(is_wait && waits - 1 == wait)
    });
    kept.cloned().collect()
}
