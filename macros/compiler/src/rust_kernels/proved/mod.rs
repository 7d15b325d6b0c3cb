//! Which indices are within their arrays and slices whatever the data are: C++ gets these without a check.
//!
//! The function is walked once, in the order in which Rust evaluates it. At each place [`Facts`] holds what is
//! known of numbers that do not change there: what `#[requires]` says, what the conditions around ask, what
//! the ranges of loops give, and what has ended the thread otherwise. An index for which `index < length`
//! follows from them becomes an element that is known to exist; every other one keeps its check.
//!
//! Three rules keep this sound:
//! - A [`Term`] is made of names that are never assigned: of those without `mut`. A name in a loop's body stands
//!   for another number in each turn, so facts end with the block in which they were learned.
//! - Terms are compared as they stand. Of sums nothing is concluded, since they may have wrapped.
//! - What an access has shown, since it would have failed otherwise, is known from the next statement on: C++
//!   leaves open in which order one statement reads its operands.

mod required;
mod terms;
#[cfg(test)]
mod tests;

use std::mem;

use super::ir::{Block, Closure, Condition, Expr, Function, Kind, Local, LocalId, Pattern, Phase, Range};
use super::ir::{Statement, Unary};
use super::methods::Method;
use super::signature::Signature;
use super::types::{Length, Shape, Ty, Types};
use terms::{Fact, Facts, Term};

/// What the launch gives a thread, which is the same number each time.
const OF_THE_LAUNCH: [&str; 6] = [
    "tw::index()",
    "tw::rank()",
    "tw::threads()",
    "tw::block_index()",
    "tw::blocks()",
    "tw::threads_of_grid()",
];

/// Takes the checks off that cannot fail if the conditions hold, and notes which lengths are the same.
pub(super) fn prove(function: &mut Function, types: &Types, signature: &Signature, conditions: &[syn::Expr]) {
    let facts = required::facts(conditions, signature, function);
    function.same_lengths = required::same_lengths(&facts, signature, function);
    let mut body = mem::take(&mut function.body);
    let mut walk = Walk {
        types,
        locals: &function.locals,
        constants: &function.constants,
        closures: mem::take(&mut function.closures),
        numbers: vec![None; function.locals.len()],
        lengths: vec![None; function.locals.len()],
        facts,
        shown: Vec::new(),
    };
    walk.block(&mut body);
    let closures = walk.closures;
    (function.body, function.closures) = (body, closures);
}

struct Walk<'a> {
    types: &'a Types,
    locals: &'a [Local],
    constants: &'a [(syn::ExprPath, String)],
    closures: Vec<Closure>,
    /// What a local was bound to, if that is a term.
    numbers: Vec<Option<Term>>,
    /// The length of what a slice was bound to.
    lengths: Vec<Option<Term>>,
    facts: Facts,
    /// What the accesses of the statement show.
    shown: Vec<Fact>,
}

