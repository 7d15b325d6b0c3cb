//! Copies and fills.

use proc_macro2::Ident;

use super::data::{Data, Wanted, find, unknown};
use super::names::Names;
use super::{Buffer, BufferId, BufferKind, CopyNames, Fill, HostId, OperationKind, Program};
use crate::diagnostics::Diagnostics;
use crate::syntax::{self, HostKind};

pub(super) fn resolve_copy(
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
            .error("TW0605", to, format!("`{to}` is not data that a copy can write"))
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
        let Data::Buffer(BufferId(i)) = data else { continue };
        if program.buffers[i].is_shared() {
            diagnostics
                .error(
                    "TW0607",
                    name,
                    format!("`{name}` belongs to the whole run, but a copy moves one chunk's items"),
                )
                .note(
                    "`run` takes it as an argument, and copies it before the first chunk and after the last",
                )
                .help("read or write it in a kernel");
            return None;
        }
        if matches!(program.buffers[i].kind, BufferKind::InPlace { mapped: true, .. }) {
            let argument = if name == from { "&" } else { "out " };
            diagnostics
                .error("TW0608", name, format!("`{name}` is `mapped`, but a copy moves it"))
                .note("kernels read and write mapped memory where it is, over the link")
                .help(format!("pass it to the kernel as `{argument}{name}`, or leave `mapped` out"));
            return None;
        }
    }
    let scratch = |BufferId(i): BufferId| matches!(program.buffers[i].kind, BufferKind::HostScratch);
    let kind = match (source, destination) {
        (Data::Host(from), Data::Buffer(to)) if !scratch(to) => {
            OperationKind::Upload { from, to, names: names_here() }
        }
        (Data::Buffer(from), Data::Buffer(to)) if !(scratch(from) && scratch(to)) => {
            OperationKind::CopyBuffer { from, to, names: names_here() }
        }
        (Data::Buffer(from), Data::Host(HostId(i))) if !scratch(from) => {
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
            let scratch = [source, destination].iter().filter(|data| matches!(data, Data::Buffer(_))).count();
            let error = diagnostics
                .error("TW0603", from, format!("`{from}` and `{to}` are both host data"))
                .note("a pipeline copies between the host and the device, or on the device");
            match scratch {
                0 => error.help(format!(
                    "copy through a device buffer: `copy {from} -> d_{from};`, then `copy d_{from} -> {to};`"
                )),
                1 => error.help("declare the argument `mapped`, and pass it to the `host` function too"),
                _ => error.help(format!("let a `host` function copy it: pass it `&{from}` and `out {to}`")),
            };
            return None;
        }
    };
    Some((text, kind))
}

pub(super) fn resolve_fill(
    program: &Program,
    fill: syntax::Fill,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Option<(String, OperationKind)> {
    let syntax::Fill { buffer: name, value, .. } = fill;
    let text = format!("fill {name}");
    match find(program, &name) {
        Some(Data::Buffer(buffer)) if program.buffers[buffer.0].is_on_device() => {
            Some((text, OperationKind::Fill(Box::new(Fill { buffer, name, value }))))
        }
        Some(_) => {
            diagnostics
                .error("TW0606", &name, format!("`{name}` is not a device buffer that can be filled"))
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

/// Resolves the source of a copy.
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
                .error("TW0605", name, format!("`{name}` is not data that a copy can read"))
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
