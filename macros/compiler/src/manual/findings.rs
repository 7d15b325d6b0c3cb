//! The messages about events that the user places.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};

use super::Wait;
use crate::diagnostics::{Diagnostics, similar};
use crate::lower::{Lowered, order_of_collectives, storage_name};
use crate::resolve::{Mark, Operation, OperationKind, Program};
use crate::schedule::{Cause, Distance, Edge, Hazard, Link, OpId, Step, StorageId};

pub(super) struct Findings<'a> {
    pub(super) program: &'a Program,
    pub(super) lowered: &'a Lowered,
    pub(super) diagnostics: &'a mut Diagnostics,
}

impl Findings<'_> {
    /// The operation that a `record` or `wait` belongs to, if there is one.
    pub(super) fn op_of(&self, mark: &Mark) -> Option<OpId> {
        mark.operation(self.program).map(|operation| self.lowered.op_of(operation))
    }

    /// A conflict that nothing orders: a race.
    pub(super) fn missing(&mut self, edge: &Edge, records: &[(&Ident, OpId)]) {
        let Some(&Cause { storage, hazard }) = edge.causes.first() else { return };
        let (from, to) = (self.using(edge.from, storage), self.using(edge.to, storage));
        let (a, b) = (self.stage(from).to_string(), self.stage(to).to_string());
        if order_of_collectives(self.program) == Some(storage) {
            self.unordered(edge, (from.at.start().line, from.text.clone()), (&a, &b), records);
            return;
        }
        let name = storage_name(self.program, storage);
        let fact = match hazard {
            Hazard::WriteAfterWrite => format!("buffer `{name}` is written by two unordered stages"),
            Hazard::ReadAfterWrite => {
                format!("`{b}` reads buffer `{name}`, but does not wait for `{a}` to write it")
            }
            Hazard::WriteAfterRead => {
                format!("`{b}` overwrites buffer `{name}`, but does not wait for `{a}` to read it")
            }
        };
        let does = match hazard {
            Hazard::WriteAfterWrite => "also writes it",
            Hazard::ReadAfterWrite => "writes it",
            Hazard::WriteAfterRead => "reads it",
        };
        let line = from.at.start().line;
        let help = self.advice(edge, records);
        let at = usage(to, storage, self.program);
        let error = self.diagnostics.error("TW0201", at, fact);
        error.note(match edge.distance {
            Distance::Same => format!("`{a}` {does}, at line {line}"),
            Distance::Previous => format!("`{a}` of the chunk before {does}, at line {line}"),
            Distance::Reuse => {
                format!("`{a}` of the chunk that used the ring slot before {does}, at line {line}")
            }
        });
        error.help(help);
    }

    /// Two collectives that share no data, and may begin in either order.
    fn unordered(
        &mut self,
        edge: &Edge,
        (line, first): (usize, String),
        (a, b): (&str, &str),
        records: &[(&Ident, OpId)],
    ) {
        let help = self.advice(edge, records);
        let Some(&Cause { storage, .. }) = edge.causes.first() else { return };
        let to = self.using(edge.to, storage);
        let (at, second) = (usage(to, storage, self.program), to.text.clone());
        let of = match edge.distance {
            Distance::Same => "",
            Distance::Previous => " of the chunk before",
            Distance::Reuse => " of the chunk that used the ring slot before",
        };
        self.diagnostics
            .error("TW0201", at, format!("`{second}` of `{b}` does not wait for a collective of `{a}`"))
            .note(format!("`{a}`{of} begins `{first}`, at line {line}"))
            .note("ranks that begin their collectives in different orders wait for each other for ever")
            .help(help);
    }

    /// The line that orders the two ends of an edge.
    fn advice(&self, edge: &Edge, records: &[(&Ident, OpId)]) -> String {
        let (from, to) = (self.operation(edge.from), self.operation(edge.to));
        let (a, b) = (self.stage(from), self.stage(to));
        let of = match edge.distance {
            Distance::Same => "",
            Distance::Previous => " @ previous",
            Distance::Reuse => " @ reuse",
        };
        // An event that is recorded on the same stream later, but in time, stands for the operation too.
        let serves = |&&(_, op): &&(&Ident, OpId)| {
            let candidate = Edge { from: op, ..edge.clone() };
            op >= edge.from && self.operation(op).stream == from.stream && candidate.finds_its_record()
        };
        let before =
            if self.is_first_of_stage(edge.to) { String::new() } else { format!(", before `{}`", to.text) };
        let recorded = records.iter().find(serves);
        // A stage's marks belong to its stream, but a launch may name another.
        let marked = [Some(to), recorded.is_none().then_some(from)];
        let elsewhere =
            |operation: &&Operation| self.program.stages[operation.stage.0].stream != Some(operation.stream);
        if let Some(operation) = marked.into_iter().flatten().find(elsewhere) {
            let stream = &self.program.streams[operation.stream.0].name;
            let stage = self.stage(operation);
            return format!(
                "move `{}` of `{stage}` to a stage on `{stream}`, where events can be placed for it",
                operation.text
            );
        }
        match recorded {
            Some((event, _)) => format!("add `wait {event}{of};` to `{b}`{before}"),
            None => {
                let event = unused_name(&format!("{a}_done"), records);
                format!(
                    "add `record {event};` to `{a}`, after `{}`, and `wait {event}{of};` to `{b}`{before}",
                    from.text
                )
            }
        }
    }

    /// A wait that something else implies.
    pub(super) fn redundant(&mut self, wait: &Wait<'_>, path: Option<Vec<Step>>) {
        let event = &wait.mark.event;
        let note = match path.as_deref() {
            Some([Step { link: Link::Stream, from, .. }]) => {
                let stream = &self.program.streams[self.operation(*from).stream.0].name;
                format!("stream `{stream}` runs the two in this order")
            }
            Some(steps) if !steps.is_empty() => format!("{} orders them already", self.stages_of(steps)),
            _ => "other waits order them already".to_owned(),
        };
        let at = marked(wait.mark);
        self.diagnostics
            .warning("TW0806", at, format!("the wait for `{event}` is redundant"))
            .note(note)
            .help("remove it");
    }

    /// A wait for this chunk's event that stands before its record. `round` leads from what waits to what it
    /// waits for.
    pub(super) fn too_early(&mut self, wait: &Wait<'_>, round: Option<&[Step]>) {
        let event = &wait.mark.event;
        let at = marked(wait.mark);
        match round {
            Some(steps) => {
                let note =
                    format!("{} -> `{}`", self.stages_of(steps), self.stage(self.operation(wait.edge.to)));
                self.diagnostics
                    .error("TW0808", at, "stages wait for each other in a cycle")
                    .note(note)
                    .help("remove one of the waits");
            }
            None => {
                self.diagnostics
                    .error("TW0809", at, format!("`{event}` is waited for before it is recorded"))
                    .note("operations are enqueued in the order in which they are written")
                    .help(format!(
                        "move the wait below the record, or write `wait {event} @ reuse;` for the chunk that used the slot before"
                    ));
            }
        }
    }

    /// A wait for an earlier chunk's event that stands after this chunk's record.
    pub(super) fn too_late(&mut self, mark: &Mark) {
        let event = &mark.event;
        self.diagnostics
            .error(
                "TW0810",
                marked(mark),
                format!("this wait comes after `{event}` is recorded for this chunk"),
            )
            .note("each ring slot has one event, which is this chunk's after the record")
            .help(format!("write `wait {event};`, or move the wait before the record"));
    }

    pub(super) fn never_recorded(&mut self, mark: &Mark, records: &[(&Ident, OpId)]) {
        let event = &mark.event;
        let names: Vec<_> = records.iter().map(|(event, _)| event.to_string()).collect();
        let error = self.diagnostics.error(
            "TW0802",
            event,
            format!("event `{event}` is waited for, but never recorded"),
        );
        error.note("a wait for an event that was never recorded does nothing");
        match similar(&event.to_string(), names.iter().map(String::as_str)) {
            Some(meant) => error.help(format!("an event with a similar name exists: `{meant}`")),
            None => error.help(format!("add `record {event};` after the operation to wait for")),
        };
    }

    pub(super) fn recorded_twice(&mut self, mark: &Mark, first: &Mark) {
        let event = &mark.event;
        let line = first.event.span().start().line;
        self.diagnostics
            .error("TW0803", event, format!("event `{event}` is recorded twice"))
            .note(format!("first recorded at line {line}"))
            .help("record another event, or remove one of them");
    }

    pub(super) fn records_nothing(&mut self, mark: &Mark) {
        let (event, stream) = (&mark.event, &self.program.streams[mark.stream.0].name);
        self.diagnostics
            .error("TW0804", event, format!("nothing stands before `record {event}` on stream `{stream}`"))
            .note("an event stands for the operation before it")
            .help("move it after the operation to wait for");
    }

    pub(super) fn nothing_waits(&mut self, mark: &Mark) {
        let (event, stream) = (&mark.event, &self.program.streams[mark.stream.0].name);
        self.diagnostics
            .error("TW0805", marked(mark), format!("nothing on stream `{stream}` waits for `{event}`"))
            .note("a wait holds back the operations after it")
            .help("move it before the operation that must wait");
    }

    pub(super) fn never_waited_for(&mut self, mark: &Mark) {
        let event = &mark.event;
        self.diagnostics
            .warning("TW0807", event, format!("event `{event}` is recorded, but nothing waits for it"))
            .note("it is still recorded for each chunk")
            .help(format!("remove it, or rename it `_{event}`"));
    }

    /// The operation, or the first that a `repeat` holds.
    fn operation(&self, OpId(id): OpId) -> &Operation {
        &self.program.operations[self.lowered.groups[id as usize].start]
    }

    /// The operation that uses a storage: of a `repeat` the first one that does.
    fn using(&self, OpId(id): OpId, storage: StorageId) -> &Operation {
        let group = self.lowered.groups[id as usize].clone();
        let mut operations = self.program.operations[group].iter();
        let uses = |operation: &&Operation| !usage(operation, storage, self.program).is_empty();
        operations.find(uses).unwrap_or_else(|| self.operation(OpId(id)))
    }

    fn stage(&self, operation: &Operation) -> &Ident {
        &self.program.stages[operation.stage.0].name
    }

    fn is_first_of_stage(&self, OpId(id): OpId) -> bool {
        let first = self.lowered.groups[id as usize].start;
        let stage = self.program.operations[first].stage;
        self.program.operations[..first].iter().all(|earlier| earlier.stage != stage)
    }

    /// `load` -> `axpy` -> `store`
    fn stages_of(&self, steps: &[Step]) -> String {
        let mut ops: Vec<OpId> = steps.iter().map(|step| step.from).collect();
        ops.extend(steps.last().map(|step| step.to));
        let mut names: Vec<String> =
            ops.iter().map(|&op| format!("`{}`", self.stage(self.operation(op)))).collect();
        names.dedup();
        names.join(" -> ")
    }
}

