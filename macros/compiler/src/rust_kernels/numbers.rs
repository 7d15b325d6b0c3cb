//! What rustc is asked to check: that values are numbers and arrays whose types it alone knows, and that names of
//! numbers mean these.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Attribute, ExprPath, Member};

use super::attribute::Arguments;
use super::ir::Function;
use super::named::{Assumed, Named, Part};
use super::parts::type_beside;
use super::types::{Number, Ty, Types};
use crate::codegen::launches::private;
use crate::text::text;

/// All checks of a function or a struct as one item, or nothing.
pub(super) fn item(conditions: &[&Attribute], checks: &TokenStream) -> TokenStream {
    if checks.is_empty() {
        return TokenStream::new();
    }
    quote_spanned! {Span::mixed_site()=>
        #(#conditions)*
        #[allow(unused_variables, clippy::all, reason = "names and types are checked, and nothing is run")]
        const _: () = {
            #checks
        };
    }
}

/// The checks of each such type of a function, that it is a `number` or an `array`. Without them a struct with an
/// operator or an index of its own would compile in Rust alone.
pub(super) fn checks(
    arguments: &Arguments,
    function: &Function,
    types: &Types,
    used: &[(Ty, Span)],
    function_of_checks: &str,
) -> TokenStream {
    let private = private(arguments.krate.as_ref());
    let mut known: Vec<&Named> = Vec::new();
    let mut checks = TokenStream::new();
    for &(ty, span) in used {
        let Some(named) = types.as_named(ty) else { continue };
        if known.contains(&named) {
            continue;
        }
        known.push(named);
        // The error points at the operator or method.
        let at = span.resolved_at(Span::mixed_site());
        let of = type_beside(&function.named[named.item].0);
        let value = match named.parts[..] {
            [] => quote_spanned!(at=> *of),
            _ => named.read(&quote_spanned!(at=> of)),
        };
        let check = Ident::new(function_of_checks, at);
        checks.extend(quote_spanned!(at=> let _ = |of: &#of| #private::#check(&#value);));
    }
    checks
}

/// The checks that the fields which a function reads are those of the structs themselves, and not of what such a
/// struct stands for by a `Deref` of its own.
pub(super) fn fields(function: &Function, types: &Types) -> TokenStream {
    let mut known: Vec<(usize, Vec<&Member>)> = Vec::new();
    let mut checks = TokenStream::new();
    for named in types.all_named() {
        let fields = named.parts.iter().map_while(|part| match part {
            Part::Field(member) => Some(member),
            _ => None,
        });
        let way = (named.item, fields.collect::<Vec<_>>());
        let Some(last) = way.1.last().filter(|_| !known.contains(&way)) else { continue };
        let at = last.span().resolved_at(Span::mixed_site());
        let (of, fields) = (type_beside(&function.named[named.item].0), &way.1);
        checks.extend(quote_spanned!(at=> let _ = ::core::mem::offset_of!(#of, #(#fields).*);));
        known.push(way);
    }
    checks
}

/// The checks that functions to which a literal without a type is passed are for one type.
pub(super) fn bare(arguments: &Arguments, literals: &[(ExprPath, Span)]) -> TokenStream {
    let private = private(arguments.krate.as_ref());
    let checks = literals.iter().map(|(path, literal)| {
        let at = Span::mixed_site();
        // The error of the function's type points at the literal.
        let mut path = path.clone();
        for segment in &mut path.path.segments {
            segment.ident.set_span(segment.ident.span().located_at(*literal));
        }
        let ty = type_beside(&path);
        quote_spanned!(at=> let _: fn() = #private::for_one_type::<#ty>;)
    });
    checks.collect()
}

/// The checks that the names mean it. Without them a `type u32 = u8;` would be another type in C++.
pub(super) fn assumptions(arguments: &Arguments, assumed: &[Assumed]) -> TokenStream {
    let private = private(arguments.krate.as_ref());
    assumed.iter().map(|assumed| assumption(&private, assumed)).collect()
}

fn assumption(private: &TokenStream, assumed: &Assumed) -> TokenStream {
    let span = match assumed {
        Assumed::Variable(name) => name.span(),
        Assumed::Type(path, _)
        | Assumed::Constant(path, _)
        | Assumed::Bool(path)
        | Assumed::Wide(path)
        | Assumed::Atomic(path, _)
        | Assumed::Index(path)
        | Assumed::Order(path, _)
        | Assumed::Tuple(path) => path.span(),
    };
    let at = span.resolved_at(Span::mixed_site());
    let number = |number: Number| {
        let name = Ident::new(number.name(), at);
        match number.is_half() {
            true => quote_spanned!(at=> #private::#name),
            false => quote_spanned!(at=> ::core::primitive::#name),
        }
    };
    // A value of the one type is a value of the other.
    let same = |path: &ExprPath, of: TokenStream| {
        let ty = type_beside(path);
        quote_spanned!(at=> let _: fn(#ty) -> #of = |of| of;)
    };
    match assumed {
        Assumed::Type(path, of) => same(path, number(*of)),
        Assumed::Wide(path) => same(path, quote_spanned!(at=> ::core::primitive::u128)),
        Assumed::Bool(path) => same(path, quote_spanned!(at=> ::core::primitive::bool)),
        Assumed::Atomic(path, name) => {
            let is_float = name.contains('F');
            let name = Ident::new(name, at);
            match is_float {
                true => same(path, quote_spanned!(at=> #private::#name)),
                false => same(path, quote_spanned!(at=> ::core::sync::atomic::#name)),
            }
        }
        Assumed::Index(path) => {
            let arguments = path.path.segments.last().map(|last| &last.arguments);
            same(path, quote_spanned!(at=> #private::Index #arguments))
        }
        Assumed::Constant(path, of) => {
            let of = number(*of);
            quote_spanned!(at=> let _: #of = #path;)
        }
        Assumed::Order(path, order) => {
            let order = Ident::new(order.name(), at);
            let said = format!(
                "[TW0912]: `{}` is another order of memory than its name says\n  help: name it as the standard library does",
                text(path)
            );
            quote_spanned! {at=>
                ::core::assert!(::core::matches!(#path, ::core::sync::atomic::Ordering::#order), #said);
            }
        }
        Assumed::Tuple(path) => {
            let ty = type_beside(path);
            quote_spanned!(at=> let _ = |of: #ty| { let #path(..) = of; };)
        }
        // rustc takes such a pattern for a variable, or refuses it.
        Assumed::Variable(name) => quote_spanned!(at=> let _ = |#name @ _: ()| ();),
    }
}
