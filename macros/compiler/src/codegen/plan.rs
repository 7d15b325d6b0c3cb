//! `PLAN`, the schedule as a constant.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote_spanned;

use super::names::hygienic;
use super::picture::picture;
use super::{Context, collectives, number};
use crate::lower::storage_name;
use crate::resolve::{BufferId, BufferKind, Mode, OperationKind, Priority};
use crate::schedule::{Distance, Hazard};

pub(super) fn plan(cx: &Context<'_>) -> TokenStream {
    let program = cx.program;
    let private = super::run::private(cx);
    let site = hygienic();
    let (pipeline, (line, column)) = (program.name.to_string(), position(program.name.span()));
    let streams = program.streams.iter().map(|stream| {
        let (name, per_slot, null) = (stream.name.to_string(), stream.per_slot, stream.null);
        let placed = per_slot && !stream.declared;
        let priority = match stream.priority {
            Priority::Default => quote_spanned!(site=> Default),
            Priority::High => quote_spanned!(site=> High),
            Priority::Low => quote_spanned!(site=> Low),
            Priority::Level(level) => quote_spanned!(site=> Level(#level)),
        };
        quote_spanned!(site=> #private::StreamPlan::new(#name, #private::Priority::#priority, #per_slot, #null, #placed))
    });
    let stages = program.stages.iter().map(|stage| stage.name.to_string());
    let hosts = program.hosts.iter().map(|host| {
        let (name, (line, column)) = (host.name.to_string(), position(host.name.span()));
        let (reads, writes, halo) = (host.kind.reads(), host.kind.writes(), host.shape.halo.is_some());
        quote_spanned!(site=> #private::HostPlan::new(#name, #reads, #writes, #halo, #line, #column))
    });
    let buffers = program.buffers.iter().enumerate().map(|(index, buffer)| {
        let (name, (line, column)) = (buffer.name.to_string(), position(buffer.name.span()));
        let kind = match buffer.kind {
            BufferKind::Ring => quote_spanned!(site=> Ring),
            BufferKind::Resident { .. } => quote_spanned!(site=> Resident),
            BufferKind::Carry { .. } if program.is_per_slot(BufferId(index)) => {
                quote_spanned!(site=> CarryPerSlot)
            }
            BufferKind::Carry { .. } => quote_spanned!(site=> Carry),
            BufferKind::HostScratch => quote_spanned!(site=> HostScratch),
            BufferKind::InPlace { kind, mapped } => {
                let (reads, writes) = (kind.reads(), kind.writes());
                quote_spanned!(site=> InPlace { mapped: #mapped, reads: #reads, writes: #writes })
            }
        };
        quote_spanned!(site=> #private::BufferPlan::new(#name, #private::BufferKind::#kind, #line, #column))
    });
    let operations = program.operations.iter().map(|operation| {
        let (stage, stream) = (number(operation.stage.0), number(operation.stream.0));
        let text = &operation.text;
        let (line, column) = position(operation.at);
        let kind = match &operation.kind {
            OperationKind::Upload { from, to, .. } => {
                let (host, buffer) = (number(from.0), number(to.0));
                quote_spanned!(site=> Upload { host: #host, buffer: #buffer })
            }
            OperationKind::Download { from, to, .. } => {
                let (host, buffer) = (number(to.0), number(from.0));
                quote_spanned!(site=> Download { host: #host, buffer: #buffer })
            }
            OperationKind::CopyBuffer { from, to, .. } => {
                let is_scratch =
                    |id: &BufferId| matches!(program.buffers[id.0].kind, BufferKind::HostScratch);
                let kind = match (is_scratch(from), is_scratch(to)) {
                    (false, false) => quote_spanned!(site=> CopyOnDevice),
                    (true, _) => quote_spanned!(site=> CopyFromScratch),
                    (false, true) => quote_spanned!(site=> CopyToScratch),
                };
                let (from, to) = (number(from.0), number(to.0));
                quote_spanned!(site=> #kind { from: #from, to: #to })
            }
            OperationKind::Fill(fill) => {
                let buffer = number(fill.buffer.0);
                quote_spanned!(site=> Fill { buffer: #buffer })
            }
            OperationKind::Launch(_) => {
                let kernel = text.trim_end_matches("<<<..>>>");
                quote_spanned!(site=> Launch { kernel: #kernel })
            }
            OperationKind::Call(_) => {
                let routine = text.trim_start_matches("call ");
                quote_spanned!(site=> Call { routine: #routine })
            }
            OperationKind::Host(_) => {
                let function = text.trim_start_matches("host ");
                quote_spanned!(site=> Host { function: #function })
            }
            OperationKind::Then(_) => quote_spanned!(site=> Then),
            OperationKind::Collective(collective) => {
                let kind = collectives::variant(collective.kind);
                quote_spanned!(site=> Collective { collective: #private::CollectiveKind::#kind })
            }
        };
        let conditional = program.is_conditional(operation);
        let repeat = match program.repeat_around(operation) {
            Some(block) => {
                let block = number(block.0);
                quote_spanned!(site=> Some(#block))
            }
            None => quote_spanned!(site=> None),
        };
        let access = |memory: &str, index: usize, mode: Mode| {
            let (memory, index) = (Ident::new(memory, site), number(index));
            let (reads, writes) = (mode.reads(), mode.writes());
            quote_spanned!(site=> #private::AccessPlan::new(#private::Memory::#memory(#index), #reads, #writes))
        };
        let host = operation.host().map(|(host, mode)| access("Host", host.0, mode));
        let buffers = operation.buffers().into_iter().map(|usage| access("Buffer", usage.buffer.0, usage.mode));
        let accesses = host.into_iter().chain(buffers);
        quote_spanned! {site=>
            #private::OperationPlan::new(
                #stage, #stream, #text, #private::OperationKind::#kind,
                #conditional, ::core::option::Option::#repeat, &[#(#accesses),*], #line, #column,
            )
        }
    });
    let events = cx.schedule.records.iter().zip(&cx.names.events).map(|(record, name)| {
        let (name, operation) = (name.to_string(), number(record.0 as usize));
        quote_spanned!(site=> #private::EventPlan::new(#name, #operation))
    });
    let waits = cx.schedule.waits.iter().map(|wait| {
        let (operation, event) = (number(wait.to.0 as usize), number(cx.event_of(wait.from.0)));
        let distance = match wait.distance {
            Distance::Same => quote_spanned!(site=> Same),
            Distance::Previous => quote_spanned!(site=> Previous),
            Distance::Reuse => quote_spanned!(site=> Reuse),
        };
        let hazards = wait.causes.iter().map(|cause| {
            let buffer = storage_name(program, cause.storage);
            let hazard = match cause.hazard {
                Hazard::ReadAfterWrite => quote_spanned!(site=> ReadAfterWrite),
                Hazard::WriteAfterRead => quote_spanned!(site=> WriteAfterRead),
                Hazard::WriteAfterWrite => quote_spanned!(site=> WriteAfterWrite),
            };
            quote_spanned!(site=> #private::HazardPlan::new(#buffer, #private::Hazard::#hazard))
        });
        quote_spanned! {site=>
            #private::WaitPlan::new(
                #operation, #event, #private::Distance::#distance, &[#(#hazards),*],
            )
        }
    });
    quote_spanned! {site=>
        #private::Plan::new(
            #pipeline, ::core::file!(), #line, #column,
            &[#(#streams),*],
            &[#(#stages),*],
            &[#(#hosts),*],
            &[#(#buffers),*],
            &[#(#operations),*],
            &[#(#events),*],
            &[#(#waits),*],
        )
    }
}

/// The lines of the type's documentation about the schedule.
pub(super) fn documentation(cx: &Context<'_>) -> Vec<String> {
    let program = cx.program;
    let mut lines = [
        "",
        " For each chunk, in this order:",
        "",
        " | stage | stream | operation | waits for |",
        " | --- | --- | --- | --- |",
    ]
    .map(str::to_owned)
    .to_vec();
    if !program.attrs.iter().any(|attr| attr.path().is_ident("doc")) {
        // Without documentation of the user's, no blank line is needed before these lines.
        lines.remove(0);
    }
    for (index, operation) in program.operations.iter().enumerate() {
        let waits = cx.schedule.waits.iter().filter(|wait| wait.to.0 as usize == index).map(|wait| {
            let event = &cx.names.events[cx.event_of(wait.from.0)];
            match wait.distance {
                Distance::Same => format!("`{event}`"),
                Distance::Previous => format!("`{event}` of the chunk before"),
                Distance::Reuse => format!("`{event}` of the chunk that used the slot before"),
            }
        });
        let waits: Vec<_> = waits.collect();
        let (stage, stream) =
            (&program.stages[operation.stage.0].name, &program.streams[operation.stream.0].name);
        lines.push(format!(" | {stage} | {stream} | `{}` | {} |", operation.text, waits.join(", ")));
    }
    lines.extend(picture(cx));
    lines
}

/// Line and column, both from 1.
fn position(span: Span) -> (Literal, Literal) {
    let start = span.start();
    (number(start.line), number(start.column + 1))
}

impl Context<'_> {
    /// The index of the event that operation `op` records.
    pub(super) fn event_of(&self, op: u32) -> usize {
        self.schedule.records.iter().position(|record| record.0 == op).unwrap_or_default()
    }
}
