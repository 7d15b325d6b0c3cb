//! The values in the chevrons and parentheses of launches, routines and host functions.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Expr, ExprPath};

use super::data::{Data, Wanted, find, unknown};
use super::names::Names;
use super::operations::{find_stream, written};
use super::{BufferKind, CallArgument, HostData, Invocation, Launch, Mode, OperationKind, Program, StreamId};
use crate::diagnostics::Diagnostics;
use crate::syntax::{self, Argument, HostKind};

pub(super) fn resolve_launch(
    program: &Program,
    launch: syntax::Launch,
    stream: Option<StreamId>,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<(String, OperationKind, Option<StreamId>)> {
    let syntax::Launch { unsafety, kernel, config, args } = launch;
    if is_this_pipeline(program, &kernel) {
        let name = &program.name;
        diagnostics
            .error("TW0302", &kernel, format!("`{name}` is this pipeline, not a kernel"))
            .note("kernels and pipelines are types, so the two need different names")
            .help("launch the kernel by the name that its `#[kernels]` block declares");
        return None;
    }
    let written = written(&kernel);
    let args: Vec<_> =
        args.into_iter().map(|arg| resolve_argument(program, arg, Of::Kernel, names, diagnostics)).collect();
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
                error.help(format!("write `{written}<<<64, 256>>>`, for example"));
            }
            return None;
        }
    };
    let shared = config.next();
    if let Some(name) = shared.as_ref().and_then(as_name).filter(|_| count == 3)
        && names_a_stream(program, name)
    {
        diagnostics
            .error(
                "TW0304",
                name,
                format!("the third value of a launch is its shared memory, and `{name}` is a stream"),
            )
            .note("the order is `<<<grid, block, shared, stream>>>`")
            .help("write `0` before it");
        return None;
    }
    let stream = match config.next() {
        Some(expr) => launch_stream(program, &expr, diagnostics),
        None => stream,
    };
    let args: Option<Vec<_>> = args.into_iter().collect();
    let kind = OperationKind::Launch(Box::new(Launch { unsafety, kernel, grid, block, shared, args: args? }));
    Some((format!("{written}<<<..>>>"), kind, stream))
}

/// Whether a launch names the pipeline that it stands in, `Name` or `self::Name`.
fn is_this_pipeline(program: &Program, kernel: &ExprPath) -> bool {
    let segments = &kernel.path.segments;
    let mut leading = segments.iter().rev().skip(1);
    kernel.qself.is_none()
        && segments.last().is_some_and(|last| last.ident == program.name)
        && leading.all(|segment| segment.ident == "self")
}

/// Whether a name is a stream's, and no parameter's.
fn names_a_stream(program: &Program, name: &Ident) -> bool {
    program.streams.iter().any(|stream| stream.name == *name)
        && !program.params.iter().any(|param| param.name == *name)
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

/// `call path(args)`, or `host path(args)` if `on_host`.
pub(super) fn resolve_invocation(
    program: &Program,
    invocation: syntax::Invocation,
    on_host: bool,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<Invocation> {
    let syntax::Invocation { path, args, .. } = invocation;
    let of = if on_host { Of::Host } else { Of::Routine };
    let args: Vec<_> =
        args.into_iter().map(|arg| resolve_argument(program, arg, of, names, diagnostics)).collect();
    Some(Invocation { path, args: args.into_iter().collect::<Option<_>>()? })
}

/// The operation that works on the arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Kernel,
    /// A function that enqueues work.
    Routine,
    /// A function on the CPU.
    Host,
}

impl Of {
    fn what(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Routine => "routine",
            Self::Host => "function",
        }
    }
}

