//! Loops, each with an end.

use super::generator::{Access, Generator, binds};
use super::types::{Number, Ty};

impl Generator {
    /// What stands before a loop: a label, or nothing.
    fn label(&mut self) -> String {
        if !self.chance(30) {
            return String::new();
        }
        self.count("a loop with a label");
        self.own_name("'l") + ": "
    }

    /// The body of a loop, which may leave it.
    pub fn body(&mut self, label: &str, depth: usize, first: &str) -> String {
        let around = self.labels.len();
        self.labels.extend(label.strip_suffix(": ").map(str::to_owned));
        self.loops += 1;
        self.indent += 1;
        let text = self.scoped(|this| {
            let mut text = format!("{{{}{first}", if first.is_empty() { String::new() } else { this.line() });
            for _ in 0..=this.below(2) {
                text += &this.line();
                text += &this.statement(depth - 1);
            }
            text
        });
        self.indent -= 1;
        self.loops -= 1;
        self.labels.truncate(around);
        text + &self.line() + "}"
    }

    /// A value that a loop, or a block with a label, is left with.
    pub fn left_with(&mut self, ty: &Ty, depth: usize) -> String {
        let is_block = self.chance(40);
        let (most, counter) = (1 + self.below(4), self.own_name("c"));
        let label = match is_block || self.chance(40) {
            true => self.own_name("'v"),
            false => String::new(),
        };
        // A `break` without a value does not leave it, and rustc wants labels in a block that has one.
        let loops = std::mem::take(&mut self.loops);
        self.indent += 1;
        let text = self.scoped(|this| {
            let line = this.line();
            let leave = |this: &mut Self| {
                let value = this.expression(ty, 1, true).text;
                let name = if label.is_empty() { String::new() } else { format!(" {label}") };
                // A label before a block would be a block with a label.
                format!("break{name} ({value});")
            };
            let mut text = String::new();
            if !is_block {
                let last = leave(this);
                text += &format!("{line}if {counter} >= {most} {{ {last} }}{line}{counter} += 1;");
            }
            for _ in 0..=this.below(2) {
                text += &line;
                text += &this.statement(depth - 1);
                if this.chance(60) {
                    let condition = this.condition(1);
                    let leave = match this.chance(30) && !label.is_empty() {
                        // Out of another loop.
                        true => format!("for _ in 0..2 {{ {} }}", leave(this)),
                        false => leave(this),
                    };
                    text += &format!("{line}if {condition} {{ {leave} }}");
                }
            }
            if is_block {
                text += &format!("{line}({})", this.expression(ty, 1, false).text);
            }
            text
        });
        self.indent -= 1;
        self.loops = loops;
        let (line, label) =
            (self.line(), if label.is_empty() { String::new() } else { format!("{label}: ") });
        match is_block {
            true => {
                self.count("a block with a label");
                format!("{label}{{{text}{line}}}")
            }
            false => {
                self.count("a loop with a value");
                format!("{{ let mut {counter} = 0; {label}loop {{{text}{line}}} }}")
            }
        }
    }

