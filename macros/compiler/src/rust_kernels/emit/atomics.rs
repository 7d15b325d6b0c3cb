//! Accesses to atomics.

use super::super::atomics::{Operation, Order};
use super::super::ir::{Expr, LocalId, Variant};
use super::{Emitter, UNARY, Value};

impl Emitter<'_> {
    /// A method of an atomic. It has effects, so that what stands around it keeps it in a constant where C++
    /// would leave the order open.
    pub(super) fn atomic(
        &mut self,
        operation: &Operation,
        orders: &[Order],
        atomic: &Expr,
        values: &[Expr],
    ) -> Value {
        let (mut place, mut dot) = (self.value(atomic), self.dot(atomic));
        let before = self.lines.len();
        let values = self.in_order(values, Self::operand);
        if self.lines.len() > before && !place.stable {
            // The place is found before the values are evaluated. An atomic has no copy.
            let name = self.temporary("place");
            let address = if dot == "." { format!("&{}", place.within(UNARY)) } else { place.text };
            self.insert(before, vec![format!("const auto {name} = {address};")]);
            (place, dot) = (Value::stable(name), "->");
        }
        let values = values.into_iter().map(|value| value.text);
        let orders = orders.iter().map(|order| format!("tw::{}()", order.name()));
        let arguments: Vec<_> = values.chain(orders).collect();
        Value::of(format!("{}{dot}{}({})", place.atom(), operation.name, arguments.join(", ")))
    }

    /// Declares the number that an exchange has found, which both outcomes have, and gives whether the outcome
    /// is that of the pattern.
    pub(super) fn exchanged(&mut self, variant: Variant, name: LocalId, value: &Expr) -> Value {
        let value = self.operand(value);
        let whole = if value.stable {
            value.atom()
        } else {
            let whole = self.temporary("exchanged");
            self.write(&format!("const auto {whole} = {};", value.text));
            whole
        };
        let (ty, cpp) = self.declared(name);
        self.write(&format!("{ty} {cpp} = {whole}.found;"));
        match variant {
            Variant::Err => Value { text: format!("!{whole}.ok"), binds: UNARY, stable: false },
            Variant::Some | Variant::Ok => Value::of(format!("{whole}.ok")),
        }
    }
}
