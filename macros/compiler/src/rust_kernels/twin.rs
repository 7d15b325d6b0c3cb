//! What of a function with `unsafe` runs on the host: elements are checked, and a kernel whose threads may race
//! has a twin that is watched.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Expr, ExprMethodCall, ExprPath, FnArg, GenericArgument, ItemFn, Local, Pat, Type, parse_quote_spanned,
};

use super::atomics;
use super::ir::{LocalId, Unchecked};
use super::parts::{conditions, type_beside};
use crate::codegen::many_arguments;
use crate::groups::peel_expr;
use crate::text::{text, unraw};

/// Gives the methods that check nothing the names of those that check on the host.
pub(super) fn check_elements(function: &mut ItemFn, private: &TokenStream) {
    let Ok(block) = syn::parse2::<syn::Block>(checked(function.block.to_token_stream())) else { return };
    *function.block = block;
    let import = parse_quote_spanned!(Span::mixed_site()=> use #private::Unchecked as _;);
    function.block.stmts.insert(0, import);
}

/// Tokens are changed, since the arguments of `assert!` are no syntax tree. Nothing else of the language has
/// these names behind a dot.
fn checked(tokens: TokenStream) -> TokenStream {
    let mut after_dot = false;
    let tokens = tokens.into_iter().map(|token| {
        let is_dot = matches!(&token, TokenTree::Punct(dot) if dot.as_char() == '.');
        let is_method = std::mem::replace(&mut after_dot, is_dot);
        match &token {
            TokenTree::Ident(name) if is_method => match name.to_string().as_str() {
                "get_unchecked" => Ident::new("get_unchecked_in_kernel", name.span()).into(),
                "get_unchecked_mut" => Ident::new("get_unchecked_mut_in_kernel", name.span()).into(),
                _ => token,
            },
            TokenTree::Group(group) => {
                let mut inside = Group::new(group.delimiter(), checked(group.stream()));
                inside.set_span(group.span());
                TokenTree::Group(inside)
            }
            _ => token,
        }
    });
    tokens.collect()
}

/// The kernel's function, with data that note each access in place of what its threads may race for.
///
/// rustc has judged the function itself, so this one says nothing of the same code. All of it is `unsafe`: what
/// is watched has no promises to keep.
pub(super) fn watched(item: &ItemFn, private: &TokenStream, unchecked: &Unchecked) -> TokenStream {
    let at = Span::mixed_site();
    let mut twin = item.clone();
    for (place, input) in twin.sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(typed) = input else { continue };
        if unchecked.scattered.contains(&LocalId(place))
            && let Type::Reference(reference) = &mut *typed.ty
        {
            let handle = &reference.elem;
            *reference.elem = parse_quote_spanned!(at=> #private::Watched<#handle>);
        }
    }
    NamesShared.visit_block_mut(&mut twin.block);
    let (inputs, block) = (&twin.sig.inputs, &twin.block);
    let many = many_arguments(inputs.len());
    quote_spanned! {at=>
        /// What one thread or block does, while the simulated device watches its accesses.
        #[allow(warnings, clippy::all, reason = "rustc judges the function itself")]
        #many
        unsafe fn watched(#inputs) #block
    }
}

/// The assertions that the functions which a kernel calls whose threads may race order nothing: what atomics order
/// is not watched.
pub(super) fn unordered(item: &ItemFn, private: &TokenStream, callees: &[(ExprPath, String)]) -> TokenStream {
    let conditions = conditions(item);
    let assertions = callees.iter().map(|(path, _)| {
        let (at, ty) = (path.span().resolved_at(Span::mixed_site()), type_beside(path));
        let said = format!(
            "[TW0912]: `{}` names an order of memory, and is called by a kernel that takes any element in `unsafe`\n  \
             note: the simulated device finds the races of such a kernel, and does not follow what atomics order\n  \
             help: write `Relaxed` in the function, and order the accesses by phases, or by two launches",
            text(path)
        );
        quote_spanned! {at=>
            #(#conditions)*
            const _: () = ::core::assert!(!<#ty as #private::Orders<()>>::IS_ORDERED, #said);
        }
    });
    assertions.collect()
}

/// Gives shared arrays the names of their variables, which messages say. Atomics are no race, and not watched.
struct NamesShared;

impl VisitMut for NamesShared {
    fn visit_local_mut(&mut self, local: &mut Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        if let (Pat::Ident(name), Some(init)) = (pattern, &mut local.init)
            && let Expr::MethodCall(call) = peel_expr(&init.expr)
            && let Some(watched) = watched_name(call)
            && let Some(turbofish) = &call.turbofish
            && !turbofish.args.iter().any(is_of_atomics)
        {
            let mut call = call.clone();
            let name = unraw(&name.ident);
            call.method = Ident::new(watched, call.method.span());
            call.args.push(parse_quote_spanned!(Span::mixed_site()=> #name));
            *init.expr = Expr::MethodCall(call);
        }
        visit_mut::visit_local_mut(self, local);
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        // On the host the two do the same, and these take what is watched.
        let watched = match call.method.to_string().as_str() {
            "fill_columns" => Some("fill"),
            "fill_fetched" => Some("fill_any_fetched"),
            _ => None,
        };
        if let Some(watched) = watched {
            call.method = Ident::new(watched, call.method.span());
        }
        visit_mut::visit_expr_method_call_mut(self, call);
    }
}

/// The method that gives a shared array or slice which is watched.
fn watched_name(call: &ExprMethodCall) -> Option<&'static str> {
    match (call.method.to_string().as_str(), call.args.len()) {
        ("shared", 0) => Some("watched_shared"),
        ("shared_slice", 1) => Some("watched_shared_slice"),
        _ => None,
    }
}

fn is_of_atomics(argument: &GenericArgument) -> bool {
    matches!(argument, GenericArgument::Type(ty) if atomics::is_made_of(ty))
}
