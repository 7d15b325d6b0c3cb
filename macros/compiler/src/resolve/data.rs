//! The data that names stand for, and the errors for names that stand for none.

use proc_macro2::Ident;

use super::names::{Destination, Names};
use super::program::{BufferId, HostId, Program};
use crate::diagnostics::{Diagnostics, similar};

/// The data that a name stands for.
#[derive(Clone, Copy)]
pub(super) enum Data {
    Host(HostId),
    Buffer(BufferId),
    Param,
    Chunk,
}

pub(super) fn find(program: &Program, name: &Ident) -> Option<Data> {
    let host = program.hosts.iter().position(|host| host.name == *name).map(|i| Data::Host(HostId(i)));
    let buffer = || program.buffers.iter().position(|b| b.name == *name).map(|i| Data::Buffer(BufferId(i)));
    let param = || program.params.iter().any(|param| param.name == *name).then_some(Data::Param);
    let chunk = || (program.chunk.name.as_ref() == Some(name)).then_some(Data::Chunk);
    host.or_else(buffer).or_else(param).or_else(chunk)
}

/// A few names, to choose from.
fn among<'n>(names: impl Iterator<Item = &'n String>) -> Option<String> {
    let names: Vec<_> = names.take(6).map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

pub(super) fn unknown(
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
    // Copies before this one have declared their destinations, or were reported with them.
    if let Some(copy) = names.copies.iter().find(|copy| copy.to == *name && copy.from != *name) {
        declared_below(program, name, copy, diagnostics);
        return;
    }
    let buffers: Vec<_> = program.buffers.iter().map(|buffer| buffer.name.to_string()).collect();
    let hosts: Vec<_> = program.hosts.iter().map(|host| host.name.to_string()).collect();
    let text = name.to_string();
    let error = diagnostics.error("TW0301", name, format!("cannot find buffer `{name}` in this pipeline"));
    if let Some(meant) = similar(&text, buffers.iter().map(String::as_str)) {
        error.help(format!("a buffer with a similar name exists: `{meant}`"));
        return;
    }
    let host = similar(&text, hosts.iter().map(String::as_str));
    match (wanted, host) {
        (Wanted::Source, Some(meant)) => {
            error.help(format!("host data with a similar name exists: `{meant}`"))
        }
        (Wanted::Source, None) => error.help(match among(buffers.iter().chain(&hosts)) {
            Some(known) => format!("use one of {known}, or declare it: `input {name}: [f32];`"),
            None => format!("declare it: `input {name}: [f32];`"),
        }),
        // Host data themselves are out of a kernel's reach.
        (Wanted::Argument, host) => error.help(format!(
            "copy data to it first: `copy {} -> {name};`, or declare it: `device {name}: [f32];`",
            host.unwrap_or("x")
        )),
        (Wanted::HostScratch, _) => error.help(format!("declare it: `host {name}: [f32];`")),
        (Wanted::Out, _) => error
            .note("a copy declares its destination, `out` and `fill` do not")
            .help(format!("declare it: `device {name}: [f32];`")),
    };
}

/// A copy or a collective declares the name, but it stands below.
fn declared_below(program: &Program, name: &Ident, copy: &Destination, diagnostics: &mut Diagnostics) {
    let Destination { keyword, from, to, stage } = copy;
    let what = if keyword == "copy" { "copy" } else { "operation" };
    let here = program.stages.last().map(|stage| &stage.name).filter(|here| *here != stage);
    diagnostics
        .error("TW0301", name, format!("buffer `{name}` is used before the {what} that declares it"))
        .note(format!(
            "`{keyword} {from} -> {to}` in stage `{stage}` declares it, at line {}",
            to.span().start().line
        ))
        .help(match here {
            Some(here) => format!("move stage `{stage}` above `{here}`"),
            None => format!("move `{keyword} {from} -> {to}` above this use"),
        });
}

/// The place where an unknown name was used.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// The left side of a copy.
    Source,
    /// `&name` or `&mut name`.
    Argument,
    /// `out name`.
    Out,
    /// Any of these, in a host function.
    HostScratch,
}
