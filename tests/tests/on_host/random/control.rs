//! Expressions with blocks: `if`, `match`, closures.

use super::generator::{Access, Generator, Level, Return, Text, binds};
use super::types::{Number, Ty};

impl Generator {
    /// `{ …; value }`
    pub fn value_block(&mut self, ty: &Ty, depth: usize, evident: bool) -> String {
        self.expressions += 1;
        let text = self.scoped(|this| {
            this.indent += 1;
            let line = this.line();
            let mut text = "{".to_owned();
            let statements = this.weighted(&[55, 35, 10]);
            for _ in 0..statements {
                text += &line;
                text += &this.statement(1);
            }
            // Closures are called in the block that has them.
            let value = match this.below(12) {
                0 if depth > 1 => {
                    text += &line;
                    this.closure(ty, depth, &mut text)
                }
                _ => this.expression(ty, depth.saturating_sub(1), evident).text,
            };
            text += &line;
            // A statement would end with the block.
            let begins = ["{", "if ", "match "].iter().any(|word| value.starts_with(word));
            text += &if begins && !value.ends_with('}') { format!("({value})") } else { value };
            this.indent -= 1;
            text += &this.line();
            text += "}";
            text
        });
        self.expressions -= 1;
        text
    }

    pub fn if_value(&mut self, ty: &Ty, depth: usize, evident: bool) -> Text {
        self.count("if as a value");
        let condition = self.condition(depth - 1);
        let then = self.value_block(ty, depth - 1, evident);
        let mut text = format!("if {condition} {then}");
        while self.chance(20) {
            self.count("else if as a value");
            let condition = self.condition(depth - 1);
            let then = self.value_block(ty, depth - 1, false);
            text += &format!(" else if {condition} {then}");
        }
        let otherwise = self.value_block(ty, depth - 1, false);
        Text::new(format!("{text} else {otherwise}"), binds::BLOCK)
    }

    /// A condition, which stands before a block.
    pub fn condition(&mut self, depth: usize) -> String {
        let condition = if depth == 0 { self.comparison(1) } else { self.of_bool(depth) };
        if condition.binds == binds::BLOCK { format!("({})", condition.text) } else { condition.text }
    }

    pub fn match_value(&mut self, ty: &Ty, depth: usize, evident: bool) -> Text {
        self.count("match as a value");
        let mut arms = Vec::new();
        let head = self.arms(
            depth,
            |this, at| {
                let evident = evident && at == 0;
                match this.chance(35) {
                    true => this.value_block(ty, depth - 1, evident),
                    false => {
                        let value = this.expression(ty, depth.saturating_sub(1), evident);
                        // A block as an operand would end the arm.
                        if ["{", "if ", "match "].iter().any(|word| value.text.starts_with(word)) {
                            format!("({})", value.text)
                        } else {
                            value.text
                        }
                    }
                }
            },
            &mut arms,
        );
        Text::new(self.joined(&head, &arms), binds::BLOCK)
    }

    /// The text of a `match`.
    pub fn joined(&self, head: &str, arms: &[String]) -> String {
        let end = self.line();
        let arms: String = arms.iter().map(|arm| format!("{end}    {arm},")).collect();
        format!("match {head} {{{arms}{end}}}")
    }

    /// Writes arms, and returns what they match.
    pub fn arms(
        &mut self,
        depth: usize,
        mut body: impl FnMut(&mut Self, usize) -> String,
        arms: &mut Vec<String>,
    ) -> String {
        let depth = depth.max(1);
        self.indent += 1;
        let head = if self.chance(12) {
            self.count("match on a bool");
            let head = self.expression(&Ty::Bool, depth - 1, true);
            for (at, pattern) in
                self.pick(&[["true", "false"], ["false", "_"], ["true", "_"]]).into_iter().enumerate()
            {
                let body = self.scoped(|this| body(this, at));
                arms.push(format!("{pattern} => {body}"));
            }
            head
        } else {
            let number = self.integer();
            let head = self.expression(&Ty::Number(number), depth - 1, true);
            let count = 1 + self.below(3);
            for at in 0..count {
                let arm = self.scoped(|this| {
                    let pattern = this.pattern(number);
                    let guard = match this.chance(20) {
                        true => {
                            this.count("match: a guard");
                            let condition = this.while_frozen(|this| this.condition(1));
                            format!(" if {condition}")
                        }
                        false => String::new(),
                    };
                    let body = body(this, at);
                    format!("{pattern}{guard} => {body}")
                });
                arms.push(arm);
            }
            let last = self.scoped(|this| {
                let pattern = match this.below(3) {
                    0 => {
                        this.count("match: a name");
                        let name = this.own_name("m");
                        this.declare(&name, Ty::Number(number), false, Access::Value);
                        name
                    }
                    _ => "_".to_owned(),
                };
                let body = body(this, count);
                format!("{pattern} => {body}")
            });
            arms.push(last);
            head
        };
        self.indent -= 1;
        if head.binds == binds::BLOCK { format!("({})", head.text) } else { head.text }
    }

