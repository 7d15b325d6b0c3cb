//! The operations of the stages, their names resolved.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::Expr;

use super::names::Names;
use super::{
    Buffer, BufferId, BufferKind, CopyNames, Fill, HostId, Launch, LaunchArgument, Mark, MarkKind, Mode,
    Operation, OperationKind, Program, Stage, StageId, Stream, StreamId, Sync,
};
use crate::diagnostics::{Diagnostics, similar};
use crate::syntax::{self, Argument, HostKind, Priority};

type Written = (Ident, Option<Ident>, Vec<syntax::Operation>);

pub(super) fn resolve(
    program: &mut Program,
    stages: Vec<Written>,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) {
    for (name, stream, operations) in stages {
        let stream = match stream {
            Some(stream) => find_stream(program, &stream, diagnostics),
            None => Some(own_stream(program, &name)),
        };
        let stage = StageId(program.stages.len());
        program.stages.push(Stage { name });
        for operation in operations {
            let resolved = match operation {
                syntax::Operation::Copy(copy) => resolve_copy(program, &copy, names, diagnostics)
                    .map(|(text, kind)| (copy.keyword.span(), text, kind, stream)),
                syntax::Operation::Fill(fill) => {
                    let at = fill.keyword.span();
                    resolve_fill(program, *fill, names, diagnostics)
                        .map(|(text, kind)| (at, text, kind, stream))
                }
                syntax::Operation::Launch(launch) => {
                    let at = syn::spanned::Spanned::span(&launch.kernel);
                    resolve_launch(program, *launch, stream, names, diagnostics)
                        .map(|(text, kind, stream)| (at, text, kind, stream))
                }
                syntax::Operation::Record(syntax::Record { keyword, event }) => {
                    mark(program, (stage, stream), keyword, event, MarkKind::Record, diagnostics);
                    continue;
                }
                syntax::Operation::Wait(syntax::Wait { keyword, event, of }) => {
                    mark(program, (stage, stream), keyword, event, MarkKind::Wait(of), diagnostics);
                    continue;
                }
            };
            if let Some((at, text, kind, Some(stream))) = resolved {
                program.operations.push(Operation { stage, stream, at, text, kind });
            }
        }
    }
}

/// A `record` or `wait`, which only a pipeline with `sync = manual` may have.
fn mark(
    program: &mut Program,
    (stage, stream): (StageId, Option<StreamId>),
    keyword: Ident,
    event: Ident,
    kind: MarkKind,
    diagnostics: &mut Diagnostics,
) {
    let position = program.operations.len();
    match (&mut program.sync, stream) {
        (Sync::Manual(marks), Some(stream)) => {
            marks.push(Mark { stage, stream, keyword, event, kind, position });
        }
        (Sync::Manual(_), None) => {}
        (Sync::Auto, _) => {
            diagnostics
                .error(
                    "TW0801",
                    &keyword,
                    format!("`{keyword}` places an event by hand, but the macro places them"),
                )
                .note("a pipeline without `sync` is `sync = auto`")
                .help("write `sync = manual;` to place all events yourself, or remove this");
        }
    }
}

/// The stream of a stage that names none.
fn own_stream(program: &mut Program, stage: &Ident) -> StreamId {
    let id = StreamId(program.streams.len());
    program.streams.push(Stream {
        name: stage.clone(),
        priority: Priority::Default,
        per_slot: false,
        declared: false,
    });
    id
}

fn find_stream(program: &Program, name: &Ident, diagnostics: &mut Diagnostics) -> Option<StreamId> {
    let declared = || program.streams.iter().enumerate().filter(|(_, stream)| stream.declared);
    if let Some((index, _)) = declared().find(|(_, stream)| stream.name == *name) {
        return Some(StreamId(index));
    }
    let names: Vec<_> = declared().map(|(_, stream)| stream.name.to_string()).collect();
    let error = diagnostics.error("TW0301", name, format!("cannot find stream `{name}` in this pipeline"));
    match similar(&name.to_string(), names.iter().map(String::as_str)) {
        Some(meant) => error.help(format!("a stream with a similar name exists: `{meant}`")),
        None => error.help(format!("declare it: `stream {name};`")),
    };
    None
}

