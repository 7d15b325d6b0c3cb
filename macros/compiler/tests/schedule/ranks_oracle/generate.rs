//! Random pipelines that several ranks carry out.

use super::expr::{Expr, binary, name, number};
use super::pipeline::{Data, Item, Kind, Mistake, Mode, Op, Param, Pipeline, Stage, Stream, To, Together};
use super::random::Random;
use super::values::{Values, Wanted};

/// How deep blocks are nested.
const NESTED: usize = 3;

/// Collectives that the rules of single collectives refuse.
const MISTAKES: [Mistake; 9] = [
    Mistake {
        code: "TW1003",
        early: true,
        declarations: "input h: [f32];",
        lines: "copy h -> dh; all_reduce sum h; all_reduce sum dh;",
    },
    Mistake {
        code: "TW1003",
        early: true,
        declarations: "param many: usize;",
        lines: "broadcast many from 0;",
    },
    Mistake {
        code: "TW1003",
        early: true,
        declarations: "carry parts: [f32; 4] = 0.0 combine add;",
        lines: "all_reduce sum parts;",
    },
    Mistake {
        code: "TW1004",
        early: false,
        declarations: "input h: [f32] halo 1 = clamp;",
        lines: "copy h -> dh; all_reduce max dh;",
    },
    Mistake {
        code: "TW1005",
        early: false,
        declarations: "carry m: [f32; 4]; carry n: [f32; 6];",
        lines: "all_gather m -> n;",
    },
    Mistake {
        code: "TW1005",
        early: true,
        declarations: "input h: [f32; 4];",
        lines: "copy h -> dh; scatter dh -> mine from 0;",
    },
    Mistake { code: "TW1006", early: false, declarations: "carry m: [i32; 4];", lines: "all_reduce mean m;" },
    Mistake { code: "TW1006", early: false, declarations: "carry m: [u16; 4];", lines: "reduce sum m to 0;" },
    Mistake {
        code: "TW1008",
        early: true,
        declarations: "carry m: [f32; 4];",
        lines: "pass m -> m to (rank + 1) % 2;",
    },
];

struct Builder<'r> {
    random: &'r mut Random,
    pipeline: Pipeline,
    /// The data that are written wherever the next operation stands, by index.
    written: Vec<bool>,
    /// Whether collectives may depend on what may differ.
    bold: bool,
    /// The operations that may still be written.
    left: usize,
}

/// Where the next operations stand.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// Whether collectives may stand there.
    together: bool,
    repeated: bool,
}

/// A pipeline, most often one that keeps the rules.
pub fn pipeline(random: &mut Random) -> Pipeline {
    let bold = random.chance(40);
    let mistake = random.chance(4).then(|| random.pick(&MISTAKES));
    let left = 3 + random.below(9);
    let pipeline = Pipeline { mistake, ..Pipeline::default() };
    let mut builder = Builder { random, pipeline, written: Vec::new(), bold, left };
    builder.parameters();
    builder.streams();
    builder.declare();
    builder.stages();
    builder.pipeline
}

