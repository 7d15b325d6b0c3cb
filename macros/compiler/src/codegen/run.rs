//! `run`: the loop that enqueues every chunk.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Lifetime, spanned::Spanned};

use super::names::{Names, hygienic, local, placed};
use super::{Context, chunk_size, number, per_item};
use crate::resolve::{
    Argument, BufferKind, HostKind, LaunchArgument, Mode, Operation, OperationKind, StageId,
};
use crate::schedule::Distance;

/// `::thalweg::__private`
pub(super) fn private(cx: &Context<'_>) -> TokenStream {
    let runtime = &cx.program.runtime;
    quote_spanned!(hygienic()=> #runtime::__private)
}

pub(super) fn run(cx: &Context<'_>) -> TokenStream {
    let program = cx.program;
    let (runtime, site) = (&program.runtime, hygienic());
    let arguments = arguments(
        runtime,
        program.arguments.iter().map(|argument| match *argument {
            Argument::Param(index) => (&program.params[index].name, Kind::Param(&program.params[index].ty)),
            Argument::Shared(id) => {
                let buffer = &program.buffers[id.0];
                let kind = match buffer.kind {
                    BufferKind::Carry { .. } => HostKind::InOut,
                    _ => HostKind::Input,
                };
                (&cx.names.buffers[id.0], Kind::Host(kind, false, &buffer.shape.element))
            }
            Argument::Host(id) => {
                let host = &program.hosts[id.0];
                (&cx.names.hosts[id.0], Kind::Host(host.kind, host.pinned, &host.shape.element))
            }
        }),
    );
    let Names { pipeline, call, run, chunk, .. } = &cx.names;
    let hosts = program.hosts.iter().zip(&cx.names.hosts).map(|(host, name)| {
        let (element, per_item) = (&host.shape.element, per_item(&host.shape));
        let method = Ident::new(host.kind.keyword(), site);
        quote_spanned!(site=> let #name = #call.#method::<#element>(#per_item, #name)?;)
    });
    let buffers = program.buffers.iter().zip(&cx.names.buffers).map(|(buffer, name)| {
        let (element, per_item) = (&buffer.shape.element, per_item(&buffer.shape));
        match &buffer.kind {
            BufferKind::Ring => {}
            BufferKind::Resident => {
                return quote_spanned!(site=> let #name = #call.resident::<#element>(#name)?;);
            }
            BufferKind::Carry { init: None } => {
                return quote_spanned!(site=> let #name = #call.carry::<#element>(#per_item, ::core::option::Option::None, #name)?;);
            }
            BufferKind::Carry { init: Some(init) } => {
                return quote_spanned!(site=> let #name = #call.carry::<#element>(#per_item, ::core::option::Option::Some(#init), #name)?;);
            }
        }
        quote_spanned!(site=> let #name = #call.device::<#element>(#per_item)?;)
    });
    let kernels: Vec<_> = cx.kernels().map(|(field, ..)| field).collect();
    let streams = &cx.names.streams;
    let events = &cx.names.events;
    let events = (!events.is_empty()).then(|| quote_spanned!(site=> let [#(#events),*] = #run.events();));
    let stages = (0..program.stages.len()).map(|index| stage(cx, StageId(index), chunk));
    let size = chunk_size(cx);
    // The struct's field keeps its name; the local makes way where the user's data is called so.
    let field = Ident::new("pipeline", site);
    let field = if *pipeline == field {
        quote_spanned!(site=> #field)
    } else {
        quote_spanned!(site=> #field: #pipeline)
    };
    // Where rustc says that the method is defined.
    let method = at(&Ident::new("run", site), program.name.span());
    quote_spanned! {site=>
        /// Runs the pipeline over all items and waits until the results are in place.
        ///
        /// # Errors
        /// The arguments' lengths do not fit; memory does not suffice; an operation cannot be enqueued or fails on the
        /// device. The error says where, and how much of each output is complete.
        #[allow(clippy::too_many_arguments, reason = "one for each declaration")]
        #[allow(unused_labels, reason = "they name the stages")]
        pub fn #method<'run>(&mut self, #(#arguments),*) -> #runtime::Result<#runtime::Report> {
            let Self { #field, #(#kernels,)* } = self;
            let mut #call = #pipeline.call();
            #(#hosts)*
            #(#buffers)*
            #call.run(#size, |#run| {
                let [#(#streams),*] = #run.streams();
                #events
                for #chunk in #run.chunks() {
                    #(#stages)*
                }
                ::core::result::Result::Ok(())
            })
        }
    }
}

/// One argument of `run`.
pub(super) enum Kind<'p> {
    Param(&'p syn::Type),
    /// Whether it must be pinned, and its elements.
    Host(HostKind, bool, &'p syn::Type),
}

/// The parameters of `run`, in the order of declaration. Host data is out of the reach of the user's expressions.
pub(super) fn arguments<'p>(
    runtime: &syn::Path,
    arguments: impl Iterator<Item = (&'p Ident, Kind<'p>)>,
) -> Vec<TokenStream> {
    let site = hygienic();
    arguments
        .map(|(name, kind)| match kind {
            Kind::Param(ty) => quote_spanned!(site=> #name: #ty),
            Kind::Host(kind, pinned, element) => {
                // rustc shows this bound where an argument does not fit: at the declared element.
                let site = site.located_at(element.span());
                let runtime = placed(runtime, site);
                let bound = match (kind, pinned) {
                    (HostKind::Input, false) => "Input",
                    (HostKind::Input, true) => "PinnedInput",
                    (HostKind::Output, false) => "Output",
                    (HostKind::Output, true) => "PinnedOutput",
                    (HostKind::InOut, false) => "InOut",
                    (HostKind::InOut, true) => "PinnedInOut",
                };
                let bound = Ident::new(bound, site);
                quote_spanned!(site=> #name: impl #runtime::#bound<'run, #element>)
            }
        })
        .collect()
}

/// The operations of one stage, in a block labelled with its name.
fn stage(cx: &Context<'_>, id: StageId, chunk: &Ident) -> TokenStream {
    let site = hygienic();
    let operations: Vec<_> = cx
        .program
        .operations
        .iter()
        .enumerate()
        .filter(|(_, operation)| operation.stage == id)
        .map(|(index, at)| operation(cx, index, at, chunk))
        .collect();
    if operations.is_empty() {
        return TokenStream::new();
    }
    let name = local(&cx.program.stages[id.0].name);
    let label = Lifetime::new(&format!("'{name}"), name.span());
    quote_spanned! {site=>
        #label: {
            #(#operations)*
        }
    }
}

fn operation(cx: &Context<'_>, index: usize, operation: &Operation, chunk: &Ident) -> TokenStream {
    let site = hygienic();
    let Names { hosts, buffers, run, .. } = &cx.names;
    let stream = &cx.names.streams[operation.stream.0];
    let name = &cx.names.operations[index];
    let copy = |method: &str, from, to| copy((name, method), operation.at, from, to);
    let waits = cx.schedule.waits.iter().filter(|wait| wait.to.0 as usize == index).map(|wait| {
        let event = &cx.names.events[cx.event_of(wait.from.0)];
        let method = match wait.distance {
            Distance::Same => "wait",
            Distance::Previous => "wait_previous",
            Distance::Reuse => "wait_reuse",
        };
        let method = Ident::new(method, site);
        quote_spanned!(site=> #name.#method(#event)?;)
    });
    let body = match &operation.kind {
        OperationKind::Upload { from, to, names } => {
            copy("upload", (&hosts[from.0], &names.from), (&buffers[to.0], &names.to))
        }
        OperationKind::Download { from, to, names } => {
            copy("download", (&buffers[from.0], &names.from), (&hosts[to.0], &names.to))
        }
        OperationKind::CopyOnDevice { from, to, names } => {
            copy("copy", (&buffers[from.0], &names.from), (&buffers[to.0], &names.to))
        }
        OperationKind::Fill(fill) => {
            let (buffer, value) = (at(&buffers[fill.buffer.0], fill.name.span()), &fill.value);
            quote_spanned!(site=> #name.fill(#buffer, #value)?;)
        }
        OperationKind::Launch(launch) => launch_call(cx, index, launch),
    };
    let records =
        cx.schedule.records.iter().zip(&cx.names.events).filter(|(record, _)| record.0 as usize == index);
    let records = records.map(|(_, event)| quote_spanned!(site=> #name.record(#event)?;));
    let index = number(index);
    quote_spanned! {site=>
        let #name = #run.on(#stream, #index, #chunk);
        #(#waits)*
        #body
        #(#records)*
    }
}

/// A copy. Each side is a local and the name as it is written there, where rustc reports a mismatch of types.
fn copy(
    (operation, method): (&Ident, &str),
    keyword: Span,
    from: (&Ident, &Ident),
    to: (&Ident, &Ident),
) -> TokenStream {
    let site = hygienic().located_at(keyword);
    let (operation, method) = (at(operation, keyword), Ident::new(method, site));
    let [from, to] = [from, to].map(|(local, written)| at(local, written.span()));
    quote_spanned!(site=> #operation.#method(#from, #to)?;)
}

/// A local at another place of the user's source.
fn at(local: &Ident, place: Span) -> Ident {
    let mut ident = local.clone();
    ident.set_span(Span::mixed_site().located_at(place));
    ident
}

fn launch_call(cx: &Context<'_>, index: usize, launch: &crate::resolve::Launch) -> TokenStream {
    // rustc reports what is wrong with the launch as a whole at the kernel.
    let place = launch.kernel.span();
    let site = hygienic().located_at(place);
    let operation = &at(&cx.names.operations[index], place);
    let kernel = &cx.names.kernel_of[index];
    let (grid, block) = (&launch.grid, &launch.block);
    let shared = launch.shared.as_ref().map_or_else(|| quote_spanned!(site=> 0), ToTokens::to_token_stream);
    let args = launch.args.iter().map(|argument| match argument {
        LaunchArgument::Scalar(expr) => expr.to_token_stream(),
        LaunchArgument::Buffer { buffer, mode, written } => {
            // rustc reports a wrong type from the first of these tokens to the last: the argument as it is written.
            let first = written.to_token_stream().into_iter().next().map_or(place, |token| token.span());
            let last = written.buffer().map_or(first, Ident::span);
            let method = match mode {
                Mode::Read => "read",
                Mode::ReadWrite => "read_write",
                Mode::Write => "write",
            };
            let (operation, name) = (at(operation, first), at(&cx.names.buffers[buffer.0], last));
            let method = Ident::new(method, site.located_at(first));
            quote_spanned!(site.located_at(last)=> #operation.#method(#name))
        }
    });
    let kernel = kernel.as_ref().map(|kernel| at(kernel, place));
    quote_spanned!(site=> #kernel.launch(#operation.config(#grid, #block, #shared), #(#args),*)?;)
}
