//! What the host of a rank does: for each chunk it evaluates conditions for itself, and enqueues on its
//! streams.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::expr::{CONSTANTS, Expr, Scope};
use super::pipeline::Pipeline;
use super::random::Random;

/// An expression of the user's.
#[derive(Debug, Clone)]
pub struct Told {
    pub expr: Expr,
    /// Whether it is evaluated for every rank.
    pub in_pass: bool,
    /// Its number among those in which ranks may differ, if they are told apart.
    pub site: Option<usize>,
}

/// The chunk whose event a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    This,
    Previous,
    Reuse,
}

impl Of {
    /// How many chunks earlier that chunk is.
    pub fn chunks(self, depth: usize) -> usize {
        match self {
            Self::This => 0,
            Self::Previous => 1,
            Self::Reuse => depth,
        }
    }
}

/// A statement of the loop over the chunks.
#[derive(Debug, Clone)]
pub enum Step {
    Let(Rc<str>, Told),
    /// The number of the block, if it is written so, then what decides and what is decided.
    If(usize, Told, Vec<Step>, Vec<Step>),
    Repeat(usize, Told, Vec<Step>),
    /// An operation of this rank alone, and whether it is left out without items.
    Work {
        op: usize,
        stream: usize,
        of_items: bool,
    },
    Together {
        op: usize,
        stream: usize,
        told: Vec<Told>,
    },
    Wait {
        op: usize,
        stream: usize,
        event: String,
        of: Of,
    },
    Record {
        op: usize,
        stream: usize,
        event: String,
    },
}

/// All that a run depends on.
#[derive(Debug, Clone)]
pub struct World {
    pub depth: usize,
    pub chunks: usize,
    /// Each rank's own values; the chunk's are set as the run goes on.
    pub ranks: Vec<Scope>,
    /// For each rank the items of each chunk.
    pub items: Vec<Vec<i64>>,
    /// Whether streams that the compiler may give each slot are given it.
    pub placed: bool,
}

impl World {
    pub fn new(pipeline: &Pipeline, depth: usize, size: usize, random: &mut Random) -> Self {
        let chunks = 1 + random.below(2 * depth + 2);
        let mut value = |truth: bool| random.below(if truth { 2 } else { 7 }) as i64;
        let uniform: Vec<_> = pipeline
            .params
            .iter()
            .map(|param| {
                (Rc::from(param.name.as_str()), param.uniform.then(|| value(param.truth)), param.truth)
            })
            .collect();
        let (names, chunk): (Vec<(Rc<str>, i64)>, Rc<str>) = (
            CONSTANTS.iter().map(|&(name, value)| (Rc::from(name), value)).collect(),
            Rc::from(pipeline.chunk.as_str()),
        );
        let ranks: Vec<Scope> = (0..size)
            .map(|rank| {
                let mut names = names.clone();
                for (name, uniform, truth) in &uniform {
                    names.push((Rc::clone(name), uniform.unwrap_or_else(|| value(*truth))));
                }
                let chunk = Rc::clone(&chunk);
                let (rank, size, answer) = (rank as i64, size as i64, value(false));
                Scope { names, rank, size, chunk, index: 0, len: 0, start: 0, answer, each: Cell::new(None) }
            })
            .collect();
        let items = (0..size).map(|_| items(chunks, random)).collect();
        let placed = random.chance(50);
        Self { depth, chunks, ranks, items, placed }
    }

    /// The values of a rank while it enqueues a chunk.
    pub fn scope(&self, rank: usize, chunk: usize) -> Scope {
        let mut scope = self.ranks[rank].clone();
        self.enter(&mut scope, chunk);
        scope
    }

    /// Lets a rank come to a chunk, without the locals of the one before.
    fn enter(&self, scope: &mut Scope, chunk: usize) {
        let rank = scope.rank as usize;
        let items = &self.items[rank];
        scope.index = chunk as i64;
        scope.len = items[chunk];
        scope.start = scope.rank + items[..chunk].iter().sum::<i64>();
        scope.names.truncate(self.ranks[rank].names.len());
    }
}

/// The items of each chunk on a rank. Some ranks have none in the last chunks.
fn items(chunks: usize, random: &mut Random) -> Vec<i64> {
    let full = if random.chance(70) { chunks } else { random.below(chunks + 1) };
    let items = |chunk: usize| match chunk < full {
        true if random.chance(50) => 3,
        true => 1 + random.below(6) as i64,
        false => 0,
    };
    (0..chunks).map(items).collect()
}

/// A collective as all ranks have to begin it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its kind and text, or the operation.
    pub kind: usize,
    pub chunk: usize,
    /// Root, parts, and who gives whom.
    pub told: Vec<i64>,
}

/// What is enqueued on a queue: a stream, or a stream's slot.
#[derive(Debug, Clone)]
pub struct Command {
    pub queue: usize,
    pub chunk: usize,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Work(usize),
    Together(usize, Key),
    /// The number of a record.
    Wait(usize),
    Record(usize),
}

/// How conditions are decided.
#[derive(Clone, Copy, Default)]
pub struct Deciding<'a> {
    /// Ranks differ in this one alone: rank 0 decides all others that have a number.
    pub only: Option<usize>,
    /// How other blocks are decided, whatever their conditions are.
    pub forced: Option<&'a [bool]>,
}