    /// `for k in a..b`, with the adapters.
    pub fn for_range(&mut self, depth: usize) -> String {
        let number = self.integer();
        let ty = Ty::Number(number);
        // The turns are few, whatever the ends are.
        let small = |this: &mut Self| {
            let end = this.expression(&ty, 1, true).within(binds::PRODUCT);
            format!("({end} % 5)")
        };
        let greatest = number.greatest();
        // With numbers alone, rustc would make it an `i32`.
        let (range, inclusive, is_known) = match self.below(9) {
            0 => (format!("0..{}", small(self)), false, true),
            1 => (format!("{}..6", small(self)), false, true),
            2 => (format!("1..={}", small(self)), true, true),
            3 => (format!("{}..={}", self.below(3), 2 + self.below(3)), true, false),
            // Up to the greatest number and down to the least, beyond which there is none.
            4 => {
                self.count("for: up to the greatest number");
                (format!("{}{}..={}::MAX", greatest - 2, number.name(), number.name()), true, true)
            }
            5 if number.is_signed() => {
                let name = number.name();
                self.count("for: from the least number");
                (format!("{name}::MIN..={name}::MIN + 3"), true, true)
            }
            6 => (format!("{}..{}", 3 + self.below(4), self.below(9)), false, false),
            _ => (format!("{}..{}", self.below(3), self.below(7)), false, false),
        };
        let adapted = match self.below(5) {
            0 => {
                self.count(if inclusive {
                    "for: an inclusive range, reversed"
                } else {
                    "for: a range, reversed"
                });
                format!("({range}).rev()")
            }
            1 if !inclusive => {
                self.count("for: step_by");
                let step = match self.chance(80) {
                    true => (1 + self.below(4)).to_string(),
                    false => {
                        let step =
                            self.expression(&Ty::Number(Number::Usize), 1, true).within(binds::PRODUCT);
                        format!("{step} % 7")
                    }
                };
                format!("({range}).step_by({step})")
            }
            _ => {
                self.count(if inclusive { "for: an inclusive range" } else { "for: a range" });
                range
            }
        };
        let (label, name, mutable) = (self.label(), self.own_name("k"), self.chance(12));
        let is_used = !self.chance(12);
        self.scoped(|this| {
            let mut first = String::new();
            if is_used && is_known {
                let access = if mutable { Access::Value } else { Access::Kept };
                this.declare(&name, ty.clone(), mutable, access);
            } else if is_used {
                // The type follows from a use in the body.
                let readable = this.readable(&ty);
                if !readable.is_empty() {
                    this.count("for: a variable whose type follows from the body");
                    let place = this.pick(&readable).text;
                    first = format!("let _ = {name} == {place};");
                    this.declare(&name, ty.clone(), false, Access::Kept);
                }
            }
            let pattern = match (is_used, mutable) {
                (false, _) => "_".to_owned(),
                (true, true) => format!("mut {name}"),
                (true, false) => name.clone(),
            };
            let body = this.body(&label, depth, &first);
            format!("{label}for {pattern} in {adapted} {body}")
        })
    }

    /// `for x in slice`
    pub fn for_elements(&mut self, depth: usize) -> String {
        let over = self.slices();
        let mut arrays = Vec::new();
        for (_, variable) in self.visible() {
            if let (Access::Value, Ty::Array(of, _)) = (variable.access, &variable.ty) {
                arrays.push((variable.name.clone(), (**of).clone()));
            }
        }
        if !arrays.is_empty() && self.chance(50) {
            let (array, of) = self.pick(&arrays);
            return self.for_of_array(depth, &array, of);
        }
        if over.is_empty() {
            return self.for_range(depth);
        }
        let (slice, of) = self.pick(&over);
        // Not all of a slice of any length.
        let slice = match self.chance(70) {
            true => {
                let length = 1 + self.below(4);
                format!("&{slice}[..{length}]")
            }
            false => self.as_slice(&slice),
        };
        self.over_references(depth, &slice, of)
    }

    fn for_of_array(&mut self, depth: usize, array: &str, of: Ty) -> String {
        if self.chance(50) {
            self.count("for: an array by value");
            let (label, name, mutable) = (self.label(), self.own_name("e"), self.chance(20));
            return self.scoped(|this| {
                this.declare(&name, of, mutable, Access::Value);
                let word = if mutable { "mut " } else { "" };
                let body = this.body(&label, depth, "");
                format!("{label}for {word}{name} in {array} {body}")
            });
        }
        // The array stays borrowed as long as the loop goes on.
        self.scoped(|this| {
            for variable in this.scope.iter_mut().filter(|variable| variable.name == array) {
                variable.access = Access::Kept;
            }
            this.over_references(depth, &format!("&{array}"), of)
        })
    }

