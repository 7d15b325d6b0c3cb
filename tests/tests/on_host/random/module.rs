//! A kernel with the structs, constants and functions that it uses: a module of Rust.

use std::sync::Arc;

use super::atomics::{self, Atomic, Mode};
use super::blocks::{self, Handle, Owner};
use super::generator::{Access, Counts, Device, Generator, Level, Return, Text};
use super::types::{Half, Number, Structure, Ty};

/// How a kernel takes a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Value,
    Slice,
    Own,
    Out,
    /// A slice of atomics, perhaps with one for each thread.
    Atomics {
        of_threads: bool,
    },
}

#[derive(Debug, Clone)]
pub struct Parameter {
    pub takes: Takes,
    /// The type of the value or of an element.
    pub ty: Ty,
    /// Whose elements an `Own` or `Out` has.
    pub owner: Owner,
}

/// What runs a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Threads with an index of so many dimensions.
    Threads(usize),
    /// Blocks in a grid of so many, perhaps with so many threads each.
    Blocks { dimensions: usize, threads: Option<usize> },
}

impl Form {
    pub fn dimensions(self) -> usize {
        match self {
            Self::Threads(dimensions) | Self::Blocks { dimensions, .. } => dimensions,
        }
    }
}

/// A random kernel.
#[derive(Debug, Clone)]
pub struct Module {
    pub seed: u64,
    /// The items, without the lines of the module around them.
    pub text: String,
    pub parameters: Vec<Parameter>,
    pub form: Form,
    /// Its data are of any size.
    pub wild: bool,
    pub structs: Vec<Arc<Structure>>,
    /// The constants by name, with their C++.
    pub constants: Vec<(String, String)>,
}

/// Writes the kernel of a seed.
pub fn module(seed: u64) -> (Module, Counts) {
    let mut generator = Generator::new(seed);
    generator.has_halves = generator.chance(25);
    let dimensions = generator.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3]);
    let in_blocks = generator.chance(45);
    // A thread that fails ends its whole block.
    generator.wild = generator.chance(if in_blocks { 8 } else { 30 });
    let mut text = String::new();
    let mut constants = Vec::new();
    for number in 0..generator.weighted(&[50, 30, 20]) {
        text += &generator.structure(&format!("P{number}"));
    }
    for number in 0..generator.below(3) {
        let (rust, cpp) = generator.module_constant(&format!("N{number}"));
        text += &rust;
        constants.push(cpp);
    }
    for number in 0..generator.below(3) {
        text += &device(&mut generator, &format!("f{number}"));
    }
    let (kernel, parameters, form) = match in_blocks {
        true => {
            let dimensions = if dimensions == 1 { generator.pick(&[1, 1, 1, 2]) } else { dimensions };
            blocks::kernel(&mut generator, seed, dimensions)
        }
        false => kernel(&mut generator, seed, dimensions),
    };
    text += &kernel;
    let Generator { wild, structs, counts, .. } = generator;
    (Module { seed, text, parameters, form, wild, structs, constants }, counts)
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

fn kernel(generator: &mut Generator, seed: u64, dimensions: usize) -> (String, Vec<Parameter>, Form) {
    generator.dimensions = dimensions;
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
    let seen = Ty::Number(Number::U64);
    let mut all = vec![Parameter { takes: Takes::Own, ty: seen, owner: Owner::Thread }];
    let owned = parameters(generator, Level::Thread, &mut list, &mut all);
    let mut text = format!("pub fn k{seed}({}) {{", list.join(", "));
    text += &format!("\n    let Some(seen) = seen.get_mut({index}) else {{ return }};");
    for place in 0..generator.atomics.len() {
        if generator.atomics[place].mode == Mode::Own {
            let name = generator.own_name("cell");
            let of = std::mem::replace(&mut generator.atomics[place].place, name.clone());
            text += &format!("\n    let {name} = &{of}[{index}];");
        }
    }
    for Handle { name, ty, out, .. } in owned {
        text += &format!("\n    let Some({name}) = {name}.get_mut({index}) else {{ return }};");
        if out {
            let first = generator.expression(&ty, 1, true).text;
            text += &format!("\n    *{name} = {first};");
        }
        generator.declare(&name, ty, true, Access::RefMut);
    }
    for _ in 0..4 + generator.below(12) {
        text += &generator.line();
        text += &generator.statement(2);
        if generator.chance(25) {
            text += &noted(generator, "*seen", 2);
        }
    }
    text += &noted(generator, "*seen", usize::MAX);
    text += "\n}\n";
    (text, all, Form::Threads(dimensions))
}

