//! What `#[requires(…)]` says of the numbers that a kernel gets: each launch checks it.

use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprIndex, ExprLit, Lit, Macro, Type};

use super::super::hygiene::is_same_name;
use super::super::ir::{Binary, Function, LocalId};
use super::super::named::is_wide;
use super::super::signature::{ParameterKind, Signature};
use super::super::types::Number;
use super::exact::Exact;
use super::sums::Sum;
use super::terms::{Fact, Facts, Term};
use crate::groups::peel_expr;

/// The parameters that a condition may name.
struct Parameters<'a> {
    signature: &'a Signature,
    function: &'a Function,
}

/// What holds in every launch.
pub(super) fn facts(conditions: &[Expr], signature: &Signature, function: &Function) -> Facts {
    let mut facts = Facts::default();
    let parameters = Parameters { signature, function };
    conditions.iter().for_each(|condition| parameters.assume(condition, &mut facts));
    parameters.shapes(&mut facts);
    facts
}

/// The parameters whose length is that of one before them, and that one.
pub(super) fn same_lengths(
    facts: &Facts,
    signature: &Signature,
    function: &Function,
) -> Vec<(LocalId, LocalId)> {
    let has_length = |kind: &ParameterKind| match kind {
        ParameterKind::Slice(_) => true,
        ParameterKind::Own(_) | ParameterKind::Out(_) => signature.dimensions == 1,
        _ => false,
    };
    let all = signature.parameters.iter().zip(&function.parameters);
    let all: Vec<LocalId> = all.filter(|(of, _)| has_length(&of.kind)).map(|(_, &id)| id).collect();
    let mut same = Vec::new();
    for (place, &id) in all.iter().enumerate() {
        let is_same = |other: LocalId| {
            let [a, b] = [Term::Length(id), Term::Length(other)];
            facts.is_at_most(&a, &b) && facts.is_at_most(&b, &a)
        };
        if let Some(&first) = all[..place].iter().find(|&&other| is_same(other)) {
            same.push((id, first));
        }
    }
    same
}

