//! Statements.

use super::generator::{Access, Generator, Level, Return, binds};
use super::scope::root;
use super::types::{Number, Ty};

impl Generator {
    /// Statements in a block of their own, in braces.
    pub fn block(&mut self, depth: usize, count: usize) -> String {
        self.scoped(|this| {
            this.indent += 1;
            let mut text = "{".to_owned();
            for _ in 0..count {
                text += &this.line();
                text += &this.statement(depth);
            }
            this.indent -= 1;
            text += &this.line();
            text += "}";
            text
        })
    }

    /// One statement; `depth` is that of the blocks in it.
    pub fn statement(&mut self, depth: usize) -> String {
        self.count("statements");
        if let Some(text) = self.special_statement(depth) {
            return text;
        }
        let blocks = if depth > 0 { 1 } else { 0 };
        let loops = if depth > 0 && self.loops < 2 { 1 } else { 0 };
        match self.weighted(&[
            26,
            7,
            30,
            10 * blocks,
            5 * blocks,
            9 * loops,
            8 * loops,
            6 * loops,
            3 * blocks,
            4,
            4 * blocks,
            3,
            5,
            6,
            4,
            3,
        ]) {
            0 => self.let_value(),
            1 => self.let_parts(),
            2 => self.assignment(),
            3 => self.if_statement(depth),
            4 => self.match_statement(depth),
            5 => self.for_range(depth),
            6 => self.for_elements(depth),
            7 => self.counted_loop(depth),
            8 => {
                self.count("a block");
                let count = 1 + self.below(3);
                self.block(depth - 1, count)
            }
            9 => self.assertion(),
            10 => self.let_some(depth),
            11 => self.leave(),
            12 => self.part_of_a_slice(),
            13 => self.reference(),
            14 => self.call(),
            _ => self.open_number(),
        }
    }

    /// A statement that not every function has: with a phase, a thread of a phase, or an atomic.
    fn special_statement(&mut self, depth: usize) -> Option<String> {
        let level = self.level;
        let found = match level {
            Level::Block if self.chance(50) => self.block_statement(depth),
            Level::Phase if self.chance(20) => self.thread_statement(depth),
            _ => None,
        };
        if found.is_none() && self.chance(10) {
            return self.atomic_statement(depth);
        }
        found
    }

    pub fn let_value(&mut self) -> String {
        let ty = self.ty(2);
        let annotated = self.chance(45);
        let mutable = self.chance(55);
        match self.below(13) {
            12 => {
                let value = self.left_with(&ty, 2);
                let name = self.own_name("d");
                self.declare(&name, ty.clone(), mutable, Access::Value);
                format!("let {}{name}: {ty} = {value};", if mutable { "mut " } else { "" })
            }
            0 => {
                self.count("let, and a value in two branches");
                let name = self.own_name("d");
                let condition = self.condition(1);
                let [a, b] = [(); 2].map(|()| self.expression(&ty, 1, true).text);
                let annotation = if annotated { format!(": {ty}") } else { String::new() };
                self.declare(&name, ty, false, Access::Value);
                format!("let {name}{annotation}; if {condition} {{ {name} = {a}; }} else {{ {name} = {b}; }}")
            }
            1 => {
                self.count("let _");
                format!("let _ = {};", self.expression(&ty, 2, true).text)
            }
            2 => {
                self.count("a constant in a kernel");
                let name = self.own_name("C").to_uppercase();
                let ty = self.constant_type();
                let (value, _) = self.constant_value(&ty, false);
                self.declare(&name, ty.clone(), false, Access::Kept);
                format!("const {name}: {ty} = {value};")
            }
            _ => {
                self.count(if annotated { "let with a type" } else { "let" });
                let depth = 1 + self.below(3);
                let value = match self.foreign(&ty) {
                    Some(foreign) if annotated && self.chance(30) => foreign,
                    _ => self.expression(&ty, depth, !annotated),
                };
                let name = self.name();
                let annotation = if annotated { format!(": {ty}") } else { String::new() };
                let word = if mutable { "mut " } else { "" };
                let mut value = value.text;
                if let (Ty::Struct(of), true) = (&ty, self.chance(60))
                    && let Some(inside) = value.strip_prefix('(').and_then(|value| value.strip_suffix(')'))
                    && inside.starts_with(&of.name)
                {
                    value = inside.to_owned();
                }
                self.declare(&name, ty, mutable, Access::Value);
                format!("let {word}{name}{annotation} = {value};")
            }
        }
    }

    /// `let (a, b) = …`, `let [a, b] = …`
    fn let_parts(&mut self) -> String {
        let ty = loop {
            let ty = self.ty(2);
            if !matches!(ty, Ty::Number(_) | Ty::Half(_) | Ty::Bool) {
                break ty;
            }
        };
        self.count("let with a pattern");
        let value = self.expression(&ty, 2, true).text;
        let pattern = self.parts(&ty);
        format!("let {pattern} = {value};")
    }

