//! Constants, whose values are literals: in Rust, and in C++ as the runtime writes them.

use super::generator::{Constant, Generator};
use super::types::{Number, Ty};

impl Generator {
    /// A type that a constant may have.
    pub fn constant_type(&mut self) -> Ty {
        match self.weighted(&[60, 12, 28]) {
            0 => Ty::Number(self.number()),
            1 => Ty::Bool,
            _ => {
                let one = self.in_memory();
                match one {
                    Ty::Number(_) => Ty::array(one, 1 + self.below(4)),
                    other => other,
                }
            }
        }
    }

    /// A constant of the module, and its name and definition in C++.
    pub fn module_constant(&mut self, name: &str) -> (String, (String, String)) {
        self.count("a constant outside of the kernel");
        let ty = self.constant_type();
        let (rust, cpp) = self.constant_value(&ty, true);
        self.constants.push(Constant { name: name.to_owned(), ty: ty.clone() });
        let in_cpp = format!("constexpr {} {name} = {cpp};", ty.in_cpp());
        (format!("pub const {name}: {ty} = {rust};\n"), (name.to_owned(), in_cpp))
    }

    /// A value in Rust and in C++. Literals have their types with `evident`.
    pub fn constant_value(&mut self, ty: &Ty, evident: bool) -> (String, String) {
        match ty {
            Ty::Number(number) => {
                let value = self.literal(*number, evident).text;
                let cpp = in_cpp(*number, &value);
                (value, cpp)
            }
            Ty::Half(half) => {
                let bits = self.below(0x7c00);
                (
                    format!("{half}::from_bits({bits})", half = half.name()),
                    format!("{}{{{bits}}}", half.name()),
                )
            }
            Ty::Bool => {
                let value = self.pick(&["true", "false"]);
                (value.to_owned(), value.to_owned())
            }
            Ty::Array(of, length) => {
                let values: Vec<_> = (0..*length).map(|_| self.constant_value(of, evident)).collect();
                let (rust, cpp): (Vec<_>, Vec<_>) = values.into_iter().unzip();
                (format!("[{}]", rust.join(", ")), format!("{{{{{}}}}}", cpp.join(", ")))
            }
            Ty::Struct(of) => {
                let values: Vec<_> =
                    of.fields.iter().map(|(_, ty)| self.constant_value(ty, evident)).collect();
                let (rust, cpp): (Vec<_>, Vec<_>) = values.into_iter().unzip();
                (of.value(&rust), thalweg::__private::struct_value(&cpp))
            }
            Ty::Tuple(_) => panic!("a tuple is no constant of the language"),
        }
    }
}

/// A literal in C++, by its value.
fn in_cpp(number: Number, literal: &str) -> String {
    let digits = literal.trim_end_matches(number.name()).replace('_', "");
    if number.is_float() {
        let value: f64 = digits.parse().expect("a float");
        // Of a decimal, a float and a double are rounded by themselves.
        let single: f32 = digits.parse().expect("a float");
        return match number {
            Number::F32 => thalweg::__private::KernelConstant::value(&single),
            _ => thalweg::__private::KernelConstant::value(&value),
        };
    }
    let (sign, digits) = digits.strip_prefix('-').map_or((1, &digits[..]), |digits| (-1, digits));
    let magnitude: i128 =
        match (digits.strip_prefix("0x"), digits.strip_prefix("0b"), digits.strip_prefix("b'")) {
            (Some(hex), ..) => i128::from_str_radix(hex, 16).expect("hexadecimal"),
            (_, Some(binary), _) => i128::from_str_radix(binary, 2).expect("binary"),
            (.., Some(byte)) => byte.as_bytes()[0].into(),
            _ => digits.parse().expect("decimal"),
        };
    let value = sign * magnitude;
    match (number.is_signed(), value < 0) {
        (true, true) => format!("{}({}ll - 1)", number.name(), value + 1),
        (true, false) => format!("{}({value}ll)", number.name()),
        (false, _) => format!("{}({value}ull)", number.name()),
    }
}
