//! `#[device(T in [f32, f64])] fn f<T>(…)`: a function for several types.
//!
//! rustc and C++ both choose by the types of the arguments. In Rust the function stays generic, and calls that of
//! its types; in C++ those of all types have one name, and each its parameters.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::visit::{self, Visit};
use syn::{FnArg, GenericParam, ItemFn, Pat, Safety};

use super::attribute::Arguments;
use super::device::{self, Calls};
use super::errors::{Errors, error};
use super::instances::{Instance, Parameter, Values};
use super::names;
use super::parts::{conditions, raw, type_name, without_ours};
use crate::codegen::launches::private;
use crate::codegen::many_arguments;
use crate::text::text;

/// Whether parameters of the attribute and of the function do not go together, which is reported.
pub(super) fn is_wrong(arguments: &Arguments, item: &ItemFn, errors: &mut Errors) -> bool {
    let (name, before) = (&item.sig.ident, errors.len());
    let mut report = |at: TokenStream, code: &str, what: &str, note: &str, help: String| {
        errors.push(error(at, code, what, &[note.to_owned()], Some(help)));
    };
    for Parameter { name: parameter, values } in &arguments.parameters {
        let declared = item.sig.generics.type_params().find(|declared| declared.ident == *parameter);
        match (values, declared) {
            (Values::Numbers(_), _) => report(
                parameter.to_token_stream(),
                "TW0910",
                &format!("`{parameter}` of a function cannot stand for numbers"),
                "a `#[device]` function may be for any number",
                format!("remove it here, and write `fn {name}<const {parameter}: usize>(…)`"),
            ),
            (Values::Types(_), None) => report(
                parameter.to_token_stream(),
                "TW0910",
                &format!("`{parameter}` is no parameter of `{name}`"),
                "the function is generic, and callers pass values of one of its types",
                format!("write `fn {name}<{parameter}>(…)`"),
            ),
            (Values::Types(_), Some(declared)) if !declared.bounds.is_empty() => report(
                declared.bounds.to_token_stream(),
                "TW0907",
                &format!("`{parameter}` of function `{name}` has bounds"),
                "the function is compiled for each of its types",
                format!("remove them: `{parameter}`"),
            ),
            (Values::Types(_), Some(declared)) if !is_passed(parameter, item) => report(
                declared.to_token_stream(),
                "TW0907",
                &format!("no parameter of function `{name}` has the type `{parameter}`"),
                "a GPU calls the function of the arguments' types",
                "pass a value of the type, or write a function for each type".to_owned(),
            ),
            (Values::Types(_), Some(_)) => {}
        }
    }
    errors.len() > before
}

/// Whether the name stands in the type of a parameter.
fn is_passed(name: &Ident, item: &ItemFn) -> bool {
    struct Find<'a>(&'a Ident, bool);
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_ident(&mut self, ident: &'ast Ident) {
            self.1 |= ident == self.0;
        }
    }
    let mut find = Find(name, false);
    item.sig.inputs.iter().for_each(|input| {
        if let FnArg::Typed(typed) = input {
            visit::visit_type(&mut find, &typed.ty);
        }
    });
    find.1
}

/// The function of one instance: its body in Rust, and its source. `source` is the latter.
pub(super) fn instance(
    arguments: &Arguments,
    item: &ItemFn,
    instance: &Instance,
    source: &TokenStream,
) -> TokenStream {
    let (private, name) = (private(arguments.krate.as_ref()), type_name(item));
    let generics = &item.sig.generics.params;
    let constants = constants(item);
    let types = instance.arguments();
    let ty = pointer(item);
    let function = match constants.is_empty() {
        true => name.to_token_stream(),
        false => quote_spanned!(Span::mixed_site()=> #name::<#(#constants),*>),
    };
    quote_spanned! {Span::mixed_site()=>
        impl<#generics> #private::ForTypes<(#(#types,)* #([(); #constants],)*)> for #name {
            type Function = #ty;
            const FUNCTION: Self::Function = #function;
            const SOURCE: &'static #private::RustSource = &#source;
        }
    }
}

