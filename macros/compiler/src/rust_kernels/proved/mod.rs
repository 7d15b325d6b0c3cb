//! Which indices are within their arrays and slices whatever the data are, and which divisors are not 0: C++
//! gets these without a check.
//!
//! The function is walked once, in the order in which Rust evaluates it. At each place [`Facts`] holds what
//! is known of numbers that do not change there: what `#[requires]` says, what the conditions around ask, what
//! the ranges of loops give, and what has ended the thread otherwise. An index for which `index < length`
//! follows from them becomes an element that is known to exist, and a division by what is more than 0 a quotient;
//! all others keep their checks.
//!
//! Three rules keep this sound:
//! - A [`Term`] is made of names that are never assigned: of those without `mut`. A name in a loop's body
//!   stands for another number in each turn, so facts end with the block in which they were learned.
//! - Terms are compared as they stand. Sums and products may have wrapped. Something is concluded of the sum of a number
//!   and an integer: that it is no more than that of a length and an integer that is no less, which has not wrapped.
//!   And of an index that is written out as a sum of products of natural numbers ([`sums`]): what has wrapped is less.
//! - What an access has shown, since it would have failed otherwise, is known from the next statement on: C++
//!   leaves open in which order one statement reads its operands.

mod conditions;
mod exact;
mod numbers;
mod required;
mod sums;
mod terms;
#[cfg(test)]
mod tests;
mod within;

use std::mem;

use proc_macro2::Span;

use super::ir::{Binary, Block, Closure, Condition, Expr, Filled, Function, Kind, Local, LocalId, Pattern};
use super::ir::{Phase, Range, Statement};
use super::methods::Method;
use super::signature::Signature;
use super::types::{Number, Shape, Ty, Types};
use conditions::{diverges, ends};
use terms::{Fact, Facts, Term};

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
        axes: signature.dimensions,
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
    /// The axes of the kernel's data.
    axes: usize,
}

