//! A kernel with the functions and constants that it uses: a module of Rust.

use super::generator::{Access, Constant, Counts, Device, Generator, Return, Text};
use super::types::{Number, Ty};

/// How a kernel takes a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Value,
    Slice,
    Own,
    Out,
}

#[derive(Debug, Clone)]
pub struct Parameter {
    pub takes: Takes,
    /// The type of the value or of an element.
    pub ty: Ty,
}

/// A random kernel.
#[derive(Debug, Clone)]
pub struct Module {
    pub seed: u64,
    /// The items, without the lines of the module around them.
    pub text: String,
    pub parameters: Vec<Parameter>,
    pub dimensions: usize,
    /// Its data are of any size.
    pub wild: bool,
    /// The constants by name, with their C++.
    pub constants: Vec<(String, String)>,
}

/// Writes the kernel of a seed.
pub fn module(seed: u64) -> (Module, Counts) {
    let mut generator = Generator::new(seed);
    generator.wild = generator.chance(30);
    let mut text = String::new();
    let mut constants = Vec::new();
    for number in 0..generator.below(3) {
        let (rust, cpp) = constant(&mut generator, &format!("N{number}"));
        text += &rust;
        constants.push((format!("N{number}"), cpp));
    }
    for number in 0..generator.below(3) {
        text += &device(&mut generator, &format!("f{number}"));
    }
    let (kernel, parameters) = kernel(&mut generator, seed);
    text += &kernel;
    let (dimensions, wild) = (generator.dimensions, generator.wild);
    (Module { seed, text, parameters, dimensions, wild, constants }, generator.counts)
}