impl Walk<'_> {
    /// Walks what is evaluated perhaps, or perhaps more than once: what is learned there ends with it.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let (facts, shown) = (self.facts.len(), self.shown.len());
        walk(self);
        self.facts.truncate(facts);
        self.shown.truncate(shown);
    }

    fn block(&mut self, block: &mut Block) {
        self.apart(|walk| {
            let shown = walk.shown.len();
            for statement in &mut block.statements {
                walk.statement(statement);
                for fact in walk.shown.split_off(shown) {
                    walk.facts.add(fact);
                }
            }
            if let Some(value) = &mut block.value {
                walk.expr(value);
            }
        });
    }

    fn statement(&mut self, statement: &mut Statement) {
        match statement {
            Statement::Declare(_) => {}
            Statement::Let(pattern, value) => {
                self.expr(value);
                self.bind(pattern, value);
            }
            Statement::LetElse(_, value, otherwise) => {
                self.expr(value);
                self.block(otherwise);
                self.assume_some(value);
            }
            Statement::Const(name, value) => {
                let number = match self.term(value) {
                    Some(Term::Integer(value)) => Term::Integer(value),
                    // As lengths of arrays name it.
                    _ => Term::Named(self.locals[name.0].cpp.clone()),
                };
                self.numbers[name.0] = Some(number);
            }
            Statement::Expr(expr) => {
                self.expr(expr);
                match &expr.kind {
                    Kind::Assert(Some(condition)) => self.assume(condition, true),
                    Kind::If(condition, then, otherwise) => {
                        if let (Condition::Is(condition), true) = (&**condition, diverges(then)) {
                            self.assume(condition, false);
                        }
                        if otherwise.as_deref().is_some_and(ends) {
                            self.assume_condition(condition);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Notes what a name without `mut` stands for.
    fn bind(&mut self, pattern: &Pattern, value: &Expr) {
        match (pattern, &value.kind) {
            (Pattern::Name(name), _) if !self.locals[name.0].mutable => {
                let ty = self.locals[name.0].ty;
                if self.is_number(ty) {
                    self.numbers[name.0] = self.term(value);
                } else if let Shape::Slice(_) = self.types.shape(ty) {
                    self.lengths[name.0] = self.length(value);
                    if let Kind::Part(_, None, Some(last), true) = &value.kind
                        && let Some(last) = self.term(last)
                    {
                        self.facts.add(Fact::below(last, Term::Length(*name)));
                    }
                }
            }
            (Pattern::Tuple(patterns), Kind::Tuple(parts)) => {
                patterns.iter().zip(parts).for_each(|(pattern, part)| self.bind(pattern, part));
            }
            _ => {}
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            Kind::Index(base, at) => {
                self.expr(base);
                self.expr(at);
                if let (Some(index), Some(length)) = (self.term(at), self.length(base)) {
                    if self.facts.is_below(&index, &length) {
                        let [base, at] = [base, at].map(taken);
                        expr.kind = Kind::Element(base, at);
                    } else {
                        self.shown.push(Fact::below(index, length));
                    }
                }
            }
            Kind::Part(base, from, to, inclusive) => {
                self.expr(base);
                [from.as_deref_mut(), to.as_deref_mut()]
                    .into_iter()
                    .flatten()
                    .for_each(|bound| self.expr(bound));
                let bound = to.as_deref().or(from.as_deref()).and_then(|bound| self.term(bound));
                if let (Some(bound), Some(length)) = (bound, self.length(base)) {
                    let is_last = *inclusive && to.is_some();
                    let fact = if is_last { Fact::below } else { Fact::at_most };
                    self.shown.push(fact(bound, length));
                }
            }
            Kind::And(left, right) => self.both(left, right, true),
            Kind::Or(left, right) => self.both(left, right, false),
            Kind::If(condition, then, otherwise) => {
                self.condition(condition);
                self.apart(|walk| {
                    walk.assume_condition(condition);
                    walk.block(then);
                });
                if let Some(otherwise) = otherwise {
                    self.apart(|walk| {
                        if let Condition::Is(condition) = &**condition {
                            walk.assume(condition, false);
                        }
                        walk.expr(otherwise);
                    });
                }
            }
            Kind::Match(value, arms) => {
                self.expr(value);
                let value = self.term(value);
                for arm in arms {
                    self.apart(|walk| {
                        if let Some(name) = arm.name.filter(|name| !walk.locals[name.0].mutable) {
                            walk.numbers[name.0] = value.clone();
                        }
                        if let Some(guard) = &mut arm.guard {
                            walk.expr(guard);
                            walk.assume(guard, true);
                        }
                        walk.expr(&mut arm.body);
                    });
                }
            }
            Kind::Block(block) | Kind::Loop(block) => self.block(block),
            Kind::While(condition, body) => self.apart(|walk| {
                walk.condition(condition);
                walk.assume_condition(condition);
                walk.block(body);
            }),
            Kind::For(name, range, body) => self.for_loop(*name, range, body),
            Kind::Closure(id) => self.closure(*id, None),
            Kind::Phase(phase) => match **phase {
                Phase::Each(closure) | Phase::Any(closure) | Phase::Count(closure) => {
                    self.closure(closure, None)
                }
                Phase::Fill(array, closure) => self.closure(closure, Some(array)),
                Phase::Reduce(value, combine) => {
                    self.closure(value, None);
                    self.closure(combine, None);
                }
            },
            Kind::Unary(_, a)
            | Kind::Cast(a)
            | Kind::Field(a, _)
            | Kind::Repeat(a, _)
            | Kind::Ref(a)
            | Kind::Deref(a)
            | Kind::Convert(_, _, a)
            | Kind::NewPrivate(a)
            | Kind::Mine(a)
            | Kind::Return(Some(a))
            | Kind::Assert(Some(a)) => self.expr(a),
            Kind::Binary(_, a, b) | Kind::Compare(_, a, b) | Kind::Element(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Kind::Assign(place, value)
            | Kind::AssignBinary(_, place, value)
            | Kind::AssignParts(place, value) => {
                self.expr(value);
                self.expr(place);
            }
            Kind::Tuple(parts) | Kind::Array(parts) | Kind::Call(_, parts) | Kind::CallClosure(_, parts) => {
                parts.iter_mut().for_each(|part| self.expr(part));
            }
            Kind::Method(_, receiver, arguments) => {
                self.expr(receiver);
                arguments.iter_mut().for_each(|argument| self.expr(argument));
            }
            Kind::Put(handle, at, value) => [handle, at, value].into_iter().for_each(|part| self.expr(part)),
            Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Bool(_)
            | Kind::Bare(_)
            | Kind::Unit
            | Kind::Local(_)
            | Kind::Constant(_)
            | Kind::Break
            | Kind::Continue
            | Kind::Return(None)
            | Kind::Assert(None)
            | Kind::Builtin(_)
            | Kind::NewShared => {}
        }
    }

    /// `a && b`, or `a || b`, whose second part is evaluated if the first is what `holds` says.
    fn both(&mut self, left: &mut Expr, right: &mut Expr, holds: bool) {
        self.expr(left);
        self.apart(|walk| {
            walk.assume(left, holds);
            walk.expr(right);
        });
    }

    fn condition(&mut self, condition: &mut Condition) {
        match condition {
            Condition::Is(value) | Condition::Some(_, value) => self.expr(value),
        }
    }

    fn for_loop(&mut self, name: LocalId, range: &mut Range, body: &mut Block) {
        let Range { from, to, inclusive, step, .. } = range;
        self.expr(from);
        self.expr(to);
        if let Some(step) = step {
            self.expr(step);
        }
        self.apart(|walk| {
            let local = &walk.locals[name.0];
            if !local.mutable && walk.is_number(local.ty) {
                let number = Term::Local(name);
                if let Some(from) = walk.term(from) {
                    walk.facts.add(Fact::at_most(from, number.clone()));
                }
                if let Some(to) = walk.term(to) {
                    let fact = if *inclusive { Fact::at_most } else { Fact::below };
                    walk.facts.add(fact(number, to));
                }
            }
            walk.block(body);
        });
    }

    /// A closure's body, which runs where the facts of its definition hold. One that fills an array gets the
    /// index of an element.
    fn closure(&mut self, id: usize, fills: Option<LocalId>) {
        let Some(closure) = self.closures.get_mut(id) else { return };
        let parameter = closure.parameters.first().copied();
        let ty = closure.body.ty;
        let mut body = mem::replace(&mut closure.body, nothing(ty));
        self.apart(|walk| {
            if let (Some(array), Some(index)) = (fills, parameter)
                && let Shape::Shared(array) = *walk.types.shape(walk.locals[array.0].ty)
                && let Some(length) = walk.array_length(array)
                && !walk.locals[index.0].mutable
                && walk.is_number(walk.locals[index.0].ty)
            {
                walk.facts.add(Fact::below(Term::Local(index), length));
            }
            walk.expr(&mut body);
        });
        self.closures[id].body = body;
    }

    fn assume_condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Is(condition) => self.assume(condition, true),
            Condition::Some(_, value) => self.assume_some(value),
        }
    }

    /// Learns from a condition that holds or does not.
    fn assume(&mut self, condition: &Expr, holds: bool) {
        match &condition.kind {
            Kind::Compare(symbol, left, right) => {
                let (Some(left), Some(right)) = (self.term(left), self.term(right)) else { return };
                match (*symbol, holds) {
                    ("<", true) | (">=", false) => self.facts.add(Fact::below(left, right)),
                    ("<=", true) | (">", false) => self.facts.add(Fact::at_most(left, right)),
                    (">", true) | ("<=", false) => self.facts.add(Fact::below(right, left)),
                    (">=", true) | ("<", false) => self.facts.add(Fact::at_most(right, left)),
                    ("==", true) | ("!=", false) => {
                        self.facts.add(Fact::at_most(left.clone(), right.clone()));
                        self.facts.add(Fact::at_most(right, left));
                    }
                    ("!=", true) | ("==", false) => match (left, right) {
                        (Term::Integer(0), more) | (more, Term::Integer(0)) => {
                            self.facts.add(Fact::below(Term::Integer(0), more));
                        }
                        _ => {}
                    },
                    _ => {}
                }
            }
            Kind::And(left, right) if holds => {
                self.assume(left, true);
                self.assume(right, true);
            }
            Kind::Or(left, right) if !holds => {
                self.assume(left, false);
                self.assume(right, false);
            }
            Kind::Unary(Unary::Not, condition) => self.assume(condition, !holds),
            Kind::Method(Method::IsEmpty, of, _) if !holds => {
                if let Some(length) = self.length(of) {
                    self.facts.add(Fact::below(Term::Integer(0), length));
                }
            }
            Kind::Method(Method::IsSome, option, _) if holds => self.assume_some(option),
            _ => {}
        }
    }

    /// Learns from an option that has a value.
    fn assume_some(&mut self, option: &Expr) {
        if let Kind::Method(Method::Get | Method::GetMut, of, arguments) = &option.kind
            && let [at] = &arguments[..]
            && let (Some(index), Some(length)) = (self.term(at), self.length(of))
        {
            self.facts.add(Fact::below(index, length));
        }
    }

    /// The expression as a number that does not change.
    fn term(&self, expr: &Expr) -> Option<Term> {
        if !self.is_number(expr.ty) {
            return None;
        }
        match &expr.kind {
            Kind::Integer(value) => Some(Term::Integer(*value)),
            Kind::Local(id) => match &self.numbers[id.0] {
                _ if self.locals[id.0].mutable => None,
                Some(known) => Some(known.clone()),
                None => Some(Term::Local(*id)),
            },
            Kind::Constant(item) => Some(Term::Named(self.constants[item.0].1.clone())),
            Kind::Builtin(text) if OF_THE_LAUNCH.contains(text) => Some(Term::Named((*text).to_owned())),
            Kind::Cast(value) => {
                let [from, to] = [value.ty, expr.ty].map(|ty| self.types.as_number(ty));
                // A wider type has the same number.
                (from?.bits() <= to?.bits()).then(|| self.term(value)).flatten()
            }
            Kind::Binary(op, left, right) => {
                let number = self.types.as_number(expr.ty)?;
                let [left, right] = [left, right].map(|part| self.term(part).map(Box::new));
                Term::Operator(*op, number, left?, right?).of_a_size()
            }
            Kind::Method(Method::Position | Method::Same, of, _) => self.term(of),
            Kind::Method(Method::Len, of, _) => self.length(of),
            Kind::Method(Method::Number(method), of, arguments) if method.name == "min" => {
                let [a, b] = [&**of, arguments.first()?].map(|part| self.term(part).map(Box::new));
                Term::Least(a?, b?).of_a_size()
            }
            Kind::Block(Block { statements, value: Some(value) }) if statements.is_empty() => {
                self.term(value)
            }
            _ => None,
        }
    }

    /// The length of an array, a slice, an `Own` or an `Out`.
    fn length(&self, of: &Expr) -> Option<Term> {
        if let Some(length) = self.array_length(self.types.value(of.ty)) {
            return Some(length);
        }
        if !matches!(self.types.shape(of.ty), Shape::Slice(_) | Shape::Elements { .. }) {
            return None;
        }
        match &of.kind {
            Kind::Local(id) if !self.locals[id.0].mutable => {
                Some(self.lengths[id.0].clone().unwrap_or(Term::Length(*id)))
            }
            Kind::Part(base, None, None, _) => self.length(base),
            Kind::Part(_, from, Some(to), false) => match (from.as_deref(), &to.kind) {
                (None, _) => self.term(to),
                // If the sum has wrapped, it is below `from`, and the part has ended the thread.
                (Some(from), Kind::Binary(super::ir::Binary::Add, left, right)) => {
                    let from = self.term(from)?;
                    let (left, right) = (self.term(left)?, self.term(right)?);
                    match (left == from, right == from) {
                        (true, _) => Some(right),
                        (_, true) => Some(left),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The length of an array's type.
    fn array_length(&self, ty: Ty) -> Option<Term> {
        let Shape::Array(_, Length(text)) = self.types.shape(ty) else { return None };
        if let Ok(length) = text.parse() {
            return Some(Term::Integer(length));
        }
        // A constant of the function.
        let local = self.locals.iter().position(|local| local.cpp == *text);
        Some(local.and_then(|local| self.numbers[local].clone()).unwrap_or_else(|| Term::Named(text.clone())))
    }

    /// Whether it is a natural number, and no reference to one.
    fn is_number(&self, ty: Ty) -> bool {
        match self.types.shape(ty) {
            Shape::Number(number) => number.is_natural(),
            Shape::Index(1) | Shape::BlockIndex => true,
            _ => false,
        }
    }
}

/// What stands in place of an expression that is moved.
fn nothing(ty: Ty) -> Expr {
    Expr { kind: Kind::Unit, ty, line: 0 }
}

/// Moves an expression out.
fn taken(from: &mut Box<Expr>) -> Box<Expr> {
    let instead = nothing(from.ty);
    Box::new(mem::replace(&mut **from, instead))
}

/// Whether nothing after the block runs.
fn diverges(block: &Block) -> bool {
    let ends_at = |statement: &Statement| matches!(statement, Statement::Expr(expr) if ends(expr));
    block.statements.iter().any(ends_at) || block.value.as_deref().is_some_and(ends)
}

fn ends(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Return(_) | Kind::Break | Kind::Continue | Kind::Assert(None) => true,
        Kind::Block(block) => diverges(block),
        Kind::If(_, then, Some(otherwise)) => diverges(then) && ends(otherwise),
        _ => false,
    }
}
