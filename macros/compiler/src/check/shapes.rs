//! Both sides of a copy hold the same elements, as many an item; chunk and depth are not 0.

use quote::ToTokens;
use syn::{Type, TypeParam, WherePredicate};

use super::constant::value;
use crate::diagnostics::{Diagnostics, count};
use crate::resolve::{Buffer, CopyNames, HostKind, OperationKind, Program, Shape};

/// Types that have no other name, so that two of them differ if their names do.
pub(super) const PRIMITIVES: [&str; 15] = [
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
            OperationKind::Upload { from, to, names } => {
                copy(host(*from), buffer(*to), false, names, diagnostics)
            }
            OperationKind::Download { from, to, names } => {
                copy(buffer(*from), host(*to), true, names, diagnostics)
            }
            OperationKind::CopyBuffer { from, to, names } => {
                copy(buffer(*from), buffer(*to), false, names, diagnostics)
            }
            OperationKind::Fill(_)
            | OperationKind::Launch(_)
            | OperationKind::Call(_)
            | OperationKind::Host(_)
            | OperationKind::Then(_)
            | OperationKind::Collective(_) => {}
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
    type_parameters(program, diagnostics);
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
    suffixes(program, diagnostics);
    let counts = |shape: &Shape| shape.per_chunk.is_none();
    let in_place = program.buffers.iter().filter(|buffer| buffer.in_place().is_some());
    let mut arguments = program.hosts.iter().map(|host| &host.shape).chain(in_place.map(|b| &b.shape));
    if !arguments.any(counts) {
        diagnostics
            .error("TW0704", &program.name, format!("pipeline `{}` has no items", program.name))
            .note("they are counted by its `input`, `output` and `inout` arguments")
            .help("declare one: `input x: [f32];`");
    }
}

/// `per chunk` and `halo` stand where they mean something.
fn suffixes(program: &Program, diagnostics: &mut Diagnostics) {
    let hosts = program.hosts.iter().map(|host| (&host.name, host.kind, &host.shape, false));
    let in_place = program.buffers.iter().filter_map(|buffer| {
        let Buffer { name, shape, .. } = buffer;
        Some((name, buffer.in_place()?, shape, true))
    });
    for (name, kind, shape, in_place) in hosts.chain(in_place) {
        let keyword = kind.keyword();
        if let (Some(per_chunk), true) = (&shape.per_chunk, kind != HostKind::Output) {
            diagnostics
                .error(
                    "TW0712",
                    per_chunk,
                    format!("`{name}` is an `{keyword}` with elements for each chunk"),
                )
                .note(
                    "the caller does not know where chunks begin and end; only results can be counted by chunk",
                )
                .help("leave `per chunk` out, or declare it `output`");
        }
        let Some(halo) = &shape.halo else { continue };
        if kind != HostKind::Input {
            let error = diagnostics.error(
                "TW0711",
                &halo.keyword,
                format!("`{name}` is an `{keyword}` with a `halo`"),
            );
            if kind == HostKind::InOut {
                error.note("a chunk would read items that its neighbour writes");
                error.help(format!("read from `input {name}` with the halo, and write to an `output`"));
            } else {
                error.note(
                    "a halo holds items that a chunk reads of its neighbours, and an `output` is not read",
                );
                error.help("leave it out, or give it to the `input` that the kernel reads");
            }
        } else if in_place {
            diagnostics
                .error(
                    "TW0711",
                    &halo.keyword,
                    format!("`{name}` is used in place, and cannot have a `halo`"),
                )
                .note("a halo is made by the copy that brings a chunk to the device")
                .help(format!("declare it `input {name}: {} {}`", shape.written(), halo.written()));
        }
    }
}

/// Types of the standard library that are not plain data, by name. rustc finds the others, but reports them
/// at every use.
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

fn copy(from: &Shape, to: &Shape, to_host: bool, names: &CopyNames, diagnostics: &mut Diagnostics) {
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
    if extent(from, to, to_host, names, diagnostics) {
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
                    "`{}` has {} an item, but `{}` has {to_count}",
                    names.from,
                    count(from_count, "element"),
                    names.to
                ),
            )
            .help(format!("declare `{}` as `[{to_element}; {from_count}]`", names.to));
    }
}

/// A parameter of the pipeline that is an element must be plain data; rustc would report it at every use.
fn type_parameters(program: &Program, diagnostics: &mut Diagnostics) {
    let predicates = program.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let bounded: Vec<String> = predicates
        .filter_map(|predicate| match predicate {
            WherePredicate::Type(predicate) => Some(text(&predicate.bounded_ty)),
            _ => None,
        })
        .collect();
    for TypeParam { ident, bounds, .. } in program.generics.type_params() {
        if !bounds.is_empty() || bounded.iter().any(|ty| ident == ty) {
            continue;
        }
        let hosts = program.hosts.iter().map(|host| (&host.name, &host.shape));
        let mut data = hosts.chain(program.buffers.iter().map(|buffer| (&buffer.name, &buffer.shape)));
        if let Some((name, _)) = data.find(|(_, shape)| *ident == text(&shape.element)) {
            diagnostics
                .error(NOT_PLAIN_DATA, ident, format!("`{ident}` need not be plain data"))
                .note(format!("the elements of `{name}` are copied byte by byte"))
                .help(format!("write `{ident}: Pod`"));
        }
    }
}

/// Reports whether the two sides of a copy have different items: a halo, or a number of elements for each
/// chunk.
fn extent(from: &Shape, to: &Shape, to_host: bool, names: &CopyNames, diagnostics: &mut Diagnostics) -> bool {
    let (source, destination) = (&names.from, &names.to);
    if from.per_chunk.is_some() != to.per_chunk.is_some() {
        let counted = |shape: &Shape| if shape.per_chunk.is_some() { "chunk" } else { "item" };
        let (from, to) = (counted(from), counted(to));
        diagnostics
            .error(
                "TW0610",
                destination,
                format!("`{source}` is counted by {from}, but `{destination}` by {to}"),
            )
            .note("a copy moves as many elements as both sides have")
            .help("declare both `per chunk`, or none; a kernel can make one of the other");
        return true;
    }
    let items = |shape: &Shape| shape.halo.as_ref().map(|halo| text(&halo.items));
    let (from_items, to_items) = (items(from), items(to));
    // A written argument cannot have a halo; that is reported where it is declared.
    if from_items == to_items || (to_host && to_items.is_some()) {
        return false;
    }
    let fact = match (&from_items, &to_items) {
        (Some(from), Some(to)) => {
            format!("`{source}` has a halo of {from}, but `{destination}` has one of {to}")
        }
        (Some(from), None) => format!("`{source}` has a halo of {from}, but `{destination}` has none"),
        (None, Some(to)) => format!("`{source}` has no halo, but `{destination}` has one of {to}"),
        (None, None) => return false,
    };
    let error = diagnostics.error("TW0610", destination, fact);
    error.note("a copy moves a chunk's items and its halo, as many as both sides have");
    match (to_host, from_items) {
        (true, _) => error.help(format!(
            "write the result to a `device` buffer with a kernel, and copy that to `{destination}`"
        )),
        (false, Some(_)) => error.help(
            "copy to a new name, which gets the halo too, or let a kernel write the buffer without a halo",
        ),
        (false, None) => error.help("copy to a new name, which gets no halo"),
    };
    true
}

fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

fn same_place(a: &impl ToTokens, b: &impl ToTokens) -> bool {
    let start =
        |tokens: proc_macro2::TokenStream| tokens.into_iter().next().map(|token| token.span().start());
    start(a.to_token_stream()) == start(b.to_token_stream()) && text(a) == text(b)
}
