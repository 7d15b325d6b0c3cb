//! Methods of numbers whose bits Rust promises.

use super::generator::{Generator, Text, binds};
use super::types::{Number, Ty};

/// What stands between the parentheses.
#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    Same,
    /// Most often not 0.
    Divisor,
    /// A small exponent.
    Exponent,
    /// A number of bits, perhaps too great.
    Bits,
    /// Two bounds in order, most often.
    Bounds,
}

/// The names of methods that give their receiver's type.
const OF_INTEGERS: &[(&str, Takes)] = &[
    ("min", Takes::Same),
    ("max", Takes::Same),
    ("clamp", Takes::Bounds),
    ("pow", Takes::Exponent),
    ("wrapping_add", Takes::Same),
    ("wrapping_sub", Takes::Same),
    ("wrapping_mul", Takes::Same),
    ("wrapping_neg", Takes::Nothing),
    ("wrapping_div", Takes::Divisor),
    ("wrapping_rem", Takes::Divisor),
    ("wrapping_shl", Takes::Bits),
    ("wrapping_shr", Takes::Bits),
    ("wrapping_pow", Takes::Bits),
    ("saturating_add", Takes::Same),
    ("saturating_sub", Takes::Same),
    ("saturating_mul", Takes::Same),
    ("saturating_pow", Takes::Exponent),
    ("rotate_left", Takes::Bits),
    ("rotate_right", Takes::Bits),
    ("swap_bytes", Takes::Nothing),
    ("reverse_bits", Takes::Nothing),
    ("div_euclid", Takes::Divisor),
    ("rem_euclid", Takes::Divisor),
    ("clone", Takes::Nothing),
];
const OF_SIGNED: &[(&str, Takes)] =
    &[("abs", Takes::Nothing), ("signum", Takes::Nothing), ("wrapping_abs", Takes::Nothing)];
const OF_UNSIGNED: &[(&str, Takes)] = &[
    ("next_power_of_two", Takes::Nothing),
    ("div_ceil", Takes::Divisor),
    ("next_multiple_of", Takes::Divisor),
    ("isqrt", Takes::Nothing),
];
const OF_FLOATS: &[(&str, Takes)] = &[
    ("clamp", Takes::Bounds),
    ("abs", Takes::Nothing),
    ("signum", Takes::Nothing),
    ("sqrt", Takes::Nothing),
    ("floor", Takes::Nothing),
    ("ceil", Takes::Nothing),
    ("round", Takes::Nothing),
    ("round_ties_even", Takes::Nothing),
    ("trunc", Takes::Nothing),
    ("fract", Takes::Nothing),
    ("recip", Takes::Nothing),
    ("to_degrees", Takes::Nothing),
    ("to_radians", Takes::Nothing),
    ("div_euclid", Takes::Same),
    ("rem_euclid", Takes::Same),
];
const COUNTS_OF_BITS: &[&str] =
    &["count_ones", "count_zeros", "leading_zeros", "trailing_zeros", "leading_ones", "trailing_ones"];

/// Every method that is written, for the count of those that were.
pub fn all() -> Vec<&'static str> {
    let of_result =
        [OF_INTEGERS, OF_SIGNED, OF_UNSIGNED, OF_FLOATS].concat().into_iter().map(|(name, _)| name);
    let others = [
        "ilog2",
        "ilog10",
        "to_bits",
        "unsigned_abs",
        "abs_diff",
        "mul_add",
        "copysign",
        "is_nan",
        "is_finite",
        "is_infinite",
        "is_normal",
        "is_sign_positive",
        "is_sign_negative",
        "is_positive",
        "is_negative",
        "is_power_of_two",
        "is_multiple_of",
        "is_empty",
        "is_some",
    ];
    of_result.chain(COUNTS_OF_BITS.iter().copied()).chain(others).collect()
}

impl Generator {
    /// A call of a method that gives a number.
    pub fn method(&mut self, number: Number, depth: usize) -> Text {
        if number == Number::U32 && self.chance(35) {
            return self.count_of_bits(depth);
        }
        if !number.is_float() && !number.is_signed() && self.chance(20) {
            return self.magnitude(number, depth);
        }
        if number.is_float() && self.chance(35) {
            return self.float_method(number, depth);
        }
        let names = match (number.is_float(), number.is_signed()) {
            (true, _) => OF_FLOATS,
            (false, true) if self.chance(25) => OF_SIGNED,
            (false, false) if self.chance(25) => OF_UNSIGNED,
            _ => OF_INTEGERS,
        };
        let (name, takes) = self.pick(names);
        self.count(name);
        let ty = Ty::Number(number);
        let receiver = self.receiver(&ty, depth);
        let arguments = match takes {
            Takes::Nothing => String::new(),
            Takes::Same => self.expression(&ty, depth - 1, false).text,
            Takes::Divisor => match self.chance(75) {
                true => (1 + self.below(20)).to_string(),
                false => self.expression(&ty, depth - 1, false).text,
            },
            Takes::Exponent => match self.chance(85) {
                true => self.below(4).to_string(),
                false => self.expression(&Ty::Number(Number::U32), depth - 1, false).text,
            },
            Takes::Bits => match self.chance(50) {
                true => self.below(70).to_string(),
                false => self.expression(&Ty::Number(Number::U32), depth - 1, false).text,
            },
            Takes::Bounds => self.bounds(number, depth),
        };
        // A chain goes on in another line, as rustfmt writes long ones.
        let line = if self.chance(3) { self.line() } else { String::new() };
        Text::atom(format!("{receiver}{line}.{name}({arguments})"))
    }

    /// What a method is called on.
    fn receiver(&mut self, ty: &Ty, depth: usize) -> String {
        self.expression(ty, depth - 1, true).within(binds::ATOM)
    }

