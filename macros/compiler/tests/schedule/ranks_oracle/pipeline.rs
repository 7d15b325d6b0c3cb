//! A pipeline with collectives, and its source text.

use std::fmt::Write;

use super::expr::{Expr, Names};

#[derive(Debug, Clone, Default)]
pub struct Pipeline {
    pub params: Vec<Param>,
    pub chunk: String,
    /// The number of ring slots, if it is declared.
    pub depth: Option<usize>,
    pub streams: Vec<Stream>,
    pub data: Vec<Data>,
    pub stages: Vec<Stage>,
    /// A collective that another rule refuses, at the end.
    pub mistake: Option<&'static Mistake>,
}

#[derive(Debug, Clone)]
pub struct Param {
    pub name: String,
    pub uniform: bool,
    /// Whether it is a condition, and not a number.
    pub truth: bool,
}

#[derive(Debug, Clone)]
pub struct Stream {
    pub name: String,
    pub per_slot: bool,
    pub priority: &'static str,
}

#[derive(Debug, Clone)]
pub struct Data {
    pub name: String,
    pub kind: Kind,
    /// Whether it is counted by chunk or run, and not by item.
    pub whole: bool,
    /// The elements of an item, chunk or run; none if they depend on the size of the world.
    pub count: Option<usize>,
    /// Whether it has a declaration, and is not declared by what writes it first.
    pub declared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Input,
    InOut,
    Output,
    /// Each ring slot has one.
    Ring,
    Carry,
    Resident,
}

impl Kind {
    pub fn is_host(self) -> bool {
        matches!(self, Self::Input | Self::InOut | Self::Output)
    }

    /// Whether there is one for the whole run.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Carry | Self::Resident)
    }
}

#[derive(Debug, Clone)]
pub struct Stage {
    pub name: String,
    /// Its own, if it names none.
    pub stream: Option<usize>,
    pub items: Vec<Item>,
}

#[derive(Debug, Clone)]
pub enum Item {
    Op(Op),
    If(Expr, Vec<Item>, Option<Vec<Item>>),
    Repeat(Expr, Vec<Item>),
}

/// Numbers are indices into the pipeline's data.
#[derive(Debug, Clone)]
pub enum Op {
    Copy(usize, usize),
    Fill(usize),
    Launch(Vec<(Mode, usize)>),
    Together(Together),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Read,
    ReadWrite,
    Out,
}

/// A collective.
#[derive(Debug, Clone)]
pub struct Together {
    pub word: &'static str,
    pub reduction: Option<&'static str>,
    /// Its data, one, two or none, and the part of each.
    pub data: Vec<(usize, Option<Expr>)>,
    pub to: To,
}

#[derive(Debug, Clone)]
pub enum To {
    All,
    /// The word before the rank, and the rank.
    Root(&'static str, Expr),
    Ranks(Option<Expr>, Option<Expr>),
    Halo(Expr, bool),
}

impl Op {
    /// Its accesses: the data, whether it reads, whether it writes.
    pub fn accesses(&self) -> Vec<(usize, bool, bool)> {
        match self {
            Self::Copy(from, to) => vec![(*from, true, false), (*to, false, true)],
            Self::Fill(to) => vec![(*to, false, true)],
            Self::Launch(arguments) => {
                let access = |&(mode, data): &(Mode, usize)| (data, mode != Mode::Out, mode != Mode::Read);
                arguments.iter().map(access).collect()
            }
            Self::Together(Together { data, .. }) => match &data[..] {
                [] => Vec::new(),
                [(one, _)] => vec![(*one, true, true)],
                [(from, _), (to, part), ..] => vec![(*from, true, false), (*to, part.is_some(), true)],
            },
        }
    }
}

impl Together {
    /// The expressions that all ranks have to agree on, and whether they are a `pass`'s.
    pub fn told(&self) -> Vec<(&Expr, bool)> {
        let mut told: Vec<_> =
            self.data.iter().filter_map(|(_, part)| Some((part.as_ref()?, false))).collect();
        match &self.to {
            To::All => {}
            To::Root(_, value) | To::Halo(value, _) => told.push((value, false)),
            To::Ranks(from, to) => told.extend(from.iter().chain(to).map(|rank| (rank, true))),
        }
        told
    }
}

/// A rule of collectives that is broken, with what it takes.
#[derive(Debug)]
pub struct Mistake {
    pub code: &'static str,
    /// Whether it is found before anything else is checked.
    pub early: bool,
    pub declarations: &'static str,
    pub lines: &'static str,
}

/// An operation in its place.
#[derive(Clone, Copy)]
pub struct Placed<'p> {
    pub op: &'p Op,
    /// The outermost `repeat` around it, by number.
    pub repeat: Option<usize>,
    /// Stage, and item of the stage, in which it stands.
    pub at: (usize, usize),
}

