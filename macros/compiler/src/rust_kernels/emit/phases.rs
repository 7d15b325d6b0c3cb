//! Phases of blocks.

use super::super::ir::{Expr, Phase};
use super::{Emitter, Value};

impl Emitter<'_> {
    /// A phase without a value.
    pub(super) fn phase(&mut self, phase: &Phase) {
        match phase {
            Phase::Each(closure) => {
                let closure = self.closure(*closure).text;
                self.write(&format!("tw::each({closure});"));
            }
            Phase::Fill(array, closure) => {
                let closure = self.closure(*closure).text;
                let array = self.local(*array).cpp.clone();
                self.write(&format!("tw::fill({array}, {closure});"));
            }
            Phase::Reduce(..) | Phase::Any(_) | Phase::Count(_) => {}
        }
    }

    /// A phase that gives one value to all threads.
    pub(super) fn phase_value(&mut self, phase: &Phase, expr: &Expr) -> Value {
        match phase {
            Phase::Reduce(value, combine) => {
                let [value, combine] = [*value, *combine].map(|closure| self.closure(closure).text);
                let ty = self.types.cpp(expr.ty).unwrap_or_else(|| "auto".to_owned());
                Value::of(format!("tw::reduce<{ty}>({value}, {combine})"))
            }
            Phase::Any(closure) => Value::of(format!("tw::any({})", self.closure(*closure).text)),
            Phase::Count(closure) => Value::of(format!("tw::count({})", self.closure(*closure).text)),
            Phase::Each(_) | Phase::Fill(..) => Value::stable("tw::Unit{}"),
        }
    }
}