/// A constant in Rust and in C++.
fn constant(generator: &mut Generator, name: &str) -> (String, String) {
    let number = generator.number();
    let value = generator.literal(number, true).text;
    let (ty, cpp) = match generator.chance(30) {
        true => {
            (Ty::Array(Box::new(Ty::Number(number)), 2), format!("{{{{{0}, {0}}}}}", in_cpp(number, &value)))
        }
        false => (Ty::Number(number), in_cpp(number, &value)),
    };
    generator.constants.push(Constant { name: name.to_owned(), ty: ty.clone() });
    match &ty {
        Ty::Array(..) => {
            let of = format!("tw::Array<{}, 2>", number.name());
            (format!("const {name}: {ty} = [{value}; 2];\n"), format!("constexpr {of} {name} = {cpp};"))
        }
        _ => (
            format!("const {name}: {ty} = {value};\n"),
            format!("constexpr {} {name} = {cpp};", number.name()),
        ),
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

fn device(generator: &mut Generator, name: &str) -> String {
    generator.count("a function of the module");
    let result = generator.ty(1);
    let mut parameters = Vec::new();
    let mut list = Vec::new();
    let outside = std::mem::take(&mut generator.scope);
    generator.result = Return::Value(result.clone());
    for number in 0..1 + generator.below(3) {
        let parameter = format!("q{number}");
        if generator.chance(25) {
            let of = Ty::Number(generator.number());
            list.push(format!("{parameter}: &[{of}]"));
            generator.declare(&parameter, of.clone(), false, Access::Slice);
            parameters.push((of, true));
        } else {
            let (ty, mutable) = (generator.ty(1), generator.chance(30));
            let word = if mutable { "mut " } else { "" };
            list.push(format!("{word}{parameter}: {ty}"));
            generator.declare(&parameter, ty.clone(), mutable, Access::Value);
            parameters.push((ty, false));
        }
    }
    let mut text = format!("pub fn {name}({}) -> {result} {{", list.join(", "));
    for _ in 0..generator.below(5) {
        text += &generator.line();
        text += &generator.statement(1);
    }
    let value = generator.expression(&result, 2, true).text;
    let begins = ["{", "if ", "match "].iter().any(|word| value.starts_with(word));
    text += &generator.line();
    text += &if begins && !value.ends_with('}') { format!("({value})") } else { value };
    text += "\n}\n";
    generator.scope = outside;
    generator.result = Return::Nothing;
    generator.devices.push(Device { name: name.to_owned(), parameters, result });
    text
}

fn kernel(generator: &mut Generator, seed: u64) -> (String, Vec<Parameter>) {
    generator.dimensions = match generator.below(10) {
        0 => 2,
        1 => 3,
        _ => 1,
    };
    let dimensions = generator.dimensions;
    generator.count(["", "Index<1>", "Index<2>", "Index<3>"][dimensions]);
    let index = generator.pick(&["i", "at", "index"]);
    let index_ty = match dimensions {
        1 if generator.chance(70) => "Index".to_owned(),
        _ => format!("Index<{dimensions}>"),
    };
    let mut list = vec![format!("{index}: {index_ty}")];
    generator.declare(index, Ty::Bool, false, Access::Index);
    // What the thread has computed goes here, bit by bit.
    list.push("seen: &mut Own<[u64]>".to_owned());
    let mut parameters = vec![Parameter { takes: Takes::Own, ty: Ty::Number(Number::U64) }];
    let mut owned = Vec::new();
    for number in 0..2 + generator.below(5) {
        let takes =
            generator.pick(&[Takes::Value, Takes::Value, Takes::Slice, Takes::Slice, Takes::Own, Takes::Out]);
        let name = if generator.chance(15) {
            generator.pick(&["int", "double", "tw", "n", "len"]).to_owned()
        } else {
            "p".to_owned()
        };
        let name = format!("{name}{number}");
        let ty = match takes {
            Takes::Value if generator.chance(15) => {
                Ty::Array(Box::new(Ty::Number(generator.number())), 1 + generator.below(3))
            }
            Takes::Slice | Takes::Own if generator.chance(15) => {
                Ty::Array(Box::new(Ty::Number(generator.number())), 1 + generator.below(3))
            }
            Takes::Value if generator.chance(10) => Ty::Bool,
            _ => Ty::Number(generator.number()),
        };
        match takes {
            Takes::Value => {
                let mutable = generator.chance(30);
                let word = if mutable { "mut " } else { "" };
                list.push(format!("{word}{name}: {ty}"));
                generator.declare(&name, ty.clone(), mutable, Access::Value);
            }
            Takes::Slice => {
                list.push(format!("{name}: &[{ty}]"));
                generator.declare(&name, ty.clone(), false, Access::Slice);
            }
            Takes::Own | Takes::Out => {
                let handle = if takes == Takes::Own { "Own" } else { "Out" };
                generator.count(handle);
                list.push(format!("{name}: &mut {handle}<[{ty}]>"));
                owned.push((name, ty.clone()));
            }
        }
        parameters.push(Parameter { takes, ty });
    }
    let mut text = format!("pub fn k{seed}({}) {{", list.join(", "));
    text += &format!("\n    let Some(seen) = seen.get_mut({index}) else {{ return }};");
    for (name, ty) in owned {
        text += &format!("\n    let Some({name}) = {name}.get_mut({index}) else {{ return }};");
        generator.declare(&name, ty, true, Access::RefMut);
    }
    for _ in 0..4 + generator.below(12) {
        text += &generator.line();
        text += &generator.statement(2);
        if generator.chance(25) {
            text += &noted(generator, 2);
        }
    }
    text += &noted(generator, usize::MAX);
    text += "\n}\n";
    (text, parameters)
}

/// Writes some of the values in scope into `seen`, by their bits. A NaN is any NaN.
fn noted(generator: &mut Generator, most: usize) -> String {
    let mut values: Vec<(Text, Number)> = Vec::new();
    let mut bools = Vec::new();
    for (number, _) in super::types::NUMBERS {
        let readable = generator.readable(&Ty::Number(number));
        values.extend(readable.into_iter().map(|text| (text, number)));
    }
    bools.extend(generator.readable(&Ty::Bool));
    let mut text = String::new();
    let line = generator.line();
    let mut write = |value: String| text += &format!("{line}*seen = (*seen).rotate_left(5) ^ {value};");
    while values.len() > most {
        let at = generator.below(values.len());
        values.swap_remove(at);
    }
    for (value, number) in values {
        let value = value.within(super::generator::binds::ATOM);
        write(match number.is_float() {
            true => format!("if {value}.is_nan() {{ 1 }} else {{ {value}.to_bits() as u64 }}"),
            false => format!("({value} as u64)"),
        });
    }
    for value in bools.into_iter().take(most) {
        write(format!("({} as u64)", value.within(super::generator::binds::ATOM)));
    }
    text
}
