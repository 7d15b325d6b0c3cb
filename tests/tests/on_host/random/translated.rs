//! Random kernels as CUDA C++: what the compiler makes of the file, with the runtime's headers.

use std::path::Path;
use std::sync::Arc;

use syn::{Item, ItemFn, ItemStruct};
use thalweg::__private::{Callee, Define, RustSource, RustText, RustType, StructLayout, constant};
use thalweg::half::{bf16, f16};
use thalweg_compiler::rust_kernels::{Build, Role, definition, translate};
use thalweg_tests::on_host::{Argument, Checks, Fault, OnHost, Program, Turns};

use super::data::Data;
use super::module::{Form, Module, Takes};
use super::types::{Structure, Ty};

/// The constants of Rust's own that kernels name, as the macro defines them.
macro_rules! constants {
    ($($ty:ident: $($name:ident)*;)*) => {
        &[$($((concat!(stringify!($ty), "_", stringify!($name)), {
            const DEFINE: Define = || constant(&$ty::$name);
            DEFINE
        }),)*)*]
    };
}
const CONSTANTS: &[(&str, Define)] = constants! {
    u8: MIN MAX BITS; u16: MIN MAX BITS; u32: MIN MAX BITS; u64: MIN MAX BITS; usize: MIN MAX BITS;
    i8: MIN MAX BITS; i16: MIN MAX BITS; i32: MIN MAX BITS; i64: MIN MAX BITS; isize: MIN MAX BITS;
    f32: MIN MAX EPSILON MIN_POSITIVE INFINITY NEG_INFINITY NAN;
    f64: MIN MAX EPSILON MIN_POSITIVE INFINITY NEG_INFINITY NAN;
    f16: ONE NEG_ONE ZERO MAX MIN_POSITIVE EPSILON;
    bf16: ONE NEG_ONE ZERO MAX MIN_POSITIVE EPSILON;
};

/// The bits of a fault's place that are the line. Others tell the function, all of which are in one file here.
const LINE_BITS: u32 = 20;

/// Random programs have names that nothing uses, and comparisons that always hold.
/// gcc also warns of `i64(~x) == 5`, where `~x` has no sign, of `usize(i16_MIN) | 1`, which it takes for the
/// operation of an `i16`, and of a division by a constant 0 behind one that has ended the thread.
const FLAGS: &[&str] = &[
    "-Wno-unused",
    "-Wno-type-limits",
    "-Wno-tautological-compare",
    "-Wno-bool-compare",
    "-Wno-sign-compare",
    "-Wno-div-by-zero",
    "-Wno-overflow",
];

/// The kernels of a file in one build.
pub struct Translated {
    program: OnHost,
    names: Vec<String>,
}

/// The whole text, and the kernels' names in it.
///
/// # Errors
/// What the compiler refuses, with the kernel's seed.
pub fn text(file: &str, modules: &[Module], build: Build) -> Result<(String, Vec<String>), String> {
    let parsed = syn::parse_file(file).map_err(|error| format!("{error} at {:?}", error.span().start()))?;
    let mut kernels = Vec::new();
    for module in modules {
        let name = format!("m{}", module.seed);
        let items = parsed.items.iter().find_map(|item| match item {
            Item::Mod(found) if found.ident == name => found.content.as_ref().map(|(_, items)| items),
            _ => None,
        });
        let kernel = source(module, items.expect("the module"), build);
        kernels.push(kernel.map_err(|errors| format!("kernel {}: {}", module.seed, told(file, &errors)))?);
    }
    let kernels: Vec<(&'static str, &'static RustSource)> =
        kernels.into_iter().map(|kernel| (kernel.name, kernel)).collect();
    let text = RustText { text: "", lines: &[] };
    let all = leak(RustSource { text, callees: named(kernels), ..RustSource::none("all") });
    let text = all.joined();
    let names = modules.iter().map(|module| {
        // The namespace that the kernel is in.
        let at = text.find(&format!("void k{}(", module.seed)).expect("the kernel");
        let (_, namespace) = text[..at].rsplit_once("namespace ").expect("its namespace");
        let namespace = namespace.split_whitespace().next().expect("a name");
        format!("{namespace}::k{}", module.seed)
    });
    let names = names.collect();
    Ok((text, names))
}

/// Sources live as long as the program, as those do that the macro writes.
fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Functions that are called under these names.
fn named(sources: Vec<(&'static str, &'static RustSource)>) -> &'static [(&'static str, Callee)] {
    let find = |source: &'static RustSource| -> Callee { leak(move || source) };
    leak(sources.into_iter().map(|(name, source)| (name, find(source))).collect::<Vec<_>>())
}

