//! Phases, and what threads do in them.

use std::mem;

use super::super::atomics::{Atomic, Mode};
use super::super::generator::{Access, Generator, Level, Return, Text};
use super::super::module::noted;
use super::super::types::{Number, Ty};
use super::{Owner, SharedArray};

const USIZE: Ty = Ty::Number(Number::Usize);

impl Generator {
    /// Writes a closure that each thread runs. `write` gets the thread's name, which may be used if `has_thread`.
    /// `filled` is the array that the phase fills, which it does not read.
    pub fn phase<R>(
        &mut self,
        has_thread: bool,
        result: Return,
        filled: Option<&str>,
        write: impl FnOnce(&mut Self, &str) -> R,
    ) -> R {
        let result = mem::replace(&mut self.result, result);
        let (loops, labels) = (mem::take(&mut self.loops), mem::take(&mut self.labels));
        let around =
            (self.level, self.thread.take(), mem::take(&mut self.atomics), mem::take(&mut self.reads));
        self.atomics = self.atomics_of_phases.clone();
        self.level = Level::Phase;
        let written = self.scoped(|this| {
            this.frozen = this.scope.len();
            let thread = this.own_name("t");
            if has_thread {
                this.thread = Some(thread.clone());
                this.declare(&format!("{thread}.rank()"), USIZE, false, Access::Kept);
                if this.dimensions == 1 {
                    this.declare(&format!("{thread}.index()"), USIZE, false, Access::Index);
                }
                let own = this.visible().filter(|(_, variable)| variable.access == Access::Private);
                let own: Vec<_> = own.map(|(_, own)| (own.name.clone(), own.ty.clone())).collect();
                for (name, ty) in own {
                    this.declare(&format!("{name}[{thread}]"), ty, true, Access::Value);
                }
            }
            this.declare_shared(filled);
            write(this, &thread)
        });
        (self.level, self.thread, self.atomics, self.reads) = around;
        (self.result, self.loops, self.labels) = (result, loops, labels);
        written
    }

    /// Shared arrays are read in phases alone.
    fn declare_shared(&mut self, filled: Option<&str>) {
        for array in self.shared.clone() {
            if Some(array.name.as_str()) == filled {
                continue;
            }
            if let Some(number) = array.atomic {
                self.declare_atomics(&array, number);
                continue;
            }
            if !array.is_padded {
                let of = match array.rows {
                    Some(_) => Ty::array(array.of.clone(), array.columns),
                    None => array.of.clone(),
                };
                self.declare(&array.name, of, false, Access::Shared);
            }
            self.reads.push(array);
        }
    }

    /// In one phase all threads change them, or all read them.
    fn declare_atomics(&mut self, array: &SharedArray, number: Number) {
        let mode = if self.chance(60) { self.common() } else { Mode::Read };
        let (place, length) = match array.rows {
            Some(rows) => (format!("{}[{}]", array.name, self.below(rows)), array.columns),
            None => (array.name.clone(), array.columns),
        };
        self.atomics.push(Atomic { place, number, length: Some(length.to_string()), mode });
    }

    /// An element of a shared array of this type, if there is one.
    pub fn shared_element(&mut self, ty: &Ty) -> Option<Text> {
        let arrays: Vec<_> = self.reads.iter().filter(|array| array.of == *ty).cloned().collect();
        if arrays.is_empty() {
            return None;
        }
        let array = self.pick(&arrays);
        self.count("an element of a shared array");
        let column = self.number_below(&array.columns.to_string(), 1);
        Some(Text::atom(match array.rows {
            Some(rows) => {
                let row = self.number_below(&rows.to_string(), 1);
                format!("{}[{row}][{column}]", array.name)
            }
            None => format!("{}[{column}]", array.name),
        }))
    }

    /// A statement of the whole block that has a phase, if that may stand here.
    pub fn block_statement(&mut self, depth: usize) -> Option<String> {
        if self.level != Level::Block || self.expressions > 0 {
            return None;
        }
        let shared = if self.shared.is_empty() { 0 } else { 1 };
        let loops = if depth > 0 && self.loops < 2 { 1 } else { 0 };
        let one = if self.dimensions == 1 { 1 } else { 0 };
        let weights = [30, 18 * shared, 14, 10, 5 * loops, 4, 14 * one, 30 * loops * (1 - one)];
        Some(match self.weighted(&weights) {
            0 => self.each(),
            1 => {
                let arrays = self.shared.clone();
                let array = self.pick(&arrays);
                self.fill_of(&array)
            }
            2 => self.reduce(),
            3 => self.asked(depth),
            4 => self.while_any(depth),
            5 => self.new_private(),
            6 => self.put()?,
            _ => self.for_parts(depth)?,
        })
    }

