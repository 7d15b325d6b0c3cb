//! What stands beside every `#[device]` function: a type of its name, which leads from a call to its C++.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{ExprPath, FnArg, GenericParam, ItemFn, Safety};

use super::parts::{conditions, type_beside, type_name};
use crate::codegen::many_arguments;

/// The function by way of its type. Kernels have one of this name, too, so that the call of one is no second error.
const METHOD: &str = "thread";

/// What the bodies of all instances call, and whether they name an order of memory other than `Relaxed`.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) callees: Vec<ExprPath>,
    pub(super) is_ordered: bool,
}

/// The type, which knows what the function calls.
pub(super) fn definition(private: &TokenStream, item: &ItemFn, calls: &Calls) -> TokenStream {
    let (name, vis, conditions) = (type_name(item), &item.vis, conditions(item));
    let is_ordered = calls.is_ordered;
    let calls: Vec<_> = calls.callees.iter().map(type_beside).collect();
    quote_spanned! {Span::mixed_site()=>
        #(#conditions)*
        // If functions call each other, rustc says that these types have no end.
        #[doc(hidden)]
        #[allow(dead_code, reason = "it is named where a kernel calls the function")]
        #[derive(::core::fmt::Debug)]
        #vis struct #name {
            calls: (#(#calls,)* (),),
        }

        #(#conditions)*
        impl<Asked> #private::Orders<Asked> for #name {
            const IS_ORDERED: ::core::primitive::bool =
                #is_ordered #(|| <#calls as #private::Orders<Asked>>::IS_ORDERED)*;
        }
    }
}

/// The function by way of its type, which is how kernels call it on the host: a name may be that of one function, and
/// of the type beside another one.
pub(super) fn by_type(function: &ItemFn) -> TokenStream {
    let at = Span::mixed_site();
    let generics = function.sig.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(ty) => Some(&ty.ident),
        GenericParam::Const(constant) => Some(&constant.ident),
        GenericParam::Lifetime(_) => None,
    });
    let generics: Vec<_> = generics.collect();
    let generics = (!generics.is_empty()).then(|| quote_spanned!(at=> ::<#(#generics),*>));
    let name = &function.sig.ident;
    let passed = (0..function.sig.inputs.len()).map(argument);
    let call = quote_spanned!(at=> #name #generics (#(#passed),*));
    let call = match function.sig.safety {
        // SAFETY of the generated block: what the function asks of its callers is what this one does.
        Safety::Unsafe(_) => quote_spanned!(at=> unsafe { #call }),
        _ => call,
    };
    method(function, &call)
}

/// The function by way of its type, with such a body.
pub(super) fn method(function: &ItemFn, body: &TokenStream) -> TokenStream {
    let at = Span::mixed_site();
    let (ty, vis, conditions) = (type_name(function), &function.vis, conditions(function));
    let mut sig = function.sig.clone();
    sig.ident = Ident::new(METHOD, sig.ident.span().resolved_at(at));
    for (index, input) in sig.inputs.iter_mut().enumerate() {
        if let FnArg::Typed(typed) = input {
            let name = argument(index);
            *typed.pat = syn::parse_quote!(#name);
        }
    }
    let many = many_arguments(sig.inputs.len());
    quote_spanned! {at=>
        #(#conditions)*
        impl #ty {
            #[doc(hidden)]
            #[inline(always)]
            #[allow(
                dead_code,
                deprecated,
                unused_variables,
                clippy::type_complexity,
                clippy::missing_safety_doc,
                reason = "it is another way to the function"
            )]
            #many
            #vis #sig {
                #body
            }
        }
    }
}

fn argument(index: usize) -> Ident {
    format_ident!("argument_{index}", span = Span::mixed_site())
}

/// The path of the function by way of the type, in place of its own.
pub(super) fn path_by_type(path: &ExprPath) -> ExprPath {
    let mut of = path.clone();
    let Some(last) = of.path.segments.last_mut() else { return of };
    let at = last.ident.span();
    let arguments = std::mem::take(&mut last.arguments).into_token_stream();
    let (of, method) = (type_beside(&of), Ident::new(METHOD, at));
    syn::parse_quote_spanned!(at=> <#of>::#method #arguments)
}
