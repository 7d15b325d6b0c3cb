//! Collectives: their buffers are memory of the device, and some of them declare their destinations.

use proc_macro2::{Ident, Span};
use syn::{BinOp, Expr, ExprBinary, ExprField, ExprParen, ExprPath, Member, Token};

use super::data::{Data, Wanted, find, unknown};
use super::names::Names;
use super::program::{Buffer, BufferId, BufferKind, HostId, Operand, OperationKind, Program};
use crate::diagnostics::Diagnostics;
use crate::syntax::{Collective, CollectiveKind, HostKind, Operands, Part, Shape};
use crate::text::text;

/// The code of data that a collective cannot use.
const OUT_OF_REACH: &str = "TW1003";
/// Why host data are out of reach.
const DEVICES: &str = "ranks exchange what is on their devices";
/// The code of shapes that do not fit.
const SHAPES: &str = "TW1005";

pub(super) fn resolve_collective(
    program: &mut Program,
    collective: Collective<Part>,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<(String, OperationKind)> {
    let shown = shown(&collective);
    let Collective { keyword, kind, reduction, data, to } = collective;
    let data = match data {
        Operands::None => Operands::None,
        Operands::One(part) => {
            let found = operand(program, &part, &keyword, Wanted::Argument, names, diagnostics)?;
            Operands::One(with(part, found))
        }
        Operands::Two(from, to) => {
            let (from, to) = both(program, kind, (from, to), &keyword, names, diagnostics)?;
            Operands::Two(from, to)
        }
    };
    let collective = Collective { keyword, kind, reduction, data, to };
    Some((shown, OperationKind::Collective(Box::new(collective))))
}

/// The operation as its user knows it: `all_reduce sum g`, `pass a -> b`.
fn shown(collective: &Collective<Part>) -> String {
    let mut shown = collective.keyword.to_string();
    if let Some(reduction) = &collective.reduction {
        shown += &format!(" {}", reduction.word);
    }
    let parts: Vec<_> = collective.data.iter().map(part).collect();
    match parts.is_empty() {
        true => shown,
        false => format!("{shown} {}", parts.join(" -> ")),
    }
}

fn part(Part { name, range }: &Part) -> String {
    match range {
        Some(range) => format!("{name}[{}]", text(range)),
        None => name.to_string(),
    }
}

fn with(Part { name, range }: Part, buffer: BufferId) -> Operand {
    Operand { buffer, name, range }
}

/// The two buffers of a collective, of which it may declare the second.
fn both(
    program: &mut Program,
    kind: CollectiveKind,
    (from, to): (Part, Part),
    keyword: &Ident,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<(Operand, Operand)> {
    let known = find(program, &to.name);
    let source = operand(program, &from, keyword, Wanted::Argument, names, diagnostics);
    // Without its source it cannot declare its destination; its other uses are not reported again.
    let Some(source) = source else {
        if known.is_none() {
            names.reported.push(to.name);
        }
        return None;
    };
    if from.name == to.name {
        let help = match kind {
            CollectiveKind::Pass => {
                "give it another buffer; neighbours' items come by `exchange b: halo 1`".to_owned()
            }
            _ if kind.declares() => {
                "give the destination another name: it declares a device buffer".to_owned()
            }
            _ => format!("declare another device buffer, and let `{keyword}` write that"),
        };
        diagnostics
            .error("TW1008", &to.name, format!("`{keyword}` reads and writes `{}`", to.name))
            .note("what a rank still has to give would be overwritten by what it gets")
            .help(help);
        return None;
    }
    let destination = match known {
        Some(_) => operand(program, &to, keyword, Wanted::Out, names, diagnostics)?,
        None if names.reported.contains(&to.name) => return None,
        None => declare(program, kind, (&from, source), &to, names, diagnostics)?,
    };
    Some((with(from, source), with(to, destination)))
}

/// The buffer that a name stands for.
fn operand(
    program: &Program,
    part: &Part,
    keyword: &Ident,
    wanted: Wanted,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<BufferId> {
    let name = &part.name;
    match find(program, name) {
        None => {
            unknown(program, name, wanted, names, diagnostics);
            None
        }
        Some(Data::Buffer(id)) => is_usable(&program.buffers[id.0], name, keyword, diagnostics).then_some(id),
        Some(Data::Host(host)) => {
            host_data(program, host, name, keyword, diagnostics);
            None
        }
        Some(Data::Param) => {
            diagnostics
                .error(
                    OUT_OF_REACH,
                    name,
                    format!("`{name}` is a parameter, but `{keyword}` works on memory"),
                )
                .note("collectives move data from device to device")
                .help(format!("if all ranks have the same value, declare it `uniform param {name}`"))
                .help(format!("if not, write it to a device buffer first: `fill d_{name} = {name};`"));
            None
        }
        Some(Data::Chunk) => {
            diagnostics
                .error(OUT_OF_REACH, name, format!("`{name}` is the chunk, but `{keyword}` works on memory"))
                .help("name a device buffer: its part of this chunk is meant");
            None
        }
    }
}

/// Whether a buffer is in the device's memory, and has a value of its own.
fn is_usable(buffer: &Buffer, name: &Ident, keyword: &Ident, diagnostics: &mut Diagnostics) -> bool {
    let mut refused = |fact: String, note: &str, help: String| {
        diagnostics.error(OUT_OF_REACH, name, fact).note(note).help(help);
        false
    };
    match &buffer.kind {
        BufferKind::HostScratch => refused(
            format!("`{name}` is in host memory, but `{keyword}` works on memory of the device"),
            DEVICES,
            format!("copy it to the device: `copy {name} -> d_{name};`, and name `d_{name}`"),
        ),
        BufferKind::InPlace { kind, mapped: true } => refused(
            format!("`{name}` is `mapped`, but `{keyword}` works on memory of the device"),
            DEVICES,
            match kind {
                HostKind::Output => {
                    format!("leave `mapped` out, and copy a device buffer to it: `copy d_{name} -> {name};`")
                }
                _ => format!("leave `mapped` out, and copy it to the device: `copy {name} -> d_{name};`"),
            },
        ),
        BufferKind::Carry { combine: Some(_), .. } => refused(
            format!("`{name}` is combined at the end of a run, and has no value before"),
            "until then each device, or each ring slot, has a part of its own",
            "name a buffer of the chunk, before it is added to what is carried, or leave out `combine`"
                .to_owned(),
        ),
        BufferKind::Ring
        | BufferKind::Resident { .. }
        | BufferKind::Carry { .. }
        | BufferKind::InPlace { mapped: false, .. } => true,
    }
}

/// Reports an argument that copies move.
fn host_data(program: &Program, host: HostId, name: &Ident, keyword: &Ident, diagnostics: &mut Diagnostics) {
    let error = diagnostics
        .error(
            OUT_OF_REACH,
            name,
            format!("`{name}` is host data, but `{keyword}` works on memory of the device"),
        )
        .note(DEVICES);
    let copied = program.operations.iter().find_map(|operation| match &operation.kind {
        OperationKind::Upload { from, names, .. } if *from == host => Some(&names.to),
        _ => None,
    });
    match (copied, program.hosts[host.0].kind) {
        (Some(to), _) => error.help(format!("name `{to}`, to which `copy {name} -> {to}` copies it")),
        (None, HostKind::Output) => {
            error.help(format!("name a device buffer, and copy that: `copy d_{name} -> {name};`"))
        }
        (None, _) => error.help(format!("copy it first: `copy {name} -> d_{name};`, and name `d_{name}`")),
    };
}

/// Declares a collective's destination, or says what to declare.
fn declare(
    program: &mut Program,
    kind: CollectiveKind,
    (from, source): (&Part, BufferId),
    to: &Part,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<BufferId> {
    let buffer = &program.buffers[source.0];
    let name = &to.name;
    if let Some((why, help)) = undeclared(kind, from, buffer, to) {
        diagnostics.error(SHAPES, name, format!("buffer `{name}` is not declared")).note(why).help(help);
        names.reported.push(name.clone());
        return None;
    }
    let mut shape = Shape { halo: None, ..buffer.shape.clone() };
    if buffer.is_shared() {
        // What is carried is counted whole, as what is counted by chunk.
        shape.per_chunk = Some(quote::quote_spanned!(name.span()=> per chunk));
    }
    if kind.gathers() {
        // The checks know the chunk by its name alone.
        let word = if program.declares_world() { "the_world" } else { "world" };
        let world = Ident::new(word, Span::mixed_site().located_at(name.span()));
        shape.per_item = Some(of_all_ranks(shape.per_item.take(), program.world.get_or_insert(world)));
    }
    names.data.declare("buffer", name, diagnostics);
    program.buffers.push(Buffer { name: name.clone(), shape, kind: BufferKind::Ring });
    Some(BufferId(program.buffers.len() - 1))
}

/// Why a collective does not know the shape of its destination, and the line to write.
fn undeclared(kind: CollectiveKind, from: &Part, source: &Buffer, to: &Part) -> Option<(String, String)> {
    let (name, element) = (&to.name, text(&source.shape.element));
    let keyword = kind.keyword();
    let per_chunk = if source.is_shared() || source.shape.per_chunk.is_some() { " per chunk" } else { "" };
    let any =
        || format!("declare it: `device {name}: [{element}; n]{per_chunk};`, with its number of elements");
    if from.range.is_some() || to.range.is_some() {
        return Some(("a part does not say how large a buffer is".to_owned(), any()));
    }
    if matches!(source.kind, BufferKind::Resident { .. }) {
        return Some((format!("`{}` is `resident`, and has any length", from.name), any()));
    }
    if kind.declares() {
        return None;
    }
    let why =
        format!("`{keyword}` gives each rank one part of `{}`, of as many as there are ranks", from.name);
    let help = match &source.shape.per_item {
        Some(per_item) => match part_of_a_rank(per_item) {
            Some(part) => format!("declare it: `device {name}: [{element}; {}]{per_chunk};`", text(part)),
            None => format!(
                "declare it: `device {name}: [{element}; {} / world.size]{per_chunk};`",
                text(per_item)
            ),
        },
        None => format!(
            "declare it, `device {name}: [{element}];`, and `{}` as `[{element}; world.size]`",
            from.name
        ),
    };
    Some((why, help))
}

/// `k` of `k * world.size`
fn part_of_a_rank(expr: &Expr) -> Option<&Expr> {
    let Expr::Binary(ExprBinary { left, op: BinOp::Mul(_), right, .. }) = crate::groups::peel_expr(expr)
    else {
        return None;
    };
    let is_size = |expr: &Expr| text(crate::groups::peel_expr(expr)) == "world.size";
    match (is_size(left), is_size(right)) {
        (false, true) => Some(left),
        (true, false) => Some(right),
        _ => None,
    }
}

/// `(k) * world.size`, the elements an item that all ranks have together.
fn of_all_ranks(per_item: Option<Expr>, world: &Ident) -> Expr {
    let site = Span::mixed_site().located_at(world.span());
    let world = ExprPath { attrs: Vec::new(), qself: None, path: world.clone().into() };
    let size = Expr::Field(ExprField {
        attrs: Vec::new(),
        base: Box::new(Expr::Path(world)),
        dot_token: Token![.](site),
        member: Member::Named(Ident::new("size", site)),
    });
    let Some(per_item) = per_item else { return size };
    let left = match &per_item {
        Expr::Path(_) | Expr::Lit(_) | Expr::Paren(_) => per_item,
        _ => Expr::Paren(ExprParen {
            attrs: Vec::new(),
            paren_token: syn::token::Paren(site),
            expr: Box::new(per_item),
        }),
    };
    Expr::Binary(ExprBinary {
        attrs: Vec::new(),
        left: Box::new(left),
        op: BinOp::Mul(Token![*](site)),
        right: Box::new(size),
    })
}