    pub fn parts(&mut self, ty: &Ty) -> String {
        let taken_apart = self.chance(80);
        match ty {
            Ty::Tuple(parts) if taken_apart => {
                let parts: Vec<_> = parts.iter().map(|part| self.parts(part)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Array(of, length) if taken_apart => {
                let parts: Vec<_> = (0..*length).map(|_| self.parts(of)).collect();
                format!("[{}]", parts.join(", "))
            }
            Ty::Struct(of) if taken_apart => self.struct_pattern(of),
            _ if self.chance(12) => "_".to_owned(),
            ty => {
                // A pattern names nothing twice.
                let (name, mutable) = (self.own_name("t"), self.chance(40));
                self.declare(&name, ty.clone(), mutable, Access::Value);
                if mutable { format!("mut {name}") } else { name }
            }
        }
    }

    pub fn assignment(&mut self) -> String {
        let types = self.writable_types();
        if types.is_empty() {
            return self.let_value();
        }
        let ty = self.pick(&types);
        let places = self.writable(&ty);
        if places.is_empty() {
            return self.let_value();
        }
        let mut place = self.pick(&places).text;
        // An element at a computed place.
        let arrays: Vec<_> = (1..=4)
            .flat_map(|length| {
                self.writable(&Ty::Array(Box::new(ty.clone()), length)).into_iter().map(move |a| (a, length))
            })
            .collect();
        if !arrays.is_empty() && self.chance(50) {
            self.count("an assignment to an element");
            let (array, length) = self.pick(&arrays);
            // What a thread has of its own is borrowed while the index is found.
            let at = self.scoped(|this| {
                if array.text.contains('[') {
                    this.hide(&array.text);
                }
                this.index(&length.to_string(), 1)
            });
            place = format!("{}[{at}]", array.within(binds::ATOM));
        }
        if self.chance(8) {
            return self.swap(&ty, &place);
        }
        let Ty::Number(number) = ty else {
            if ty == Ty::Bool && self.chance(50) {
                let symbol = self.pick(&["&=", "|=", "^="]);
                self.count("a compound assignment of a bool");
                return format!("{place} {symbol} {};", self.expression(&ty, 2, true).text);
            }
            if matches!(ty, Ty::Half(_)) && self.chance(50) {
                let symbol = self.pick(&["+=", "-=", "*=", "/=", "%="]);
                self.count("a compound assignment of a half");
                // It is borrowed before the value is computed.
                let value = self.scoped(|this| {
                    if place.contains('[') {
                        this.hide(&place);
                    }
                    this.while_frozen(|this| this.expression(&ty, 2, true).text)
                });
                return format!("{place} {symbol} {value};");
            }
            self.count("an assignment");
            return format!("{place} = {};", self.expression(&ty, 2, false).text);
        };
        if self.chance(45) {
            self.count("an assignment");
            return format!("{place} = {};", self.expression(&Ty::Number(number), 3, false).text);
        }
        self.compound(number, &place)
    }

    fn compound(&mut self, number: Number, place: &str) -> String {
        let ty = Ty::Number(number);
        let weights: &[usize] = match (number.is_float(), number.is_signed() || self.wild) {
            (true, _) => &[30, 30, 20, 10, 5, 0, 0, 0, 0, 0],
            (false, true) => &[20, 15, 8, 8, 8, 8, 8, 10, 6, 6],
            (false, false) => &[20, 3, 5, 8, 12, 8, 8, 10, 6, 6],
        };
        const SYMBOLS: [&str; 10] = ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];
        let symbol = SYMBOLS[self.weighted(weights)];
        self.count(symbol);
        let value = match symbol {
            "<<=" | ">>=" => self.shift_distance(number, 1),
            "/=" | "%=" if !number.is_float() && self.chance(75) => (1 + self.below(20)).to_string(),
            _ => self.expression(&ty, 2, false).text,
        };
        format!("{place} {symbol} {value};")
    }

    /// `(a, b) = (b, a)`
    fn swap(&mut self, ty: &Ty, place: &str) -> String {
        let others = self.writable(ty);
        let other = others.into_iter().find(|other| root(&other.text) != root(place));
        let Some(other) = other else {
            self.count("an assignment");
            return format!("{place} = {};", self.expression(ty, 2, false).text);
        };
        self.count("an assignment of a tuple");
        let other = other.text;
        match self.chance(50) {
            true => format!("({place}, {other}) = ({other}, {place});"),
            false => {
                let value = self.expression(ty, 2, false).text;
                format!("({other}, {place}) = ({value}, {other});")
            }
        }
    }

    fn if_statement(&mut self, depth: usize) -> String {
        self.count("if");
        let condition = self.condition(2);
        let count = 1 + self.below(2);
        let mut text = format!("if {condition} {}", self.block(depth - 1, count));
        while self.chance(25) {
            self.count("else if");
            let condition = self.condition(2);
            text += &format!(" else if {condition} {}", self.block(depth - 1, 1));
        }
        if self.chance(50) {
            self.count("else");
            text += &format!(" else {}", self.block(depth - 1, 1));
        }
        text
    }

    fn match_statement(&mut self, depth: usize) -> String {
        self.count("match");
        let mut arms = Vec::new();
        let head = self.arms(
            2,
            |this, _| {
                if this.chance(15) { "{}".to_owned() } else { this.block(depth - 1, 1) }
            },
            &mut arms,
        );
        self.joined(&head, &arms)
    }

    /// `assert!`, `panic!`
    fn assertion(&mut self) -> String {
        match self.below(3) {
            0 => {
                self.count("panic!");
                let number = self.integer();
                let value = self.expression(&Ty::Number(number), 2, true).within(binds::COMPARE - 1);
                let panic =
                    self.pick(&["panic!()", "panic!(\"told\")", "unreachable!()", "unreachable!(\"never\")"]);
                format!("if 77 == {value} {{ {panic}; }}")
            }
            case => {
                self.count("assert!");
                let condition = self.while_frozen(|this| this.comparison(1)).text;
                // Most often it holds.
                let or = self.while_frozen(|this| this.comparison(1)).text;
                let message = if case == 1 { ", \"it holds\"" } else { "" };
                format!("assert!(({condition}) || ({or}) || {}{message});", self.chance(60))
            }
        }
    }

    /// `if let Some(x) = slice.get(at)`, and `let … else`.
    fn let_some(&mut self, depth: usize) -> String {
        let slices = self.slices();
        if slices.is_empty() {
            return self.if_statement(depth);
        }
        let (slice, of) = self.pick(&slices);
        let at = match self.chance(60) {
            true => self.number_below(&format!("{slice}.len()"), 1),
            false => self.expression(&Ty::Number(Number::Usize), 2, false).text,
        };
        let name = self.own_name("o");
        if self.chance(50) {
            self.count("if let");
            let before = match self.chance(20) {
                true => format!("{} && ", self.of_bool(1).within(binds::AND - 1)),
                false => String::new(),
            };
            let (more, then) = self.scoped(|this| {
                this.declare(&name, of.clone(), false, Access::Ref);
                let more = this.more_conditions();
                let count = 1 + this.below(2);
                (more, this.block(depth - 1, count))
            });
            let otherwise = match self.chance(40) {
                true => format!(" else {}", self.block(depth - 1, 1)),
                false => String::new(),
            };
            return format!("if {before}let Some({name}) = {slice}.get({at}){more} {then}{otherwise}");
        }
        self.count("let else");
        let leave = self.leaving();
        self.declare(&name, of, false, Access::Ref);
        format!("let Some({name}) = {slice}.get({at}) else {{ {leave} }};")
    }

    /// `return`, `break` or `continue`, which always ends the block.
    pub fn leaving(&mut self) -> String {
        if self.loops > 0 && self.chance(70) {
            let word = self.pick(&["break", "continue"]);
            if !self.labels.is_empty() && self.chance(60) {
                self.count(if word == "break" { "break of a label" } else { "continue of a label" });
                let labels = self.labels.clone();
                return format!("{word} {};", self.pick(&labels));
            }
            self.count(word);
            return format!("{word};");
        }
        match self.result.clone() {
            Return::Value(ty) => {
                self.count("return with a value");
                format!("return {};", self.expression(&ty, 1, false).text)
            }
            Return::Nothing => {
                self.count("return");
                "return;".to_owned()
            }
            Return::Absent => "panic!();".to_owned(),
        }
    }

    /// A way out that is seldom taken.
    fn leave(&mut self) -> String {
        let number = self.integer();
        let value = self.expression(&Ty::Number(number), 2, true).within(binds::COMPARE - 1);
        let leave = self.leaving();
        format!("if {} == {value} {{ {leave} }}", 3 + self.below(9))
    }

    /// A call of a function of the module.
    fn call(&mut self) -> String {
        if self.devices.is_empty() {
            return self.let_value();
        }
        let devices = self.devices.clone();
        let device = self.pick(&devices);
        let Some(call) = self.call_of(&device) else { return self.let_value() };
        let (name, ty) = (self.name(), device.result);
        let mutable = self.chance(50);
        self.declare(&name, ty.clone(), mutable, Access::Value);
        let word = if mutable { "mut " } else { "" };
        format!("let {word}{name}: {ty} = {call};")
    }

    /// A number whose type follows from what comes after: `let mut n = 0; n += x;`
    fn open_number(&mut self) -> String {
        let number = self.number();
        let ty = Ty::Number(number);
        let readable = self.readable(&ty);
        if readable.is_empty() {
            return self.let_value();
        }
        self.count("let of a number whose type follows from a use");
        let name = self.own_name("z");
        let value = if number.is_float() { "0.5" } else { "1" };
        let first = self.pick(&readable).text;
        let line = self.line();
        let symbol = self.pick(&["+=", "=", "*="]);
        let text = match self.below(3) {
            0 => format!("let mut {name} = {value};{line}{name} {symbol} {first};"),
            1 => format!("let {name} = {value};{line}let _ = {name} == {first};"),
            _ => format!("let mut {name} = {value};{line}if {first} > {name} {{ {name} = {first}; }}"),
        };
        self.declare(&name, ty, text.starts_with("let mut"), Access::Value);
        text
    }
}
