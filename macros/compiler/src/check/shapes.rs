//! Both sides of a copy hold the same elements, as many an item; chunk and depth are not 0.

use quote::ToTokens;
use syn::Type;

use super::constant::value;
use crate::diagnostics::Diagnostics;
use crate::resolve::{CopyNames, OperationKind, Program, Shape};

/// Types that have no other name, so that two of them differ if their names do.
const PRIMITIVES: [&str; 15] = [
    "bool", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize",
];

/// The code of an element type with which `run` cannot be declared.
pub const NOT_PLAIN_DATA: &str = "TW0707";

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    for operation in &program.operations {
        let host = |id: crate::resolve::HostId| &program.hosts[id.0].shape;
        let buffer = |id: crate::resolve::BufferId| &program.buffers[id.0].shape;
        match &operation.kind {
            OperationKind::Upload { from, to, names } => copy(host(*from), buffer(*to), names, diagnostics),
            OperationKind::Download { from, to, names } => copy(buffer(*from), host(*to), names, diagnostics),
            OperationKind::CopyOnDevice { from, to, names } => {
                copy(buffer(*from), buffer(*to), names, diagnostics)
            }
            OperationKind::Fill(_) | OperationKind::Launch(_) => {}
        }
    }
    let shapes = program.hosts.iter().map(|host| (&host.name, &host.shape));
    for (name, shape) in shapes.chain(program.buffers.iter().map(|buffer| (&buffer.name, &buffer.shape))) {
        if let Some(per_item) = &shape.per_item {
            // A buffer that a copy declares has its source's expression: reported once, there.
            let first = !diagnostics.iter().any(|known| same_place(known.at(), per_item));
            if value(per_item) == Some(0) && first {
                diagnostics
                    .error("TW0703", per_item, format!("`{name}` has 0 elements an item"))
                    .help(format!("write `[{}; 1]`, or leave the number out", text(&shape.element)));
            }
        }
    }
    elements(program, diagnostics);
    if let Some(size) = program.chunk.size.given().filter(|size| value(size) == Some(0)) {
        diagnostics
            .error("TW0701", size, "a chunk must have at least 1 item")
            .help("write `chunk c = auto;` to let the runtime choose");
    }
    if let Some(slots) = program.depth.given().filter(|slots| value(slots) == Some(0)) {
        diagnostics
            .error("TW0702", slots, "the depth must be at least 1 slot")
            .note("a chunk in flight needs a ring slot of its own")
            .help("write `depth = 3;`: one chunk comes in, one is computed on, one goes out");
    }
    if program.hosts.is_empty() {
        diagnostics
            .error("TW0704", &program.name, format!("pipeline `{}` has no host data", program.name))
            .note("its items are counted by its `input`, `output` and `inout` arguments")
            .help("declare one: `input x: [f32];`");
    }
}

/// Types of the standard library that are no plain data, by name; rustc finds the others, but says it at every use.
fn elements(program: &Program, diagnostics: &mut Diagnostics) {
    let shapes = program.hosts.iter().map(|host| &host.shape);
    for Shape { element, .. } in shapes.chain(program.buffers.iter().map(|buffer| &buffer.shape)) {
        let (why, help) = match element {
            Type::Reference(_) => ("it is an address of the host's memory", "copy what it refers to"),
            Type::Tuple(tuple) if !tuple.elems.is_empty() => {
                ("the layout of a tuple is not defined", "write a `#[repr(C)]` struct that is `Pod`")
            }
            Type::Path(path) => {
                let Some(last) = path.path.segments.last().filter(|_| path.path.segments.len() == 1) else {
                    continue;
                };
                match (last.ident.to_string().as_str(), last.arguments.is_empty()) {
                    ("bool", true) => ("not every byte is a `bool`", "use `u8`, 0 and 1"),
                    ("char", true) => ("not every number is a `char`", "use `u32`"),
                    ("String", true) | ("Vec" | "Box" | "Rc" | "Arc", false) => {
                        ("it owns memory of the host", "lay the data out in one slice")
                    }
                    _ => continue,
                }
            }
            _ => continue,
        };
        // A buffer that a copy declares has its source's element: reported once, there.
        if !diagnostics.iter().any(|known| same_place(known.at(), element)) {
            diagnostics
                .error(NOT_PLAIN_DATA, element, format!("`{}` is not plain data", text(element)))
                .note(why)
                .help(help);
        }
    }
}

fn copy(from: &Shape, to: &Shape, names: &CopyNames, diagnostics: &mut Diagnostics) {
    let (from_element, to_element) = (text(&from.element), text(&to.element));
    let primitive = |name: &str| PRIMITIVES.contains(&name);
    if from_element != to_element && primitive(&from_element) && primitive(&to_element) {
        diagnostics
            .error(
                "TW0601",
                &names.to,
                format!("`{}` holds `{from_element}`, but `{}` holds `{to_element}`", names.from, names.to),
            )
            .note("a copy moves bytes and converts nothing")
            .help(format!("declare `{}` as `[{from_element}]`, or convert in a kernel", names.to));
        return;
    }
    let per_item = |shape: &Shape| shape.per_item.as_ref().map_or(Some(1), value);
    if let (Some(from_count), Some(to_count)) = (per_item(from), per_item(to))
        && from_count != to_count
        && from_count.min(to_count) > 0
    {
        diagnostics
            .error(
                "TW0602",
                &names.to,
                format!(
                    "`{}` has {from_count} elements an item, but `{}` has {to_count}",
                    names.from, names.to
                ),
            )
            .help(format!("declare `{}` as `[{to_element}; {from_count}]`", names.to));
    }
}

fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

fn same_place(a: &impl ToTokens, b: &impl ToTokens) -> bool {
    let start =
        |tokens: proc_macro2::TokenStream| tokens.into_iter().next().map(|token| token.span().start());
    start(a.to_token_stream()) == start(b.to_token_stream()) && text(a) == text(b)
}
