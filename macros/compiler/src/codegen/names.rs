//! The names of generated things: readable ones, made from the user's.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};
use quote::ToTokens;

use crate::resolve::{Operation, OperationKind, Program};
use crate::schedule::Schedule;

/// Hygiene under which the user's expressions cannot name locals.
pub(crate) fn hygienic() -> Span {
    Span::mixed_site()
}

/// The user's identifier as a generated local: same text and place, but out of the user's reach.
pub(crate) fn local(ident: &Ident) -> Ident {
    Ident::new(&unraw(ident), Span::mixed_site().located_at(ident.span()))
}

fn unraw(ident: &Ident) -> String {
    let text = ident.to_string();
    match text.strip_prefix("r#") {
        Some(text) => format!("{text}_"),
        None => text,
    }
}

pub(crate) struct Names {
    /// For each operation the field of the kernel that it launches.
    pub(crate) kernel_of: Vec<Option<Ident>>,
    /// For each operation the local that stands for it.
    pub(crate) operations: Vec<Ident>,
    /// For each record of the schedule the event's name.
    pub(crate) events: Vec<Ident>,
}

impl Names {
    pub(crate) fn new(program: &Program, schedule: &Schedule) -> Self {
        // One field a kernel path; two paths with the same last name get different fields.
        let mut fields: BTreeMap<String, Ident> = BTreeMap::new();
        let kernel_of = program
            .operations
            .iter()
            .map(|operation| {
                let OperationKind::Launch(launch) = &operation.kind else { return None };
                let path = launch.kernel.to_token_stream().to_string();
                let name = last_segment(operation);
                if !fields.contains_key(&path) {
                    let taken =
                        |name: &str| name == "pipeline" || fields.values().any(|field| *field == name);
                    let field = Ident::new(&unused(name, taken), hygienic());
                    fields.insert(path.clone(), field);
                }
                fields.get(&path).cloned()
            })
            .collect();
        let operations = program
            .operations
            .iter()
            .map(|operation| {
                let name = match &operation.kind {
                    OperationKind::Launch(_) => format!("launch_{}", last_segment(operation)),
                    _ => format!("copy_{}", source(operation)),
                };
                Ident::new(&name, hygienic())
            })
            .collect();
        let mut taken: Vec<String> = Vec::new();
        let events = schedule
            .records
            .iter()
            .map(|record| {
                let name =
                    unused(event_name(program, record.0 as usize), |name| taken.iter().any(|t| t == name));
                taken.push(name.clone());
                Ident::new(&name, hygienic())
            })
            .collect();
        Self { kernel_of, operations, events }
    }
}

/// `load_done` for the last operation of stage `load`, `load_dx_done` for one before it.
fn event_name(program: &Program, index: usize) -> String {
    let operation = &program.operations[index];
    let stage = unraw(&program.stages[operation.stage.0].name);
    let last = program.operations.iter().rposition(|other| other.stage == operation.stage);
    if last == Some(index) {
        return format!("{stage}_done");
    }
    match &operation.kind {
        OperationKind::Launch(_) => format!("{stage}_{}_done", last_segment(operation)),
        OperationKind::Upload { names, .. }
        | OperationKind::Download { names, .. }
        | OperationKind::CopyOnDevice { names, .. } => format!("{stage}_{}_done", unraw(&names.to)),
    }
}

fn last_segment(operation: &Operation) -> String {
    match &operation.kind {
        OperationKind::Launch(launch) => {
            launch.kernel.path.segments.last().map(|segment| unraw(&segment.ident)).unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn source(operation: &Operation) -> String {
    match &operation.kind {
        OperationKind::Upload { names, .. }
        | OperationKind::Download { names, .. }
        | OperationKind::CopyOnDevice { names, .. } => unraw(&names.from),
        OperationKind::Launch(_) => String::new(),
    }
}

/// `name`, or `name_2`, `name_3`, … if it is taken.
fn unused(name: String, taken: impl Fn(&str) -> bool) -> String {
    if !taken(&name) {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name}_{number}")).find(|name| !taken(name));
    numbered.unwrap_or(name)
}
