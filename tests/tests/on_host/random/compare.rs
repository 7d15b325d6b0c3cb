//! One launch in both languages: who has failed where, and what was written.

use thalweg_tests::on_host::Fault;

use super::blocks::Owner;
use super::data::Data;
use super::module::{Form, Module, Parameter, Takes};
use super::native::{Native, Panic};
use super::translated::Translated;
use super::{Tried, Wrong};

pub fn compare_one(
    module: &Module,
    round: u64,
    native: &Native,
    translated: &Translated,
    tried: &mut Tried,
) -> Result<(), Wrong> {
    let data = Data::new(module, round);
    let [mut of_rust, mut of_cpp] = [data.clone(), data];
    let panics = native.run(module, &mut of_rust);
    let faults = translated
        .run(module, &mut of_cpp, round)
        .map_err(|error| Wrong::Launch(format!("round {round}: {error}")))?;
    tried.launches += 1;
    tried.threads += of_cpp.threads.iter().product::<usize>();
    tried.launches_without += usize::from(panics.iter().all(Option::is_none));
    let mut by_place = vec![Vec::new(); panics.len()];
    for fault in faults {
        by_place[place(module.form, &of_cpp, &fault)].push(fault);
    }
    for (at, (panic, faults)) in panics.iter().zip(&by_place).enumerate() {
        tried.faults += usize::from(panic.is_some());
        tried.faults_elsewhere += usize::from(panic.is_some_and(|panic| panic.line == u32::MAX));
        if !is_same(*panic, faults, module.form) {
            return Err(Wrong::Fault(format!(
                "round {round}: {at} has {faults:?} in C++, and {panic:?} in Rust"
            )));
        }
    }
    for (at, parameter) in module.parameters.iter().enumerate() {
        if parameter.takes == Takes::Value {
            continue;
        }
        let [found, expected] = [&of_cpp, &of_rust].map(|data| data.bytes(module, at));
        let leaves = parameter.ty.leaves();
        let mut first = 0;
        for place in 0..of_cpp.lengths[at] * leaves.len() {
            let leaf = &leaves[place % leaves.len()];
            let [found, expected] = [&found, &expected].map(|bytes| &bytes[first..first + leaf.size()]);
            first += leaf.size();
            if !is_compared(module.form, parameter, place / leaves.len(), &of_cpp, &panics) {
                continue;
            }
            tried.elements += 1;
            if found != expected && !(leaf.is_nan(found) && leaf.is_nan(expected)) {
                return Err(Wrong::Result(format!(
                    "round {round}: value {place} of parameter {at}, {}: {found:02x?} in C++, {expected:02x?} in Rust",
                    parameter.ty
                )));
            }
        }
    }
    Ok(())
}

/// The number of the thread, or of the block of a kernel in blocks.
fn place(form: Form, data: &Data, fault: &Fault) -> usize {
    let sizes = [data.block.0, data.block.1, data.block.2];
    let [x, y, z] = [0, 1, 2].map(|axis| match form {
        Form::Threads(_) => (fault.block[axis] * sizes[axis] + fault.thread[axis]) as usize,
        Form::Blocks { .. } => fault.block[axis] as usize,
    });
    match form {
        Form::Threads(_) => (z * data.threads[1] + y) * data.threads[2] + x,
        Form::Blocks { .. } => (z * data.grid.1 as usize + y) * data.grid.0 as usize + x,
    }
}

/// Whether the panic is among the faults. The first thread of a block that panics ends it, and on a GPU others of
/// the same phase may fail, too.
fn is_same(panic: Option<Panic>, faults: &[Fault], form: Form) -> bool {
    let Some(panic) = panic else { return faults.is_empty() };
    let is_it = |fault: &Fault| {
        (panic.line == fault.line || panic.line == u32::MAX)
            && panic.thread.is_none_or(|thread| thread == fault.thread[0])
    };
    match form {
        Form::Threads(_) => matches!(faults, [fault] if fault.line == panic.line || panic.line == u32::MAX),
        Form::Blocks { .. } => faults.iter().any(is_it),
    }
}

/// Whether an element is what it is whatever else has failed. Of a block that has ended, nothing is known.
fn is_compared(
    form: Form,
    parameter: &Parameter,
    element: usize,
    data: &Data,
    panics: &[Option<Panic>],
) -> bool {
    if matches!(form, Form::Threads(_)) || panics.iter().all(Option::is_none) {
        return true;
    }
    let block = match (parameter.takes, parameter.owner) {
        (Takes::Own | Takes::Out, Owner::Thread) => element / data.block.0 as usize,
        (Takes::Own | Takes::Out, Owner::Block) => element,
        (Takes::Slice, _) => return true,
        _ => return false,
    };
    panics.get(block).is_none_or(Option::is_none)
}