/// A pipeline as the hosts of the ranks carry it out.
pub struct Program<'a> {
    pub steps: &'a [Step],
    /// For each stream, whether each slot has one, and whether that is up to the run.
    pub streams: &'a [(bool, bool)],
    /// For each operation, what of it has to be the same on all ranks.
    pub kinds: &'a [usize],
}

impl Program<'_> {
    /// What each rank enqueues.
    pub fn traces(&self, world: &World, deciding: Deciding<'_>) -> Vec<Vec<Command>> {
        (0..world.ranks.len()).map(|rank| self.trace(world, rank, deciding)).collect()
    }

    fn trace(&self, world: &World, rank: usize, deciding: Deciding<'_>) -> Vec<Command> {
        let (own, first) = (world.ranks[rank].clone(), world.ranks[0].clone());
        let mut host = Host {
            program: self,
            world,
            deciding,
            chunk: 0,
            own,
            first,
            events: BTreeMap::new(),
            records: 0,
            commands: Vec::new(),
        };
        for chunk in 0..world.chunks {
            host.chunk = chunk;
            world.enter(&mut host.own, chunk);
            world.enter(&mut host.first, chunk);
            host.steps(self.steps);
        }
        host.commands
    }
}

struct Host<'a> {
    program: &'a Program<'a>,
    world: &'a World,
    deciding: Deciding<'a>,
    chunk: usize,
    /// The values of this rank, and those of rank 0.
    own: Scope,
    first: Scope,
    /// The latest record of each event and slot.
    events: BTreeMap<(&'a str, usize), usize>,
    records: usize,
    commands: Vec<Command>,
}

impl<'a> Host<'a> {
    fn queue(&self, stream: usize) -> usize {
        let (per_slot, placed) = self.program.streams[stream];
        let slot = if per_slot && (!placed || self.world.placed) { self.chunk % self.world.depth } else { 0 };
        stream * self.world.depth + slot
    }

    fn enqueue(&mut self, stream: usize, what: What) {
        let queue = self.queue(stream);
        self.commands.push(Command { queue, chunk: self.chunk, what });
    }

    fn scope(&self, told: &Told) -> &Scope {
        let is_first = self.deciding.only.is_some() && told.site.is_some() && told.site != self.deciding.only;
        if is_first { &self.first } else { &self.own }
    }

    fn value(&self, told: &Told) -> i64 {
        told.expr.value(self.scope(told))
    }

    /// What decides a block, if it is decided in advance.
    fn forced(&self, block: usize, told: &Told) -> Option<bool> {
        let forced = self.deciding.forced.filter(|_| told.site.is_none() || told.site != self.deciding.only);
        forced.map(|forced| forced[block % forced.len()])
    }

    fn steps(&mut self, steps: &'a [Step]) {
        steps.iter().for_each(|step| self.step(step));
    }

    fn step(&mut self, step: &'a Step) {
        match step {
            Step::Let(name, told) => {
                let value = self.value(told);
                self.own.names.push((Rc::clone(name), value));
            }
            Step::If(block, told, then, otherwise) => {
                let taken = self.forced(*block, told).unwrap_or_else(|| self.value(told) != 0);
                self.steps(if taken { then } else { otherwise });
            }
            Step::Repeat(block, told, inside) => {
                let times = match self.forced(*block, told) {
                    Some(_) => 1,
                    None => turns(self.value(told)),
                };
                (0..times).for_each(|_| self.steps(inside));
            }
            Step::Work { op, stream, of_items } => {
                if !of_items || self.own.len > 0 {
                    self.enqueue(*stream, What::Work(*op));
                }
            }
            Step::Together { op, stream, told } => {
                let told = told.iter().flat_map(|told| told.values(self.scope(told))).collect();
                let key = Key { kind: self.program.kinds[*op], chunk: self.chunk, told };
                self.enqueue(*stream, What::Together(*op, key));
            }
            Step::Wait { stream, event, of, .. } => {
                let depth = self.world.depth;
                let Some(earlier) = self.chunk.checked_sub(of.chunks(depth)) else { return };
                if let Some(&record) = self.events.get(&(event.as_str(), earlier % depth)) {
                    self.enqueue(*stream, What::Wait(record));
                }
            }
            Step::Record { stream, event, .. } => {
                let record = self.records;
                self.records += 1;
                self.events.insert((event, self.chunk % self.world.depth), record);
                self.enqueue(*stream, What::Record(record));
            }
        }
    }
}

impl Told {
    /// What a rank says, for all ranks if each evaluates it for all.
    pub fn values(&self, scope: &Scope) -> Vec<i64> {
        if !self.in_pass {
            return self.expr.values(scope);
        }
        let of = |each| {
            scope.each.set(Some(each));
            self.expr.value(scope)
        };
        let values = (0..scope.size).map(of).collect();
        scope.each.set(None);
        values
    }
}

/// The turns of a `repeat`, few enough for a model: a negative number counts as 0.
pub fn turns(value: i64) -> i64 {
    if value > 6 { 3 + value % 4 } else { value.max(0) }
}
