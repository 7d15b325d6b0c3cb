//! Random pipelines, and random events for them.

use super::expansion::auto_waits;
use super::pipeline::{Data, Kind, Line, Mode, Of, Op, Pipeline, Stage, Stream, What};
use super::random::Random;

/// Operations of one pipeline, the downloads at its end apart.
const OPS: usize = 7;

struct Builder<'r> {
    random: &'r mut Random,
    pipeline: Pipeline,
    /// The data written so far, by index.
    written: Vec<bool>,
    /// Whether the rules of the data flow may be broken.
    careless: bool,
}

/// A pipeline without events.
pub fn pipeline(random: &mut Random) -> Pipeline {
    let careless = random.chance(4);
    let pipeline = Pipeline { streams: Vec::new(), data: Vec::new(), stages: Vec::new() };
    let mut builder = Builder { random, pipeline, written: Vec::new(), careless };
    builder.declare();
    builder.fill_stages();
    builder.download();
    builder.pipeline
}

impl Builder<'_> {
    fn declare(&mut self) {
        // Streams for each slot order the least, so some pipelines have hardly any others.
        let per_slot = *self.random.pick(&[10, 30, 95]);
        for index in 0..1 + self.random.below(4) {
            let per_slot = self.random.chance(per_slot);
            let priority = if self.random.chance(75) {
                ""
            } else {
                self.random.pick(&[": high", ": low", ": priority(-2)"])
            };
            self.pipeline.streams.push(Stream {
                name: format!("s{index}"),
                per_slot,
                priority,
                declared: true,
            });
        }
        let kinds = [
            (Kind::Input, "x", 1, 2),
            (Kind::Output, "z", 0, 2),
            (Kind::InOut, "y", 0, 2),
            (Kind::Device, "t", 0, 3),
            (Kind::Resident, "w", 0, 2),
            (Kind::Carry, "a", 0, 2),
            (Kind::CarryGiven, "b", 0, 2),
            (Kind::Together, "together", 0, 2),
        ];
        for (kind, letter, least, limit) in kinds {
            for index in 0..least + self.random.below(limit) {
                self.data(kind, format!("{letter}{index}"));
            }
        }
    }

    fn data(&mut self, kind: Kind, name: String) -> usize {
        self.pipeline.data.push(Data { name, kind });
        self.written.push(kind.is_shared());
        self.pipeline.data.len() - 1
    }

    fn fill_stages(&mut self) {
        let mut left = 2 + self.random.below(OPS - 1);
        // Something to work on.
        let upload = self.upload();
        self.stage(vec![upload]);
        while left > 0 {
            let count = (1 + self.random.below(3)).min(left);
            left -= count;
            let ops: Vec<_> = (0..count).map(|_| self.operation()).collect();
            self.stage(ops);
        }
    }

    /// A stage of these, on some stream. A launch whose stream is not its stage's gets a stage for itself.
    fn stage(&mut self, ops: Vec<What>) {
        let overridden = matches!(ops[..], [What::Launch(_)]) && self.random.chance(15);
        let declared = self.pipeline.streams.iter().filter(|stream| stream.declared).count();
        let name = format!("stage{}", self.pipeline.stages.len());
        let stream = if self.random.chance(15) {
            let own = Stream { name: name.clone(), per_slot: false, priority: "", declared: false };
            self.pipeline.streams.push(own);
            self.pipeline.streams.len() - 1
        } else {
            self.a_declared_stream()
        };
        let on = (overridden && declared > 0).then(|| self.a_declared_stream());
        let lines = ops.into_iter().map(|what| Line::Op(Op { what, on })).collect();
        self.pipeline.stages.push(Stage { name, stream, lines });
    }

    fn a_declared_stream(&mut self) -> usize {
        let streams = self.pipeline.streams.iter().enumerate();
        let declared: Vec<usize> =
            streams.filter(|(_, stream)| stream.declared).map(|(index, _)| index).collect();
        *self.random.pick(&declared)
    }

    /// Data of a kind that `wanted` accepts.
    fn some(&mut self, wanted: impl Fn(Kind, bool) -> bool) -> Option<usize> {
        let all = self.pipeline.data.iter().zip(&self.written).enumerate();
        let fit: Vec<usize> =
            all.filter(|(_, (data, written))| wanted(data.kind, **written)).map(|(index, _)| index).collect();
        (!fit.is_empty()).then(|| *self.random.pick(&fit))
    }

    /// A ring buffer to write: one that is there, or one that the copy declares.
    fn destination(&mut self, not: Option<usize>) -> usize {
        let there = if self.random.chance(60) { self.some(|kind, _| kind.is_ring()) } else { None };
        match there.filter(|&there| Some(there) != not) {
            Some(there) => there,
            None => self.data(Kind::Copied, format!("d{}", self.pipeline.data.len())),
        }
    }

    fn upload(&mut self) -> What {
        let from =
            self.some(|kind, _| matches!(kind, Kind::Input | Kind::InOut)).expect("an input is declared");
        let to = self.destination(None);
        self.written[to] = true;
        What::Copy { from, to }
    }

    fn operation(&mut self) -> What {
        let careless = self.careless && self.random.chance(20);
        let readable =
            move |kind: Kind, written: bool| kind.is_ring() && (written || careless && kind == Kind::Device);
        match self.random.below(12) {
            0 | 1 => self.upload(),
            2 | 3 if self.some(|kind, _| kind == Kind::Together).is_some() => self.collective(careless),
            4 => {
                let from = self.some(readable).expect("something was uploaded");
                let to = self.destination(Some(from));
                self.written[to] = true;
                What::Copy { from, to }
            }
            5 => {
                let to = self.some(|kind, written| kind == Kind::Device || kind == Kind::Copied && written);
                let to = to.expect("something was uploaded");
                self.written[to] = true;
                What::Fill(to)
            }
            6 => match self.some(|kind, _| matches!(kind, Kind::Output | Kind::InOut)) {
                Some(to) => {
                    let from = self.some(readable).expect("something was uploaded");
                    self.written[to] = true;
                    What::Copy { from, to }
                }
                None => self.upload(),
            },
            _ => self.launch(careless),
        }
    }

    fn collective(&mut self, careless: bool) -> What {
        let together = self.some(|kind, _| kind == Kind::Together).expect("it was there");
        let fits = move |kind: Kind, written: bool| match kind {
            Kind::Carry | Kind::CarryGiven => true,
            Kind::Device => written || careless,
            Kind::Copied => written,
            _ => false,
        };
        let data = if self.random.chance(75) { self.some(fits) } else { None };
        if let Some(data) = data {
            self.written[data] = true;
        }
        What::Collective { together, data }
    }

    fn launch(&mut self, careless: bool) -> What {
        let mut arguments: Vec<(Mode, usize)> = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let mode = *self.random.pick(&[Mode::Read, Mode::Read, Mode::ReadWrite, Mode::Out]);
            let fits = move |kind: Kind, written: bool| match mode {
                _ if kind.is_host() || kind == Kind::Together => false,
                // A copy must have declared it.
                _ if kind == Kind::Copied => written,
                _ if careless => true,
                Mode::Read => written,
                Mode::ReadWrite => written && kind != Kind::Resident,
                Mode::Out => kind != Kind::Resident,
            };
            let Some(data) = self.some(fits) else { continue };
            let again = arguments
                .iter()
                .any(|&(other, used)| used == data && (other != Mode::Read || mode != Mode::Read));
            if !again || careless {
                arguments.push((mode, data));
            }
        }
        for &(mode, data) in &arguments {
            self.written[data] |= mode != Mode::Read;
        }
        What::Launch(arguments)
    }

    /// Copies out, at the end, the data that no stage has written yet.
    fn download(&mut self) {
        for to in 0..self.pipeline.data.len() {
            let kind = self.pipeline.data[to].kind;
            let missing = matches!(kind, Kind::Output | Kind::InOut) && !self.written[to];
            if missing && !(self.careless && self.random.chance(40)) {
                let from = self.some(|kind, written| kind.is_ring() && written);
                self.written[to] = true;
                let copy = What::Copy { from: from.expect("something was uploaded"), to };
                self.stage(vec![copy]);
            }
        }
    }
}

