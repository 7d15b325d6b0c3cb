//! The names that are declared, and the errors for names that are declared twice or not at all.

use proc_macro2::Ident;

use crate::diagnostics::Diagnostics;
use crate::syntax::{Collective, Copy, Operands, Operation, Part};

/// Data (parameters, host data, buffers, the chunk), streams and stages have their own names.
#[derive(Default)]
pub(super) struct Names {
    pub(super) data: Scope,
    pub(super) streams: Scope,
    pub(super) stages: Scope,
    /// Names of which an error was reported: unknown ones, and destinations of copies that could not declare
    /// them.
    pub(super) reported: Vec<Ident>,
    /// All copies and collectives that declare their destinations: a name that is not declared yet may be
    /// declared further down.
    pub(super) copies: Vec<Destination>,
}

/// Where a copy or a collective stands that may declare its destination.
pub(super) struct Destination {
    /// The word that it begins with.
    pub(super) keyword: Ident,
    pub(super) from: Ident,
    pub(super) to: Ident,
    pub(super) stage: Ident,
}

impl Names {
    /// Takes down the operations of a stage that may declare something.
    pub(super) fn note_copies(&mut self, stage: &Ident, operations: &[Operation]) {
        for operation in operations {
            match operation {
                Operation::Copy(Copy { keyword, from, to }) => self.note(stage, keyword, from, to),
                Operation::Collective(collective) => {
                    let Collective { keyword, kind, data, .. } = &**collective;
                    if let Operands::Two(Part { name: from, range: None }, Part { name: to, range: None }) =
                        data
                        && kind.declares()
                    {
                        self.note(stage, keyword, from, to);
                    }
                }
                Operation::Repeat(repeat) => self.note_copies(stage, &repeat.body),
                Operation::If(conditional) => {
                    self.note_copies(stage, &conditional.body);
                    self.note_copies(stage, &conditional.otherwise);
                }
                _ => {}
            }
        }
    }

    fn note(&mut self, stage: &Ident, keyword: &Ident, from: &Ident, to: &Ident) {
        let [keyword, from, to, stage] = [keyword, from, to, stage].map(Ident::clone);
        self.copies.push(Destination { keyword, from, to, stage });
    }
}

#[derive(Default)]
pub(super) struct Scope {
    declared: Vec<(&'static str, Ident)>,
}

impl Scope {
    /// Adds a name, which must be new.
    pub(super) fn declare(&mut self, what: &'static str, name: &Ident, diagnostics: &mut Diagnostics) {
        if let Some((first_what, first)) = self.declared.iter().find(|(_, declared)| declared == name) {
            let line = first.span().start().line;
            let a = if first_what.starts_with(['i', 'o']) { "an" } else { "a" };
            let note = if *first_what == what {
                format!("first declared at line {line}")
            } else {
                format!("first declared at line {line}, as {a} {first_what}")
            };
            diagnostics
                .error("TW0302", name, format!("{what} `{name}` is declared twice"))
                .note(note)
                .help("rename one of them");
        } else {
            self.declared.push((what, name.clone()));
        }
    }
}

/// Checks a declaration that a pipeline may have once.
pub(super) fn only_once(first: &mut Option<Ident>, keyword: &Ident, diagnostics: &mut Diagnostics) {
    if let Some(first) = first {
        diagnostics
            .error("TW0303", keyword, format!("`{keyword}` is declared twice"))
            .note(format!("first declared at line {}", first.span().start().line))
            .help("remove one of them");
    } else {
        *first = Some(keyword.clone());
    }
}
