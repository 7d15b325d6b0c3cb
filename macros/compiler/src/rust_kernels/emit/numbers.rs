//! Literals, operators and casts of numbers.

use super::super::ir::{Binary, Expr, Kind, Unary};
use super::super::types::{Number, Shape, Ty};
use super::{Emitter, UNARY, Value};

impl Emitter<'_> {
    /// An integer of a type, exactly: overloads of C++ must not see another.
    pub(super) fn integer(&self, value: u128, negative: bool, ty: Ty) -> Value {
        let sign = if negative { "-" } else { "" };
        if let Some(named) = self.types.as_named(ty) {
            return Value::stable(format!("{}({sign}{value}ull)", named.cpp()));
        }
        let text = match self.types.as_number(ty) {
            Some(Number::U32) => format!("{value}u"),
            Some(Number::U64 | Number::Usize) => format!("{value}ull"),
            // C++ has no negative literals: the number without its sign would not fit.
            Some(Number::I32) if negative && value == 1 << 31 => "i32(-2147483647 - 1)".to_owned(),
            Some(Number::I64 | Number::Isize) if negative && value == 1 << 63 => {
                "i64(-9223372036854775807ll - 1)".to_owned()
            }
            Some(Number::I64 | Number::Isize) => format!("{sign}{value}ll"),
            Some(narrow @ (Number::U8 | Number::U16 | Number::I8 | Number::I16)) => {
                format!("{narrow}({sign}{value})")
            }
            Some(Number::F32) => format!("{sign}{value}.0f"),
            Some(Number::F64 | Number::F16 | Number::Bf16) => format!("{sign}{value}.0"),
            Some(Number::I32) | None => format!("{sign}{value}"),
        };
        let binds = if text.starts_with('-') { UNARY } else { 0 };
        Value { text, binds, stable: true }
    }

    pub(super) fn float(&self, digits: &str, number: Option<Number>, ty: Ty) -> Value {
        if let Some(named) = self.types.as_named(ty) {
            let value: f64 = digits.parse().unwrap_or(f64::INFINITY);
            return Value::stable(format!("{}({value:?})", named.cpp()));
        }
        // Rust writes the shortest digits that C++ reads as the same number.
        let text = match number {
            Some(Number::F32) => match digits.parse::<f32>() {
                Ok(value) if value.is_finite() => format!("{value:?}f"),
                _ => "tw::infinity<f32>()".to_owned(),
            },
            _ => match digits.parse::<f64>() {
                Ok(value) if value.is_finite() => format!("{value:?}"),
                _ => "tw::infinity<f64>()".to_owned(),
            },
        };
        Value::stable(text)
    }

    pub(super) fn unary(&mut self, op: Unary, of: &Expr) -> Value {
        let number = self.types.as_number(of.ty);
        match (op, &of.kind) {
            (Unary::Negate, Kind::Integer(value)) => return self.integer(*value, true, of.ty),
            (Unary::Negate, Kind::Float(digits)) => {
                let Value { text, .. } = self.float(digits, number, of.ty);
                return Value { text: format!("-{text}"), binds: UNARY, stable: true };
            }
            _ => {}
        }
        let value = self.operand(of);
        let prefix = |op: &str| Value {
            // Two minus would be a decrement.
            text: format!("{op}{}", value.within(UNARY - 1)),
            binds: UNARY,
            stable: value.stable,
        };
        match (op, number) {
            (Unary::Negate, Some(number)) if number.is_float() => prefix("-"),
            (Unary::Negate, _) if self.checked => {
                Value::of(format!("tw::neg({}, {})", value.text, self.place(of.line)))
            }
            (Unary::Negate, _) => Value::of(format!("tw::neg({})", value.text)),
            (Unary::Not, Some(number)) if number.bits() < 32 => {
                Value::of(format!("tw::not_({})", value.text))
            }
            (Unary::Not, Some(_)) => prefix("~"),
            (Unary::Not, None) if self.is_bool(of) => prefix("!"),
            // C++ knows the type.
            (Unary::Not, None) => Value::of(format!("tw::not_({})", value.text)),
        }
    }

    /// An operator on two values that were written.
    pub(super) fn binary(
        &mut self,
        op: Binary,
        (left, of_left): (&Value, &Expr),
        (right, of_right): (&Value, &Expr),
        line: usize,
    ) -> Value {
        let number = self.types.as_number(of_left.ty).or_else(|| self.types.as_number(of_right.ty));
        let infix = |symbol: &str, binds: u8| Value {
            // gcc warns of other operators beside those of bits without parentheses.
            text: match symbol {
                "&" | "|" | "^" => format!("{} {symbol} {}", left.within(UNARY), right.within(UNARY)),
                _ => format!("{} {symbol} {}", left.within(binds), right.within(binds - 1)),
            },
            binds,
            stable: left.stable && right.stable,
        };
        let checked = self.checked;
        let call = |emitter: &mut Self, name: &str, faults: bool| {
            let line = if faults { format!(", {}", emitter.place(line)) } else { String::new() };
            Value::of(format!("tw::{name}({}, {}{line})", left.text, right.text))
        };
        let literal = match (&of_right.kind, number) {
            (Kind::Integer(value), _) => Some(*value),
            _ => None,
        };
        if let Binary::ShiftLeft | Binary::ShiftRight = op {
            return self.shift(op, (left, of_left), (right, of_right), line);
        }
        let Some(number) = number else {
            return match op {
                Binary::And if self.is_bool(of_left) => Value::of(format!("bool({})", infix("&", 11).text)),
                Binary::Or if self.is_bool(of_left) => Value::of(format!("bool({})", infix("|", 13).text)),
                Binary::Xor if self.is_bool(of_left) => Value::of(format!("bool({})", infix("^", 12).text)),
                // C++ knows the type.
                Binary::And => call(self, "bit_and", false),
                Binary::Or => call(self, "bit_or", false),
                Binary::Xor => call(self, "bit_xor", false),
                Binary::Add => call(self, "add", checked),
                Binary::Subtract => call(self, "sub", checked),
                Binary::Multiply => call(self, "mul", checked),
                Binary::Divide | Binary::Quotient => call(self, "div", true),
                Binary::Remainder | Binary::Rest => call(self, "rem", true),
                Binary::ShiftLeft | Binary::ShiftRight => unreachable!("written above"),
            };
        };
        let wraps = number.is_float() || number.wraps_in_cpp() && !checked;
        let is_wide = number.bits() >= 32 && !number.is_float();
        match op {
            Binary::Add if wraps => infix("+", 6),
            Binary::Subtract if wraps => infix("-", 6),
            Binary::Multiply if wraps => infix("*", 5),
            Binary::Add => call(self, "add", checked),
            Binary::Subtract => call(self, "sub", checked),
            Binary::Multiply => call(self, "mul", checked),
            Binary::Divide if number.is_float() => infix("/", 5),
            Binary::Remainder if number.is_float() => call(self, "rem", false),
            // Division by a number that is not 0 has no fault, and none overflows without a sign.
            Binary::Divide if is_wide && !number.is_signed() && literal.is_some_and(|by| by > 0) => {
                infix("/", 5)
            }
            Binary::Remainder if is_wide && !number.is_signed() && literal.is_some_and(|by| by > 0) => {
                infix("%", 5)
            }
            Binary::Quotient if is_wide => infix("/", 5),
            Binary::Rest if is_wide => infix("%", 5),
            Binary::Quotient => Value::of(format!("{number}({})", infix("/", 5).text)),
            Binary::Rest => Value::of(format!("{number}({})", infix("%", 5).text)),
            Binary::Divide => call(self, "div", true),
            Binary::Remainder => call(self, "rem", true),
            Binary::And if is_wide => infix("&", 11),
            Binary::Or if is_wide => infix("|", 13),
            Binary::Xor if is_wide => infix("^", 12),
            Binary::And => Value::of(format!("{number}({})", infix("&", 11).text)),
            Binary::Or => Value::of(format!("{number}({})", infix("|", 13).text)),
            Binary::Xor => Value::of(format!("{number}({})", infix("^", 12).text)),
            Binary::ShiftLeft | Binary::ShiftRight => unreachable!("written above"),
        }
    }

    /// A shift, whose distance may be of any integer type.
    fn shift(
        &mut self,
        op: Binary,
        (left, of_left): (&Value, &Expr),
        (right, of_right): (&Value, &Expr),
        line: usize,
    ) -> Value {
        let is_left = op == Binary::ShiftLeft;
        // C++ promotes what is narrower, and does not define a shift of a sign to the left.
        if let (Kind::Integer(by), Some(number)) = (&of_right.kind, self.types.as_number(of_left.ty))
            && *by < u128::from(number.bits())
            && number.bits() >= 32
            && !(is_left && number.is_signed())
        {
            let symbol = if is_left { "<<" } else { ">>" };
            let text = format!("{} {symbol} {by}", left.within(UNARY));
            return Value { text, binds: 7, stable: left.stable };
        }
        let by = match self.types.as_number(of_right.ty) {
            Some(Number::U32) => right.text.clone(),
            // What does not fit 32 bits is too far in any case.
            Some(by) if by.bits() == 64 && self.checked => format!("tw::shift({})", right.text),
            // It may be of 64 bits: C++ knows the type.
            None if self.checked => format!("tw::shift({})", right.text),
            _ => format!("tw::cast<u32>({})", right.text),
        };
        let name = if is_left { "shl" } else { "shr" };
        let line = if self.checked { format!(", {}", self.place(line)) } else { String::new() };
        Value::of(format!("tw::{name}({}, {by}{line})", left.text))
    }

    fn is_bool(&self, expr: &Expr) -> bool {
        matches!(self.types.shape(self.types.value(expr.ty)), Shape::Bool)
    }

    pub(super) fn cast(&mut self, value: &Expr, to: Ty) -> Value {
        let from = self.types.as_number(value.ty);
        let from_bool = self.is_bool(value);
        let target = self.types.as_number(to);
        // A literal is of the type that the cast asks for.
        let text = self.operand(value);
        let Some(to) = target else {
            return match self.types.as_named(to) {
                Some(named) => Value::of(format!("tw::cast<{}>({})", named.cpp(), text.text)),
                None => text,
            };
        };
        match from {
            // C++ converts these as Rust does.
            Some(from) if !from.is_float() || to.is_float() => {
                Value { text: format!("{to}({})", text.text), binds: 0, stable: text.stable }
            }
            None if from_bool => {
                Value { text: format!("{to}({})", text.text), binds: 0, stable: text.stable }
            }
            _ => Value { text: format!("tw::cast<{to}>({})", text.text), binds: 0, stable: text.stable },
        }
    }
}
