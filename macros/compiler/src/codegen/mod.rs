//! Phase 5, codegen: the program and its schedule -> Rust.
//!
//! Generated paths start at the runtime's or at `::core`. The user's tokens keep their spans; everything else has
//! `mixed_site` hygiene, so that no expression of the user's can name the generated locals.

mod names;
mod plan;
mod run;
mod stub;

use proc_macro2::{Literal, TokenStream};
use quote::quote_spanned;
use syn::ExprPath;

use crate::check::constant::is_constant;
use crate::resolve::{OperationKind, Program, Shape};
use crate::schedule::Schedule;
use names::{Names, hygienic, placed};
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
    let Program { runtime, attrs, vis, name, .. } = program;
    let site = hygienic();
    let kernels = cx.kernels().map(|(field, kernel, _)| quote_spanned!(site=> #field: #kernel));
    let plan = plan::plan(&cx);
    let build = build(&cx);
    let run = run::run(&cx);
    let schedule_doc = plan::documentation(&cx);
    let shared = shared_attributes(attrs);
    quote_spanned! {site=>
        #(#attrs)*
        #(#[doc = #schedule_doc])*
        #[derive(::core::fmt::Debug)]
        #vis struct #name {
            pipeline: #runtime::__private::Pipeline,
            #(#kernels,)*
        }

        #(#shared)*
        impl #name {
            /// Builds the pipeline on a device, as it is declared.
            ///
            /// # Errors
            /// As `build` of its options.
            pub fn new(device: &#runtime::Device) -> #runtime::Result<Self> {
                Self::options(device).build()
            }

            /// Options to build the pipeline with another chunk or depth than it declares.
            pub fn options(device: &#runtime::Device) -> #runtime::Options<Self> {
                #runtime::Options::new(device)
            }

            #run
        }

        #(#shared)*
        #build

        #(#shared)*
        impl #name {
            /// The streams, operations and events of this pipeline.
            pub const PLAN: #runtime::Plan = #plan;
        }
    }
}

/// What the whole is compiled for, and lint levels: of everything that is written, not of the struct alone.
fn shared_attributes(attrs: &[syn::Attribute]) -> Vec<&syn::Attribute> {
    let shared = ["cfg", "allow", "warn", "deny"];
    attrs.iter().filter(|attr| shared.iter().any(|name| attr.path().is_ident(name))).collect()
}

/// How the pipeline is built.
fn build(cx: &Context<'_>) -> TokenStream {
    let Program { runtime, name, .. } = cx.program;
    let site = hygienic();
    let depth = depth(cx);
    let loads = cx.kernels().map(|(field, _, operation)| {
        let operation = number(operation);
        quote_spanned!(site=> #field: pipeline.load(#operation)?)
    });
    let reserve = cx.sizes_are_constant().then(|| {
        let chunk = chunk_size(cx);
        let hosts = cx.program.hosts.iter().map(|host| size(&host.shape));
        let buffers = cx.program.buffers.iter().map(|buffer| match buffer.is_shared() {
            // How long it is, a run knows.
            true => quote_spanned!(site=> (0, 0)),
            false => size(&buffer.shape),
        });
        quote_spanned!(site=> built.pipeline.reserve(#chunk, &[#(#hosts),*], &[#(#buffers),*])?;)
    });
    let budget = cx.program.budget.as_ref().map(|bytes| quote_spanned!(site=> .with_budget(#bytes)));
    let fits = budget_fits(cx);
    let mutable = reserve.is_some().then(|| quote_spanned!(site=> mut));
    quote_spanned! {site=>
        impl #runtime::__private::Build for #name {
            fn build(settings: #runtime::__private::Settings<'_>) -> #runtime::Result<Self> {
                #fits
                let pipeline = #runtime::__private::Pipeline::new(settings, &Self::PLAN, #depth)?#budget;
                let #mutable built = Self { #(#loads,)* pipeline };
                #reserve
                ::core::result::Result::Ok(built)
            }
        }
    }
}

/// A check while the user's crate is compiled that the ring fits its budget, where all that decides it is constant.
fn budget_fits(cx: &Context<'_>) -> Option<TokenStream> {
    let Program { runtime, budget, chunk, depth, buffers, .. } = cx.program;
    let (budget, items) = (budget.as_ref()?, chunk.size.given()?);
    let site = hygienic();
    let ring = || buffers.iter().filter(|buffer| !buffer.is_shared()).map(|buffer| &buffer.shape);
    let exprs = ring().filter_map(|shape| shape.per_item.as_ref()).chain(depth.given());
    if !exprs.chain([items, &**budget]).all(is_constant) {
        return None;
    }
    let (depth, sizes) = (self::depth(cx), ring().map(size));
    // rustc reports it at the first token of the whole: where the budget is written.
    let at = site.located_at(budget.span());
    let private = placed(quote_spanned!(site=> #runtime::__private), at);
    let message =
        "[TW0708]: the ring needs more device memory than its `budget`\nhelp: use a smaller chunk or depth";
    Some(quote_spanned! {at=>
        const _: () = ::core::assert!(#private::fits_budget(#budget, #depth, #items, &[#(#sizes),*]), #message);
    })
}

/// The declared depth.
fn depth(cx: &Context<'_>) -> TokenStream {
    let runtime = &cx.program.runtime;
    match cx.program.depth.given() {
        Some(depth) => quote_spanned!(hygienic()=> #depth),
        None => quote_spanned!(hygienic()=> #runtime::__private::AUTO_DEPTH),
    }
}

/// The bytes of an element and the elements in an item.
fn size(shape: &Shape) -> TokenStream {
    let (element, per_item) = (&shape.element, per_item(shape));
    quote_spanned!(hygienic()=> (::core::mem::size_of::<#element>(), #per_item))
}

/// A literal without its type, which the reader can do without.
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
    /// Each kernel once: its field, its path, and the first operation that launches it.
    fn kernels(&self) -> impl Iterator<Item = (&proc_macro2::Ident, &'p ExprPath, usize)> {
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
        let exprs = shapes.filter_map(|shape| shape.per_item.as_ref()).chain(program.chunk.size.given());
        !exprs.into_iter().any(|expr| program.params.iter().any(|param| mentions(expr, &param.name)))
    }
}

/// Whether a name occurs among the tokens of an expression.
fn mentions(expr: &syn::Expr, name: &proc_macro2::Ident) -> bool {
    fn occurs(tokens: TokenStream, name: &proc_macro2::Ident) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(ident) => ident == *name,
            proc_macro2::TokenTree::Group(group) => occurs(group.stream(), name),
            _ => false,
        })
    }
    occurs(quote::ToTokens::to_token_stream(expr), name)
}
