//! Phase 5, codegen: the program and its schedule -> Rust.
//!
//! Generated paths start at the runtime's or at `::core`. The user's tokens keep their spans; everything else
//! has `mixed_site` hygiene, so that no expression of the user's can name the generated locals.

mod collectives;
mod constant_launches;
pub(crate) mod launches;
mod names;
mod operations;
mod picture;
mod plain;
mod plan;
mod repeats;
mod run;
mod stub;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Expr, ExprPath, Generics};

use crate::check::constant::is_constant;
use crate::resolve::{Buffer, BufferKind, Halo, OperationKind, Program, Shape, named};
use crate::schedule::Schedule;
pub(crate) use names::placed;
use names::{Names, hygienic};
pub(crate) use plain::Elements;
pub(crate) use repeats::{follow, is_primitive};
pub(crate) use run::many_arguments;
pub use stub::Stub;
use syn::spanned::Spanned;

/// Everything that the code of one pipeline is made from.
pub(crate) struct Context<'p> {
    program: &'p Program,
    schedule: &'p Schedule,
    names: Names,
}

/// Writes the pipeline's type.
pub fn codegen(program: &Program, schedule: &Schedule) -> TokenStream {
    let cx = Context { program, schedule, names: Names::new(program, schedule) };
    let Program { runtime, attrs, vis, name, generics, .. } = program;
    let (parameters, types, bounds) = generics.split_for_impl();
    let site = hygienic();
    let elements = elements(generics).map(|(field, elements)| quote_spanned!(site=> #field: #elements,));
    let kernels = cx
        .kernels()
        .map(|(field, kernel, _)| quote_spanned!(site=> #field: #runtime::__private::OnEach<#kernel>));
    let plan = plan::plan(&cx);
    let build = build(&cx);
    let run = run::run(&cx);
    let schedule_doc = plan::documentation(&cx);
    let shared = shared_attributes(attrs);
    let debug = debug(attrs);
    let plain = cx.plain();
    let (checks, plain_bounds, allow) = (plain.checks(&shared), plain.bounds(), plain.allow());
    quote_spanned! {site=>
        #checks

        #(#attrs)*
        #(#[doc = #schedule_doc])*
        #debug
        #vis struct #name #generics #bounds {
            pipeline: #runtime::__private::Its<Self, #runtime::__private::Pipelines>,
            #(#kernels,)*
            #elements
        }

        #(#shared)*
        #allow
        impl #parameters #name #types #bounds #plain_bounds {
            /// Builds the pipeline, as it is declared, on a device or on several that share its runs.
            ///
            /// # Errors
            /// Those of `Options::build`.
            pub fn new(devices: &(impl #runtime::Devices + ?::core::marker::Sized)) -> #runtime::Result<Self> {
                Self::options(devices).build()
            }

            /// Options to build the pipeline with another chunk or depth than it declares.
            pub fn options(
                devices: &(impl #runtime::Devices + ?::core::marker::Sized),
            ) -> #runtime::Options<Self> {
                #runtime::Options::new(devices)
            }

            #run
        }

        #(#shared)*
        #build

        #(#shared)*
        impl #parameters #name #types #bounds {
            /// The streams, operations and events of this pipeline.
            pub const PLAN: #runtime::Plan = #plan;
        }
    }
}

/// The field that stands for the type parameters, where there are any.
fn elements(generics: &Generics) -> Option<(Ident, TokenStream)> {
    let types: Vec<_> = generics.type_params().map(|parameter| &parameter.ident).collect();
    let site = hygienic();
    let elements = || quote_spanned!(site=> ::core::marker::PhantomData<fn() -> (#(#types,)*)>);
    (!types.is_empty()).then(|| (Ident::new("elements", site), elements()))
}

/// `cfg` and lint levels, which apply to everything that is generated, not to the struct alone.
fn shared_attributes(attrs: &[syn::Attribute]) -> Vec<&syn::Attribute> {
    let shared = ["cfg", "allow", "warn", "deny"];
    attrs.iter().filter(|attr| shared.iter().any(|name| attr.path().is_ident(name))).collect()
}

/// Every pipeline is `Debug`, even if it does not derive it.
fn debug(attrs: &[syn::Attribute]) -> Option<TokenStream> {
    let mut said = false;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
        // rustc reports what cannot be parsed.
        let _ = attr.parse_nested_meta(|meta| {
            said |= meta.path.segments.last().is_some_and(|last| last.ident == "Debug");
            Ok(())
        });
    }
    (!said).then(|| quote_spanned!(hygienic()=> #[derive(::core::fmt::Debug)]))
}

/// How the pipeline is built.
fn build(cx: &Context<'_>) -> TokenStream {
    let Program { runtime, name, generics, graph, .. } = cx.program;
    let (parameters, types, bounds) = generics.split_for_impl();
    let site = hygienic();
    let new = match cx.program.depth.given() {
        Some(depth) => quote_spanned!(site=> new(settings, &Self::PLAN, #depth)),
        None => quote_spanned!(site=> with_auto_depth(settings, &Self::PLAN)),
    };
    let elements =
        elements(generics).map(|(field, _)| quote_spanned!(site=> #field: ::core::marker::PhantomData,));
    let graph = graph.then(|| quote_spanned!(site=> .with_graph()));
    let loads = cx.kernels().map(|(field, _, operation)| {
        let operation = number(operation);
        quote_spanned!(site=> #field: pipeline.load(#operation)?)
    });
    let reserve = cx.sizes_are_constant().then(|| {
        let chunk = chunk_size(cx);
        let hosts = cx.program.hosts.iter().map(|host| size(cx, &host.shape));
        let buffers = cx.program.buffers.iter().map(|buffer| match buffer.is_shared() {
            // Only a run knows how many elements it has.
            true => size(cx, &Shape { per_item: None, ..buffer.shape.clone() }),
            false => size(cx, &buffer.shape),
        });
        let runtime = &cx.program.runtime;
        quote_spanned! {site=>
            #runtime::__private::Its::of_mut(&mut built.pipeline)
                .reserve(#chunk, &[#(#hosts),*], &[#(#buffers),*])?;
        }
    });
    let budget = cx.program.budget.as_ref().map(|bytes| quote_spanned!(site=> .with_budget(#bytes)));
    let fits = budget_fits(cx);
    let launches = constant_launches::checks(cx);
    let mutable = reserve.is_some().then(|| quote_spanned!(site=> mut));
    quote_spanned! {site=>
        impl #parameters #runtime::__private::Build for #name #types #bounds {
            fn build(settings: #runtime::__private::Settings<'_>) -> #runtime::Result<Self> {
                #fits
                #(#launches)*
                let pipeline = #runtime::__private::Pipelines::#new?#budget #graph;
                let #mutable built =
                    Self { #(#loads,)* #elements pipeline: #runtime::__private::Its::new(pipeline) };
                #reserve
                ::core::result::Result::Ok(built)
            }
        }
    }
}

/// Checks, while the user's crate is compiled, that the ring fits its budget, if everything that decides it
/// is constant.
fn budget_fits(cx: &Context<'_>) -> Option<TokenStream> {
    let Program { runtime, generics, budget, chunk, depth, buffers, .. } = cx.program;
    let (budget, items) = (budget.as_ref()?, chunk.size.given()?);
    let site = hygienic();
    let in_ring = |buffer: &&Buffer| matches!(buffer.kind, BufferKind::Ring);
    let ring = || buffers.iter().filter(in_ring).map(|buffer| &buffer.shape);
    let exprs = ring().flat_map(Shape::exprs).chain(depth.given());
    if !exprs.chain([items, &**budget]).all(is_constant) {
        return None;
    }
    // The runtime makes a depth that it chooses itself small enough.
    let depth = match depth.given() {
        Some(depth) => quote_spanned!(site=> ::core::option::Option::Some(#depth)),
        None => quote_spanned!(site=> ::core::option::Option::None),
    };
    let sizes = ring().map(|shape| size(cx, shape));
    // rustc reports it at the first token, which is where the budget is written.
    let at = site.located_at(budget.span());
    let private = placed(quote_spanned!(site=> #runtime::__private), at);
    let fits =
        quote_spanned!(at=> #private::fits_budget("[TW0708]", #budget, #depth, #items, &[#(#sizes),*]));
    Some(constant(generics, at, &fits))
}

/// Code that is evaluated while the user's crate is compiled.
fn constant(generics: &Generics, at: Span, code: &TokenStream) -> TokenStream {
    // An item of its own could not name the parameters.
    match generics.params.is_empty() {
        true => quote_spanned!(at=> const _: () = #code;),
        false => quote_spanned!(at=> const { #code };),
    }
}

/// The size of an item or, for data counted by chunk, of a chunk's part.
fn size(cx: &Context<'_>, shape: &Shape) -> TokenStream {
    let (runtime, site) = (&cx.program.runtime, hygienic());
    let (element, per_item) = (&shape.element, per_item(shape));
    let halo = shape.halo.as_ref().map(|Halo { items, .. }| quote_spanned!(site=> .with_halo(#items)));
    let per_chunk = shape.per_chunk.as_ref().map(|_| quote_spanned!(site=> .per_chunk()));
    quote_spanned!(site=> #runtime::__private::Size::of::<#element>(#per_item)#halo #per_chunk)
}

/// A literal without its type, which readers do not need.
fn number(value: usize) -> Literal {
    Literal::usize_unsuffixed(value)
}

/// The elements in an item.
fn per_item(shape: &Shape) -> TokenStream {
    match &shape.per_item {
        Some(expr) => quote_spanned!(hygienic()=> #expr),
        None => quote_spanned!(hygienic()=> 1),
    }
}

/// The declared chunk size.
fn chunk_size(cx: &Context<'_>) -> TokenStream {
    let runtime = &cx.program.runtime;
    match cx.program.chunk.size.given() {
        Some(items) => quote_spanned!(hygienic()=> #runtime::__private::ChunkSize::Items(#items)),
        None => quote_spanned!(hygienic()=> #runtime::__private::ChunkSize::Auto),
    }
}

impl<'p> Context<'p> {
    /// The elements to check. A pipeline with generic parameters or a `where` clause has none.
    fn plain(&self) -> Elements<'p> {
        let Program { hosts, buffers, generics, .. } = self.program;
        let shapes = hosts.iter().map(|host| &host.shape).chain(buffers.iter().map(|buffer| &buffer.shape));
        let shapes = shapes.filter(|_| generics.params.is_empty() && generics.where_clause.is_none());
        Elements::new(shapes.map(|shape| &shape.element), run::private(self))
    }

    /// Each kernel once: its field, its path, and the first operation that launches it.
    fn kernels(&self) -> impl Iterator<Item = (&Ident, &'p ExprPath, usize)> {
        let launches = self.program.operations.iter().enumerate().filter_map(|(index, operation)| {
            match &operation.kind {
                OperationKind::Launch(launch) => {
                    Some((self.names.kernel_of[index].as_ref()?, &launch.kernel, index))
                }
                _ => None,
            }
        });
        let mut seen = std::collections::BTreeSet::new();
        launches.filter(move |(field, ..)| seen.insert(field.to_string()))
    }

    /// Whether the ring's size is known before `run` is called: nothing in it depends on a parameter.
    fn sizes_are_constant(&self) -> bool {
        let program = self.program;
        let shapes = program
            .hosts
            .iter()
            .map(|host| &host.shape)
            .chain(program.buffers.iter().filter(|b| !b.is_shared()).map(|b| &b.shape));
        let exprs = shapes.flat_map(Shape::exprs).chain(program.chunk.size.given());
        let depends = |expr: &Expr| {
            program.params.iter().any(|param| mentions(expr, &param.name)) || !named(expr, "world").is_empty()
        };
        !exprs.into_iter().any(depends)
    }
}

/// Whether a name occurs among the tokens of an expression.
pub(crate) fn mentions(expr: &impl ToTokens, name: &Ident) -> bool {
    fn occurs(tokens: TokenStream, name: &Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(ident) => ident == *name,
            proc_macro2::TokenTree::Group(group) => occurs(group.stream(), name),
            // `println!("{name}")`
            proc_macro2::TokenTree::Literal(literal) => {
                let (text, name) = (literal.to_string(), name.to_string());
                let mut places = text.split('{').skip(1);
                places.any(|place| place.strip_prefix(&name).is_some_and(|rest| rest.starts_with(['}', ':'])))
            }
            proc_macro2::TokenTree::Punct(_) => false,
        })
    }
    occurs(expr.to_token_stream(), name)
}