/// Adds parameters to a kernel's list, and declares them. The result is what threads or blocks own.
pub fn parameters(
    generator: &mut Generator,
    level: Level,
    list: &mut Vec<String>,
    all: &mut Vec<Parameter>,
) -> Vec<Handle> {
    const OTHERS: Takes = Takes::Atomics { of_threads: false };
    let mut owned = Vec::new();
    for number in 0..2 + generator.below(5) {
        let takes = generator.pick(&[
            Takes::Value,
            Takes::Value,
            Takes::Slice,
            Takes::Slice,
            Takes::Slice,
            Takes::Own,
            Takes::Own,
            Takes::Out,
            Takes::Out,
            OTHERS,
        ]);
        let name = if generator.chance(15) {
            generator.pick(&["int", "double", "tw", "n", "len"]).to_owned()
        } else {
            "p".to_owned()
        };
        let name = format!("{name}{number}");
        let ty = match takes {
            Takes::Atomics { .. } => Ty::Number(generator.atomic_number(level == Level::Thread)),
            Takes::Value if generator.chance(10) => Ty::Bool,
            _ => generator.in_memory(),
        };
        let mut parameter = Parameter { takes, ty: ty.clone(), owner: Owner::Thread };
        match takes {
            Takes::Value => {
                // Variables of a block are changed outside of phases alone, as all others are.
                let mutable = generator.chance(30);
                let word = if mutable { "mut " } else { "" };
                list.push(format!("{word}{name}: {ty}"));
                generator.declare(&name, ty, mutable, Access::Value);
            }
            Takes::Slice => {
                list.push(format!("{name}: &[{ty}]"));
                generator.declare(&name, ty, false, Access::Slice);
            }
            Takes::Atomics { .. } => {
                let Ty::Number(number) = ty else { unreachable!("an atomic holds a number") };
                list.push(format!("{name}: &[{}]", atomics::name(number)));
                parameter.takes = atomic_parameter(generator, level, name, number);
            }
            Takes::Own | Takes::Out => {
                let handle = if takes == Takes::Own { "Own" } else { "Out" };
                generator.count(handle);
                list.push(format!("{name}: &mut {handle}<[{ty}]>"));
                parameter.owner = match (level, generator.dimensions) {
                    (Level::Thread, _) => Owner::Thread,
                    (_, 1) => generator.pick(&[Owner::Thread, Owner::Block]),
                    _ => generator.pick(&[Owner::Tiles, Owner::Tiles, Owner::Rows]),
                };
                owned.push(Handle { name, ty, owner: parameter.owner, out: takes == Takes::Out });
            }
        }
        all.push(parameter);
    }
    owned
}

/// Notes what may be done with atomics.
fn atomic_parameter(generator: &mut Generator, level: Level, name: String, number: Number) -> Takes {
    let length = Some(format!("{name}.len()"));
    let of_threads = level == Level::Thread && generator.dimensions == 1 && generator.chance(60);
    if of_threads {
        generator.atomics.push(Atomic { place: name, number, length: None, mode: Mode::Own });
    } else if !number.is_float() {
        let atomic = Atomic { place: name, number, length, mode: generator.common() };
        match level {
            Level::Thread => generator.atomics.push(atomic),
            _ => generator.atomics_of_phases.push(atomic),
        }
    }
    Takes::Atomics { of_threads }
}

/// Writes some of the values in scope into a `u64`, by their bits. A NaN is any NaN.
pub fn noted(generator: &mut Generator, into: &str, most: usize) -> String {
    let mut values: Vec<(Text, Ty)> = Vec::new();
    let mut bools = Vec::new();
    let numbers = super::types::NUMBERS.iter().map(|(number, _)| Ty::Number(*number));
    for ty in numbers.chain([Half::F16, Half::Bf16].map(Ty::Half)) {
        let readable = generator.readable(&ty);
        values.extend(readable.into_iter().map(|text| (text, ty.clone())));
    }
    bools.extend(generator.readable(&Ty::Bool));
    let mut text = String::new();
    let line = generator.line();
    let mut write = |value: String| text += &format!("{line}{into} = ({into}).rotate_left(5) ^ {value};");
    while values.len() > most {
        let at = generator.below(values.len());
        values.swap_remove(at);
    }
    for (value, ty) in values {
        let value = value.within(super::generator::binds::ATOM);
        write(match ty {
            Ty::Number(number) if !number.is_float() => format!("({value} as u64)"),
            _ => format!("if {value}.is_nan() {{ 1 }} else {{ {value}.to_bits() as u64 }}"),
        });
    }
    for value in bools.into_iter().take(most) {
        write(format!("({} as u64)", value.within(super::generator::binds::ATOM)));
    }
    text
}