/// A `record` or `wait` beside an item of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub at: (usize, usize),
    pub text: String,
    pub before: bool,
}

impl Pipeline {
    pub fn names(&self) -> Names {
        let params = self.params.iter().map(|param| (param.name.clone(), param.uniform)).collect();
        Names { params, chunk: self.chunk.clone() }
    }

    /// The operations in the order in which they are written.
    pub fn ops(&self) -> Vec<Placed<'_>> {
        let mut ops = Vec::new();
        let mut repeats = 0;
        for (stage, written) in self.stages.iter().enumerate() {
            for (item, one) in written.items.iter().enumerate() {
                collect(std::slice::from_ref(one), None, (stage, item), &mut repeats, &mut ops);
            }
        }
        ops
    }

    /// The source, with marks if they are given.
    pub fn text(&self, marks: Option<&[Mark]>) -> String {
        let mut text = String::from("pipeline P {\n");
        let mut line = |line: String| writeln!(text, "    {line}").expect("a string takes all");
        for Param { name, uniform, truth } in &self.params {
            let (word, of) = (if *uniform { "uniform " } else { "" }, if *truth { "bool" } else { "usize" });
            line(format!("{word}param {name}: {of};"));
        }
        for data in self.data.iter().filter(|data| data.declared) {
            line(data.declaration());
        }
        line(format!("chunk {} = 1000;", self.chunk));
        self.depth.iter().for_each(|depth| line(format!("depth = {depth};")));
        for Stream { name, per_slot, priority } in &self.streams {
            line(format!("stream {name}{priority}{};", if *per_slot { " per slot" } else { "" }));
        }
        if marks.is_some() {
            line("sync = manual;".to_owned());
        }
        self.mistake.iter().for_each(|mistake| line(mistake.declarations.to_owned()));
        for (index, Stage { name, stream, items }) in self.stages.iter().enumerate() {
            let on = stream.map_or_else(String::new, |stream| format!(" on {}", self.streams[stream].name));
            line(format!("stage {name}{on} {{"));
            for (place, item) in items.iter().enumerate() {
                let here = |before| {
                    let marks = marks.into_iter().flatten();
                    marks.filter(move |mark| mark.at == (index, place) && mark.before == before)
                };
                here(true).for_each(|mark| line(format!("    {}", mark.text)));
                self.item(item, 1, &mut line);
                here(false).for_each(|mark| line(format!("    {}", mark.text)));
            }
            line("}".to_owned());
        }
        self.mistake.iter().for_each(|mistake| line(format!("stage mistaken {{ {} }}", mistake.lines)));
        text.push_str("}\n");
        text
    }

    fn item(&self, item: &Item, depth: usize, line: &mut impl FnMut(String)) {
        let indent = "    ".repeat(depth);
        match item {
            Item::Op(op) => line(format!("{indent}{};", self.op(op))),
            Item::Repeat(times, items) => {
                line(format!("{indent}repeat {} {{", times.text()));
                items.iter().for_each(|item| self.item(item, depth + 1, line));
                line(format!("{indent}}}"));
            }
            Item::If(condition, then, otherwise) => {
                line(format!("{indent}if {} {{", condition.text()));
                then.iter().for_each(|item| self.item(item, depth + 1, line));
                let mut otherwise = otherwise.as_ref();
                // `else if`, as long as each has an `else` in its turn.
                while let Some([Item::If(condition, then, Some(rest))]) = otherwise.map(|items| &items[..]) {
                    line(format!("{indent}}} else if {} {{", condition.text()));
                    then.iter().for_each(|item| self.item(item, depth + 1, line));
                    otherwise = Some(rest);
                }
                if let Some(items) = otherwise {
                    line(format!("{indent}}} else {{"));
                    items.iter().for_each(|item| self.item(item, depth + 1, line));
                }
                line(format!("{indent}}}"));
            }
        }
    }

    /// An operation as it is written, without its semicolon.
    pub fn op(&self, op: &Op) -> String {
        let name = |data: &usize| &self.data[*data].name;
        match op {
            Op::Copy(from, to) => format!("copy {} -> {}", name(from), name(to)),
            Op::Fill(to) => format!("fill {} = 0.0", name(to)),
            Op::Launch(arguments) => {
                let argument = |(mode, data): &(Mode, usize)| match mode {
                    Mode::Read => format!("&{}", name(data)),
                    Mode::ReadWrite => format!("&mut {}", name(data)),
                    Mode::Out => format!("out {}", name(data)),
                };
                let arguments: Vec<_> = arguments.iter().map(argument).collect();
                format!("kernel<<<1, 64>>>({})", arguments.join(", "))
            }
            Op::Together(together) => self.together(together),
        }
    }

    fn together(&self, Together { word, reduction, data, to }: &Together) -> String {
        let part = |(data, part): &(usize, Option<Expr>)| {
            let part = part.as_ref().map_or_else(String::new, |part| format!("[{}]", part.text()));
            format!("{}{part}", self.data[*data].name)
        };
        let data: Vec<_> = data.iter().map(part).collect();
        let mut words = vec![(*word).to_owned()];
        words.extend(reduction.map(str::to_owned));
        words.extend((!data.is_empty()).then(|| data.join(" -> ")));
        match to {
            To::All => {}
            To::Root(word, rank) => words.push(format!("{word} {}", rank.text())),
            To::Ranks(from, to) => {
                words.extend(from.iter().map(|rank| format!("from {}", rank.text())));
                words.extend(to.iter().map(|rank| format!("to {}", rank.text())));
            }
            To::Halo(items, periodic) => {
                let periodic = if *periodic { " periodic" } else { "" };
                return format!("{}: halo {}{periodic}", words.join(" "), items.text());
            }
        }
        words.join(" ")
    }
}