/// Where a set of events comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Those that the macro places.
    Auto,
    /// One wait for each two operations in conflict, needed or not.
    Conflicts,
    /// Each operation waits for the one before, and the first for the last of the chunk before.
    Serial,
    /// Anything.
    Random,
}

/// Adds events, correct ones but for [`Source::Random`].
pub fn events(pipeline: &mut Pipeline, random: &mut Random) -> Source {
    let source = match random.below(20) {
        0..13 => Source::Auto,
        13..17 => Source::Conflicts,
        17..18 => Source::Serial,
        _ => Source::Random,
    };
    match source {
        Source::Auto => {
            let waits = auto_waits(pipeline);
            add(pipeline, &waits, random);
        }
        Source::Conflicts => add(pipeline, &conflict_waits(pipeline), random),
        Source::Serial => {
            let ops = pipeline.ops().len();
            let mut waits: Vec<_> = (1..ops).map(|op| (op - 1, op, Of::This)).collect();
            waits.push((ops - 1, 0, Of::Previous));
            add(pipeline, &waits, random);
        }
        Source::Random => {
            for _ in 0..random.below(6) {
                let event = format!("e{}", random.below(5));
                insert_anywhere(pipeline, Line::Record(event), random);
            }
            for _ in 0..random.below(7) {
                let event = format!("e{}", random.below(5));
                insert_anywhere(pipeline, Line::Wait(event, *random.pick(&Of::ALL)), random);
            }
        }
    }
    source
}

