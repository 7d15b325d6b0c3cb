//! References to values that have no name: `&1.0`, `&[a, b]`, `&f(x)[1..]`.
//!
//! Rust keeps such a value as long as the reference may be used, which may be longer than the C++ block in which it
//! is computed. So its variable is declared where the function or the lambda begins.

use super::super::ir::{Expr, Kind};
use super::super::types::Shape;
use super::{Emitter, Value};

impl Emitter<'_> {
    /// Whether C++ has an address for the expression, which stays the same one.
    pub(super) fn has_address(&self, expr: &Expr) -> bool {
        let is_behind = |base: &Expr| {
            matches!(self.types.shape(base.ty), Shape::Ref(..) | Shape::Slice(_)) || self.has_address(base)
        };
        match &expr.kind {
            // A constant parameter of a function is a parameter of a template in C++.
            Kind::Local(local) => !self.function.generics.contains(local),
            Kind::Deref(_) | Kind::Constant(_) => true,
            Kind::Field(base, _) | Kind::Index(base, _) | Kind::Element(base, _) => is_behind(base),
            Kind::Mine(base) => self.has_address(base),
            _ => false,
        }
    }

    /// The value in a variable of its own.
    pub(super) fn with_address(&mut self, value: &Value, expr: &Expr) -> Value {
        let name = self.temporary("referred");
        match self.types.cpp(expr.ty) {
            Some(ty) => {
                self.referred.push((ty, name.clone()));
                self.write(&format!("{name} = {};", value.text));
            }
            None => self.write(&format!("auto {name} = {};", value.text)),
        }
        Value { text: name, binds: 0, stable: false }
    }

    /// Declares the variables that the lines since then use.
    pub(super) fn declare_referred(&mut self, begin: usize) {
        let lines = &self.lines[begin..];
        let is_used = |name: &str| lines.iter().any(|line| line.text.contains(&format!("{name} = ")));
        let declared = self.referred.iter().filter(|(_, name)| is_used(name));
        let declared = declared.map(|(ty, name)| format!("{ty} {name};")).collect();
        self.referred.clear();
        self.insert(begin, declared);
    }
}