/// What a name of data stands for.
#[derive(Clone, Copy)]
enum Data {
    Host(HostId),
    Buffer(BufferId),
    Param,
    Chunk,
}

fn find(program: &Program, name: &Ident) -> Option<Data> {
    let host = program.hosts.iter().position(|host| host.name == *name).map(|i| Data::Host(HostId(i)));
    let buffer = || program.buffers.iter().position(|b| b.name == *name).map(|i| Data::Buffer(BufferId(i)));
    let param = || program.params.iter().any(|param| param.name == *name).then_some(Data::Param);
    let chunk = || (program.chunk.name.as_ref() == Some(name)).then_some(Data::Chunk);
    host.or_else(buffer).or_else(param).or_else(chunk)
}

fn resolve_copy(
    program: &mut Program,
    copy: &syntax::Copy,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<(String, OperationKind)> {
    let (from, to) = (&copy.from, &copy.to);
    let text = format!("copy {from} -> {to}");
    let source = source(program, from, names, diagnostics);
    let destination = find(program, to);
    if matches!(destination, Some(Data::Param | Data::Chunk)) {
        diagnostics
            .error("TW0605", to, format!("`{to}` is no data that a copy can write"))
            .help("copy to a device buffer, an `output` or an `inout`");
        return None;
    }
    // Without its source a copy cannot declare its destination; its other uses are not reported again.
    let Some(source) = source else {
        if destination.is_none() {
            names.reported.push(to.clone());
        }
        return None;
    };
    if from == to {
        diagnostics
            .error("TW0604", to, format!("`{to}` is copied to itself"))
            .help("give the copy another name: it declares a device buffer of the same type and shape");
        return None;
    }
    let names_here = || CopyNames { from: from.clone(), to: to.clone() };
    let destination = destination.unwrap_or_else(|| {
        let shape = match source {
            Data::Buffer(BufferId(i)) => program.buffers[i].shape.clone(),
            Data::Host(HostId(i)) => program.hosts[i].shape.clone(),
            Data::Param | Data::Chunk => unreachable!("`source` gives data only"),
        };
        names.data.declare("buffer", to, diagnostics);
        program.buffers.push(Buffer { name: to.clone(), shape, kind: BufferKind::Ring });
        Data::Buffer(BufferId(program.buffers.len() - 1))
    });
    for (data, name) in [(source, from), (destination, to)] {
        if let Data::Buffer(BufferId(i)) = data
            && program.buffers[i].is_shared()
        {
            diagnostics
                .error(
                    "TW0607",
                    name,
                    format!("`{name}` is the whole run's, but a copy moves one chunk's items"),
                )
                .note(
                    "`run` takes it as an argument, and copies it before the first chunk and after the last",
                )
                .help("read or write it in a kernel");
            return None;
        }
    }
    let kind = match (source, destination) {
        (Data::Host(from), Data::Buffer(to)) => OperationKind::Upload { from, to, names: names_here() },
        (Data::Buffer(from), Data::Buffer(to)) => {
            OperationKind::CopyOnDevice { from, to, names: names_here() }
        }
        (Data::Buffer(from), Data::Host(HostId(i))) => {
            if program.hosts[i].kind == HostKind::Input {
                diagnostics
                    .error("TW0204", to, format!("`{to}` is an `input`, but this copy writes it"))
                    .note(format!("declared at line {}", program.hosts[i].name.span().start().line))
                    .help(format!("declare it `inout {to}`, or copy to an `output`"));
                return None;
            }
            OperationKind::Download { from, to: HostId(i), names: names_here() }
        }
        _ => {
            diagnostics
                .error("TW0603", from, format!("`{from}` and `{to}` are both host data"))
                .note("a pipeline copies between the host and the device, or on the device")
                .help(format!(
                    "copy through a device buffer: `copy {from} -> d_{from};`, then `copy d_{from} -> {to};`"
                ));
            return None;
        }
    };
    Some((text, kind))
}

fn resolve_fill(
    program: &Program,
    fill: syntax::Fill,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<(String, OperationKind)> {
    let syntax::Fill { buffer: name, value, .. } = fill;
    let text = format!("fill {name}");
    match find(program, &name) {
        Some(Data::Buffer(buffer)) => {
            Some((text, OperationKind::Fill(Box::new(Fill { buffer, name, value }))))
        }
        Some(_) => {
            diagnostics
                .error("TW0606", &name, format!("`{name}` is no device buffer that can be filled"))
                .note("`fill` writes device memory")
                .help(format!("declare `device d_{name}: [f32];` and fill that"));
            None
        }
        None => {
            unknown(program, &name, Wanted::Out, names, diagnostics);
            None
        }
    }
}

/// What a copy reads.
fn source(program: &Program, name: &Ident, names: &mut Names, diagnostics: &mut Diagnostics) -> Option<Data> {
    match find(program, name) {
        Some(Data::Host(HostId(i))) if program.hosts[i].kind == HostKind::Output => {
            diagnostics
                .error("TW0206", name, format!("`{name}` is an `output`, but this copy reads it"))
                .note(format!("declared at line {}", program.hosts[i].name.span().start().line))
                .help(format!("declare it `inout {name}`"));
            None
        }
        Some(Data::Param | Data::Chunk) => {
            diagnostics
                .error("TW0605", name, format!("`{name}` is no data that a copy can read"))
                .note("parameters are passed to kernels by value")
                .help(format!("pass it to the kernel as `{name}`"));
            None
        }
        Some(data) => Some(data),
        None => {
            unknown(program, name, Wanted::Source, names, diagnostics);
            None
        }
    }
}

fn unknown(
    program: &Program,
    name: &Ident,
    wanted: Wanted,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) {
    if names.reported.contains(name) {
        return;
    }
    names.reported.push(name.clone());
    let buffers: Vec<_> = program.buffers.iter().map(|buffer| buffer.name.to_string()).collect();
    let hosts: Vec<_> = program.hosts.iter().map(|host| host.name.to_string()).collect();
    let text = name.to_string();
    let error = diagnostics.error("TW0301", name, format!("cannot find buffer `{name}` in this pipeline"));
    if let Some(meant) = similar(&text, buffers.iter().map(String::as_str)) {
        error.help(format!("a buffer with a similar name exists: `{meant}`"));
    } else if let Some(meant) = similar(&text, hosts.iter().map(String::as_str)) {
        error.help(format!("host data with a similar name exists: `{meant}`"));
    } else {
        match wanted {
            Wanted::Source => error.help(format!("declare it: `input {name}: [f32];`")),
            Wanted::Argument => error.help(format!(
                "copy data to it first: `copy x -> {name};`, or declare it: `device {name}: [f32];`"
            )),
            Wanted::Out => error
                .note("a copy declares its destination, `out` and `fill` do not")
                .help(format!("declare it: `device {name}: [f32];`")),
        };
    }
}

/// What an unknown name was meant for.
#[derive(Clone, Copy)]
enum Wanted {
    /// The left side of a copy.
    Source,
    /// `&name` or `&mut name`.
    Argument,
    /// `out name`.
    Out,
}

fn resolve_launch(
    program: &Program,
    launch: syntax::Launch,
    stream: Option<StreamId>,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<(String, OperationKind, Option<StreamId>)> {
    let syntax::Launch { kernel, config, args } = launch;
    let written: String = kernel.to_token_stream().to_string().split_whitespace().collect();
    let args: Vec<_> =
        args.into_iter().map(|arg| resolve_argument(program, arg, names, diagnostics)).collect();
    let count = config.len();
    let mut config = config.into_iter();
    let (grid, block) = match (config.next(), config.next()) {
        (Some(grid), Some(block)) if count <= 4 => (grid, block),
        (first, _) => {
            let fifth = config.nth(2).filter(|_| count > 4);
            let at = fifth.or(first).map_or_else(|| kernel.to_token_stream(), ToTokens::into_token_stream);
            let error = diagnostics
                .error("TW0501", at, format!("launch configuration needs 2 to 4 values, found {count}"))
                .note("the order is `<<<grid, block, shared, stream>>>`");
            if count > 4 {
                error.help("remove what comes after the fourth");
            } else {
                error.help(format!("write `{written}<<<64, 256>>>`, say"));
            }
            return None;
        }
    };
    let shared = config.next();
    let stream = match config.next() {
        Some(expr) => launch_stream(program, &expr, diagnostics),
        None => stream,
    };
    let args: Option<Vec<_>> = args.into_iter().collect();
    let kind = OperationKind::Launch(Box::new(Launch { kernel, grid, block, shared, args: args? }));
    Some((format!("{written}<<<..>>>"), kind, stream))
}

/// The fourth value of a launch.
fn launch_stream(program: &Program, expr: &Expr, diagnostics: &mut Diagnostics) -> Option<StreamId> {
    let Some(name) = as_name(expr) else {
        diagnostics
            .error("TW0304", expr, "the fourth value of a launch is not the name of a stream")
            .note("the order is `<<<grid, block, shared, stream>>>`")
            .help("declare `stream name;` and write its name");
        return None;
    };
    find_stream(program, name, diagnostics)
}

/// The name that an expression is, also where a `macro_rules` passed it on.
fn as_name(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Group(group) => as_name(&group.expr),
        _ => None,
    }
}

fn resolve_argument(
    program: &Program,
    argument: Argument,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<LaunchArgument> {
    let mode = match &argument {
        Argument::Scalar(expr) => {
            return scalar(program, expr, diagnostics).then(|| match argument {
                Argument::Scalar(expr) => LaunchArgument::Scalar(expr),
                _ => unreachable!("matched above"),
            });
        }
        Argument::Read { .. } => Mode::Read,
        Argument::ReadWrite { .. } => Mode::ReadWrite,
        Argument::Out { .. } => Mode::Write,
    };
    let name = argument.buffer()?;
    match find(program, name) {
        Some(Data::Buffer(buffer)) => Some(LaunchArgument::Buffer { buffer, mode, written: argument }),
        Some(Data::Host(_)) => {
            diagnostics
                .error("TW0507", name, format!("`{name}` is host data, but a kernel works on device buffers"))
                .note("a kernel cannot reach ordinary host memory")
                .help(format!("copy it first: `copy {name} -> d_{name};`, and pass `&d_{name}`"));
            None
        }
        Some(Data::Param | Data::Chunk) => {
            diagnostics
                .error("TW0508", name, format!("`{name}` is passed as a buffer, but it is a value"))
                .help(format!("pass it by value: `{name}`"));
            None
        }
        None => {
            let wanted = if mode.reads() { Wanted::Argument } else { Wanted::Out };
            unknown(program, name, wanted, names, diagnostics);
            None
        }
    }
}

/// Whether an argument without `&` or `out` is right, as far as names go.
fn scalar(program: &Program, expr: &Expr, diagnostics: &mut Diagnostics) -> bool {
    let Some(name) = as_name(expr) else { return true };
    match find(program, name) {
        Some(Data::Buffer(_)) => {
            diagnostics
                .error(
                    "TW0509",
                    name,
                    format!("buffer `{name}` is passed without saying how the kernel uses it"),
                )
                .help(format!(
                    "write `&{name}` to read it, `&mut {name}` to read and write it, `out {name}` to write it"
                ));
            false
        }
        Some(Data::Host(_)) => {
            diagnostics
                .error("TW0507", name, format!("`{name}` is host data, but a kernel works on device buffers"))
                .note("a kernel cannot reach ordinary host memory")
                .help(format!("copy it first: `copy {name} -> d_{name};`, and pass `&d_{name}`"));
            false
        }
        _ => true,
    }
}
