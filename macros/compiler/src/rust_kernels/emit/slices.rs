//! Slices and arrays: their lengths, and parts of them.

use super::super::ir::Expr;
use super::super::types::Shape;
use super::{Emitter, Value};

impl Emitter<'_> {
    /// `.`, or `->` if it is a reference.
    pub(super) fn dot(&self, base: &Expr) -> &'static str {
        match self.types.shape(base.ty) {
            Shape::Ref(..) => "->",
            _ => ".",
        }
    }

    /// The name of the data inside of a slice or an array.
    pub(super) fn data(&self, base: &Expr) -> &'static str {
        match self.types.shape(self.types.value(base.ty)) {
            Shape::Array(..) | Shape::Named(_) => "a",
            _ => "data",
        }
    }

    /// The length of an array.
    pub(super) fn length(&self, base: &Expr) -> Option<String> {
        match self.types.shape(self.types.value(base.ty)) {
            Shape::Array(_, length) => Some(length.0.clone()),
            _ => None,
        }
    }

    /// A part of a slice or an array.
    pub(super) fn part(
        &mut self,
        base: &Expr,
        from: Option<&Expr>,
        to: Option<&Expr>,
        inclusive: bool,
        line: usize,
    ) -> Value {
        let bounds: Vec<&Expr> = [from, to].into_iter().flatten().collect();
        let is_array =
            !matches!(self.types.shape(base.ty), Shape::Slice(_) | Shape::Elements { .. } | Shape::Ref(..));
        let (base_value, mut values) = if is_array && !self.has_address(base) {
            let value = self.value(base);
            let base_value = self.with_address(&value, base);
            (base_value, self.in_order(bounds, Self::value).into_iter())
        } else {
            let mut values = self.base_and(base, bounds).into_iter();
            (values.next().unwrap_or_else(|| Value::of("")), values)
        };
        let whole = self.whole(base, &base_value);
        let mut bound = |present: Option<&Expr>| present.and_then(|_| values.next()).map(|value| value.text);
        let (from, to) = (bound(from), bound(to));
        let line = self.place(line);
        let zero = || "0ull".to_owned();
        Value::of(match (from, to, inclusive) {
            (None, None, _) => whole,
            (Some(from), None, _) => format!("{whole}.from({from}, {line})"),
            (from, Some(to), false) => {
                format!("{whole}.part({}, {to}, {line})", from.unwrap_or_else(zero))
            }
            (from, Some(to), true) => {
                format!("{whole}.part_with({}, {to}, {line})", from.unwrap_or_else(zero))
            }
        })
    }

    /// What holds elements as a slice, of which arrays are made one.
    pub(super) fn whole(&self, base: &Expr, value: &Value) -> String {
        match self.types.shape(base.ty) {
            Shape::Slice(_) | Shape::Elements { .. } => value.atom(),
            Shape::Ref(to, _) if matches!(self.types.shape(*to), Shape::Slice(_)) => value.atom(),
            Shape::Ref(..) => format!("{}->all()", value.atom()),
            _ => format!("{}.all()", value.atom()),
        }
    }
}
