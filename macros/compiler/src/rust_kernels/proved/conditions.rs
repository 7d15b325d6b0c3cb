//! What conditions say, where they hold and where they do not.

use super::super::ir::{Block, Condition, Expr, Kind, LocalId, Statement, Unary};
use super::super::methods::Method;
use super::super::types::Shape;
use super::Walk;
use super::terms::{Fact, Term};

impl Walk<'_> {
    pub(super) fn assume_condition(&mut self, condition: &Condition) {
        for part in condition.parts() {
            match part {
                Condition::Is(condition) => self.assume(condition, true),
                Condition::Bound(_, _, value) => self.assume_some(value),
                Condition::All(_) => {}
            }
        }
    }

    /// Learns from a condition that holds or does not.
    pub(super) fn assume(&mut self, condition: &Expr, holds: bool) {
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

    /// Learns that a block's tile begins within the data, along each axis: another one is none of the loop's.
    pub(super) fn assume_tile(&mut self, tile: LocalId, of: &Expr) {
        let Kind::Local(of) = of.kind else { return };
        if self.locals[tile.0].mutable || self.locals[of.0].mutable {
            return;
        }
        // Data of two axes are those of one item.
        let without = 3 - self.axes.min(3);
        for axis in 0..self.axes.min(3) {
            self.facts.add(Fact::below(Term::Place(tile, axis + without), Term::Axis(of, axis)));
        }
    }

    /// Learns from an option that has a value.
    pub(super) fn assume_some(&mut self, option: &Expr) {
        if let Kind::Method(Method::Get | Method::GetMut, of, arguments) = &option.kind
            && let [at] = &arguments[..]
        {
            if let (Some(index), Some(length)) = (self.term(at), self.length(of)) {
                self.facts.add(Fact::below(index, length));
            }
            // An index of several axes is within the length of each.
            if let (&Shape::Index(axes @ 2..), Kind::Local(at), Kind::Local(of)) =
                (self.types.shape(at.ty), &at.kind, &of.kind)
                && !self.locals[at.0].mutable
                && !self.locals[of.0].mutable
            {
                (0..axes).for_each(|axis| {
                    self.facts.add(Fact::below(Term::Place(*at, axis), Term::Axis(*of, axis)));
                });
            }
        }
    }
}

/// Whether nothing after the block runs.
pub(super) fn diverges(block: &Block) -> bool {
    let ends_at = |statement: &Statement| matches!(statement, Statement::Expr(expr) if ends(expr));
    block.statements.iter().any(ends_at) || block.value.as_deref().is_some_and(ends)
}

pub(super) fn ends(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Return(_) | Kind::Break(..) | Kind::Continue(_) | Kind::Assert(None) => true,
        Kind::Block(block) => diverges(block),
        Kind::If(_, then, Some(otherwise)) => diverges(then) && ends(otherwise),
        _ => false,
    }
}