/// `name`, or `name_2`, `name_3`, … if an event has that name.
fn unused_name(name: &str, records: &[(&Ident, OpId)]) -> String {
    let is_used = |name: &str| records.iter().any(|(event, _)| *event == name);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_used(name)).unwrap_or_default()
}

/// `wait event`, the tokens.
fn marked(mark: &Mark) -> TokenStream {
    let (keyword, event) = (&mark.keyword, &mark.event);
    quote!(#keyword #event)
}

/// The tokens with which an operation names a storage; none if it does not use it.
fn usage(operation: &Operation, StorageId(storage): StorageId, program: &Program) -> TokenStream {
    let (storage, hosts) = (storage as usize, program.hosts.len());
    if storage < hosts {
        return match &operation.kind {
            OperationKind::Upload { from, names, .. } if from.0 == storage => names.from.to_token_stream(),
            OperationKind::Download { to, names, .. } if to.0 == storage => names.to.to_token_stream(),
            _ => TokenStream::new(),
        };
    }
    if let (OperationKind::Collective(collective), true) =
        (&operation.kind, order_of_collectives(program) == Some(StorageId(storage as u32)))
    {
        return collective.keyword.to_token_stream();
    }
    let uses = operation.buffers();
    let named = uses.iter().find(|usage| usage.buffer.0 == storage - hosts);
    named.map_or_else(TokenStream::new, |usage| usage.at.to_token_stream())
}
