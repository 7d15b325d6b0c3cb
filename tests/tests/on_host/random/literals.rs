//! Literals of every form.

use super::generator::{Generator, Text, binds};
use super::types::Number;

impl Generator {
    /// A literal of a number; with `evident`, it says its type itself.
    pub fn literal(&mut self, number: Number, evident: bool) -> Text {
        if number.is_float() {
            self.float_literal(number, evident)
        } else {
            self.integer_literal(number, evident)
        }
    }

    fn integer_literal(&mut self, number: Number, evident: bool) -> Text {
        let greatest = number.greatest();
        let edges = if self.wild { 25 } else { 6 };
        let magnitude = match self.weighted(&[60, 20, edges, 4]) {
            0 => self.random.below(10),
            1 => self.random.below(120),
            2 => match self.below(4) {
                0 => greatest,
                1 => greatest - 1,
                2 => 1 << self.random.below(u64::from(number.bits()) - 1),
                _ => greatest / 2 + 1,
            },
            _ => self.random.bits() % greatest,
        };
        let negative = number.is_signed() && self.chance(30);
        // The least integer has no positive counterpart.
        if negative && self.chance(8) && self.wild {
            let suffix = if evident { number.name() } else { "" };
            self.count("literal: the least integer");
            return Text::new(format!("-{}{suffix}", greatest + 1), binds::UNARY);
        }
        if number == Number::U8 && magnitude > 32 && magnitude < 127 && self.chance(40) {
            let byte = char::from(magnitude as u8);
            if byte.is_ascii_alphanumeric() {
                self.count("literal: a byte");
                return Text::atom(format!("b'{byte}'"));
            }
        }
        let digits = match self.weighted(&[80, 12, 4, 4]) {
            0 => magnitude.to_string(),
            1 => {
                self.count("literal: hexadecimal");
                format!("{magnitude:#x}")
            }
            2 => format!("{magnitude:#b}"),
            _ => {
                self.count("literal: with underscores");
                format!("{magnitude}_")
            }
        };
        let suffix = if evident || self.chance(25) { number.name() } else { "" };
        self.count(if suffix.is_empty() { "literal: without a suffix" } else { "literal: with a suffix" });
        // `0b1f32` would be something else, but no integer's suffix is a digit.
        let text = format!("{digits}{suffix}");
        if negative { Text::new(format!("-{text}"), binds::UNARY) } else { Text::atom(text) }
    }

    fn float_literal(&mut self, number: Number, evident: bool) -> Text {
        const USUAL: &[&str] = &[
            "0.0",
            "1.0",
            "0.5",
            "2.0",
            "1.5",
            "0.1",
            "3.25",
            "10.0",
            "7.",
            "1e3",
            "2.5e-3",
            "100.0",
            "0.333_333",
            "1_000.5",
            "16777217.0",
            "0.000_000_1",
            "123456.789",
            "3.402_823_4e38",
            "1.175_494_4e-38",
            "1e-45",
            "255.5",
            "4.9e9",
        ];
        const OF_F64: &[&str] = &["1e300", "4.9e-324", "1.7976931348623157e308", "9007199254740993.0"];
        let digits = match number {
            Number::F64 if self.chance(15) => self.pick(OF_F64),
            _ => self.pick(USUAL),
        };
        // A literal beside a field gets the field's type, which only rustc knows, if that makes no difference.
        let evident = evident || (!self.structs.is_empty() && !is_exact(digits));
        let (digits, suffix) = match (evident || self.chance(25), self.chance(15)) {
            (true, true) => (self.below(20).to_string(), number.name()),
            // `7.f32` would be a field.
            (true, false) => (digits.trim_end_matches('.').to_owned(), number.name()),
            (false, _) => (digits.to_owned(), ""),
        };
        self.count("literal: a float");
        let text = format!("{digits}{suffix}");
        if self.chance(25) { Text::new(format!("-{text}"), binds::UNARY) } else { Text::atom(text) }
    }

    /// A constant of Rust's own.
    pub fn constant(&mut self, number: Number) -> Text {
        self.count("a constant of Rust's own");
        let name = number.name();
        Text::atom(match number.is_float() {
            // Infinity and NaN would be everywhere.
            true if self.chance(80) => format!("{name}::{}", self.pick(&["EPSILON", "MIN_POSITIVE"])),
            true => format!("{name}::{}", self.pick(&["MAX", "MIN", "INFINITY", "NEG_INFINITY", "NAN"])),
            false if number == Number::U32 && self.chance(50) => format!("{}::BITS", self.integer().name()),
            false => format!("{name}::{}", self.pick(&["MAX", "MIN"])),
        })
    }
}

/// Whether a `f32` is the same by way of a `f64`.
fn is_exact(digits: &str) -> bool {
    let digits = digits.replace('_', "");
    let (double, single): (f64, f32) = (digits.parse().expect("a float"), digits.parse().expect("a float"));
    double as f32 == single
}
