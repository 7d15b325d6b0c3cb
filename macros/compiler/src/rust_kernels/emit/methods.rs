//! Calls of methods.

use super::super::ir::Expr;
use super::super::methods::{Faults, Method};
use super::super::types::{Number, Shape};
use super::{Emitter, UNARY, Value};

impl Emitter<'_> {
    pub(super) fn method(
        &mut self,
        method: Method,
        receiver: &Expr,
        arguments: &[Expr],
        line: usize,
    ) -> Value {
        match method {
            Method::Number(signature) => {
                let all = std::iter::once(receiver).chain(arguments);
                let values = self.operands(all);
                let mut values: Vec<_> = values.into_iter().map(|value| value.text).collect();
                let is_float = self.types.as_number(receiver.ty).is_some_and(Number::is_float);
                // One line for each reason to fault.
                let faults = match signature.faults {
                    Faults::Never => 0,
                    Faults::Debug => usize::from(self.checked && !is_float),
                    Faults::Always => 1,
                    Faults::AlwaysAndDebug => 1 + usize::from(self.checked),
                };
                values.extend((0..faults).map(|_| self.place(line)));
                Value::of(format!("tw::{}({})", signature.name, values.join(", ")))
            }
            Method::OfReferences(name) => {
                let exprs = std::iter::once(receiver).chain(arguments);
                let values = self.in_order(exprs, Self::value);
                let name = if name == "min" { "lesser" } else { "greater" };
                Value::of(format!("tw::{name}({}, {})", values[0].text, values[1].text))
            }
            Method::Len | Method::IsEmpty => {
                let len = match self.length(receiver) {
                    Some(length) if length.parse::<u64>().is_ok() => Value::stable(format!("{length}ull")),
                    Some(length) => Value::stable(format!("usize({length})")),
                    None => {
                        let value = self.value(receiver);
                        let text = format!("{}{}len()", value.atom(), self.dot(receiver));
                        Value { text, binds: 0, stable: value.stable }
                    }
                };
                if method == Method::IsEmpty {
                    return Value { text: format!("{} == 0ull", len.text), binds: 10, stable: len.stable };
                }
                len
            }
            Method::Get | Method::GetMut => {
                // The element is referred to, so that its array is no copy.
                let values = self.base_and(receiver, arguments.iter().collect());
                let name = if method == Method::Get { "get" } else { "get_mut" };
                let of = self.whole(receiver, &values[0]);
                Value::of(format!("{of}.{name}({})", values[1].text))
            }
            Method::Any => {
                let values = self.in_order([receiver, &arguments[0]], Self::operand);
                let (of, at, line) = (&values[0], &values[1].text, self.place(line));
                let element = match self.types.shape(receiver.ty) {
                    Shape::Elements { .. } => format!("{}.any({at}, {line})", of.atom()),
                    _ => format!("tw::any({}, {at}, {line})", of.text),
                };
                Value { text: format!("&{element}"), binds: UNARY, stable: false }
            }
            Method::Position | Method::Same => self.operand(receiver),
            Method::PlaceOfPart(place) => {
                let values = self.operands(std::iter::once(receiver).chain(arguments));
                let line = self.place(line);
                Value::of(format!("{}.{place}({}, {line})", values[0].atom(), values[1].text))
            }
            Method::Shape => Value::stable(format!("{}.shape", self.value(receiver).atom())),
            Method::Rows => Value::stable(format!("tw::rows({})", self.value(receiver).text)),
            Method::IsOk => {
                let value = self.operand(receiver);
                Value::of(format!("{}.ok", value.atom()))
            }
            Method::IsErr => {
                let value = self.operand(receiver);
                Value { text: format!("!{}.ok", value.atom()), binds: UNARY, stable: false }
            }
            Method::CopiedOr => {
                let values = self.operands([receiver, &arguments[0]]);
                Value::of(format!("tw::copied_or({}, {})", values[0].text, values[1].text))
            }
            Method::IsSome => {
                let value = self.value(receiver);
                Value::of(format!("bool({})", value.text))
            }
        }
    }
}
