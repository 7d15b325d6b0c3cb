//! `run`: the loop that enqueues every chunk.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;

use super::names::{Names, hygienic, placed};
use super::operations::{self, at};
use super::repeats::repeats;
use super::{Context, chunk_size, collectives, is_primitive, mentions, per_item};
use crate::resolve::{Argument, BufferKind, Edge, Halo, HostKind, Memory, Program, Shape, StageId};

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
            Argument::Param(index) => (argument_name(cx, argument), Kind::Param(&program.params[index].ty)),
            Argument::Buffer(id) => {
                let buffer = &program.buffers[id.0];
                let (kind, memory) = match buffer.kind {
                    BufferKind::Resident { on_device } => (HostKind::Input, Memory::shared(on_device)),
                    BufferKind::Carry { on_device, .. } => (HostKind::InOut, Memory::shared(on_device)),
                    BufferKind::InPlace { kind, mapped: true } => (kind, Memory::Mapped),
                    BufferKind::InPlace { kind, mapped: false } => (kind, Memory::Device),
                    _ => (HostKind::Input, Memory::Host),
                };
                (argument_name(cx, argument), Kind::Data(kind, memory, &buffer.shape.element))
            }
            Argument::Host(id) => {
                let host = &program.hosts[id.0];
                let memory = if host.pinned { Memory::Pinned } else { Memory::Host };
                (argument_name(cx, argument), Kind::Data(host.kind, memory, &host.shape.element))
            }
        }),
    );
    let given: Vec<_> = program.arguments.iter().map(|argument| argument_name(cx, argument)).collect();
    let Names { purpose, pipeline, call, run, chunk, .. } = &cx.names;
    let hosts = program.hosts.iter().zip(&cx.names.hosts).map(|(host, name)| {
        let (shape, method) = (&host.shape, Ident::new(host.kind.keyword(), site));
        let (call, element, per_item) = (shaped(cx, shape), &shape.element, per_item(shape));
        quote_spanned!(site=> let #name = #call.#method::<#element>(#per_item, #name)?;)
    });
    let buffers = program.buffers.iter().zip(&cx.names.buffers).map(|(buffer, name)| {
        let shape = &buffer.shape;
        let (shaped, element, per_item) = (shaped(cx, shape), &shape.element, per_item(shape));
        let value = match &buffer.kind {
            BufferKind::Ring => quote_spanned!(site=> #shaped.device::<#element>(#per_item)?),
            BufferKind::HostScratch => quote_spanned!(site=> #shaped.host_scratch::<#element>(#per_item)?),
            BufferKind::Resident { on_device } => {
                let method = Ident::new(if *on_device { "resident_on_device" } else { "resident" }, site);
                quote_spanned!(site=> #call.#method::<#element>(#name)?)
            }
            BufferKind::Carry { init: Some(init), combine: Some(combine), .. } => {
                quote_spanned!(site=> #call.carry_combined::<#element>(#per_item, #init, #combine, #name)?)
            }
            BufferKind::Carry { on_device, init, .. } => {
                let method = Ident::new(if *on_device { "carry_on_device" } else { "carry" }, site);
                let init = match init {
                    None => quote_spanned!(site=> ::core::option::Option::None),
                    Some(init) => quote_spanned!(site=> ::core::option::Option::Some(#init)),
                };
                quote_spanned!(site=> #call.#method::<#element>(#per_item, #init, #name)?)
            }
            BufferKind::InPlace { kind, mapped } => {
                let place = if *mapped { "mapped" } else { "device" };
                let method = Ident::new(&format!("{place}_{}", kind.keyword()), site);
                quote_spanned!(site=> #shaped.#method::<#element>(#per_item, #name)?)
            }
        };
        quote_spanned!(site=> let #name = #value;)
    });
    let kernels: Vec<_> = cx.kernels().map(|(field, ..)| field).collect();
    let streams = &cx.names.streams;
    let events = &cx.names.events;
    let events = (!events.is_empty()).then(|| quote_spanned!(site=> let [#(#events),*] = #run.events();));
    let stages = (0..program.stages.len()).map(|index| operations::stage(cx, StageId(index)));
    let size = chunk_size(cx);
    let repeats = repeats(cx);
    let constants = collectives::constants(cx);
    let (uniform, world) = (collectives::uniform(cx), collectives::world(cx));
    // The struct's field keeps its name; the local gets another name if the user's data has this one.
    let field = Ident::new("pipeline", site);
    let field = if *pipeline == field {
        quote_spanned!(site=> #field)
    } else {
        quote_spanned!(site=> #field: #pipeline)
    };
    let rest = program.generics.type_params().next().map(|_| quote_spanned!(site=> ..));
    let shared = shared(cx);
    let entries = entries(cx, &arguments, &given, shared.as_ref());
    let (private, chunks) = (private(cx), chunks());
    let many = many_arguments(2 + given.len());
    quote_spanned! {site=>
        #entries

        #many
        #[track_caller]
        fn #chunks<'run>(
            &mut self,
            #purpose: #private::Purpose,
            #(#arguments),*
        ) -> #runtime::Result<::std::boxed::Box<#runtime::Timeline>>
        #shared
        {
            let Self { #field, #(#kernels,)* #rest } = self;
            let mut #call = #private::Its::of_mut(#pipeline).call(#purpose);
            #constants
            #uniform
            #world
            #(#hosts)*
            #(#buffers)*
            #repeats
            #call.run(#size, |#run| {
                #(let #kernels = (&*#kernels).of(#run);)*
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

fn argument_name<'p>(cx: &'p Context<'_>, argument: &Argument) -> &'p Ident {
    match *argument {
        Argument::Param(index) => &cx.program.params[index].name,
        Argument::Buffer(id) => &cx.names.buffers[id.0],
        Argument::Host(id) => &cx.names.hosts[id.0],
    }
}

/// The bounds on the types of parameters, which the threads of several devices share. References have none of their
/// own: rustc finds what is wrong with them in the loop.
fn shared(cx: &Context<'_>) -> Option<TokenStream> {
    let Program { params, generics, .. } = cx.program;
    let site = hygienic();
    let mut bounds: Vec<_> = Vec::new();
    for parameter in generics.type_params() {
        if params.iter().any(|param| mentions(&param.ty, &parameter.ident)) {
            let name = &parameter.ident;
            bounds.push(quote_spanned!(site=> #name: ::core::marker::Sync));
        }
    }
    let is_own = |ty: &&syn::Type| {
        let text = ty.to_token_stream().to_string();
        let is_generic = generics.type_params().any(|parameter| mentions(*ty, &parameter.ident));
        !is_primitive(ty) && !is_generic && !text.contains(['&', '\'']) && !text.contains("impl ")
    };
    for ty in params.iter().map(|param| &param.ty).filter(is_own) {
        let site = site.located_at(ty.span());
        bounds.push(quote_spanned!(site=> #ty: ::core::marker::Sync));
    }
    (!bounds.is_empty()).then(|| quote_spanned!(site=> where #(#bounds),*))
}

/// `run`, `profile` and `predict`: one loop for three purposes.
fn entries(
    cx: &Context<'_>,
    arguments: &[TokenStream],
    given: &[&Ident],
    shared: Option<&TokenStream>,
) -> TokenStream {
    let (runtime, private, site) = (&cx.program.runtime, private(cx), hygienic());
    let chunks = chunks();
    let many = many_arguments(1 + given.len());
    // Where rustc says that the method is defined.
    let [run, profile, predict] =
        ["run", "profile", "predict"].map(|name| at(&Ident::new(name, site), cx.program.name.span()));
    quote_spanned! {site=>
        /// Runs the pipeline over all items and waits until the results are in place. It is not a future: in
        /// async code, `spawn` returns one.
        ///
        /// # Errors
        /// The arguments' lengths do not fit; memory does not suffice; an operation cannot be enqueued or
        /// fails on the device. The error says where, and how much of each output is complete.
        #many
        #[track_caller]
        pub fn #run<'run>(&mut self, #(#arguments),*) -> #runtime::Result<#runtime::Report> #shared {
            let done = self.#chunks(#private::Purpose::Run, #(#given),*);
            done.map(|timeline| timeline.report)
        }

        /// Runs the pipeline as `run` does, and says when each operation began and ended.
        ///
        /// # Errors
        /// Those of `run`.
        #many
        #[track_caller]
        pub fn #profile<'run>(&mut self, #(#arguments),*) -> #runtime::Result<#runtime::Timeline> #shared {
            self.#chunks(#private::Purpose::Profile, #(#given),*).map(|timeline| *timeline)
        }

        /// Works out when each operation of such a run would begin and end. Nothing is copied or computed,
        /// and the arguments stay as they are.
        ///
        /// # Errors
        /// Those of `run` about the arguments, the memory and the requirements of launches.
        #many
        #[track_caller]
        pub fn #predict<'run>(&mut self, #(#arguments),*) -> #runtime::Result<#runtime::Timeline> #shared {
            self.#chunks(#private::Purpose::Predict, #(#given),*).map(|timeline| *timeline)
        }
    }
}

/// Allows more arguments than clippy does, since each declaration is one. Elsewhere no lint level is set, so
/// that a crate may forbid the lint.
pub(crate) fn many_arguments(arguments: usize) -> Option<TokenStream> {
    let reason = "one for each declaration";
    (arguments > 7)
        .then(|| quote_spanned!(hygienic()=> #[allow(clippy::too_many_arguments, reason = #reason)]))
}

/// The method with the loop, under a name that no method of the user's has.
fn chunks() -> Ident {
    Ident::new("__chunks", hygienic())
}

/// The call, ready to take data of this shape.
fn shaped(cx: &Context<'_>, shape: &Shape) -> TokenStream {
    let (call, private, site) = (&cx.names.call, private(cx), hygienic());
    let halo = shape.halo.as_ref().map(|Halo { items, edge, .. }| {
        let edge = match edge {
            Edge::Clamp => quote_spanned!(site=> Clamp),
            Edge::Zero => quote_spanned!(site=> Zero),
            Edge::Wrap => quote_spanned!(site=> Wrap),
        };
        quote_spanned!(site=> .halo(#items, #private::Edge::#edge))
    });
    let per_chunk = shape.per_chunk.as_ref().map(|_| quote_spanned!(site=> .per_chunk()));
    quote_spanned!(site=> #call #halo #per_chunk)
}

/// One argument of `run`.
pub(super) enum Kind<'p> {
    Param(&'p syn::Type),
    /// Where its elements must be, and their type.
    Data(HostKind, Memory, &'p syn::Type),
}

/// The parameters of `run`, in the order of declaration. Host data is out of the reach of the user's
/// expressions.
pub(super) fn arguments<'p>(
    runtime: &syn::Path,
    arguments: impl Iterator<Item = (&'p Ident, Kind<'p>)>,
) -> Vec<TokenStream> {
    let site = hygienic();
    arguments
        .map(|(name, kind)| match kind {
            Kind::Param(ty) => quote_spanned!(site=> #name: #ty),
            Kind::Data(kind, memory, element) => {
                // rustc shows this bound where an argument does not fit: at the declared element.
                let site = site.located_at(element.span());
                let runtime = placed(runtime, site);
                let place = match memory {
                    Memory::Host => None,
                    Memory::Pinned => Some("Pinned"),
                    Memory::Mapped => Some("Mapped"),
                    Memory::Device => Some("Device"),
                };
                let of = match kind {
                    HostKind::Input => "Input",
                    HostKind::Output => "Output",
                    HostKind::InOut => "InOut",
                };
                // What lies in ordinary memory is at the root, the rest beside the buffers that it is about.
                let bound = match place {
                    None => {
                        let bound = Ident::new(of, site);
                        quote_spanned!(site=> #runtime::#bound)
                    }
                    Some(place) => {
                        let bound = Ident::new(&format!("{place}{of}"), site);
                        quote_spanned!(site=> #runtime::memory::#bound)
                    }
                };
                quote_spanned!(site=> #name: impl #bound<'run, #element>)
            }
        })
        .collect()
}