fn resolve_argument(
    program: &Program,
    argument: Argument,
    of: Of,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<CallArgument> {
    if let Some((keyword, _)) = argument.shape().filter(|_| of != Of::Kernel) {
        let what = of.what();
        let name = argument.buffer().map(|name| format!("`{name}` has")).unwrap_or_default();
        diagnostics
            .error("TW0516", keyword, format!("{name} a shape here, but a {what} takes none"))
            .note("a shape is for kernels in Rust, whose `Index` may have two or three dimensions")
            .help("remove it, and pass the lengths of the axes as values");
        return None;
    }
    let buffer = match &argument {
        Argument::Shaped { buffer, .. } => buffer,
        other => other,
    };
    let mode = match buffer {
        Argument::Scalar(expr) => {
            return scalar(program, expr, of, diagnostics).then(|| match argument {
                Argument::Scalar(expr) => CallArgument::Scalar(expr),
                _ => unreachable!("matched above"),
            });
        }
        Argument::Read { .. } => Mode::Read,
        Argument::ReadWrite { .. } => Mode::ReadWrite,
        Argument::Out { .. } | Argument::Shaped { .. } => Mode::Write,
    };
    let name = argument.buffer()?;
    match find(program, name) {
        Some(Data::Buffer(buffer)) if reaches(&program.buffers[buffer.0].kind, of) => {
            Some(CallArgument::Buffer { buffer, mode, written: argument })
        }
        Some(data @ (Data::Buffer(_) | Data::Host(_))) => {
            out_of_reach(program, data, name, mode, of, diagnostics);
            None
        }
        Some(Data::Param | Data::Chunk) => {
            diagnostics
                .error("TW0508", name, format!("`{name}` is passed as a buffer, but it is a value"))
                .help(format!("pass it by value: `{name}`"));
            None
        }
        None => {
            let wanted = match of {
                Of::Host => Wanted::HostScratch,
                _ if mode.reads() => Wanted::Argument,
                _ => Wanted::Out,
            };
            unknown(program, name, wanted, names, diagnostics);
            None
        }
    }
}

/// Whether a buffer's memory is where `of` can use it.
fn reaches(kind: &BufferKind, of: Of) -> bool {
    match kind {
        BufferKind::InPlace { mapped: true, .. } => true,
        BufferKind::HostScratch => of == Of::Host,
        BufferKind::Ring
        | BufferKind::Resident { .. }
        | BufferKind::Carry { .. }
        | BufferKind::InPlace { mapped: false, .. } => of != Of::Host,
    }
}

/// Reports an argument on the side where `of` does not work.
fn out_of_reach(
    program: &Program,
    data: Data,
    name: &Ident,
    mode: Mode,
    of: Of,
    diagnostics: &mut Diagnostics,
) {
    let written = mode.written();
    if of != Of::Host {
        let what = of.what();
        let error = diagnostics.error(
            "TW0507",
            name,
            format!("`{name}` is host data, but a {what} works on device buffers"),
        );
        match data {
            Data::Host(_) => error.note("a kernel cannot reach ordinary host memory"),
            _ => error.note("`host` scratch is for functions on the CPU"),
        };
        let copied = match data {
            Data::Host(host) => program.operations.iter().find_map(|operation| match &operation.kind {
                OperationKind::Upload { from, names, .. } if *from == host => Some(&names.to),
                _ => None,
            }),
            _ => None,
        };
        let is_output = matches!(data, Data::Host(id) if program.hosts[id.0].kind == HostKind::Output);
        match mode {
            _ if is_output && mode != Mode::Write => error.help(format!(
                "declare it `inout {name}` and copy it first, or write a device buffer and copy that: `copy d_{name} -> {name};`"
            )),
            Mode::Write => {
                error.help(format!("write `{written}d_{name}`, and copy that: `copy d_{name} -> {name};`"))
            }
            _ if copied.is_some() => {
                let to = copied.map(ToString::to_string).unwrap_or_default();
                error.help(format!("pass `{written}{to}`, to which `copy {name} -> {to}` copies it"))
            }
            _ => {
                error.help(format!("copy it first: `copy {name} -> d_{name};`, and pass `{written}d_{name}`"))
            }
        };
        return;
    }
    let error = diagnostics
        .error("TW0512", name, format!("a host function cannot reach `{name}`"))
        .note("it works on page-locked memory: `host` scratch, and arguments that are `mapped`");
    let buffer = match data {
        Data::Host(host) => {
            let HostData { kind, shape, .. } = &program.hosts[host.0];
            error.help(format!("declare it `{} {name}: mapped {}`", kind.keyword(), shape.written()));
            return;
        }
        Data::Buffer(buffer) => &program.buffers[buffer.0],
        Data::Param | Data::Chunk => return,
    };
    if buffer.is_shared() {
        error.help(
            "let a kernel write what the function needs to a device buffer, and copy that to `host` scratch",
        );
        return;
    }
    let declared = format!("declare `host h_{name}: {};`", buffer.shape.written());
    match mode {
        Mode::Write => error.help(format!(
            "{declared}, pass `{written}h_{name}`, and write `copy h_{name} -> {name};` after it"
        )),
        _ => error.help(format!(
            "{declared}, write `copy {name} -> h_{name};` before this, and pass `{written}h_{name}`"
        )),
    };
}

/// Whether an argument without `&` or `out` is right, as far as names go.
fn scalar(program: &Program, expr: &Expr, of: Of, diagnostics: &mut Diagnostics) -> bool {
    let Some(name) = as_name(expr) else { return true };
    match find(program, name) {
        Some(Data::Buffer(_)) => {
            diagnostics
                .error(
                    "TW0509",
                    name,
                    format!("buffer `{name}` is passed without saying how the {} uses it", of.what()),
                )
                .help(format!(
                    "write `&{name}` to read it, `&mut {name}` to read and write it, `out {name}` to write it"
                ));
            false
        }
        Some(data @ Data::Host(_)) => {
            out_of_reach(program, data, name, Mode::Read, of, diagnostics);
            false
        }
        _ => true,
    }
}