/// A wait for each two operations that touch the same memory, from and to, as far as it finds its record.
fn conflict_waits(pipeline: &Pipeline) -> Vec<(usize, usize, Of)> {
    let conflicts = super::device::Conflicts::of(pipeline);
    let ops = pipeline.ops().len();
    let mut waits = Vec::new();
    for first in 0..ops {
        for second in first..ops {
            if first < second && conflicts.clash(first, second, 0, 2) {
                waits.push((first, second, Of::This));
            }
            // At 2 slots, the chunk before uses the other one.
            if conflicts.clash(first, second, 1, 2) {
                waits.push((second, first, Of::Previous));
            } else if conflicts.clash(first, second, 2, 2) {
                waits.push((second, first, Of::Reuse));
            }
        }
    }
    waits
}

/// Writes these waits, each before its operation, and the records that they need.
fn add(pipeline: &mut Pipeline, waits: &[(usize, usize, Of)], random: &mut Random) {
    let ops: Vec<_> = pipeline.ops().iter().map(|placed| (placed.at, placed.op.on)).collect();
    // From the last on, so that the places before stay valid.
    for (index, &(at, on)) in ops.iter().enumerate().rev() {
        let event = format!("e{index}");
        let records = waits.iter().any(|&(from, ..)| from == index);
        let mut waits: Vec<Line> = waits
            .iter()
            .filter(|&&(_, to, _)| to == index)
            .map(|&(from, _, of)| Line::Wait(format!("e{from}"), of))
            .collect();
        if waits.len() > 1 && random.chance(30) {
            waits.rotate_left(1);
        }
        match on {
            None => {
                if records {
                    pipeline.insert((at.0, at.1 + 1), Line::Record(event));
                }
                waits.into_iter().for_each(|wait| pipeline.insert(at, wait));
            }
            Some(stream) => {
                // A mark belongs to its stage's stream.
                let marks = |name: &str, lines| Stage { name: format!("{name}{index}"), stream, lines };
                if records {
                    let stage = marks("record", vec![Line::Record(event)]);
                    pipeline.stages.insert(at.0 + 1, stage);
                }
                if !waits.is_empty() {
                    pipeline.stages.insert(at.0, marks("wait", waits));
                }
            }
        }
    }
}

fn insert_anywhere(pipeline: &mut Pipeline, line: Line, random: &mut Random) {
    let place = *random.pick(&pipeline.places());
    pipeline.insert(place, line);
}

/// Changes one of the events.
pub fn mutate(pipeline: &mut Pipeline, random: &mut Random) {
    let waits = pipeline.marks(|line| matches!(line, Line::Wait(..)));
    let records = pipeline.marks(|line| matches!(line, Line::Record(_)));
    if waits.is_empty() {
        return;
    }
    let wait = *random.pick(&waits);
    let events = records.iter().filter_map(|&(stage, line)| match &pipeline.stages[stage].lines[line] {
        Line::Record(event) => Some(event.clone()),
        _ => None,
    });
    let events: Vec<String> = events.chain(["e0".to_owned()]).collect();
    match random.below(100) {
        0..45 => drop(pipeline.remove(wait)),
        45..55 => {
            let line = pipeline.remove(wait);
            insert_anywhere(pipeline, line, random);
        }
        55..66 => {
            let event = random.pick(&events).clone();
            if let Line::Wait(name, _) = &mut pipeline.stages[wait.0].lines[wait.1] {
                *name = event;
            }
        }
        66..80 => {
            if let Line::Wait(_, of) = &mut pipeline.stages[wait.0].lines[wait.1] {
                let others: Vec<Of> = Of::ALL.into_iter().filter(|other| other != of).collect();
                *of = *random.pick(&others);
            }
        }
        80..87 if !records.is_empty() => {
            let line = pipeline.remove(*random.pick(&records));
            insert_anywhere(pipeline, line, random);
        }
        87..89 if !records.is_empty() => drop(pipeline.remove(*random.pick(&records))),
        89..91 if !records.is_empty() => {
            let (stage, line) = *random.pick(&records);
            let again = pipeline.stages[stage].lines[line].clone();
            insert_anywhere(pipeline, again, random);
        }
        _ => {
            let event = random.pick(&events).clone();
            insert_anywhere(pipeline, Line::Wait(event, *random.pick(&Of::ALL)), random);
        }
    }
}
