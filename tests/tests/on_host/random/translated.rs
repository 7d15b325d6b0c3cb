//! Random kernels as CUDA C++: what the compiler makes of the file, with the runtime's headers.

use std::path::Path;

use syn::{Item, ItemFn};
use thalweg::__private::{Callee, Define, RustSource, RustText, constant};
use thalweg_compiler::rust_kernels::{Build, Role, translate};
use thalweg_tests::on_host::{Argument, Checks, OnHost, Program, Turns};

use super::data::Data;
use super::module::{Module, Takes};

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
};

/// The bits of a fault's place that are the line. Others tell the function, all of which are in one file here.
const LINE_BITS: u32 = 20;

/// Random programs have names that nothing uses, and comparisons that always hold.
const FLAGS: &[&str] = &["-Wno-unused", "-Wno-type-limits", "-Wno-tautological-compare", "-Wno-bool-compare"];

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
        kernels.push(kernel.map_err(|error| format!("kernel {}: {error}", module.seed))?);
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
fn source(module: &Module, items: &[Item], build: Build) -> Result<&'static RustSource, String> {
    let mut sources: Vec<(&'static str, &'static RustSource)> = Vec::new();
    let own: String = module.constants.iter().map(|(_, cpp)| format!("{cpp}\n")).collect();
    for item in items {
        let Item::Fn(function) = item else { continue };
        let name: &'static str = leak(function.sig.ident.to_string());
        let text: &'static str = leak(format!("{own}{}", one(function, build)?));
        let constants = CONSTANTS.iter().filter(|(name, _)| text.contains(name)).copied();
        let constants: &'static Vec<_> = leak(constants.collect());
        let callees = named(sources.clone());
        let text = RustText { text, lines: &[] };
        let source = RustSource { file: "random.rs", text, constants, callees, ..RustSource::none(name) };
        sources.push((name, leak(source)));
    }
    Ok(sources.pop().expect("the kernel comes last").1)
}

fn one(function: &ItemFn, build: Build) -> Result<String, String> {
    let role = if function.sig.ident.to_string().starts_with('k') { Role::Kernel } else { Role::Device };
    translate(role, function, build).map_err(|errors| {
        let told = errors.iter().map(|error| format!("line {}: {error}", error.span().start().line));
        told.collect::<Vec<_>>().join("\n")
    })
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

    /// Runs a kernel, and returns the line at which each thread has faulted, 0 where it has not.
    ///
    /// # Errors
    /// The launch did what none must do.
    pub fn run(&self, module: &Module, data: &mut Data) -> Result<Vec<u32>, String> {
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
            match (parameter.takes, module.dimensions) {
                (Takes::Slice, _) | (_, 1) => arguments.push(Argument::value(&length)),
                (_, 2) => arguments.push(Argument::value(&[data.shape[1], data.shape[2]])),
                _ => arguments.push(Argument::value(&data.shape)),
            }
        }
        let turns = Turns { steps: 20_000_000, ..Turns::new(data.grid, data.block, 0) };
        // SAFETY: the arguments are those that the kernel declares. If it does not stay within them, that is what
        // is looked for here.
        let outcome = unsafe { self.program.launch(name, turns, &arguments) }?;
        let mut lines = vec![0; data.threads.iter().product()];
        for fault in outcome.faults {
            let place =
                |axis: usize, of_block: u32| (fault.block[axis] * of_block + fault.thread[axis]) as usize;
            let (x, y, z) = (place(0, data.block.0), place(1, data.block.1), place(2, data.block.2));
            lines[(z * data.threads[1] + y) * data.threads[2] + x] = fault.line & ((1 << LINE_BITS) - 1);
        }
        Ok(lines)
    }
}
