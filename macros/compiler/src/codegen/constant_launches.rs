//! Launches whose grid and block rustc knows: what it checks while the user's crate is compiled.

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote_spanned;
use syn::Expr;
use syn::spanned::Spanned;

use super::names::hygienic;
use super::{Context, constant, mentions, placed};
use crate::check::constant::{extents, is_constant, names_constants, value};
use crate::check::launch as limit;
use crate::diagnostics::coded;
use crate::resolve::{Launch, OperationKind};

/// The checks of all launches.
pub(super) fn checks(cx: &Context<'_>) -> Vec<TokenStream> {
    let launches = cx.program.operations.iter().filter_map(|operation| match &operation.kind {
        OperationKind::Launch(launch) => Some(launch),
        _ => None,
    });
    launches.flat_map(|launch| limits(cx, launch).into_iter().chain(indices(cx, launch))).collect()
}

/// Checks that named constants keep CUDA's limits.
fn limits(cx: &Context<'_>, launch: &Launch) -> Vec<TokenStream> {
    let block = coded(
        "TW0502",
        "block has no threads, or more than a GPU takes: 1024, and 1024 x 1024 x 64\nhelp: use fewer threads and a larger grid",
    );
    let grid = coded(
        "TW0503",
        "grid has no blocks, or more than a GPU takes: 2147483647 x 65535 x 65535\nhelp: put the largest extent along x",
    );
    let limits =
        [(&launch.block, limit::BLOCK, limit::THREADS, block), (&launch.grid, limit::GRID, u128::MAX, grid)];
    let check = |(expr, limits, most, message): (&Expr, [u128; 3], u128, String)| {
        let axes = extents(expr);
        // Literals were checked.
        let named = axes.iter().any(|axis| names_constants(axis));
        if !named || !axes.iter().all(|axis| is_constant(axis)) || is_value(cx, expr) {
            return None;
        }
        let (limits, most) = (limits.map(Literal::u128_unsuffixed), Literal::u128_unsuffixed(most));
        Some(assertion(
            cx,
            expr,
            &message,
            |private, at| quote_spanned!(at=> #private::Constant(#expr).within([#(#limits),*], #most)),
        ))
    };
    limits.into_iter().filter_map(check).collect()
}

// Note 59: each element has exactly one thread.
/// Checks that no constant gives two threads of a kernel in Rust one index.
fn indices(cx: &Context<'_>, launch: &Launch) -> Vec<TokenStream> {
    let message = coded(
        "TW0517",
        "several threads have one index: the kernel does not count all axes of the launch\nhelp: write 1 for the axes that the `Index` does not have, or count them with an `Index<2>` or `Index<3>`",
    );
    let kernel = &launch.kernel;
    let check = |expr: &Expr| {
        let axes = extents(expr);
        let is_known = |axis: &Expr| is_constant(axis) && !is_value(cx, axis);
        let may_be_several = |axis: &Expr| is_known(axis) && value(axis).is_none_or(|count| count > 1);
        if !axes.iter().skip(1).any(|axis| may_be_several(axis)) {
            return None;
        }
        Some(assertion(cx, expr, &message, |private, at| {
            let counts = [1, 2].map(|axis| match axes.get(axis) {
                Some(axis) if is_known(axis) => {
                    quote_spanned!(at=> #private::Constant(#axis).count())
                }
                _ => quote_spanned!(at=> 1),
            });
            quote_spanned!(at=> <#kernel as #private::Kernel>::INFO.counts([#(#counts),*]))
        }))
    };
    [&launch.grid, &launch.block].into_iter().filter_map(check).collect()
}

/// The check of a condition, which rustc reports at `expr`.
fn assertion(
    cx: &Context<'_>,
    expr: &Expr,
    message: &str,
    holds: impl FnOnce(&TokenStream, Span) -> TokenStream,
) -> TokenStream {
    let runtime = &cx.program.runtime;
    let at = hygienic().located_at(expr.span());
    let private = placed(quote_spanned!(hygienic()=> #runtime::__private), at);
    let holds = holds(&private, at);
    constant(&cx.program.generics, at, &quote_spanned!(at=> ::core::assert!(#holds, #message)))
}

/// Whether an expression names a value of the run.
fn is_value(cx: &Context<'_>, expr: &Expr) -> bool {
    let params = cx.program.params.iter().map(|param| &param.name);
    params.chain(&cx.program.chunk.name).any(|name| mentions(expr, name))
}