impl Parameters<'_> {
    fn assume(&self, condition: &Expr, facts: &mut Facts) {
        let Expr::Binary(binary) = peel_expr(condition) else { return };
        if let BinOp::And(_) = binary.op {
            self.assume(&binary.left, facts);
            // What stands after a `return true` is not evaluated.
            if !Leaves::may(&binary.left) {
                self.assume(&binary.right, facts);
            }
            return;
        }
        if let BinOp::Eq(_) = binary.op {
            self.assume_shape(&binary.left, &binary.right, facts);
        }
        self.assume_sums(binary, facts);
        // A literal that its type does not hold is another number, if rustc is told to let it wrap.
        let bits = self.bits(&binary.left).or_else(|| self.bits(&binary.right)).unwrap_or(31);
        let term =
            |expr| self.term(expr).filter(|term| !matches!(term, Term::Integer(value) if value >> bits != 0));
        let (Some(left), Some(right)) = (term(&binary.left), term(&binary.right)) else { return };
        match binary.op {
            BinOp::Lt(_) => self.below(left, right, facts),
            BinOp::Le(_) => facts.add(Fact::at_most(left, right)),
            BinOp::Gt(_) => self.below(right, left, facts),
            BinOp::Ge(_) => facts.add(Fact::at_most(right, left)),
            BinOp::Eq(_) => {
                facts.add(Fact::at_most(left.clone(), right.clone()));
                facts.add(Fact::at_most(right, left));
            }
            _ => {}
        }
    }

    /// A length that is less than something is at most one less.
    fn below(&self, less: Term, more: Term, facts: &mut Facts) {
        if let Term::Length(of) = less
            && self.is_of_numbers(of)
        {
            facts.add(Fact::at_most(Term::Beyond(of, 1), more.clone()));
        }
        facts.add(Fact::below(less, more));
    }

    /// A number that the body has, too, or a sum that does not wrap, neither on the host nor there: of a length and an
    /// integer. The host computes all other sums by itself.
    fn term(&self, expr: &Expr) -> Option<Term> {
        match peel_expr(expr) {
            Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => {
                let is_natural = matches!(literal.suffix(), "" | "usize" | "u64" | "u32" | "u16" | "u8");
                is_natural.then(|| literal.base10_parse().ok()).flatten().map(Term::Integer)
            }
            Expr::MethodCall(call) if call.method == "len" && call.args.is_empty() => {
                let (id, kind) = self.named(&call.receiver)?;
                let has_length =
                    matches!(kind, ParameterKind::Slice(_) | ParameterKind::Own(_) | ParameterKind::Out(_));
                has_length.then_some(Term::Length(id))
            }
            Expr::Index(at) => self.axis(at, axis_of(&at.index)?),
            Expr::Binary(sum) if matches!(sum.op, BinOp::Add(_)) => {
                match (self.term(&sum.left)?, self.term(&sum.right)?) {
                    (Term::Length(of), Term::Integer(more)) | (Term::Integer(more), Term::Length(of)) => {
                        let more = u64::try_from(more).ok().filter(|more| more >> 63 == 0)?;
                        self.is_of_numbers(of).then_some(Term::Beyond(of, more))
                    }
                    _ => None,
                }
            }
            // The number of a narrower type is the same one in the wider.
            Expr::Cast(cast) => {
                let to = Number::natural(&cast.ty)?;
                let (id, kind) = self.named(&cast.expr)?;
                let ParameterKind::Value(from) = kind else { return None };
                (Number::natural(from)?.bits() <= to.bits()).then_some(Term::Local(id))
            }
            other => {
                let (id, kind) = self.named(other)?;
                let ParameterKind::Value(ty) = kind else { return None };
                Number::natural(ty).map(|_| Term::Local(id))
            }
        }
    }

    /// `y.shape()[1]`
    fn axis(&self, at: &ExprIndex, axis: usize) -> Option<Term> {
        if axis >= self.signature.dimensions {
            return None;
        }
        let Expr::MethodCall(call) = peel_expr(&at.expr) else { return None };
        let (id, kind) = self.named(&call.receiver)?;
        let has_shape = matches!(kind, ParameterKind::Own(_) | ParameterKind::Out(_));
        let is_shape = call.method == "shape" && call.args.is_empty();
        (has_shape && is_shape && self.signature.dimensions > 1).then_some(Term::Axis(id, axis))
    }

    /// `y.shape()[1..] == [rows as usize, columns as usize]`
    fn assume_shape(&self, shape: &Expr, lengths: &Expr, facts: &mut Facts) {
        let (Expr::Index(at), Expr::Array(lengths)) = (peel_expr(shape), peel_expr(lengths)) else { return };
        let Expr::Range(range) = peel_expr(&at.index) else { return };
        let (Some(first), None) = (range.start.as_deref(), range.end.as_deref()) else { return };
        for (axis, length) in lengths.elems.iter().enumerate() {
            let axis = axis_of(first).and_then(|first| self.axis(at, first.checked_add(axis)?));
            // A literal that is too large wraps, if rustc is told to let it.
            let too_large = |length: &Term| matches!(length, Term::Integer(value) if value >> 64 != 0);
            let length = self.term(length).filter(|length| !too_large(length));
            if let (Some(axis), Some(length)) = (axis, length) {
                facts.add(Fact::at_most(axis.clone(), length.clone()));
                facts.add(Fact::at_most(length, axis));
            }
        }
    }

    /// A launch is refused if there are not as many elements as the shape has.
    fn shapes(&self, facts: &mut Facts) {
        let axes = self.signature.dimensions;
        if axes < 2 {
            return;
        }
        for (parameter, &id) in self.signature.parameters.iter().zip(&self.function.parameters) {
            if !matches!(&parameter.kind, ParameterKind::Own(_) | ParameterKind::Out(_))
                || parameter.mutable
                || !self.is_of_numbers(id)
            {
                continue;
            }
            let product = (0..axes).try_fold(Sum::integer(1), |product, axis| {
                Some(product?.times(&Sum::of(&Term::Axis(id, axis))?))
            });
            let product = product.flatten();
            let length = Sum::of(&Term::Length(id));
            if let (Some(product), Some(length)) = (product, length) {
                [length.plus(&product, -1), product.plus(&length, -1)]
                    .into_iter()
                    .flatten()
                    .for_each(|sum| facts.add_sum(sum));
            }
        }
    }

    /// What a comparison says of sums of products that the host has computed without wrapping.
    fn assume_sums(&self, condition: &ExprBinary, facts: &mut Facts) {
        let (Some(left), Some(right)) = (self.exact(&condition.left), self.exact(&condition.right)) else {
            return;
        };
        let mut add = |less: &Exact, more: &Exact, strict: bool| {
            if let Some(sum) = less.clone().at_most(more.clone(), strict) {
                facts.add_sum(sum);
            }
        };
        match condition.op {
            BinOp::Lt(_) => add(&left, &right, true),
            BinOp::Le(_) => add(&left, &right, false),
            BinOp::Gt(_) => add(&right, &left, true),
            BinOp::Ge(_) => add(&right, &left, false),
            BinOp::Eq(_) => {
                add(&left, &right, false);
                add(&right, &left, false);
            }
            _ => {}
        }
    }

    /// A sum of products as the host computes it, if that does not wrap.
    fn exact(&self, expr: &Expr) -> Option<Exact> {
        match peel_expr(expr) {
            Expr::Binary(binary) => {
                let op = match binary.op {
                    BinOp::Add(_) => Binary::Add,
                    BinOp::Mul(_) => Binary::Multiply,
                    _ => return None,
                };
                self.exact(&binary.left)?.operator(op, self.exact(&binary.right)?, false)
            }
            Expr::MethodCall(call) if call.args.len() == 1 => {
                let op = match call.method.to_string().as_str() {
                    "saturating_add" => Binary::Add,
                    "saturating_mul" => Binary::Multiply,
                    _ => return None,
                };
                // A literal that has no type has no methods of its own: rustc takes a trait's of the user.
                self.bits(&call.receiver)?;
                self.exact(&call.receiver)?.operator(op, self.exact(&call.args[0])?, true)
            }
            Expr::Cast(cast) => self.exact(&cast.expr)?.cast(bits_of(&cast.ty)?),
            other => {
                let term = self.term(other)?;
                let number = self.bits(other).map(|bits| (bits, u128::MAX >> (128 - bits)));
                match (&term, number) {
                    (Term::Integer(value), Some((bits, most))) => {
                        (*value <= most).then_some(())?;
                        Exact::of(&term, *value, Some(bits))
                    }
                    (Term::Integer(value), None) => Exact::of(&term, *value, None),
                    // No memory has more bytes.
                    (Term::Length(of), Some((bits, most))) if self.is_of_numbers(*of) => {
                        Exact::of(&term, most >> 1, Some(bits))
                    }
                    (_, Some((bits, most))) => Exact::of(&term, most, Some(bits)),
                    (_, None) => None,
                }
            }
        }
    }

    /// Whether a parameter's elements are numbers, which have a size. Of elements without one there may be any number.
    fn is_of_numbers(&self, id: LocalId) -> bool {
        let mut all = self.signature.parameters.iter().zip(&self.function.parameters);
        let Some((parameter, _)) = all.find(|(_, of)| **of == id) else { return false };
        match &parameter.kind {
            ParameterKind::Slice(ty) | ParameterKind::Own(ty) | ParameterKind::Out(ty) => {
                Number::of(ty).is_some()
            }
            _ => false,
        }
    }

    /// The bits of its type; `None` of a literal that has the type of what it is compared with.
    fn bits(&self, expr: &Expr) -> Option<u32> {
        match peel_expr(expr) {
            Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => {
                Number::named(literal.suffix()).map(Number::bits)
            }
            Expr::Cast(cast) => Number::natural(&cast.ty).map(Number::bits),
            Expr::Path(_) => match self.named(expr)? {
                (_, ParameterKind::Value(ty)) => Number::natural(ty).map(Number::bits),
                _ => None,
            },
            _ => Some(Number::Usize.bits()),
        }
    }

    /// The parameter of which the expression is the name, unless the body may assign it.
    fn named(&self, expr: &Expr) -> Option<(LocalId, &ParameterKind)> {
        let Expr::Path(path) = peel_expr(expr) else { return None };
        let name = path.path.get_ident()?;
        let mut all = self.signature.parameters.iter().zip(&self.function.parameters);
        let (parameter, &id) =
            all.find(|(parameter, _)| is_same_name(&parameter.name, name) && !parameter.mutable)?;
        Some((id, &parameter.kind))
    }
}

/// Whether a part of a condition may leave it with a `return`, as a macro may that is expanded later.
struct Leaves(bool);

impl Leaves {
    fn may(part: &Expr) -> bool {
        let mut found = Self(false);
        found.visit_expr(part);
        found.0
    }
}

impl<'ast> Visit<'ast> for Leaves {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        self.0 |= matches!(expr, Expr::Return(_) | Expr::Verbatim(_));
        visit::visit_expr(self, expr);
    }

    fn visit_macro(&mut self, _: &'ast Macro) {
        self.0 = true;
    }
}

/// The number of an axis.
fn axis_of(index: &Expr) -> Option<usize> {
    let Expr::Lit(ExprLit { lit: Lit::Int(axis), .. }) = peel_expr(index) else { return None };
    axis.base10_parse().ok()
}

/// The bits of a type of natural numbers. Sums of the host may have 128, which kernels do not have.
fn bits_of(ty: &Type) -> Option<u32> {
    Number::natural(ty).map(Number::bits).or_else(|| is_wide(ty).then_some(128))
}