/// The kernel's source, which names those of the functions before it.
fn source(module: &Module, items: &[Item], build: Build) -> Result<&'static RustSource, Vec<syn::Error>> {
    let mut sources: Vec<(&'static str, &'static RustSource)> = Vec::new();
    let own: String = module.constants.iter().map(|(_, cpp)| format!("{cpp}\n")).collect();
    let mut structs: Vec<(&'static str, &'static RustType)> = Vec::new();
    for item in items {
        if let Item::Struct(item) = item {
            let of = module.structs.iter().find(|of| item.ident == of.name).expect("the struct");
            let source = structure(item, of, &structs)?;
            structs.push((source.name, leak(RustType::Struct(source))));
        }
        let Item::Fn(function) = item else { continue };
        let name: &'static str = leak(function.sig.ident.to_string());
        let text: &'static str = leak(format!("{own}{}", one(function, build)?));
        let constants = CONSTANTS.iter().filter(|(name, _)| text.contains(name)).copied();
        let constants: &'static Vec<_> = leak(constants.collect());
        let callees = named(sources.clone());
        let text = RustText { text, lines: &[] };
        let types = leak(structs.clone());
        let source =
            RustSource { file: "random.rs", text, constants, types, callees, ..RustSource::none(name) };
        sources.push((name, leak(source)));
    }
    Ok(sources.pop().expect("the kernel comes last").1)
}

/// The definition of a struct, which may name those before it.
fn structure(
    item: &ItemStruct,
    of: &Arc<Structure>,
    before: &[(&'static str, &'static RustType)],
) -> Result<&'static RustSource, Vec<syn::Error>> {
    let text = definition(item)?;
    let ty = Ty::Struct(Arc::clone(of));
    let layout = Some(StructLayout { size: ty.size(), align: ty.alignment(), fields: &[] });
    let name: &'static str = leak(of.name.clone());
    let (text, types) = (RustText { text: leak(text), lines: &[] }, leak(before.to_vec()));
    Ok(leak(RustSource { text, types, layout, ..RustSource::none(name) }))
}

/// The errors, with the lines that they are at.
fn told(file: &str, errors: &[syn::Error]) -> String {
    let told = errors.iter().map(|error| {
        let line = error.span().start().line;
        let text = file.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        format!("line {line}, `{}`: {error}", text.trim())
    });
    told.collect::<Vec<_>>().join("\n")
}

fn one(function: &ItemFn, build: Build) -> Result<String, Vec<syn::Error>> {
    let role = if function.sig.ident.to_string().starts_with('k') { Role::Kernel } else { Role::Device };
    translate(role, function, build)
}

impl Translated {
    /// Compiles the text.
    ///
    /// # Errors
    /// What the C++ compiler says.
    pub fn compile(folder: &Path, text: &str, names: Vec<String>) -> Result<Self, String> {
        let kernels: Vec<&str> = names.iter().map(String::as_str).collect();
        let program =
            Program { file: "random.cu", text, kernels: &kernels, checks: Checks::Strict, flags: FLAGS };
        let program = OnHost::compile(folder.to_str().expect("a path of letters"), &program)?;
        Ok(Self { program, names })
    }

    /// Runs a kernel, its threads in some order, and returns the faults.
    ///
    /// # Errors
    /// The launch did what none must do.
    pub fn run(&self, module: &Module, data: &mut Data, order: u64) -> Result<Vec<Fault>, String> {
        let name = format!("::k{}", module.seed);
        let name = self.names.iter().find(|known| known.ends_with(&name)).expect("the kernel");
        let mut arguments = Vec::new();
        for (at, parameter) in module.parameters.iter().enumerate() {
            let length = data.lengths[at];
            if parameter.takes == Takes::Value {
                arguments.push(Argument::bytes(data.bytes(module, at)));
                continue;
            }
            arguments.push(Argument::pointer(data.arrays[at].as_mut_ptr()));
            match (parameter.takes, module.form.dimensions()) {
                (Takes::Slice | Takes::Atomics { .. }, _) | (_, 1) => {
                    arguments.push(Argument::value(&length))
                }
                (_, 2) => arguments.push(Argument::value(&[data.shape[1], data.shape[2]])),
                _ => arguments.push(Argument::value(&data.shape)),
            }
        }
        let order = match module.form {
            Form::Threads(_) => 0,
            Form::Blocks { .. } => order,
        };
        let turns = Turns { steps: 20_000_000, ..Turns::new(data.grid, data.block, 0) }.order(order);
        // SAFETY: the arguments are those that the kernel declares. If it does not stay within them, that is what
        // is looked for here.
        let outcome = unsafe { self.program.launch(name, turns, &arguments) }?;
        let faults = outcome.faults.into_iter();
        Ok(faults.map(|fault| Fault { line: fault.line & ((1 << LINE_BITS) - 1), ..fault }).collect())
    }
}