    fn over_references(&mut self, depth: usize, slice: &str, of: Ty) -> String {
        let inner = if slice.starts_with('&') { format!("({slice})") } else { slice.to_owned() };
        let (iterator, enumerated) = match self.below(6) {
            0 => {
                self.count("for: iter");
                (format!("{inner}.iter()"), false)
            }
            1 => {
                self.count("for: enumerate");
                (format!("{inner}.iter().enumerate()"), true)
            }
            2 => {
                self.count("for: elements, reversed");
                (format!("{inner}.iter().rev()"), false)
            }
            _ => {
                self.count("for: elements");
                (slice.to_owned(), false)
            }
        };
        let (label, name, by_value) = (self.label(), self.own_name("e"), self.chance(40));
        self.scoped(|this| {
            let access = if by_value { Access::Value } else { Access::Ref };
            this.declare(&name, of, false, access);
            let mut pattern = if by_value { format!("&{name}") } else { name.clone() };
            if enumerated {
                let index = this.own_name("j");
                this.declare(&index, Ty::Number(Number::Usize), false, Access::Kept);
                pattern = format!("({index}, {pattern})");
            }
            let body = this.body(&label, depth, "");
            format!("{label}for {pattern} in {iterator} {body}")
        })
    }

    /// `while`, `while let` and `loop`, with a number of turns at most.
    pub fn counted_loop(&mut self, depth: usize) -> String {
        let most = 1 + self.below(5);
        let (label, counter) = (self.label(), self.own_name("c"));
        let slices = self.slices();
        let line = self.line();
        match self.below(4) {
            0 => {
                self.count("loop");
                let first = format!("if {counter} >= {most} {{ break; }}{line}    {counter} += 1;");
                let body = self.body(&label, depth, &first);
                format!("let mut {counter} = 0;{line}{label}loop {body}")
            }
            1 if !slices.is_empty() => {
                self.count("while let");
                let (slice, of) = self.pick(&slices);
                let slice = format!("&{slice}[..{most}]");
                let part = self.own_name("s");
                let name = self.own_name("o");
                let loop_ = self.scoped(|this| {
                    this.declare(&name, of, false, Access::Ref);
                    let and = this.more_conditions();
                    let body = this.body(&label, depth, &format!("{counter} += 1;"));
                    format!("{label}while let Some({name}) = {part}.get({counter}){and} {body}")
                });
                format!("let {part} = {slice};{line}let mut {counter} = 0;{line}{loop_}")
            }
            _ => {
                self.count("while");
                let number = self.integer();
                self.declare(&counter, Ty::Number(number), false, Access::Kept);
                // Rust has no `break` in the condition of a `while`.
                let and = match self.chance(50) {
                    true => self.while_not_left(|this| this.and_condition(2)),
                    false => String::new(),
                };
                let body = self.body(&label, depth, &format!("{counter} += 1;"));
                format!(
                    "let mut {counter}: {} = 0;{line}{label}while {counter} < {most}{and} {body}",
                    number.name()
                )
            }
        }
    }

    /// Writes where no loop can be left: in the condition of a `while`.
    fn while_not_left<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let around = (std::mem::take(&mut self.loops), std::mem::take(&mut self.labels));
        let written = write(self);
        (self.loops, self.labels) = around;
        written
    }

    fn and_condition(&mut self, depth: usize) -> String {
        format!(" && {}", self.of_bool(depth).within(binds::AND - 1))
    }

    /// What may follow a `let` in a condition: further conditions, some with a `let`.
    pub fn more_conditions(&mut self) -> String {
        let mut text = String::new();
        while self.chance(35) {
            let slices = self.slices();
            if slices.is_empty() || self.chance(50) {
                self.count("a condition beside a let");
                text += &self.while_not_left(|this| this.and_condition(1));
                continue;
            }
            self.count("a let beside a let");
            let (slice, of) = self.pick(&slices);
            let at = self.while_not_left(|this| this.number_below(&format!("{slice}.len()"), 1));
            let name = self.own_name("o");
            self.declare(&name, of, false, Access::Ref);
            text += &format!(" && let Some({name}) = {slice}.get({at})");
        }
        text
    }
}