/// The type beside the function, and the function that is generic.
pub(super) fn definition(arguments: &Arguments, item: &ItemFn, calls: &Calls) -> TokenStream {
    let at = Span::mixed_site();
    let (private, name) = (private(arguments.krate.as_ref()), type_name(item));
    let conditions = conditions(item);
    let of_type = device::definition(&private, item, calls);
    let in_cpp = names::in_cpp(&item.sig.ident.to_string());
    let in_cpp = raw(&in_cpp);
    let constants = constants(item);
    let zeros: Vec<_> = constants.iter().map(|_| quote_spanned!(at=> [(); 0])).collect();
    let mut known: Vec<Vec<String>> = Vec::new();
    let instances = Instance::all(&arguments.parameters).into_iter().filter_map(|instance| {
        let types = instance.arguments();
        // These are one type in C++.
        let of_cpp = types.iter().map(|ty| text(ty).replace("size", "64")).collect();
        if known.contains(&of_cpp) {
            return None;
        }
        known.push(of_cpp);
        let of = quote_spanned!(at=> <#name as #private::ForTypes<(#(#types,)* #(#zeros,)*)>>::SOURCE);
        Some(quote_spanned!(at=> (#in_cpp, &|| #of)))
    });
    let instances: Vec<_> = instances.collect();
    let generic = generic(arguments, item, &private, &name, &constants);
    quote_spanned! {at=>
        #of_type

        #(#conditions)*
        impl #private::DeviceFunction for #name {
            const SOURCE: &'static #private::RustSource = &#private::RustSource {
                callees: &[#(#instances),*],
                ..#private::RustSource::none(#in_cpp)
            };
        }

        #generic
    }
}

/// The function that callers in Rust name.
fn generic(
    arguments: &Arguments,
    item: &ItemFn,
    private: &TokenStream,
    name: &Ident,
    constants: &[&Ident],
) -> TokenStream {
    let at = Span::mixed_site();
    let mut function = without_ours(item);
    if !function.attrs.iter().any(|attribute| attribute.path().is_ident("inline")) {
        function.attrs.push(syn::parse_quote!(#[inline]));
    }
    let mut passed = Vec::new();
    for (index, input) in function.sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(typed) = input else { continue };
        let name = match &*typed.pat {
            Pat::Ident(name) => name.ident.clone(),
            _ => format_ident!("argument_{index}", span = at),
        };
        *typed.pat = syn::parse_quote!(#name);
        passed.push(name);
    }
    let types: Vec<_> = arguments.parameters.iter().map(|parameter| &parameter.name).collect();
    let (of, ty) = (quote_spanned!(at=> (#(#types,)* #([(); #constants],)*)), pointer(item));
    function.sig.generics.where_clause = Some(syn::parse_quote_spanned! {at=>
        where #name: #private::ForTypes<#of, Function = #ty>
    });
    let call = quote_spanned!(at=> (<#name as #private::ForTypes<#of>>::FUNCTION)(#(#passed),*));
    let call = match item.sig.safety {
        // SAFETY: what the function asks of its callers is what that of its types does.
        Safety::Unsafe(_) => quote_spanned!(at=> unsafe { #call }),
        _ => call,
    };
    function.block = syn::parse_quote_spanned!(at=> { #call });
    let by_type = device::by_type(&function);
    let many = many_arguments(item.sig.inputs.len());
    quote_spanned! {at=>
        #by_type

        #many
        #[allow(clippy::type_complexity, reason = "the function's type has all of its parameters")]
        #function
    }
}

/// The names of `const N: usize`.
fn constants(item: &ItemFn) -> Vec<&Ident> {
    item.sig.generics.const_params().map(|constant| &constant.ident).collect()
}

/// The type of the function as a value.
fn pointer(item: &ItemFn) -> TokenStream {
    let inputs = item.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(&*typed.ty),
        FnArg::Receiver(_) => None,
    });
    let unsafety = match item.sig.safety {
        Safety::Unsafe(word) => Some(word),
        _ => None,
    };
    let output = &item.sig.output;
    quote_spanned!(Span::mixed_site()=> #unsafety fn(#(#inputs),*) #output)
}

/// Takes the parameters that stand for types off, so that only a function of one type is left when they are put in.
pub(super) fn without_types(arguments: &Arguments, item: &ItemFn) -> ItemFn {
    let mut item = item.clone();
    let is_type = |declared: &GenericParam| match declared {
        GenericParam::Type(declared) => {
            arguments.parameters.iter().any(|parameter| parameter.name == declared.ident)
        }
        _ => false,
    };
    let params = std::mem::take(&mut item.sig.generics.params);
    item.sig.generics.params = params.into_iter().filter(|declared| !is_type(declared)).collect();
    item
}
