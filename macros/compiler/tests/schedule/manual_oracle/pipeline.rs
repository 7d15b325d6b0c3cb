//! A pipeline with events by hand, and its source text.

use std::fmt::Write;

#[derive(Debug, Clone)]
pub struct Pipeline {
    pub streams: Vec<Stream>,
    pub data: Vec<Data>,
    pub stages: Vec<Stage>,
}

#[derive(Debug, Clone)]
pub struct Stream {
    pub name: String,
    pub per_slot: bool,
    pub priority: &'static str,
    /// A stage without `on` has a stream of its own, which has no declaration.
    pub declared: bool,
}

#[derive(Debug, Clone)]
pub struct Data {
    pub name: String,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Input,
    Output,
    InOut,
    Device,
    /// Declared by the copy that writes it first.
    Copied,
    Resident,
    /// Set to a value before the first chunk.
    Carry,
    /// Set by what `run` is given.
    CarryGiven,
    /// No data: what all collectives have in common, since ranks begin them in one order.
    Together,
}

impl Kind {
    pub fn is_host(self) -> bool {
        matches!(self, Self::Input | Self::Output | Self::InOut)
    }

    /// Whether there is one for the whole run.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Resident | Self::Carry | Self::CarryGiven | Self::Together)
    }

    /// Whether each ring slot has one.
    pub fn is_ring(self) -> bool {
        matches!(self, Self::Device | Self::Copied)
    }
}

#[derive(Debug, Clone)]
pub struct Stage {
    pub name: String,
    pub stream: usize,
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone)]
pub enum Line {
    Op(Op),
    Record(String),
    Wait(String, Of),
}

/// The chunk whose event a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    This,
    Previous,
    Reuse,
}

impl Of {
    pub const ALL: [Self; 3] = [Self::This, Self::Previous, Self::Reuse];

