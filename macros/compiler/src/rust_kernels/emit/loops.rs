//! Loops.

use super::super::ir::{Block, Condition, Expr, Kind, LocalId, LoopId, Range, Unroll};
use super::{Emitter, Sink, Value};

impl Emitter<'_> {
    pub(super) fn while_loop(&mut self, id: LoopId, condition: &Condition, body: &Block) {
        self.enter(id, &Sink::Drop);
        if let Condition::Is(value) = condition {
            let before = self.lines.len();
            let text = self.operand(value).text;
            if self.lines.len() == before {
                self.write(&format!("while ({text}) {{"));
                self.end_after_fault();
                return self.turn(body);
            }
            // The condition needs statements, which belong into the loop.
            self.lines.truncate(before);
        }
        self.write("while (true) {");
        self.end_after_fault();
        self.depth += 1;
        for part in condition.parts() {
            match part {
                Condition::Is(condition) => {
                    let value = self.operand(condition);
                    self.write(&format!("if (!{}) {{", value.within(2)));
                }
                Condition::Bound(variant, name, value) => self.end_unless_bound(*variant, *name, value),
                Condition::All(_) => continue,
            }
            self.depth += 1;
            self.write("break;");
            self.depth -= 1;
            self.write("}");
        }
        self.depth -= 1;
        self.turn(body);
    }

    /// Ends a block of which a thread has failed: the loop might wait for what that thread would have written.
    pub(super) fn end_after_fault(&mut self) {
        if self.together {
            self.depth += 1;
            self.return_if("tw::has_faulted()");
            self.depth -= 1;
        }
    }

    /// Whether a value of the block is known without its threads: after a fault, what they give may be any
    /// number.
    pub(super) fn is_known(&self, expr: &Expr) -> bool {
        match &expr.kind {
            Kind::Integer(_) | Kind::Constant(_) | Kind::Builtin(_) => true,
            Kind::Local(local) => !self.local(*local).mutable && self.known.contains(local),
            Kind::Binary(_, a, b) => self.is_known(a) && self.is_known(b),
            Kind::Unary(_, a) | Kind::Cast(a) | Kind::Ref(a) | Kind::Deref(a) | Kind::Field(a, _) => {
                self.is_known(a)
            }
            Kind::Method(_, a, others) => self.is_known(a) && others.iter().all(|other| self.is_known(other)),
            Kind::Call(_, _, parts) => parts.iter().all(|part| self.is_known(part)),
            _ => false,
        }
    }

    fn unroll(&mut self, unroll: Option<Unroll>) {
        match unroll {
            None => {}
            Some(Unroll::Whole) => self.write("TW_UNROLL"),
            Some(Unroll::By(turns)) => self.write(&format!("TW_UNROLL_BY({turns})")),
        }
    }

    pub(super) fn for_tiles(&mut self, id: LoopId, name: LocalId, of: &Expr, body: &Block) {
        let local = self.local(name);
        let (cpp, mutable) = (local.cpp.clone(), local.mutable);
        let ty = self.types.cpp(local.ty).unwrap_or_else(|| "auto".to_owned());
        let sizes = ty.trim_start_matches("tw::Tile");
        let (turn, of) = (self.temporary("turn"), self.value(of));
        self.write(&format!(
            "for (tw::Tiles{sizes} {turn}({}.shape); {turn}.more(); {turn}.next()) {{",
            of.atom()
        ));
        self.depth += 1;
        let constant = if mutable { "" } else { "const " };
        self.write(&format!("{constant}{ty} {cpp} = {turn}.at;"));
        self.depth -= 1;
        if self.together {
            self.known.push(name);
        }
        self.enter(id, &Sink::Drop);
        self.turn(body);
    }

    pub(super) fn for_loop(&mut self, id: LoopId, name: LocalId, range: &Range, body: &Block) {
        let Range { from, to, inclusive, reversed, step, fits, unroll } = range;
        let local = self.local(name);
        let (cpp, mutable) = (local.cpp.clone(), local.mutable);
        let number = self.types.as_number(local.ty).or_else(|| self.types.as_number(from.ty));
        let ty = match number {
            Some(number) => number.name().to_owned(),
            None => self.types.cpp(local.ty).unwrap_or_else(|| "auto".to_owned()),
        };
        let mut ends: Vec<&Expr> = vec![from, to];
        ends.extend(step.as_ref());
        let waits = self.together && !ends.iter().all(|end| self.is_known(end));
        let values = self.operands(ends);
        self.enter(id, &Sink::Drop);
        // The body may change a variable of the user's, and the range stays as it was.
        let counter = if mutable { self.temporary("turn") } else { cpp.clone() };
        let fixed = |emitter: &mut Self, value: &Value, of: &Expr| {
            if value.stable || is_literal(of) {
                return value.within(8);
            }
            let name = emitter.temporary("end");
            emitter.write(&format!("const {ty} {name} = {};", value.text));
            name
        };
        let mut from_text = values[0].text.clone();
        match (inclusive, reversed, step) {
            (false, false, None) => {
                let to = fixed(self, &values[1], to);
                self.unroll(*unroll);
                self.write(&format!("for ({ty} {counter} = {from_text}; {counter} < {to}; ++{counter}) {{"));
            }
            (false, false, Some(of_step)) => {
                let to = fixed(self, &values[1], to);
                let step = if values[2].stable || is_literal(of_step) {
                    values[2].text.clone()
                } else {
                    let name = self.temporary("step");
                    self.write(&format!("const usize {name} = {};", values[2].text));
                    name
                };
                if !is_at_least_one(of_step) {
                    from_text = fixed(self, &values[0], from);
                    self.write(&format!("if ({step} == 0ull) {{"));
                    self.depth += 1;
                    let line = self.place(of_step.line);
                    self.write(&format!("tw::fault({line});"));
                    self.depth -= 1;
                    self.write("}");
                }
                self.unroll(*unroll);
                let next = match fits {
                    true => format!("{counter} += {step}"),
                    false => format!("{counter} = tw::stepped({counter}, {step}, {to})"),
                };
                self.write(&format!("for ({ty} {counter} = {from_text}; {counter} < {to}; {next}) {{"));
            }
            (false, true, _) => {
                let from = fixed(self, &values[0], from);
                let to = values[1].text.clone();
                self.unroll(*unroll);
                self.write(&format!("for ({ty} {counter} = {to}; {counter} > {from};) {{"));
                self.depth += 1;
                self.write(&format!("--{counter};"));
                self.depth -= 1;
            }
            (true, _, _) => {
                let turn = self.temporary("turn");
                let kind = if *reversed { "Backwards" } else { "Through" };
                let to = values[1].text.clone();
                self.unroll(*unroll);
                self.write(&format!(
                    "for (tw::{kind}<{ty}> {turn}({from_text}, {to}); {turn}.more; {turn}.next()) {{"
                ));
                self.depth += 1;
                let constant = if mutable { "" } else { "const " };
                self.write(&format!("{constant}{ty} {cpp} = {turn}.at;"));
                self.depth -= 1;
                if waits {
                    self.end_after_fault();
                }
                return self.turn(body);
            }
        }
        if mutable {
            self.depth += 1;
            self.write(&format!("{ty} {cpp} = {counter};"));
            self.depth -= 1;
        }
        if waits {
            self.end_after_fault();
        }
        self.turn(body);
    }
}

/// Whether a step is none that fails. Every launch has blocks and threads.
fn is_at_least_one(step: &Expr) -> bool {
    let of_launch = ["tw::threads()", "tw::threads_of_grid()", "tw::blocks_of_grid()"];
    match step.kind {
        Kind::Integer(step) => step > 0,
        Kind::Builtin(text) => of_launch.contains(&text),
        _ => false,
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr.kind, Kind::Integer(_))
}
