//! The buffers of collectives: their elements, how many there are, and which can be reduced.

use syn::Type;

use super::constant::value;
use super::shapes::PRIMITIVES;
use crate::diagnostics::{Diagnostics, count};
use crate::groups::peel;
use crate::resolve::{
    Buffer, BufferKind, Collective, CollectiveKind, Operand, Operands, Program, Reduction, ReductionKind,
};
use crate::text::text;

/// Types of which collectives make one number.
const NUMBERS: [&str; 10] = ["i8", "u8", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"];
/// Those of them that have a mean.
const FLOATS: [&str; 4] = ["f16", "bf16", "f32", "f64"];

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    for (_, collective) in program.collectives() {
        let mut fits = true;
        for operand in collective.data.iter() {
            fits &= no_halo(program, collective, operand, diagnostics);
        }
        if let Operands::Two(from, to) = &collective.data
            && fits
        {
            shapes(program, collective, (from, to), diagnostics);
        }
        if let (Some(reduction), Some(operand)) = (&collective.reduction, collective.data.iter().next()) {
            reduced(program, reduction, operand, diagnostics);
        }
    }
}

/// Whether a buffer has no items of neighbours.
fn no_halo(
    program: &Program,
    collective: &Collective<Operand>,
    Operand { buffer, name, .. }: &Operand,
    diagnostics: &mut Diagnostics,
) -> bool {
    if program.buffers[buffer.0].shape.halo.is_none() {
        return true;
    }
    diagnostics
        .error(
            "TW1004",
            name,
            format!("`{name}` has a halo, but `{}` moves a chunk's items alone", collective.keyword),
        )
        .note("the items beyond the chunk are its neighbours', which move them too")
        .help("let a kernel write the chunk's own items to a buffer without a halo, and name that");
    false
}

/// Both sides hold the same elements, and as many as the collective makes.
fn shapes(
    program: &Program,
    collective: &Collective<Operand>,
    (from, to): (&Operand, &Operand),
    diagnostics: &mut Diagnostics,
) {
    let [source, destination] = [from, to].map(|operand| &program.buffers[operand.buffer.0]);
    let [held, holds] = [source, destination].map(|buffer| text(&buffer.shape.element));
    let (a, b) = (&from.name, &to.name);
    let primitive = |name: &String| PRIMITIVES.contains(&name.as_str());
    if held != holds && primitive(&held) && primitive(&holds) {
        diagnostics
            .error("TW1005", b, format!("`{a}` holds `{held}`, but `{b}` holds `{holds}`"))
            .note("a collective moves elements and converts none")
            .help(format!("declare `{b}` as `[{held}]`, or convert in a kernel"));
        return;
    }
    // Parts have the lengths that they are given.
    if from.range.is_some() || to.range.is_some() {
        return;
    }
    let (Some(counted), Some(counts)) = (counted(source), counted(destination)) else { return };
    if (counted == "item") != (counts == "item") {
        diagnostics
            .error("TW1005", b, format!("`{a}` is counted by {counted}, but `{b}` by {counts}"))
            .note("a collective moves as many elements as both sides have")
            .help("declare both `per chunk`, or none; a kernel can make one of the other");
        return;
    }
    counts_fit(collective, (a.to_string(), b.to_string()), (source, destination), diagnostics);
}

/// What a buffer's elements are counted by; none if nothing says how many it has.
fn counted(buffer: &Buffer) -> Option<&'static str> {
    match buffer.kind {
        BufferKind::Resident { .. } => None,
        BufferKind::Carry { .. } => Some("run"),
        _ if buffer.shape.per_chunk.is_some() => Some("chunk"),
        _ => Some("item"),
    }
}

/// Reports constant numbers of elements that fit no number of ranks.
fn counts_fit(
    collective: &Collective<Operand>,
    (a, b): (String, String),
    (source, destination): (&Buffer, &Buffer),
    diagnostics: &mut Diagnostics,
) {
    let of =
        |buffer: &Buffer| buffer.shape.per_item.as_ref().map_or(Some(1), value).filter(|&count| count > 0);
    let (Some(from), Some(to)) = (of(source), of(destination)) else { return };
    let (kind, keyword) = (collective.kind, &collective.keyword);
    let element = text(&destination.shape.element);
    let unit = counted(destination).unwrap_or("item");
    let an = if unit == "item" { "an" } else { "a" };
    let elements = count(from, "element");
    let (fits, fact, help) = match kind {
        CollectiveKind::AllGather | CollectiveKind::Gather => (
            to.is_multiple_of(from),
            format!(
                "`{a}` has {elements} {an} {unit}, and `{b}` has {to}, which is not as many of each rank"
            ),
            format!("declare `{b}` as `{}`", of_all(&element, from)),
        ),
        CollectiveKind::Scatter | CollectiveKind::ReduceScatter => (
            from.is_multiple_of(to),
            format!(
                "`{a}` has {elements} {an} {unit}, and `{b}` has {to}, which is not as many for each rank"
            ),
            format!("declare `{a}` as `{}`", of_all(&element, to)),
        ),
        _ => (
            from == to,
            format!("`{a}` has {elements} {an} {unit}, but `{b}` has {to}"),
            format!("declare `{b}` as `[{element}; {from}]`"),
        ),
    };
    if fits {
        return;
    }
    let note = match kind {
        CollectiveKind::AllGather | CollectiveKind::Gather => {
            format!("`{keyword}` makes `world.size` times as many elements as its source has")
        }
        CollectiveKind::Scatter | CollectiveKind::ReduceScatter => {
            format!("`{keyword}` takes `world.size` times as many elements as its destination has")
        }
        _ => format!("`{keyword}` writes as many elements as it reads"),
    };
    if let Operands::Two(_, to) = &collective.data {
        diagnostics.error("TW1005", &to.name, fact).note(note).help(help);
    }
}

/// The shape with as many elements for each rank.
fn of_all(element: &str, each: u128) -> String {
    match each {
        1 => format!("[{element}; world.size]"),
        each => format!("[{element}; {each} * world.size]"),
    }
}

/// Reports elements that are known by name and that no reduction makes one of.
fn reduced(program: &Program, reduction: &Reduction, operand: &Operand, diagnostics: &mut Diagnostics) {
    let element = peel(&program.buffers[operand.buffer.0].shape.element);
    let (name, held, word) = (&operand.name, text(element), &reduction.word);
    if let Type::Array(array) = element {
        diagnostics
            .error("TW1006", word, format!("`{name}` holds `{held}`, but a {word} is one of numbers"))
            .help(format!(
                "write `[{}; {}]`, which has them one by one",
                text(&array.elem),
                text(&array.len)
            ));
        return;
    }
    if NUMBERS.contains(&held.as_str()) {
        if reduction.kind == ReductionKind::Mean && !FLOATS.contains(&held.as_str()) {
            diagnostics
                .error("TW1006", word, format!("`{name}` holds `{held}`, of which there is no mean"))
                .note("a mean of whole numbers would lose its fraction")
                .help("write `sum`, and divide in a kernel, or let the buffer hold `f32`");
        }
        return;
    }
    let instead = match held.as_str() {
        "i16" => "i32",
        "u16" => "u32",
        "i128" | "isize" => "i64",
        "u128" | "usize" => "u64",
        // That `bool` and `char` are no plain data is reported where they are declared; rustc knows the others.
        _ => return,
    };
    diagnostics
        .error("TW1006", word, format!("`{name}` holds `{held}`, which no collective reduces"))
        .note("they reduce numbers of 8, 32 and 64 bits, `f16` and `bf16`, as NCCL does")
        .help(format!("let the buffer hold `{instead}`"));
}
