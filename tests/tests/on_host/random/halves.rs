//! Floats of 16 bits.

use super::generator::{Generator, Text, binds};
use super::types::{Half, Number, Ty};

impl Generator {
    /// What needs nothing else.
    pub fn half_leaf(&mut self, half: Half) -> Text {
        let name = half.name();
        if self.chance(50) {
            self.count("a constant of a half");
            const CONSTANTS: [&str; 6] = ["ONE", "NEG_ONE", "ZERO", "MAX", "MIN_POSITIVE", "EPSILON"];
            return Text::atom(format!("{name}::{}", self.pick(&CONSTANTS)));
        }
        let value = self.literal(Number::F32, false).text;
        Text::atom(format!("{name}::from_f32({value})"))
    }

    pub fn of_half(&mut self, half: Half, depth: usize) -> Text {
        let (name, ty) = (half.name(), Ty::Half(half));
        match self.weighted(&[40, 8, 18, 6, 20, 8]) {
            0 => {
                self.count("an operator of halves");
                let (symbol, level) = self.pick(&[
                    ("+", binds::SUM),
                    ("-", binds::SUM),
                    ("*", binds::PRODUCT),
                    ("/", binds::PRODUCT),
                    ("%", binds::PRODUCT),
                ]);
                let left = self.expression(&ty, depth - 1, true).within(level);
                let right = self.expression(&ty, depth - 1, true).within(level - 1);
                Text::new(format!("{left} {symbol} {right}"), level)
            }
            1 => {
                self.count("unary - of a half");
                let of = self.expression(&ty, depth - 1, true).within(binds::UNARY);
                Text::new(format!("-{of}"), binds::UNARY)
            }
            2 => {
                self.count("`from_f32`");
                let of = self.expression(&Ty::Number(Number::F32), depth - 1, false).text;
                Text::atom(format!("{name}::from_f32({of})"))
            }
            3 => self.plain_half(half, depth - 1),
            4 => {
                let of = self.expression(&ty, depth - 1, true).within(binds::ATOM);
                let argument = match self.below(5) {
                    0 => "signum()".to_owned(),
                    1 => format!("copysign({})", self.plain_half(half, depth - 1).text),
                    2 => format!("clamp({name}::NEG_ONE, {name}::from_f32(9.0))"),
                    case => {
                        let method = if case == 3 { "min" } else { "max" };
                        format!("{method}({})", self.expression(&ty, depth - 1, true).text)
                    }
                };
                self.count("a method of a half");
                Text::atom(format!("{of}.{argument}"))
            }
            _ => self.half_leaf(half),
        }
    }

    /// A half whose NaN, if it is one, has the same bits everywhere: nothing has computed it.
    pub fn plain_half(&mut self, half: Half, depth: usize) -> Text {
        self.count("a half of bits");
        let bits = self.expression(&Ty::Number(Number::U16), depth.saturating_sub(1), false).text;
        Text::atom(format!("{}::from_bits({bits})", half.name()))
    }

    /// A number that is computed from a half, if there are any.
    pub fn number_of_half(&mut self, number: Number, depth: usize) -> Option<Text> {
        if !self.has_halves {
            return None;
        }
        let half = self.half();
        let of = |this: &mut Self| this.expression(&Ty::Half(half), depth - 1, true).within(binds::ATOM);
        let text = match (number, self.chance(30)) {
            (Number::F32 | Number::F64, true) => {
                let of = of(self);
                format!("{}::from({of})", number.name())
            }
            (Number::F32 | Number::F64, false) => format!("{}.to_{}()", of(self), number.name()),
            (Number::U16, _) => format!("{}.to_bits()", self.plain_half(half, depth - 1).text),
            _ => return None,
        };
        self.count("a number of a half");
        Some(Text::atom(text))
    }

    /// A comparison or a test, if there are halves.
    pub fn bool_of_half(&mut self, depth: usize) -> Option<Text> {
        if !self.has_halves {
            return None;
        }
        let half = self.half();
        let ty = Ty::Half(half);
        self.count("a test of halves");
        if self.chance(50) {
            let symbol = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
            // Both are borrowed.
            let [left, right] = [(); 2].map(|()| {
                let operand = self.while_frozen(|this| this.expression(&ty, depth - 1, true));
                operand.within(binds::COMPARE - 1)
            });
            return Some(Text::new(format!("{left} {symbol} {right}"), binds::COMPARE));
        }
        let (name, plain) = self.pick(&[
            ("is_nan", false),
            ("is_finite", false),
            ("is_infinite", false),
            ("is_normal", false),
            ("is_sign_positive", true),
            ("is_sign_negative", true),
        ]);
        let of = match plain {
            true => self.plain_half(half, depth - 1),
            false => self.expression(&ty, depth - 1, true),
        };
        Some(Text::atom(format!("{}.{name}()", of.within(binds::ATOM))))
    }
}