    pub fn written(self) -> &'static str {
        match self {
            Self::This => "",
            Self::Previous => " @ previous",
            Self::Reuse => " @ reuse",
        }
    }

    /// How many chunks earlier that chunk is.
    pub fn chunks(self, depth: usize) -> usize {
        match self {
            Self::This => 0,
            Self::Previous => 1,
            Self::Reuse => depth,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Op {
    pub what: What,
    /// The stream of a launch that is not its stage's.
    pub on: Option<usize>,
}

/// Numbers are indices into the pipeline's data.
#[derive(Debug, Clone)]
pub enum What {
    Copy {
        from: usize,
        to: usize,
    },
    Fill(usize),
    Launch(Vec<(Mode, usize)>),
    /// The ranks add up some data, or only meet.
    Collective {
        together: usize,
        data: Option<usize>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Read,
    ReadWrite,
    Out,
}

impl What {
    /// Its accesses: the data, whether it reads, whether it writes.
    pub fn accesses(&self) -> Vec<(usize, bool, bool)> {
        match self {
            Self::Copy { from, to } => vec![(*from, true, false), (*to, false, true)],
            Self::Fill(to) => vec![(*to, false, true)],
            Self::Launch(arguments) => {
                let access = |&(mode, data): &(Mode, usize)| (data, mode != Mode::Out, mode != Mode::Read);
                arguments.iter().map(access).collect()
            }
            Self::Collective { together, data } => {
                data.iter().chain([together]).map(|&data| (data, true, true)).collect()
            }
        }
    }
}

/// An operation in its place.
#[derive(Clone, Copy)]
pub struct Placed<'p> {
    pub op: &'p Op,
    pub stream: usize,
    /// Stage and line of it.
    pub at: (usize, usize),
}

impl Pipeline {
    /// The operations in the order in which they are written.
    pub fn ops(&self) -> Vec<Placed<'_>> {
        let mut ops = Vec::new();
        for (index, stage) in self.stages.iter().enumerate() {
            for (line, written) in stage.lines.iter().enumerate() {
                if let Line::Op(op) = written {
                    ops.push(Placed { op, stream: op.on.unwrap_or(stage.stream), at: (index, line) });
                }
            }
        }
        ops
    }

    /// All places where a line may stand: before any line of any stage, and after the last.
    pub fn places(&self) -> Vec<(usize, usize)> {
        let lines =
            |(stage, written): (usize, &Stage)| (0..=written.lines.len()).map(move |line| (stage, line));
        self.stages.iter().enumerate().flat_map(lines).collect()
    }

    /// Where the marks are that `wanted` accepts.
    pub fn marks(&self, wanted: impl Fn(&Line) -> bool) -> Vec<(usize, usize)> {
        let mut places = self.places();
        places.retain(|&(stage, line)| self.stages[stage].lines.get(line).is_some_and(&wanted));
        places
    }

    pub fn insert(&mut self, (stage, line): (usize, usize), written: Line) {
        self.stages[stage].lines.insert(line, written);
    }

    pub fn remove(&mut self, (stage, line): (usize, usize)) -> Line {
        self.stages[stage].lines.remove(line)
    }

    /// Gives an operation a stage of its own, on the stream that it runs on.
    pub fn split(&mut self, (stage, line): (usize, usize)) {
        let Stage { name, stream, lines } = self.stages.remove(stage);
        let (before, rest) = lines.split_at(line);
        let (alone, after) = rest.split_at(1);
        let mut alone = alone.to_vec();
        let mut own = stream;
        if let [Line::Op(op)] = &mut alone[..] {
            own = op.on.take().unwrap_or(stream);
        }
        let parts = [("before", stream, before), ("", own, &alone[..]), ("after", stream, after)];
        let parts = parts.into_iter().filter(|(_, _, lines)| !lines.is_empty());
        let parts = parts.map(|(part, stream, lines)| {
            let lines = lines.to_vec();
            Stage { name: format!("{name}{part}"), stream, lines }
        });
        self.stages.splice(stage..stage, parts);
    }

    /// The source, one line for each line of a stage, and for each line of text where it comes from.
    pub fn text(&self, manual: bool) -> (String, Vec<Option<(usize, usize)>>) {
        let mut text = String::from("pipeline P {\n");
        for Data { name, kind } in &self.data {
            let declaration = match kind {
                Kind::Input => format!("input {name}: [f32];"),
                Kind::Output => format!("output {name}: [f32];"),
                Kind::InOut => format!("inout {name}: [f32];"),
                Kind::Device => format!("device {name}: [f32];"),
                Kind::Copied | Kind::Together => continue,
                Kind::Resident => format!("resident {name}: [f32];"),
                Kind::Carry => format!("carry {name}: [f32; 4] = 0.0;"),
                Kind::CarryGiven => format!("carry {name}: [f32; 4];"),
            };
            writeln!(text, "    {declaration}").expect("a string takes all");
        }
        for Stream { name, per_slot, priority, .. } in self.streams.iter().filter(|stream| stream.declared) {
            let slot = if *per_slot { " per slot" } else { "" };
            writeln!(text, "    stream {name}{priority}{slot};").expect("a string takes all");
        }
        if manual {
            text.push_str("    sync = manual;\n");
        }
        let mut origins = vec![None; text.lines().count()];
        for (index, Stage { name, stream, lines }) in self.stages.iter().enumerate() {
            let Stream { name: stream, declared, .. } = &self.streams[*stream];
            let on = if *declared { format!(" on {stream}") } else { String::new() };
            writeln!(text, "    stage {name}{on} {{").expect("a string takes all");
            origins.push(None);
            for (line, written) in lines.iter().enumerate() {
                writeln!(text, "        {}", self.line(written)).expect("a string takes all");
                origins.push(Some((index, line)));
            }
            text.push_str("    }\n");
            origins.push(None);
        }
        text.push_str("}\n");
        (text, origins)
    }

    fn line(&self, line: &Line) -> String {
        let name = |data: &usize| &self.data[*data].name;
        match line {
            Line::Record(event) => format!("record {event};"),
            Line::Wait(event, of) => format!("wait {event}{};", of.written()),
            Line::Op(Op { what: What::Copy { from, to }, .. }) => {
                format!("copy {} -> {};", name(from), name(to))
            }
            Line::Op(Op { what: What::Collective { data: Some(data), .. }, .. }) => {
                format!("all_reduce sum {};", name(data))
            }
            Line::Op(Op { what: What::Collective { data: None, .. }, .. }) => "barrier;".to_owned(),
            Line::Op(Op { what: What::Fill(to), .. }) => format!("fill {} = 0.0;", name(to)),
            Line::Op(Op { what: What::Launch(arguments), on }) => {
                let argument = |(mode, data): &(Mode, usize)| match mode {
                    Mode::Read => format!("&{}", name(data)),
                    Mode::ReadWrite => format!("&mut {}", name(data)),
                    Mode::Out => format!("out {}", name(data)),
                };
                let arguments: Vec<_> = arguments.iter().map(argument).collect();
                let on = on.map_or_else(String::new, |stream| format!(", 0, {}", self.streams[stream].name));
                format!("kernel<<<1, 64{on}>>>({});", arguments.join(", "))
            }
        }
    }
}
