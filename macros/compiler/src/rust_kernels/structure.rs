//! `#[device] struct`: a struct that kernels know.
//!
//! The struct stays as it is. Beside it stands its definition in C++, with the layout that rustc gives it, which
//! C++ compares with its own.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::visit::Visit;
use syn::{Attribute, ItemStruct, Meta, Token};

use super::attribute::{Arguments, Inside};
use super::errors::{Errors, error};
use super::lower::{Structure, structure};
use super::numbers;
use super::parts::{self, definitions, raw};
use crate::codegen::launches::private;
use crate::text::unraw;

/// Expands `#[device(attr)] struct`. With errors, the result is the struct and a stub of what stands beside it.
pub(super) fn expand(arguments: &Arguments, mut item: ItemStruct, mut errors: Errors) -> TokenStream {
    without_device(&mut item, &mut errors);
    let alignment = layout(&item, &mut errors);
    let found = parts(&item, &mut errors).then(|| structure(&item, &mut errors)).flatten();
    match found {
        Some(found) if errors.is_empty() => {
            let beside = beside(arguments, &item, &found, alignment);
            quote!(#item #beside)
        }
        _ => {
            let errors = errors.iter().map(syn::Error::to_compile_error);
            let stub = stub(arguments, &item);
            quote!(#(#errors)* #item #stub)
        }
    }
}

/// The definition in C++; errors are pushed.
pub(super) fn definition(item: &ItemStruct, errors: &mut Errors) -> Option<String> {
    let alignment = layout(item, errors);
    structure(item, errors).map(|found| in_cpp(&found, alignment))
}

fn in_cpp(Structure { name, fields, .. }: &Structure, alignment: Option<u64>) -> String {
    let aligned = alignment.map(|bytes| format!(" alignas({bytes})")).unwrap_or_default();
    let lines: String = fields.iter().map(|(ty, name, _)| format!("    {ty} {name};\n")).collect();
    format!("struct{aligned} {name} {{\n{lines}}};\n")
}

fn wrong(errors: &mut Errors, at: impl ToTokens, what: &str, note: Option<&str>, help: &str) {
    let notes: Vec<_> = note.map(str::to_owned).into_iter().collect();
    errors.push(error(at, "TW0910", what, &notes, Some(help.to_owned())));
}

/// Takes a second `#[device]` off.
fn without_device(item: &mut ItemStruct, errors: &mut Errors) {
    let name = item.ident.clone();
    item.attrs.retain(|attribute| {
        let last = attribute.path().segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if !matches!(last.as_str(), "device" | "kernel") {
            return true;
        }
        let what = format!("`{name}` has `#[device]` and `#[{last}]`");
        wrong(errors, attribute, &what, None, "remove one of them");
        false
    });
}

/// The alignment that the struct asks for. Its fields have to be in the order in which they are written.
fn layout(item: &ItemStruct, errors: &mut Errors) -> Option<u64> {
    let mut alignment = None;
    let mut is_ordered = false;
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        let Meta::List(list) = &attribute.meta else { continue };
        let words = |input: syn::parse::ParseStream<'_>| {
            while !input.is_empty() {
                // `transparent` is refused by rustc for more than one field.
                let word: Ident = input.parse()?;
                is_ordered |= word == "C" || word == "transparent";
                if word == "packed" {
                    let what = format!("`{}` is packed", item.ident);
                    let note = "a thread reads each field where it is aligned";
                    wrong(errors, &word, &what, Some(note), "remove `packed`, and put small fields together");
                }
                if input.peek(syn::token::Paren) {
                    let content;
                    syn::parenthesized!(content in input);
                    let number: syn::LitInt = content.parse()?;
                    if word == "align" {
                        alignment = number.base10_parse().ok();
                    }
                }
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        // What cannot be read is rustc's to report.
        let _ = syn::parse::Parser::parse2(words, list.tokens.clone());
    }
    if !is_ordered {
        let what = format!("`{}` has no layout that a GPU knows", item.ident);
        let note = "rustc may put the fields of a struct in any order";
        wrong(errors, &item.ident, &what, Some(note), "write `#[repr(C)]` above it");
    }
    alignment
}

/// Whether the struct has the parts that C++ can have; what else it has is reported.
fn parts(item: &ItemStruct, errors: &mut Errors) -> bool {
    let before = errors.len();
    if !item.generics.params.is_empty() || item.generics.where_clause.is_some() {
        let what = format!("`{}` is generic", item.ident);
        let help = "write a struct for each type, by a `macro_rules` if there are many";
        wrong(errors, &item.generics, &what, None, help);
    }
    if item.fields.is_empty() {
        let what = format!("`{}` has no fields", item.ident);
        let note = "it has no byte in Rust, and one in C++";
        wrong(errors, &item.ident, &what, Some(note), "give it a field, or leave it out");
    }
    for field in &item.fields {
        Inside(errors, "struct").visit_field(field);
    }
    errors.len() == before
}

/// What stands beside the struct.
fn beside(
    arguments: &Arguments,
    item: &ItemStruct,
    found: &Structure,
    alignment: Option<u64>,
) -> TokenStream {
    let at = Span::mixed_site();
    let (private, name) = (private(arguments.krate.as_ref()), &item.ident);
    let conditions = conditions(item);
    let plain = name.span().resolved_at(at);
    let Structure { name: cpp, fields, .. } = found;
    let text = raw(&in_cpp(found, alignment));
    let offsets = fields
        .iter()
        .map(|(_, field, member)| quote_spanned!(at=> (#field, ::core::mem::offset_of!(#name, #member))));
    let members = fields.iter().map(|(_, _, member)| member);
    let types = item.fields.iter().map(|field| &field.ty);
    let (constants, named) = (definitions(&private, &found.constants), parts::named(&private, &found.named));
    // All of the type has the name's place, so that an error points at it.
    let check = format_ident!("PlainElementsOf{}", unraw(name), span = plain);
    let checked = quote_spanned! {plain=>
        const _: ::core::marker::PhantomData<#check<#name>> = ::core::marker::PhantomData;
    };
    let assumed = numbers::item(&conditions, &numbers::assumptions(arguments, &found.assumed));
    quote_spanned! {at=>
        #assumed

        #(#conditions)*
        const _: () = {
            use #private::PlainElements as #check;
            #checked
        };

        #(#conditions)*
        impl #private::KernelType for #name {
            const TYPE: &'static #private::RustType = {
                // All that name the struct have the same definition.
                static SOURCE: #private::RustSource = #private::RustSource {
                    name: #cpp,
                    file: ::core::file!(),
                    text: #private::RustText { text: #text, lines: &[] },
                    constants: &[#(#constants),*],
                    types: &[#(#named),*],
                    callees: &[],
                    layout: ::core::option::Option::Some(#private::StructLayout {
                        size: ::core::mem::size_of::<#name>(),
                        align: ::core::mem::align_of::<#name>(),
                        fields: &[#(#offsets),*],
                    }),
                };
                &#private::RustType::Struct(&SOURCE)
            };
        }

        #(#conditions)*
        #[allow(trivial_bounds, reason = "a struct that is no plain data is one error")]
        const _: () = {
            impl #private::sealed::Structure for #name where for<'a> #name: #private::PlainData<'a> {}
            impl #private::sealed::Value for #name {}
            impl #private::BlockValue for #name where for<'a> #name: #private::PlainData<'a> {}

            impl #private::KernelConstant for #name
            where
                #(for<'a> #types: #private::FieldConstant<'a>),*
            {
                fn value(&self) -> ::std::string::String {
                    #private::struct_value(&[#(#private::KernelConstant::value(&self.#members)),*])
                }
            }
        };
    }
}

/// The same for a struct with errors.
fn stub(arguments: &Arguments, item: &ItemStruct) -> TokenStream {
    let (private, name) = (private(arguments.krate.as_ref()), &item.ident);
    let (conditions, said) = (conditions(item), unraw(name));
    let (generics, of, clause) = item.generics.split_for_impl();
    quote_spanned! {Span::mixed_site()=>
        #(#conditions)*
        impl #generics #private::KernelType for #name #of #clause {
            const TYPE: &'static #private::RustType =
                &#private::RustType::Struct(&#private::RustSource::none(#said));
        }
    }
}

/// The attributes under which the struct exists.
fn conditions(item: &ItemStruct) -> Vec<&Attribute> {
    item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect()
}
