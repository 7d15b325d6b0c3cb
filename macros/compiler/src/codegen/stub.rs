//! What stands for a pipeline that has errors: its type and methods, so that their users compile.

use proc_macro2::{Ident, TokenStream};
use quote::quote_spanned;
use syn::{Attribute, ExprPath, Path, Type, Visibility};

use super::names::hygienic;
use super::run::{Kind, arguments};
use super::shared_attributes;
use crate::syntax::{HostKind, Item, Operation, Pipeline};

/// The parts of a pipeline that its users see.
pub struct Stub {
    runtime: Path,
    attrs: Vec<Attribute>,
    vis: Visibility,
    name: Ident,
    arguments: Vec<(Ident, Owned)>,
    /// Their imports are not unused.
    kernels: Vec<ExprPath>,
}

enum Owned {
    Param(Type),
    Host(HostKind, bool, Type),
}

impl Stub {
    pub fn of(pipeline: &Pipeline) -> Self {
        let mut arguments: Vec<(Ident, Owned)> = Vec::new();
        let mut kernels = Vec::new();
        for item in &pipeline.items {
            let argument = match item {
                Item::Param { name, ty } => (name.clone(), Owned::Param(ty.clone())),
                Item::Host { kind, name, pinned, shape } => {
                    (name.clone(), Owned::Host(*kind, *pinned, shape.element.clone()))
                }
                Item::Resident { name, shape } => {
                    (name.clone(), Owned::Host(HostKind::Input, false, shape.element.clone()))
                }
                Item::Carry { name, shape, .. } => {
                    (name.clone(), Owned::Host(HostKind::InOut, false, shape.element.clone()))
                }
                Item::Stage { operations, unread, .. } => {
                    kernels.extend(unread.iter().cloned());
                    kernels.extend(operations.iter().filter_map(|operation| match operation {
                        Operation::Launch(launch) => Some(launch.kernel.clone()),
                        Operation::Copy(_)
                        | Operation::Fill(_)
                        | Operation::Record(_)
                        | Operation::Wait(_) => None,
                    }));
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
            arguments,
            kernels,
        }
    }

    /// In place of a pipeline whose `run` cannot be declared: not all of it could be read, or its elements cannot be
    /// passed. To rustc an array whose length is an error is a type whose error was reported: it can be used in any way.
    pub fn expand_without_run(&self, error: TokenStream) -> TokenStream {
        let Self { attrs, vis, name, .. } = self;
        let attrs = attrs.iter().filter(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("doc"));
        let kernels = self.kernels();
        quote_spanned! {hygienic()=>
            #(#attrs)*
            #[allow(dead_code, reason = "stands for a pipeline with errors")]
            #vis type #name = [(); #error];
            #kernels
        }
    }

    /// Uses of the kernels.
    fn kernels(&self) -> TokenStream {
        let kernels = &self.kernels;
        quote_spanned!(hygienic()=> #(const _: fn(#kernels) = |_| {};)*)
    }

    pub fn expand(&self) -> TokenStream {
        let Self { runtime, attrs, vis, name, .. } = self;
        let site = hygienic();
        let shared = shared_attributes(attrs);
        let kernels = self.kernels();
        let arguments = arguments(
            runtime,
            self.arguments.iter().map(|(name, owned)| match owned {
                Owned::Param(ty) => (name, Kind::Param(ty)),
                Owned::Host(kind, pinned, element) => (name, Kind::Host(*kind, *pinned, element)),
            }),
        );
        quote_spanned! {site=>
            #(#attrs)*
            #[derive(::core::fmt::Debug)]
            #vis struct #name {}

            #(#shared)*
            #[allow(unused_variables, dead_code, clippy::all, reason = "stands for a pipeline with errors")]
            impl #name {
                pub const PLAN: #runtime::Plan = #runtime::Plan {
                    pipeline: "", file: "", line: 0, column: 0, streams: &[], stages: &[], hosts: &[], buffers: &[],
                    operations: &[], events: &[], waits: &[],
                };
                pub fn new(device: &#runtime::Device) -> #runtime::Result<Self> {
                    ::core::unreachable!()
                }
                pub fn options(device: &#runtime::Device) -> #runtime::Options<Self> {
                    ::core::unreachable!()
                }
                pub fn run<'run>(&mut self, #(#arguments),*) -> #runtime::Result<#runtime::Report> {
                    ::core::unreachable!()
                }
            }

            #(#shared)*
            impl #runtime::__private::Build for #name {
                fn build(settings: #runtime::__private::Settings<'_>) -> #runtime::Result<Self> {
                    ::core::unreachable!()
                }
            }

            #kernels
        }
    }
}