impl Walk<'_> {
    /// Walks what is evaluated perhaps, or perhaps more than once: what is learned there ends with it.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let (facts, shown) = (self.facts.len(), self.shown.len());
        walk(self);
        self.facts.truncate(facts);
        self.shown.truncate(shown);
    }

    /// What accesses have shown since then is known from here on.
    fn settle(&mut self, since: usize) {
        for fact in self.shown.split_off(since) {
            self.facts.add(fact);
        }
    }

    fn block(&mut self, block: &mut Block) {
        self.apart(|walk| {
            let shown = walk.shown.len();
            for statement in &mut block.statements {
                walk.statement(statement);
                walk.settle(shown);
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
                match (&*pattern, &mut value.kind) {
                    // Each part is a statement of its own.
                    (Pattern::Tuple(_), Kind::Tuple(parts)) => {
                        for part in parts {
                            let shown = self.shown.len();
                            self.expr(part);
                            self.settle(shown);
                        }
                    }
                    _ => self.expr(value),
                }
                self.bind(pattern, value);
            }
            Statement::LetElse(_, _, value, otherwise) => {
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
            (Pattern::Name(name), Kind::NewSharedSlice(_, length)) => {
                self.lengths[name.0] = self.term(length)
            }
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
            (Pattern::Array(patterns), Kind::Method(method @ (Method::Position | Method::Shape), of, _)) => {
                self.bind_axes(patterns, *method, of);
            }
            _ => {}
        }
    }

    /// Notes what the parts of `at.get()` and `block.shape(y)` stand for.
    fn bind_axes(&mut self, patterns: &[Pattern], method: Method, of: &Expr) {
        let Kind::Local(id) = of.kind else { return };
        if self.locals[id.0].mutable {
            return;
        }
        for (axis, pattern) in patterns.iter().enumerate() {
            if let Pattern::Name(name) = pattern
                && !self.locals[name.0].mutable
            {
                let term = match method {
                    Method::Shape => Term::Axis(id, axis),
                    _ => Term::Place(id, axis),
                };
                self.numbers[name.0] = Some(term);
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            Kind::Index(base, at) => {
                self.expr(base);
                self.expr(at);
                if let (Some(index), Some(length)) = (self.term(at), self.length(base)) {
                    if self.facts.is_within(&index, &length) {
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
                self.apart(|walk| {
                    walk.condition(condition);
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
            Kind::Block(block) | Kind::Labelled(_, block) | Kind::Loop(_, block) => self.block(block),
            Kind::While(_, condition, body) => self.apart(|walk| {
                walk.condition(condition);
                walk.block(body);
            }),
            Kind::For(_, name, range, body) => self.for_loop(*name, range, body),
            Kind::ForTiles(_, name, of, body) => {
                self.expr(of);
                self.apart(|walk| {
                    walk.assume_tile(*name, of);
                    walk.block(body);
                });
            }
            Kind::Closure(id) => self.closure(*id, None),
            Kind::Phase(phase) => self.phase(phase),
            Kind::Unary(_, a)
            | Kind::Cast(a)
            | Kind::Field(a, _)
            | Kind::Repeat(a, _)
            | Kind::Ref(a)
            | Kind::Deref(a)
            | Kind::PartOfTile(a)
            | Kind::Convert(_, _, a)
            | Kind::NewPrivate(a)
            | Kind::NewSharedSlice(_, a)
            | Kind::Mine(a)
            | Kind::Return(Some(a))
            | Kind::Break(_, Some(a))
            | Kind::Assert(Some(a)) => self.expr(a),
            Kind::Binary(op, a, b) => {
                self.expr(a);
                self.expr(b);
                self.division(op, b);
            }
            Kind::Compare(_, a, b) | Kind::Element(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Kind::Assign(place, value) | Kind::AssignParts(place, value) => {
                self.expr(value);
                self.expr(place);
            }
            Kind::AssignBinary(op, place, value) => {
                self.expr(value);
                self.expr(place);
                self.division(op, value);
            }
            Kind::Tuple(parts)
            | Kind::Array(parts)
            | Kind::Call(_, _, parts)
            | Kind::CallClosure(_, parts) => {
                parts.iter_mut().for_each(|part| self.expr(part));
            }
            Kind::Method(_, receiver, arguments) | Kind::Atomic(_, _, receiver, arguments) => {
                self.expr(receiver);
                arguments.iter_mut().for_each(|argument| self.expr(argument));
            }
            Kind::Struct(fields, base) => {
                fields.iter_mut().for_each(|(_, value)| self.expr(value));
                base.iter_mut().for_each(|base| self.expr(base));
            }
            Kind::Put(handle, at, value) => [handle, at, value].into_iter().for_each(|part| self.expr(part)),
            Kind::Integer(_)
            | Kind::Float(_)
            | Kind::Bool(_)
            | Kind::Bare(_)
            | Kind::Unit
            | Kind::Local(_)
            | Kind::Constant(_)
            | Kind::Break(_, None)
            | Kind::Continue(_)
            | Kind::Return(None)
            | Kind::Assert(None)
            | Kind::Builtin(_)
            | Kind::NewShared(_) => {}
        }
    }

    /// A division by what cannot be 0 has no check. One that has it shows that for the next.
    fn division(&mut self, op: &mut Binary, by: &Expr) {
        let without = match op {
            Binary::Divide => Binary::Quotient,
            Binary::Remainder => Binary::Rest,
            _ => return,
        };
        let Some(by) = self.term(by) else { return };
        if self.facts.is_more_than_0(&by) {
            *op = without;
        } else {
            self.shown.push(Fact::below(Term::Integer(0), by));
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

    /// A condition, which holds in what is walked next.
    fn condition(&mut self, condition: &mut Condition) {
        for part in condition.parts_mut() {
            let shown = self.shown.len();
            if let Condition::Is(value) | Condition::Bound(_, _, value) = part {
                self.expr(value);
            }
            self.settle(shown);
            self.assume_condition(part);
        }
    }

    fn for_loop(&mut self, name: LocalId, range: &mut Range, body: &mut Block) {
        let Range { from, to, inclusive, step, fits, .. } = range;
        self.expr(from);
        self.expr(to);
        if let Some(step) = step {
            self.expr(step);
            // A grid has fewer than 2^41 threads.
            let is_of_launch = matches!(step.kind, Kind::Builtin("tw::threads()" | "tw::threads_of_grid()"));
            let is_as_wide = self.types.as_number(to.ty) == Some(Number::Usize);
            *fits = is_of_launch && is_as_wide && self.term(to).is_some_and(|to| self.is_below_half(&to));
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

    fn phase(&mut self, phase: &mut Phase) {
        match phase {
            Phase::Each(closure) | Phase::Any(closure) | Phase::Count(closure) => {
                self.closure(*closure, None)
            }
            Phase::Fill(Filled::Shared(array), closure) | Phase::FillColumns(array, closure) => {
                self.closure(*closure, self.shared_length(*array))
            }
            Phase::Fetch { of, closure, .. } => self.closure(*closure, self.array_length(*of)),
            Phase::FillFetched(_, fetched) => self.expr(fetched),
            Phase::Fill(filled, closure) | Phase::FillParts(filled, closure) => {
                if let Filled::Tile(data, part) | Filled::Row(data, part) = filled {
                    self.expr(data);
                    self.expr(part);
                }
                self.closure(*closure, None);
            }
            Phase::Reduce(value, combine) | Phase::Scan(None, value, combine) => {
                self.closure(*value, None);
                self.closure(*combine, None);
            }
            Phase::Warps(_, closures, by) => {
                closures.iter().for_each(|closure| self.closure(*closure, None));
                if let Some(by) = by {
                    self.expr(by);
                }
            }
            Phase::Scan(Some(start), value, combine) => {
                self.expr(start);
                self.closure(*value, None);
                self.closure(*combine, None);
            }
        }
    }

    /// A closure's body, which runs where the facts of its definition hold. One that gives the elements of
    /// an array of so many gets the index of one.
    fn closure(&mut self, id: usize, length: Option<Term>) {
        let Some(closure) = self.closures.get_mut(id) else { return };
        let parameter = closure.parameters.first().copied();
        let ty = closure.body.ty;
        let mut body = mem::replace(&mut closure.body, nothing(ty));
        self.apart(|walk| {
            if let (Some(length), Some(index)) = (length, parameter)
                && !walk.locals[index.0].mutable
                && walk.is_number(walk.locals[index.0].ty)
            {
                walk.facts.add(Fact::below(Term::Local(index), length));
            }
            walk.expr(&mut body);
        });
        self.closures[id].body = body;
    }
}

/// What stands in place of an expression that is moved.
fn nothing(ty: Ty) -> Expr {
    Expr { kind: Kind::Unit, ty, line: 0, span: Span::call_site() }
}

/// Moves an expression out.
fn taken(from: &mut Box<Expr>) -> Box<Expr> {
    let instead = nothing(from.ty);
    Box::new(mem::replace(&mut **from, instead))
}