    fn each(&mut self) -> String {
        self.count("each");
        let line = self.line();
        let text = self.phase(true, Return::Nothing, None, |this, thread| {
            this.indent += 1;
            let mut text = String::new();
            for _ in 0..1 + this.below(4) {
                text += &this.line();
                text += &this.statement(1);
            }
            if this.dimensions == 1 && this.chance(40) {
                let line = this.line();
                this.indent += 1;
                let noted = noted(this, "*seen", 3);
                this.indent -= 1;
                text +=
                    &format!("{line}if let Some(seen) = seen.get_mut({thread}.index()) {{{noted}{line}}}");
            }
            this.indent -= 1;
            format!("|{thread}| {{{text}{line}}}")
        });
        format!("block.each({text});")
    }

    /// The value of a phase's closure, most often without statements.
    pub fn phase_value(&mut self, ty: &Ty, evident: bool) -> String {
        match self.chance(35) {
            true => self.value_block(ty, 2, evident),
            false => self.expression(ty, 2, evident).text,
        }
    }

    /// `block.fill(&mut array, |i| …);`
    pub fn fill_of(&mut self, array: &SharedArray) -> String {
        let columns_first = array.rows.is_some() && array.atomic.is_none() && self.chance(25);
        self.count(if columns_first { "fill_columns" } else { "fill" });
        let closure = self.phase(false, Return::Value(array.of.clone()), Some(&array.name), |this, _| {
            let place = this.place_of_element(array.rows.is_some());
            format!("|{place}| {}", this.phase_value(&array.of, false))
        });
        let method = if columns_first { "fill_columns" } else { "fill" };
        format!("block.{method}(&mut {}, {closure});", array.name)
    }

    /// What the closure of a `fill` gets, which it knows from then on.
    pub fn place_of_element(&mut self, has_rows: bool) -> String {
        if !has_rows || self.chance(25) {
            let name = self.own_name("i");
            let ty = if has_rows { Ty::array(USIZE, 2) } else { USIZE };
            self.declare(&name, ty, false, Access::Value);
            return name;
        }
        let names = [self.own_name("r"), self.own_name("c")];
        for name in &names {
            self.declare(name, USIZE, false, Access::Value);
        }
        format!("[{}]", names.join(", "))
    }

    /// `let sum = block.reduce(|t| …, |a, b| …);`
    fn reduce(&mut self) -> String {
        self.count("reduce");
        // A lane that has failed has any bytes, which are no `bool` inside of another value.
        let ty = loop {
            let ty = self.ty(1);
            if ty == Ty::Bool || !ty.has_bool() {
                break ty;
            }
        };
        let value = self.phase(true, Return::Value(ty.clone()), None, |this, thread| {
            format!("|{thread}| {}", this.phase_value(&ty, true))
        });
        let combine = self.phase(false, Return::Value(ty.clone()), None, |this, _| {
            this.atomics.clear();
            let [a, b] = [(); 2].map(|()| this.own_name("a"));
            for name in [&a, &b] {
                this.declare(name, ty.clone(), false, Access::Value);
            }
            let value = match (&ty, this.below(3)) {
                (Ty::Number(number), 0) if !number.is_float() => format!("{a}.wrapping_add({b})"),
                (Ty::Number(_) | Ty::Half(_), 1) => format!("if {a} < {b} {{ {b} }} else {{ {a} }}"),
                (Ty::Number(number), _) if number.is_float() => format!("{a} + {b}"),
                _ => this.phase_value(&ty, true),
            };
            format!("|{a}, {b}| {value}")
        });
        let (name, mutable) = (self.name(), self.chance(30));
        let word = if mutable { "mut " } else { "" };
        self.declare(&name, ty, mutable, Access::Value);
        format!("let {word}{name} = block.reduce({value}, {combine});")
    }

