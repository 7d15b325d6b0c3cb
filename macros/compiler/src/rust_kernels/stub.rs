//! What stands in place of a function with errors, so that the rest of the crate is checked and rustc says
//! nothing more of the function.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::visit::Visit;
use syn::{ExprPath, FnArg, ItemFn, ReturnType, Type};

use super::attribute::Arguments;
use super::definition::{declared, definition, made, parameters};
use super::device::method;
use super::ir::Mentioned;
use super::parts::{type_beside, type_name, without_ours};
use super::role::Role;
use crate::codegen::launches::private;
use crate::codegen::many_arguments;
use crate::groups::peel;
use crate::text::unraw;

/// The function without its body, and the type beside it. `named` are the constants and functions that the
/// body names.
pub(super) fn stub(role: Role, arguments: &Arguments, item: &ItemFn, named: &Mentioned) -> TokenStream {
    let at = Span::mixed_site();
    let function = function(item, named);
    if item.sig.inputs.iter().any(|input| matches!(input, FnArg::Receiver(_))) {
        // An `impl` has no room for the rest.
        return quote_spanned! {at=>
            #[allow(dead_code, path_statements, reason = "a stub, in place of code with errors")]
            #function
        };
    }
    let beside = match role {
        Role::Device => device(arguments, item),
        Role::Kernel => kernel(arguments, item),
    };
    let whole = without_ours(item);
    let by_type =
        (role == Role::Device).then(|| method(&function, &quote_spanned!(at=> ::core::unreachable!())));
    quote_spanned! {at=>
        #[allow(dead_code, path_statements, reason = "a stub, in place of code with errors")]
        #function
        #beside
        #by_type

        // rust-analyzer completes names in a body that is being written, which has errors.
        #[allow(unexpected_cfgs, reason = "this one is rust-analyzer's")]
        const _: () = {
            #[cfg(rust_analyzer)]
            #whole
        };
    }
}

/// The function, whose body does nothing.
fn function(item: &ItemFn, named: &Mentioned) -> ItemFn {
    let at = Span::mixed_site();
    let mut stub = without_ours(item);
    // A `const fn` may not drop its arguments, and C has no types that Rust alone knows.
    (stub.sig.constness, stub.sig.abi) = (None, None);
    for input in &mut stub.sig.inputs {
        if let FnArg::Typed(typed) = input {
            *typed.pat = syn::parse_quote_spanned!(at=> _);
            if no_value_has(&typed.ty) {
                *typed.ty = syn::parse_quote_spanned!(at=> impl ::core::marker::Sized);
            }
        }
    }
    if let ReturnType::Type(_, ty) = &mut stub.sig.output
        && (no_value_has(ty) || matches!(**ty, Type::ImplTrait(_)))
    {
        **ty = syn::parse_quote_spanned!(at=> !);
    }
    // rustc calls no import unused that the body names. As a value, a function for several types has none of them.
    let Mentioned { constants, functions } = named;
    let mut inside = Inside(Vec::new());
    inside.visit_block(&item.block);
    let is_outside = |path: &&ExprPath| path.path.get_ident().is_none_or(|name| !inside.0.contains(&name));
    let functions = functions.iter().filter(is_outside).map(type_beside);
    stub.block = syn::parse_quote_spanned!(at=> {
        #(let _ = #constants;)*
        #(let _ = ::core::marker::PhantomData::<#functions>;)*
        ::core::unreachable!()
    });
    stub
}

/// The functions inside of a function, of which nothing stands beside it.
struct Inside<'a>(Vec<&'a Ident>);

impl<'a> Visit<'a> for Inside<'a> {
    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        self.0.push(&item.sig.ident);
    }
}

/// Whether rustc would report the type of a parameter, too.
fn no_value_has(ty: &Type) -> bool {
    match peel(ty) {
        Type::Slice(_) | Type::TraitObject(_) | Type::Infer(_) => true,
        Type::Path(path) => path.path.is_ident("str"),
        _ => false,
    }
}

fn device(arguments: &Arguments, item: &ItemFn) -> TokenStream {
    let (private, name, vis) = (private(arguments.krate.as_ref()), type_name(item), &item.vis);
    let plain = unraw(&item.sig.ident);
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        #[allow(dead_code, reason = "a stub, in place of code with errors")]
        #[derive(::core::fmt::Debug)]
        #vis struct #name {}

        impl #private::DeviceFunction for #name {
            const SOURCE: &'static #private::RustSource = &#private::RustSource::none(#plain);
        }

        impl<Asked> #private::Orders<Asked> for #name {
            const IS_ORDERED: ::core::primitive::bool = false;
        }

        impl #private::ForOneType for #name {}
    }
}

fn kernel(arguments: &Arguments, item: &ItemFn) -> TokenStream {
    let at = Span::mixed_site();
    let private = private(arguments.krate.as_ref());
    let name = type_name(item);
    let names = item.sig.inputs.iter().skip(1).enumerate();
    let taken: Vec<_> = names.map(|(index, _)| Ident::new(&format!("argument_{index}"), at)).collect();
    let plain = unraw(&item.sig.ident);
    let many = many_arguments(2 + taken.len());
    let (definition, made) = (definition(arguments, item), made(arguments));
    let (declared, generics) = (declared(arguments), parameters(arguments));
    quote_spanned! {at=>
        #definition

        impl #declared #name #generics {
            /// Compiles the kernel for the device.
            #[allow(dead_code, unused_variables, reason = "a stub, in place of code with errors")]
            pub fn load(device: &#private::Device) -> #private::Result<Self> {
                ::core::unreachable!()
            }

            #many
            #[allow(unused_variables, reason = "a stub, in place of code with errors")]
            pub fn launch(
                &self,
                launch: #private::Launch<'_>,
                #(#taken: impl ::core::marker::Sized),*
            ) -> #private::Result<()> {
                ::core::unreachable!()
            }
        }

        const _: () = {
            static MODULE: #private::KernelModule = #private::KernelModule::cuda("", "");

            impl #declared #private::Kernel for #name #generics {
                const INFO: &'static #private::KernelInfo =
                    &#private::KernelInfo::new(#plain, &MODULE).on_host();

                unsafe fn from_function(function: #private::Function) -> Self {
                    #made
                }
            }
        };
    }
}