impl Data {
    fn declaration(&self) -> String {
        let Self { name, kind, whole, count, .. } = self;
        let elements = match count {
            None => "; world.size".to_owned(),
            Some(1) => String::new(),
            Some(count) => format!("; {count}"),
        };
        let (keyword, after) = match kind {
            Kind::Input => ("input", ""),
            Kind::InOut => ("inout", ""),
            Kind::Output => ("output", ""),
            Kind::Ring if *whole => ("device", " per chunk"),
            Kind::Ring => ("device", ""),
            Kind::Carry => ("carry", ""),
            Kind::Resident => return format!("resident {name}: [f32];"),
        };
        format!("{keyword} {name}: [f32{elements}]{after};")
    }
}

fn collect<'p>(
    items: &'p [Item],
    repeat: Option<usize>,
    at: (usize, usize),
    repeats: &mut usize,
    ops: &mut Vec<Placed<'p>>,
) {
    for item in items {
        match item {
            Item::Op(op) => ops.push(Placed { op, repeat, at }),
            Item::If(_, then, otherwise) => {
                collect(then, repeat, at, repeats, ops);
                collect(otherwise.as_deref().unwrap_or_default(), repeat, at, repeats, ops);
            }
            Item::Repeat(_, inside) => {
                *repeats += 1;
                let own = *repeats;
                collect(inside, repeat.or(Some(own)), at, repeats, ops);
            }
        }
    }
}
