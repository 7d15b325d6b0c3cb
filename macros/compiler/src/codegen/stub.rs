//! The stand-in for a pipeline that has errors: its type and methods, so that code that uses them compiles.

use proc_macro2::{Ident, TokenStream};
use quote::quote_spanned;
use syn::{Attribute, ExprPath, Generics, Path, Type, Visibility};

use super::names::hygienic;
use super::run::{Kind, arguments};
use super::shared_attributes;
use crate::syntax::{HostKind, Item, Memory, Operation, Pipeline};

/// The parts of a pipeline that its users see.
pub struct Stub {
    runtime: Path,
    attrs: Vec<Attribute>,
    vis: Visibility,
    name: Ident,
    generics: Generics,
    arguments: Vec<(Ident, Owned)>,
    /// Kernels that are named, so that rustc does not call their imports unused.
    kernels: Vec<ExprPath>,
    /// Routines and host functions that are named, for the same reason.
    functions: Vec<ExprPath>,
}

enum Owned {
    Param(Type),
    Data(HostKind, Memory, Type),
}

impl Stub {
    pub fn of(pipeline: &Pipeline) -> Self {
        let mut arguments: Vec<(Ident, Owned)> = Vec::new();
        let (mut kernels, mut functions) = (Vec::new(), Vec::new());
        for item in &pipeline.items {
            let argument = match item {
                Item::Param { name, ty, .. } => (name.clone(), Owned::Param(ty.clone())),
                Item::Argument { kind, name, memory, shape } => {
                    (name.clone(), Owned::Data(*kind, *memory, shape.element.clone()))
                }
                Item::Resident { name, on_device, shape } => {
                    let memory = Memory::shared(*on_device);
                    (name.clone(), Owned::Data(HostKind::Input, memory, shape.element.clone()))
                }
                Item::Carry { name, on_device, shape, .. } => {
                    let memory = Memory::shared(*on_device);
                    (name.clone(), Owned::Data(HostKind::InOut, memory, shape.element.clone()))
                }
                Item::Stage { operations, unread, .. } => {
                    kernels.extend(unread.iter().cloned());
                    used(operations, &mut kernels, &mut functions);
                    continue;
                }
                _ => continue,
            };
            // A name declared twice was reported; two arguments of one name would be a second error.
            let (mut name, owned) = argument;
            if arguments.iter().any(|(other, _)| *other == name) {
                name = Ident::new(&format!("argument_{}", arguments.len()), hygienic());
            }
            arguments.push((name, owned));
        }
        Self {
            runtime: pipeline.runtime.clone().unwrap_or_else(|| syn::parse_quote!(::thalweg)),
            attrs: pipeline.attrs.clone(),
            vis: pipeline.vis.clone(),
            name: pipeline.name.clone(),
            generics: pipeline.generics.clone(),
            arguments,
            kernels,
            functions,
        }
    }

    /// In place of a pipeline whose `run` cannot be declared: not all of it could be read, or its elements
    /// cannot be passed. To rustc an array whose length is an error is a type whose error was reported: it
    /// can be used in any way.
    pub fn expand_without_run(&self, error: TokenStream) -> TokenStream {
        let Self { attrs, vis, name, generics, .. } = self;
        let bounds = &generics.where_clause;
        let attrs = attrs.iter().filter(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("doc"));
        let kernels = self.kernels();
        let element = super::elements(generics).map(|(_, elements)| elements);
        let element = element.unwrap_or_else(|| quote_spanned!(hygienic()=> ()));
        quote_spanned! {hygienic()=>
            #(#attrs)*
            #[allow(dead_code, reason = "stands for a pipeline with errors")]
            #vis type #name #generics = [#element; #error] #bounds;
            #kernels
        }
    }

    /// Uses of the kernels.
    fn kernels(&self) -> TokenStream {
        let Self { kernels, functions, .. } = self;
        quote_spanned! {hygienic()=>
            #(const _: fn(#kernels) = |_| {};)*
            #(const _: () = { #[allow(unused_imports, reason = "stands for a use")] use #functions as _; };)*
        }
    }

    pub fn expand(&self) -> TokenStream {
        let Self { runtime, attrs, vis, name, generics, .. } = self;
        let (parameters, types, bounds) = generics.split_for_impl();
        let site = hygienic();
        let elements =
            super::elements(generics).map(|(field, elements)| quote_spanned!(site=> #field: #elements,));
        let (shared, debug) = (shared_attributes(attrs), super::debug(attrs));
        let kernels = self.kernels();
        let arguments = arguments(
            runtime,
            self.arguments.iter().map(|(name, owned)| match owned {
                Owned::Param(ty) => (name, Kind::Param(ty)),
                Owned::Data(kind, memory, element) => (name, Kind::Data(*kind, *memory, element)),
            }),
        );
        quote_spanned! {site=>
            #(#attrs)*
            #debug
            #vis struct #name #generics #bounds { #elements }

            #(#shared)*
            #[allow(unused_variables, dead_code, clippy::all, reason = "stands for a pipeline with errors")]
            impl #parameters #name #types #bounds {
                pub const PLAN: #runtime::Plan =
                    #runtime::Plan::new("", "", 0, 0, &[], &[], &[], &[], &[], &[], &[]);
                pub fn new(devices: &(impl #runtime::Devices + ?::core::marker::Sized)) -> #runtime::Result<Self> {
                    ::core::unreachable!()
                }
                pub fn options(
                    devices: &(impl #runtime::Devices + ?::core::marker::Sized),
                ) -> #runtime::Options<Self> {
                    ::core::unreachable!()
                }
                pub fn run<'run>(&mut self, #(#arguments),*) -> #runtime::Result<#runtime::Report> {
                    ::core::unreachable!()
                }
                pub fn profile<'run>(&mut self, #(#arguments),*) -> #runtime::Result<#runtime::Timeline> {
                    ::core::unreachable!()
                }
                pub fn predict<'run>(&mut self, #(#arguments),*) -> #runtime::Result<#runtime::Timeline> {
                    ::core::unreachable!()
                }
            }

            #(#shared)*
            impl #parameters #runtime::__private::Build for #name #types #bounds {
                fn build(settings: #runtime::__private::Settings<'_>) -> #runtime::Result<Self> {
                    ::core::unreachable!()
                }
            }

            #kernels
        }
    }
}

/// An import names no generic arguments, and no item of a type.
fn can_be_imported(path: &ExprPath) -> bool {
    let mut segments = path.path.segments.iter();
    let plain = segments.clone().all(|segment| segment.arguments.is_none());
    // Types are told by the convention of their names.
    let is_type = |name: String| name.starts_with(char::is_uppercase);
    segments.next_back();
    plain && path.qself.is_none() && !segments.any(|segment| is_type(segment.ident.to_string()))
}

/// The paths that operations name: of kernels, and of functions.
fn used(operations: &[Operation], kernels: &mut Vec<ExprPath>, functions: &mut Vec<ExprPath>) {
    for operation in operations {
        match operation {
            Operation::Launch(launch) => kernels.push(launch.kernel.clone()),
            Operation::Call(call) | Operation::Host(call) => {
                functions.extend(Some(call.path.clone()).filter(can_be_imported));
            }
            Operation::Repeat(repeat) => used(&repeat.body, kernels, functions),
            Operation::If(conditional) => {
                used(&conditional.body, kernels, functions);
                used(&conditional.otherwise, kernels, functions);
            }
            Operation::Copy(_)
            | Operation::Fill(_)
            | Operation::Then(_)
            | Operation::Collective(_)
            | Operation::Record(_)
            | Operation::Wait(_) => {}
        }
    }
}