impl Builder<'_> {
    fn parameters(&mut self) {
        for (letter, uniform, truth) in
            [("n", false, false), ("f", false, true), ("u", true, false), ("t", true, true)]
        {
            for index in 0..self.random.below(3) {
                self.pipeline.params.push(Param { name: format!("{letter}{index}"), uniform, truth });
            }
        }
        let numbers: Vec<usize> =
            (0..self.pipeline.params.len()).filter(|&index| !self.pipeline.params[index].truth).collect();
        // Parameters and chunks may have the names of what expressions know without a declaration.
        if !numbers.is_empty() && self.random.chance(8) {
            let named = *self.random.pick(&numbers);
            self.pipeline.params[named].name = (*self.random.pick(&["rank", "world"])).to_owned();
        }
        let is_free = self.pipeline.names().has_world();
        self.pipeline.chunk = if is_free && self.random.chance(3) { "world" } else { "c" }.to_owned();
        self.pipeline.depth = self.random.chance(50).then(|| 1 + self.random.below(4));
    }

    fn streams(&mut self) {
        let per_slot = *self.random.pick(&[10, 30, 80]);
        for index in 0..self.random.below(5) {
            let per_slot = self.random.chance(per_slot);
            let priority = if self.random.chance(75) { "" } else { self.random.pick(&[": high", ": low"]) };
            self.pipeline.streams.push(Stream { name: format!("s{index}"), per_slot, priority });
        }
    }

    fn data(&mut self, name: String, kind: Kind, whole: bool, count: Option<usize>) -> usize {
        let data = Data { name, kind, whole, count, declared: true };
        self.pipeline.data.push(data);
        self.written.push(kind.is_shared());
        self.pipeline.data.len() - 1
    }

    fn declare(&mut self) {
        let has_world = self.pipeline.names().has_world();
        let kinds = [
            (Kind::Input, "x", false, 1, 1),
            (Kind::InOut, "y", false, 1, 1),
            (Kind::Output, "z", false, 0, 2),
            (Kind::Ring, "d", false, 0, 3),
            (Kind::Ring, "q", true, 0, 3),
            (Kind::Carry, "a", true, 0, 3),
            (Kind::Resident, "w", true, 0, 2),
        ];
        for (kind, letter, whole, least, more) in kinds {
            for index in 0..least + self.random.below(more) {
                let ring = kind == Kind::Ring || kind == Kind::Carry;
                let count = match (ring, whole) {
                    (true, false) => Some(*self.random.pick(&[1, 1, 4])),
                    (true, true) if has_world && self.random.chance(15) => None,
                    (true, true) => Some(*self.random.pick(&[4, 8, 8])),
                    _ => Some(1),
                };
                self.data(format!("{letter}{index}"), kind, whole, count);
            }
        }
    }

    fn stages(&mut self) {
        let upload = self.upload();
        self.stage(vec![Item::Op(upload)]);
        while self.left > 0 {
            let place = Place { depth: 0, together: true, repeated: false };
            let count = 1 + self.random.below(3);
            let items = self.items(count, place);
            self.stage(items);
        }
        for to in 0..self.pipeline.data.len() {
            let kind = self.pipeline.data[to].kind;
            if matches!(kind, Kind::Output | Kind::InOut) {
                let from = self.some(|data, written| is_plain(data) && written);
                let from = from.expect("something was uploaded");
                self.stage(vec![Item::Op(Op::Copy(from, to))]);
            }
        }
    }

    fn stage(&mut self, items: Vec<Item>) {
        let streams = self.pipeline.streams.len();
        let stream = (streams > 0 && self.random.chance(80)).then(|| self.random.below(streams));
        let name = format!("stage{}", self.pipeline.stages.len());
        self.pipeline.stages.push(Stage { name, stream, items });
    }

    fn items(&mut self, count: usize, place: Place) -> Vec<Item> {
        (0..count).map(|_| self.item(place)).collect()
    }

    fn item(&mut self, place: Place) -> Item {
        self.left = self.left.saturating_sub(1);
        if place.depth == NESTED || !self.random.chance([45, 30, 20][place.depth]) {
            return Item::Op(self.operation(place));
        }
        let doubtful = self.random.chance(45);
        let inside =
            Place { depth: place.depth + 1, together: place.together && (!doubtful || self.bold), ..place };
        let count = 1 + self.random.below(2);
        let before = self.written.clone();
        if self.random.chance(35) {
            let times = match self.random.below(4) {
                0 if !doubtful => number(*self.random.pick(&[0, 1, 2, 2, 3, 3])),
                _ => self.value(Wanted { truth: false, doubtful, in_pass: false }),
            };
            let items = self.items(count, Place { repeated: true, ..inside });
            self.written.truncate(before.len());
            self.written.copy_from_slice(&before);
            self.forget(&before);
            return Item::Repeat(times, items);
        }
        let condition = self.value(Wanted { truth: true, doubtful, in_pass: false });
        let has_else = self.random.chance(50);
        let is_empty = has_else && self.random.chance(6);
        let then = if is_empty { Vec::new() } else { self.items(count, inside) };
        let after = std::mem::replace(&mut self.written, before.clone());
        self.forget(&before);
        let otherwise = has_else.then(|| {
            let count = 1 + self.random.below(2);
            self.items(count, inside)
        });
        let both = after.iter().chain(std::iter::repeat(&false)).zip(&mut self.written);
        both.for_each(|(then, otherwise)| *otherwise &= *then);
        Item::If(condition, then, otherwise)
    }

    /// Data that a block has declared are not known to be written after it.
    fn forget(&mut self, before: &[bool]) {
        self.written = before.to_vec();
        self.written.resize(self.pipeline.data.len(), false);
    }

    fn value(&mut self, wanted: Wanted) -> Expr {
        Values { random: self.random, pipeline: &self.pipeline }.value(wanted)
    }

    /// Data that `fit` accepts.
    fn some(&mut self, fit: impl Fn(&Data, bool) -> bool) -> Option<usize> {
        let all = self.pipeline.data.iter().zip(&self.written).enumerate();
        let found: Vec<usize> =
            all.filter(|(_, (data, written))| fit(data, **written)).map(|(index, _)| index).collect();
        (!found.is_empty()).then(|| *self.random.pick(&found))
    }

    fn operation(&mut self, place: Place) -> Op {
        if place.together && self.random.chance(45) {
            return Op::Together(self.together());
        }
        match self.random.below(5) {
            0 if !place.repeated => self.upload(),
            1 => match self.some(|data, _| data.kind == Kind::Ring && data.declared) {
                Some(to) => {
                    self.written[to] = true;
                    Op::Fill(to)
                }
                None => self.launch(),
            },
            _ => self.launch(),
        }
    }

    fn upload(&mut self) -> Op {
        let from = self.some(|data, _| matches!(data.kind, Kind::Input | Kind::InOut));
        let from = from.expect("an input is declared");
        let there = if self.random.chance(60) { self.some(|data, _| is_plain(data)) } else { None };
        let to = there.unwrap_or_else(|| self.new_data(false, Some(1)));
        self.written[to] = true;
        Op::Copy(from, to)
    }

    /// A buffer that the operation declares which writes it.
    fn new_data(&mut self, whole: bool, count: Option<usize>) -> usize {
        let index = self.data(format!("r{}", self.pipeline.data.len()), Kind::Ring, whole, count);
        self.pipeline.data[index].declared = false;
        index
    }

    fn launch(&mut self) -> Op {
        let mut arguments: Vec<(Mode, usize)> = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let mode = *self.random.pick(&[Mode::Read, Mode::Read, Mode::ReadWrite, Mode::Out]);
            let fits = |data: &Data, written: bool| match mode {
                _ if data.kind.is_host() => false,
                Mode::Read => written,
                Mode::ReadWrite => written && data.kind != Kind::Resident,
                Mode::Out => data.kind != Kind::Resident && (data.declared || written),
            };
            let Some(data) = self.some(fits) else { continue };
            if !arguments.iter().any(|&(_, used)| used == data) {
                arguments.push((mode, data));
            }
        }
        for &(mode, data) in &arguments {
            self.written[data] |= mode != Mode::Read;
        }
        Op::Launch(arguments)
    }

    /// Whether an expression of a collective is one in which ranks may differ.
    fn doubts(&mut self) -> bool {
        self.bold && self.random.chance(15)
    }

    fn together(&mut self) -> Together {
        const WORDS: [&str; 12] = [
            "all_reduce",
            "all_reduce",
            "reduce",
            "broadcast",
            "exchange",
            "barrier",
            "all_gather",
            "gather",
            "scatter",
            "reduce_scatter",
            "all_to_all",
            "pass",
        ];
        let word = *self.random.pick(&WORDS);
        let is_of_one = ["all_reduce", "reduce", "broadcast", "exchange"].contains(&word);
        let data = match word {
            "barrier" => Some(Vec::new()),
            _ if is_of_one => self.one(),
            _ => self.two(word),
        };
        let Some(data) = data else {
            return Together { word: "barrier", reduction: None, data: Vec::new(), to: To::All };
        };
        let reduces = ["all_reduce", "reduce", "reduce_scatter"].contains(&word);
        let reduction = reduces.then(|| *self.random.pick(&["sum", "mean", "min", "max", "product"]));
        let to = match word {
            "reduce" | "gather" => To::Root("to", self.rank()),
            "broadcast" | "scatter" => To::Root("from", self.rank()),
            "exchange" => To::Halo(self.count(), self.random.chance(50)),
            "pass" => {
                let sides = self.random.below(3);
                let from = (sides != 0).then(|| self.peer());
                To::Ranks(from, (sides != 1).then(|| self.peer()))
            }
            _ => To::All,
        };
        Together { word, reduction, data, to }
    }

    /// The root of a collective.
    fn rank(&mut self) -> Expr {
        if !self.doubts() && self.random.chance(50) {
            return number(self.random.below(2) as i64);
        }
        self.count()
    }

    fn count(&mut self) -> Expr {
        let doubtful = self.doubts();
        self.value(Wanted { truth: false, doubtful, in_pass: false })
    }

    /// Whom a rank gives or gets.
    fn peer(&mut self) -> Expr {
        let doubtful = self.doubts();
        if !doubtful && self.pipeline.names().has_world() && self.random.chance(50) {
            let next = binary(name("rank"), "+", number(1 + self.random.below(2) as i64));
            return binary(next, "%", super::expr::field("world", "size"));
        }
        self.value(Wanted { truth: false, doubtful, in_pass: true })
    }

    fn part(&mut self) -> Expr {
        let bound = |end: Expr| Some(Box::new(end));
        let end = self.count();
        match self.random.below(4) {
            0 => Expr::Range(bound(end), None, false),
            1 => Expr::Range(bound(number(self.random.below(2) as i64)), bound(end), false),
            2 => Expr::Range(None, bound(end), true),
            _ => Expr::Range(None, bound(end), false),
        }
    }

    fn one(&mut self) -> Option<Vec<(usize, Option<Expr>)>> {
        let data = self.some(|data, written| matches!(data.kind, Kind::Ring | Kind::Carry) && written)?;
        let part = self.random.chance(20).then(|| self.part());
        Some(vec![(data, part)])
    }

    /// Two buffers whose elements fit.
    fn two(&mut self, word: &str) -> Option<Vec<(usize, Option<Expr>)>> {
        let from = self.some(|data, written| !data.kind.is_host() && written)?;
        let source = self.pipeline.data[from].clone();
        let resident = source.kind == Kind::Resident;
        let parts = self.random.chance(20);
        let fits = |source: Option<usize>, destination: Option<usize>| match (source, destination, word) {
            _ if parts || resident => true,
            (Some(from), Some(to), "all_gather" | "gather") => to.is_multiple_of(from),
            (Some(from), Some(to), "scatter" | "reduce_scatter") => from.is_multiple_of(to),
            (Some(from), Some(to), _) => from == to,
            _ => true,
        };
        let index = |data: &Data, all: &[Data]| all.iter().position(|other| other.name == data.name);
        let all = self.pipeline.data.clone();
        let to = self.some(|data, written| {
            matches!(data.kind, Kind::Ring | Kind::Carry)
                && index(data, &all) != Some(from)
                && (written || data.declared && !parts)
                && (data.whole == source.whole || parts || resident)
                && fits(source.count, data.count)
        });
        let declares = ["all_gather", "gather", "all_to_all", "pass"].contains(&word) && !parts && !resident;
        let to = match to {
            Some(to) if !declares || self.random.chance(70) => to,
            _ if declares => {
                let gathers = word.ends_with("gather");
                self.new_data(source.whole, if gathers { None } else { source.count })
            }
            _ => return None,
        };
        self.written[to] = true;
        let mut part = || parts.then(|| self.part());
        Some(vec![(from, part()), (to, part())])
    }
}

/// Whether a buffer holds one element an item.
fn is_plain(data: &Data) -> bool {
    data.kind == Kind::Ring && !data.whole && data.count == Some(1)
}