    /// `block.any(|t| …)`, `block.count(|t| …)`
    fn test(&mut self, method: &str) -> String {
        let test = self.phase(true, Return::Value(Ty::Bool), None, |this, thread| {
            format!("|{thread}| {}", this.phase_value(&Ty::Bool, true))
        });
        format!("block.{method}({test})")
    }

    /// What the threads say, in a variable or as a condition.
    fn asked(&mut self, depth: usize) -> String {
        if depth > 0 && self.chance(35) {
            self.count("if any");
            let test = self.test("any");
            let negated = if self.chance(30) { "!" } else { "" };
            return format!("if {negated}{test} {}", self.block(depth - 1, 2));
        }
        let (method, ty) = self.pick(&[("any", Ty::Bool), ("count", USIZE)]);
        self.count(if method == "any" { "any" } else { "count" });
        let test = self.test(method);
        let name = self.name();
        self.declare(&name, ty, false, Access::Value);
        format!("let {name} = {test};")
    }

    /// A loop whose end depends on the threads.
    fn while_any(&mut self, depth: usize) -> String {
        self.count("while any");
        let (counter, line) = (self.own_name("c"), self.line());
        let test = self.test("any");
        let body = self.body("", depth, &format!("{counter} += 1;"));
        format!("let mut {counter} = 0;{line}while {counter} < {} && {test} {body}", 1 + self.below(4))
    }

    /// `let mut sum = block.private(start);`
    pub fn new_private(&mut self) -> String {
        self.count("private");
        let ty = self.ty(1);
        let value = self.expression(&ty, 1, true).text;
        let name = self.own_name("m");
        self.declare(&name, ty, true, Access::Private);
        format!("let mut {name} = block.private({value});")
    }

    /// `sums.put(block.index(), sum);`
    fn put(&mut self) -> Option<String> {
        let handles: Vec<_> =
            self.handles.iter().filter(|handle| handle.owner == Owner::Block).cloned().collect();
        if handles.is_empty() {
            return None;
        }
        self.count("put");
        let handle = self.pick(&handles);
        let value = self.expression(&handle.ty, 2, true).text;
        Some(format!("{}.put(block.index(), {value});", handle.name))
    }

    /// What a thread of a phase alone does, if this is one.
    pub fn thread_statement(&mut self, depth: usize) -> Option<String> {
        let thread = self.thread.clone()?;
        let handles: Vec<_> =
            self.handles.iter().filter(|handle| handle.owner == Owner::Thread).cloned().collect();
        match self.below(3) {
            0 if !handles.is_empty() && self.dimensions == 1 => {
                self.count("the element of a thread in a phase");
                let handle = self.pick(&handles);
                let name = self.own_name("y");
                let then = self.scoped(|this| {
                    // No other reference to it meanwhile.
                    this.handles.retain(|other| other.name != handle.name);
                    let line = this.line();
                    this.indent += 1;
                    let mut text = String::new();
                    if handle.out {
                        let first = this.expression(&handle.ty, 1, true).text;
                        text += &format!("{}*{name} = {first};", this.line());
                    }
                    this.declare(&name, handle.ty.clone(), true, Access::RefMut);
                    for _ in 0..1 + this.below(3) {
                        text += &this.line();
                        text += &this.assignment();
                    }
                    this.indent -= 1;
                    text + &line
                });
                self.handles.push(handle.clone());
                Some(format!("if let Some({name}) = {}.get_mut({thread}.index()) {{{then}}}", handle.name))
            }
            1 | 2 if depth > 0 && self.loops < 2 => {
                let of_grid = self.dimensions == 1 && self.chance(50);
                self.count(if of_grid {
                    "for: a share of the grid's"
                } else {
                    "for: a share of the block's"
                });
                let slices = self.slices();
                let count = match slices.is_empty() || self.chance(40) {
                    true => self.below(70).to_string(),
                    false => format!("{}.len()", self.pick(&slices).0),
                };
                let name = self.own_name("k");
                Some(self.scoped(|this| {
                    let access = if of_grid { Access::Index } else { Access::Kept };
                    this.declare(&name, USIZE, false, access);
                    let body = this.body("", depth, "");
                    let method = if of_grid { "of_grid" } else { "of_block" };
                    format!("for {name} in {thread}.{method}({count}) {body}")
                }))
            }
            _ => None,
        }
    }
}