    /// A pattern of an integer, which need not match.
    fn pattern(&mut self, number: Number) -> String {
        let one = |this: &mut Self| this.pattern_number(number).0;
        match self.weighted(&[30, 20, 20, 12, 10, 8]) {
            0 => {
                self.count("match: a number");
                one(self)
            }
            1 => {
                self.count("match: several");
                let count = 2 + self.below(2);
                let all: Vec<_> = (0..count).map(|_| one(self)).collect();
                all.join(" | ")
            }
            2 => self.range_pattern(number),
            3 => {
                self.count("match: a name and a range");
                let name = self.own_name("r");
                let range = self.range_pattern(number);
                self.declare(&name, Ty::Number(number), false, Access::Value);
                format!("{name} @ {range}")
            }
            4 => {
                self.count("match: several ranges");
                format!("{} | {}", self.range_pattern(number), one(self))
            }
            _ => {
                self.count("match: a constant");
                format!("{}::{}", number.name(), self.pick(&["MAX", "MIN"]))
            }
        }
    }

    fn pattern_number(&mut self, number: Number) -> (String, i128) {
        let value = match self.chance(80) {
            true => self.random.below(12) as i128,
            false => (self.random.below(120)) as i128,
        };
        let negative = number.is_signed() && self.chance(30);
        let value = if negative { -value } else { value };
        let suffix = if self.chance(15) { number.name() } else { "" };
        (format!("{value}{suffix}"), value)
    }

    fn range_pattern(&mut self, number: Number) -> String {
        self.count("match: a range");
        let (first, low) = self.pattern_number(number);
        let last = (low + 1 + self.below(20) as i128).min(i128::from(number.greatest()));
        match self.below(5) {
            0 => format!("{first}.."),
            1 => format!("..={last}"),
            2 => format!("{first}..{last}"),
            3 => format!("..{last}"),
            _ => format!("{first}..={last}"),
        }
    }

    /// Defines a closure in `text`, calls it there, and returns an expression with another call.
    fn closure(&mut self, ty: &Ty, depth: usize, text: &mut String) -> String {
        let name = self.own_name("f");
        let parameters: Vec<Ty> = (0..self.below(3)).map(|_| self.simple()).collect();
        let line = self.line();
        let changes = self.writable(ty);
        // One that changes a variable: its own copy, or that of the function around.
        let changed = changes.into_iter().find(|place| place.binds == binds::ATOM && is_name(&place.text));
        // A closure of a whole block changes nothing of it.
        let may_change = self.level != Level::Block && self.chance(50);
        if let (Some(changed), Ty::Number(number), true) = (changed, ty, may_change) {
            let word = if self.chance(50) { "move " } else { "" };
            self.count(if word.is_empty() {
                "a closure that changes a variable"
            } else {
                "a closure with `move`"
            });
            let value = self.while_frozen(|this| {
                this.scoped(|this| {
                    this.hide(&changed.text);
                    this.expression(ty, depth - 1, false).text
                })
            });
            let update = match number.is_float() {
                true => format!("{0} = {0} * 0.5 + q", changed.text),
                false => format!("{0} = {0}.wrapping_mul(3).wrapping_add(q)", changed.text),
            };
            *text += &format!(
                "let mut {name} = {word}|q: {ty}| {{{line}    {update};{line}    {}{line}}};",
                changed.text
            );
            *text += &format!("{line}let first_{name} = {name}({value});");
            // Both calls in one expression, whose order matters.
            let second = format!("{name}(first_{name})");
            return match number.is_float() {
                true => format!("{name}(1.5) - {second}"),
                false => format!("{name}(5).wrapping_sub({second})"),
            };
        }
        self.count("a closure");
        let result = std::mem::replace(&mut self.result, Return::Absent);
        let (loops, labels) = (std::mem::take(&mut self.loops), std::mem::take(&mut self.labels));
        let (level, atomics, thread) = (self.level, self.atomics.clone(), self.thread.take());
        if level != Level::Thread {
            // Nor does it access atomics.
            self.atomics.clear();
        }
        if level == Level::Block {
            self.level = Level::Phase;
        }
        let body = self.while_frozen(|this| {
            this.scoped(|this| {
                let mut list = Vec::new();
                for ty in &parameters {
                    let name = this.own_name("p");
                    this.declare(&name, ty.clone(), false, Access::Value);
                    list.push(format!("{name}: {ty}"));
                }
                let arrow = if this.chance(30) { format!(" -> {ty}") } else { String::new() };
                let needs_block = !arrow.is_empty() || this.chance(40);
                let body = match needs_block {
                    true => {
                        this.result = Return::Value(ty.clone());
                        this.value_block(ty, depth - 1, true)
                    }
                    false => this.expression(ty, depth - 1, true).text,
                };
                format!("|{}|{arrow} {body}", list.join(", "))
            })
        });
        (self.result, self.loops, self.labels) = (result, loops, labels);
        (self.level, self.atomics, self.thread) = (level, atomics, thread);
        *text += &format!("let {name} = {body};");
        let call = |this: &mut Self| {
            let arguments: Vec<_> = parameters.iter().map(|ty| this.expression(ty, 1, false).text).collect();
            format!("{name}({})", arguments.join(", "))
        };
        self.while_frozen(|this| {
            if this.chance(50) {
                let first = call(this);
                *text += &format!("{line}let _ = {first};");
            }
            call(this)
        })
    }
}

fn is_name(text: &str) -> bool {
    !text.contains(['.', '[', '*'])
}
