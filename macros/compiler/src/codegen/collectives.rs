//! Operations of all ranks, and what expressions may ask of the world.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Expr, ExprPath, spanned::Spanned};

use super::Context;
use super::names::{hygienic, placed};
use super::operations::at;
use super::repeats::is_same;
use super::run::private;
use crate::check::uniform;
use crate::resolve::{Addressed, Collective, CollectiveKind, Named, Operand, Param, named};

/// The runtime's name for a kind of collective, which is ours.
pub(super) fn variant(kind: CollectiveKind) -> Ident {
    Ident::new(&format!("{kind:?}"), hygienic())
}

/// The call that enqueues a collective. rustc reports a wrong element at the buffer's name as it is written.
pub(super) fn call(cx: &Context<'_>, index: usize, collective: &Collective<Operand>) -> TokenStream {
    let Collective { keyword, kind, reduction, data, to } = collective;
    let place = keyword.span();
    let site = hygienic().located_at(place);
    let (operation, method) = (at(&cx.names.operations[index], place), Ident::new(kind.keyword(), site));
    let reduction = reduction.iter().map(|reduction| {
        let site = site.located_at(reduction.word.span());
        let (private, name) = (placed(private(cx), site), Ident::new(&format!("{:?}", reduction.kind), site));
        quote_spanned!(site=> #private::#name)
    });
    let data = data.iter().map(|buffer| operand(cx, index, buffer));
    let args = reduction.chain(data).chain(addressed(cx, site, to));
    quote_spanned!(site=> #operation.#method(#(#args),*)?;)
}

/// A buffer, or a part of it.
fn operand(cx: &Context<'_>, index: usize, Operand { buffer, name, range }: &Operand) -> TokenStream {
    let place = name.span();
    let site = hygienic().located_at(place);
    let (operation, buffer) =
        (at(&cx.names.operations[index], place), at(&cx.names.buffers[buffer.0], place));
    match range {
        None => quote_spanned!(site=> #operation.whole(#buffer)),
        Some(range) => quote_spanned!(site=> #operation.part(#buffer, #range)),
    }
}

/// The arguments that say which ranks give and get.
fn addressed(cx: &Context<'_>, site: Span, to: &Addressed) -> Vec<TokenStream> {
    match to {
        Addressed::All => Vec::new(),
        Addressed::Root(rank) => vec![rank.to_token_stream()],
        Addressed::Ranks { from, to } => {
            [from, to].into_iter().map(|rank| of_everyone(cx, site, rank.as_deref())).collect()
        }
        Addressed::Neighbours { items, periodic } => {
            vec![items.to_token_stream(), quote_spanned!(site=> #periodic)]
        }
    }
}

/// For each rank another one. Every rank evaluates it for all, so that those who send and those who receive
/// agree.
fn of_everyone(cx: &Context<'_>, site: Span, rank: Option<&Expr>) -> TokenStream {
    let Some(expr) = rank else {
        let private = placed(private(cx), site);
        return quote_spanned!(site=> #private::nobody());
    };
    let site = site.located_at(expr.span());
    let private = placed(private(cx), site);
    let names = distinct(named(expr, "rank"));
    let Some((first, others)) = names.split_first() else {
        return quote_spanned!(site=> #private::everyone(|_: usize| #expr));
    };
    match others.is_empty() {
        true => quote_spanned!(site=> #private::everyone(|#first: usize| #expr)),
        false => {
            quote_spanned!(site=> #private::everyone(|#first: usize| { #(let #others = #first;)* #expr }))
        }
    }
}

/// Tells the call the parameters that must have the same value on all ranks. rustc reports a type that cannot
/// be compared where it is declared.
pub(super) fn uniform(cx: &Context<'_>) -> TokenStream {
    let uniform = cx.program.params.iter().filter(|param| param.uniform);
    let tell = |Param { name, ty, .. }: &Param| {
        let place = ty.span();
        let site = hygienic().located_at(place);
        let (call, name) = (at(&cx.names.call, place), placed(name, place));
        let text = name.to_string();
        quote_spanned!(site=> (&mut #call).uniform(#text, &#name);)
    };
    uniform.map(tell).collect()
}

// Note 80: rustc sees what is constant.
/// Has rustc see that the names on which collectives depend are numbers that the program fixes, and nothing that differs
/// between processes.
pub(super) fn constants(cx: &Context<'_>) -> TokenStream {
    let exprs = cx.program.uniform_expressions();
    let check = |path: &ExprPath| {
        let site = hygienic().located_at(path.span());
        let private = placed(private(cx), site);
        quote_spanned!(site=> const { #private::is_constant(&#path) };)
    };
    uniform::constants(cx.program, &exprs).into_iter().map(check).collect()
}

/// Binds `world` for the expressions that name it, once for each macro that has written the name.
pub(super) fn world(cx: &Context<'_>) -> TokenStream {
    let program = cx.program;
    let asked = match program.declares_world() {
        true => program.world.iter().cloned().collect(),
        false => {
            let all = program.all_expressions();
            distinct(all.into_iter().flat_map(|expr| named(expr, "world")).collect())
        }
    };
    let (call, site) = (&cx.names.call, hygienic());
    quote_spanned!(site=> #(let #asked = #call.world();)*)
}

/// One name for each of the variables.
fn distinct(found: Vec<Named>) -> Vec<Ident> {
    let mut names: Vec<Ident> = Vec::new();
    for Named { name, .. } in found {
        if !names.iter().any(|known| is_same(known, &name)) {
            names.push(name);
        }
    }
    names
}
