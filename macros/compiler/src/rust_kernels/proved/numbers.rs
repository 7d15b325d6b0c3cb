//! Expressions as numbers that do not change, and lengths.

use super::super::ir::{Binary, Block, Expr, Kind, LocalId};
use super::super::methods::Method;
use super::super::types::{Length, Shape, Ty};
use super::Walk;
use super::terms::Term;

/// What the launch gives a thread, which is the same number each time.
const OF_THE_LAUNCH: [&str; 7] = [
    "tw::index()",
    "tw::rank()",
    "tw::threads()",
    "tw::block_index()",
    "tw::blocks()",
    "tw::threads_of_grid()",
    "tw::shared_bytes()",
];

impl Walk<'_> {
    /// The expression as a number that does not change.
    pub(super) fn term(&self, expr: &Expr) -> Option<Term> {
        if !self.is_number(expr.ty) {
            return None;
        }
        match &expr.kind {
            // rustc lets a literal wrap, if it is told to.
            Kind::Integer(value) => {
                let bits = self.types.as_number(expr.ty)?.bits();
                (value >> bits == 0).then_some(Term::Integer(*value))
            }
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
            // The place where a tile begins.
            Kind::Field(of, name) => {
                let (Kind::Local(id), Shape::Tile(..)) = (&of.kind, self.types.shape(of.ty)) else {
                    return None;
                };
                let axis = ["item", "top", "left"].iter().position(|axis| axis == name)?;
                (!self.locals[id.0].mutable).then_some(Term::Place(*id, axis))
            }
            Kind::Binary(op, left, right) => {
                let number = self.types.as_number(expr.ty)?;
                let [left, right] = [left, right].map(|part| self.term(part).map(Box::new));
                let op = match op {
                    Binary::Quotient => Binary::Divide,
                    Binary::Rest => Binary::Remainder,
                    other => *other,
                };
                Term::Operator(op, number, left?, right?).of_a_size()
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

    /// Whether a `usize` is known to be less than half of the largest.
    pub(super) fn is_below_half(&self, term: &Term) -> bool {
        match term {
            Term::Integer(value) => *value < 1 << 63,
            // It was widened.
            Term::Local(id) => {
                let number = self.types.as_number(self.locals[id.0].ty);
                number.is_some_and(|number| number.bits() <= 32 && !number.is_signed())
            }
            // No memory has more bytes.
            Term::Length(of) => self.has_bytes(self.types.value(self.locals[of.0].ty)),
            Term::Axis(..) | Term::Place(..) => false,
            Term::Least(a, b) => self.is_below_half(a) || self.is_below_half(b),
            Term::Named(_) | Term::Operator(..) | Term::Beyond(..) => false,
        }
    }

    /// Whether an element has a byte at least, as far as that is known: `[f32; 0]` has none.
    fn has_bytes(&self, elements: Ty) -> bool {
        let mut element = match self.types.shape(elements) {
            Shape::Slice(of) | Shape::Elements { of, .. } => *of,
            _ => return false,
        };
        while let Shape::Array(of, Length(length)) = self.types.shape(element) {
            if !length.parse().is_ok_and(|length: u64| length > 0) {
                return false;
            }
            element = *of;
        }
        matches!(self.types.shape(element), Shape::Number(_) | Shape::Atomic(_))
    }

    /// The length of an array, a slice, an `Own` or an `Out`.
    pub(super) fn length(&self, of: &Expr) -> Option<Term> {
        // What a loop or a block is left with may be several arrays, of which rustc makes slices.
        if let Kind::Loop(..) | Kind::Labelled(..) = of.kind {
            return None;
        }
        if let Kind::Block(Block { value: Some(value), .. }) = &of.kind {
            return self.length(value);
        }
        if let Some(length) = self.array_length(self.types.value(of.ty)) {
            return Some(length);
        }
        if !matches!(self.types.shape(of.ty), Shape::Slice(_) | Shape::Elements { .. }) {
            return None;
        }
        match &of.kind {
            // A shared slice is `mut` to be filled, and never assigned.
            Kind::Local(id) if !self.locals[id.0].mutable => {
                Some(self.lengths[id.0].clone().unwrap_or(Term::Length(*id)))
            }
            Kind::Local(id) => self.shared_length(*id),
            Kind::Part(base, None, None, _) => self.length(base),
            Kind::Part(_, from, Some(to), false) => match (from.as_deref(), &to.kind) {
                (None, _) => self.term(to),
                // If the sum has wrapped, it is below `from`, and the part has ended the thread.
                (Some(from), Kind::Binary(Binary::Add, left, right)) => {
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

    /// The length of an array or a slice in shared memory. A slice is `mut` to be filled, and never assigned.
    pub(super) fn shared_length(&self, id: LocalId) -> Option<Term> {
        let Shape::Shared(of) = *self.types.shape(self.locals[id.0].ty) else { return None };
        match self.types.shape(of) {
            Shape::Slice(_) => Some(self.lengths[id.0].clone().unwrap_or(Term::Length(id))),
            _ => self.array_length(of),
        }
    }

    /// The length of an array's type.
    pub(super) fn array_length(&self, ty: Ty) -> Option<Term> {
        let Shape::Array(_, Length(text)) = self.types.shape(ty) else { return None };
        if let Ok(length) = text.parse() {
            return Some(Term::Integer(length));
        }
        // A constant of the function.
        let local = self.locals.iter().position(|local| local.cpp == *text);
        Some(match local {
            Some(local) => self.numbers[local].clone().unwrap_or(Term::Local(LocalId(local))),
            None => Term::Named(text.clone()),
        })
    }

    /// Whether it is a natural number, and no reference to one.
    pub(super) fn is_number(&self, ty: Ty) -> bool {
        match self.types.shape(ty) {
            Shape::Number(number) => number.is_natural(),
            Shape::Index(1) | Shape::BlockIndex => true,
            _ => false,
        }
    }
}