    fn bounds(&mut self, number: Number, depth: usize) -> String {
        if self.chance(10) {
            let ty = Ty::Number(number);
            let [low, high] = [(); 2].map(|()| self.expression(&ty, depth - 1, false).text);
            return format!("{low}, {high}");
        }
        let low = self.below(20);
        let high = low + self.below(80);
        match (number.is_float(), number.is_signed()) {
            (true, _) => format!("-{low}.5, {high}.0"),
            (false, true) => format!("-{low}, {high}"),
            (false, false) => format!("{low}, {high}"),
        }
    }

    fn count_of_bits(&mut self, depth: usize) -> Text {
        let of = self.integer();
        let receiver = self.receiver(&Ty::Number(of), depth);
        match self.weighted(&[70, 15, 15]) {
            0 => {
                let name = self.pick(COUNTS_OF_BITS);
                self.count(name);
                Text::atom(format!("{receiver}.{name}()"))
            }
            1 => {
                let name = self.pick(&["ilog2", "ilog10"]);
                self.count(name);
                // Most often of what is greater than 0.
                match self.chance(80) {
                    true => Text::atom(format!("{receiver}.clamp(1, 99).{name}()")),
                    false => Text::atom(format!("{receiver}.{name}()")),
                }
            }
            _ => {
                self.count("to_bits");
                let float = self.plain_float(Number::F32, depth - 1);
                Text::atom(format!("{}.to_bits()", float.text))
            }
        }
    }

    /// `unsigned_abs` and the like.
    fn magnitude(&mut self, number: Number, depth: usize) -> Text {
        if number == Number::U64 && self.chance(30) {
            self.count("to_bits");
            let float = self.plain_float(Number::F64, depth - 1);
            return Text::atom(format!("{}.to_bits()", float.text));
        }
        let signed = super::types::NUMBERS.iter().map(|(other, _)| *other);
        let mut signed = signed.filter(|other| other.is_signed() && other.unsigned() == number);
        let signed = signed.next().unwrap_or(number);
        match self.below(3) {
            0 if signed != number => {
                self.count("unsigned_abs");
                let receiver = self.receiver(&Ty::Number(signed), depth);
                Text::atom(format!("{receiver}.unsigned_abs()"))
            }
            case => {
                self.count("abs_diff");
                let ty = Ty::Number(if case == 1 { signed } else { number });
                let receiver = self.receiver(&ty, depth);
                let other = self.expression(&ty, depth - 1, false);
                Text::atom(format!("{receiver}.abs_diff({})", other.text))
            }
        }
    }

    /// Methods of floats that must not meet a NaN that was computed, or zeros of both signs.
    fn float_method(&mut self, number: Number, depth: usize) -> Text {
        let ty = Ty::Number(number);
        match self.below(4) {
            0 => {
                self.count("mul_add");
                let receiver = self.receiver(&ty, depth);
                let [a, b] = [(); 2].map(|()| self.expression(&ty, depth - 1, false).text);
                Text::atom(format!("{receiver}.mul_add({a}, {b})"))
            }
            1 => {
                self.count("copysign");
                let receiver = self.receiver(&ty, depth);
                let sign = self.plain_float(number, depth - 1);
                Text::atom(format!("{receiver}.copysign({})", sign.text))
            }
            2 => {
                let name = self.pick(&["min", "max"]);
                self.count(if name == "min" { "min" } else { "max" });
                let receiver = self.receiver(&ty, depth);
                Text::atom(format!("{receiver}.{name}({}.5)", self.below(9)))
            }
            _ => {
                // Of two zeros, either may be it. The sum is a zero without a sign.
                let name = self.pick(&["min", "max"]);
                self.count(if name == "min" { "min" } else { "max" });
                let receiver = self.receiver(&ty, depth);
                let other = self.expression(&ty, depth - 1, false);
                Text::atom(format!("({receiver}.{name}({}) + 0.0)", other.text))
            }
        }
    }

    /// A call of a method that gives a `bool`.
    pub fn bool_method(&mut self, depth: usize) -> Text {
        match self.below(5) {
            0 | 1 => {
                let float = self.float();
                let name = self.pick(&["is_nan", "is_finite", "is_infinite", "is_normal"]);
                self.count(name);
                let receiver = self.receiver(&Ty::Number(float), depth);
                Text::atom(format!("{receiver}.{name}()"))
            }
            2 => {
                let float = self.float();
                let name = self.pick(&["is_sign_positive", "is_sign_negative"]);
                self.count(name);
                let receiver = self.plain_float(float, depth - 1);
                Text::atom(format!("{}.{name}()", receiver.text))
            }
            3 => {
                let number = self.integer();
                if !number.is_signed() && self.chance(50) {
                    self.count("is_multiple_of");
                    let ty = Ty::Number(number);
                    let receiver = self.receiver(&ty, depth);
                    let other = self.expression(&ty, depth - 1, false);
                    return Text::atom(format!("{receiver}.is_multiple_of({})", other.text));
                }
                let name = match number.is_signed() {
                    true => self.pick(&["is_positive", "is_negative"]),
                    false => "is_power_of_two",
                };
                self.count(name);
                let receiver = self.receiver(&Ty::Number(number), depth);
                Text::atom(format!("{receiver}.{name}()"))
            }
            _ => {
                let slices = self.slices();
                if slices.is_empty() {
                    return self.comparison(depth);
                }
                let (name, _) = self.pick(&slices);
                if self.chance(50) {
                    self.count("is_empty");
                    return Text::atom(format!("{name}.is_empty()"));
                }
                self.count("is_some");
                let at = self.number_below(&format!("{name}.len()"), depth - 1);
                Text::atom(format!("{name}.get({at}).is_some()"))
            }
        }
    }
}
