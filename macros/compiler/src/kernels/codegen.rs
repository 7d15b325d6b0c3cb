//! Writes the kernels' types.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Ident, Type};

use super::arguments::Arguments;
use super::check::Facts;
use super::info::{checks, info, module};
use super::parameter::{Parameter, ParameterKind};
use super::syntax::{Block, Kernel};
use crate::codegen::{Elements, is_primitive, launches, many_arguments, mentions, placed};
use crate::cuda_source::cuda::Tree;
use crate::text::{text, unraw};

/// The types, one a kernel, with what the runtime and pipelines need of them.
pub(super) fn kernels(
    arguments: &Arguments,
    block: &Block,
    tree: Option<&Tree>,
    facts: &[Facts],
) -> TokenStream {
    let generator = Generator { arguments, stub: false };
    let private = generator.private();
    let types = block.kernels.iter().map(|kernel| {
        let body = generator.launch(kernel);
        generator.kernel_type(kernel, &body, &TokenStream::new())
    });
    let module = module(arguments, block, tree, &private);
    let infos =
        block.kernels.iter().zip(facts).map(|(kernel, facts)| info(kernel, facts, &private)).collect();
    let impls = generator.impls(block, &module, infos, &checks(block, facts, &private));
    quote!(#(#types)* #impls)
}

/// Types of the same names and numbers of parameters, which cannot be used but let the rest of the crate be
/// checked.
pub(super) fn stubs(arguments: &Arguments, block: &Block) -> TokenStream {
    let generator = Generator { arguments, stub: true };
    let private = generator.private();
    let allow = quote!(#[allow(unused_variables, reason = "a stub, in place of code with errors")]);
    let body = quote!(::core::unreachable!());
    let types = block.kernels.iter().map(|kernel| generator.kernel_type(kernel, &body, &allow));
    let module = quote_spanned!(Span::mixed_site()=> #private::KernelModule::cuda("", ""));
    let bare = |kernel: &Kernel| {
        let name = unraw(&kernel.name);
        let on_host = kernel.host.as_ref().map(|_| quote_spanned!(Span::mixed_site()=> .on_host()));
        quote_spanned!(Span::mixed_site()=> #private::KernelInfo::new(#name, &MODULE) #on_host)
    };
    let infos = block.kernels.iter().map(bare).collect();
    let impls = generator.impls(block, &module, infos, &TokenStream::new());
    quote!(#(#types)* #impls)
}

struct Generator<'a> {
    arguments: &'a Arguments,
    /// Whether it writes types that stand for code with errors.
    stub: bool,
}

impl Generator<'_> {
    /// `::thalweg::__private`.
    fn private(&self) -> TokenStream {
        launches::private(self.arguments.krate.as_ref())
    }

    /// The type, `load` and `launch`.
    fn kernel_type(&self, kernel: &Kernel, body: &TokenStream, allow: &TokenStream) -> TokenStream {
        let private = self.private();
        let Kernel { docs, attributes, vis, name, .. } = kernel;
        let parameters = kernel.parameters.iter().map(|parameter| self.parameter(parameter));
        let launch_docs = launch_docs(kernel);
        let source_docs = source_docs(kernel);
        // rustc shows where `launch` is defined when arguments are missing: at the declaration.
        let launch = Ident::new("launch", name.span().resolved_at(Span::mixed_site()));
        let many = many_arguments(2 + kernel.parameters.len());
        let elements = kernel.parameters.iter().filter(|_| !self.stub);
        let elements = elements.filter_map(|parameter| self.view(&parameter.kind));
        let plain = Elements::new(elements.map(|(_, element)| element), private.clone());
        let attributes_here: Vec<_> = attributes.iter().collect();
        let (checks, bounds, plain) = (plain.checks(&attributes_here), plain.bounds(), plain.allow());
        // The kernel's name is that of C++. In generated code, rustc does not lint it as the name of a type.
        let ty = {
            let mut ty = name.clone();
            ty.set_span(name.span().resolved_at(Span::mixed_site()));
            ty
        };
        quote_spanned! {Span::mixed_site()=>
            #checks

            #(#docs)*
            #(#[doc = #source_docs])*
            #(#attributes)*
            #[derive(::core::clone::Clone, ::core::fmt::Debug)]
            #vis struct #ty {
                function: #private::Its<Self, #private::Function>,
            }

            #(#attributes)*
            #plain
            impl #name #bounds {
                /// Compiles the kernel's source for `device` if needed and finds the kernel in it.
                ///
                /// # Errors
                /// NVRTC is missing, the source does not compile, or has no such kernel; on the simulated
                /// device, the kernel has no host body.
                pub fn load(device: &#private::Device) -> #private::Result<Self> {
                    let function = #private::Function::load(device, <Self as #private::Kernel>::INFO)?;
                    ::core::result::Result::Ok(Self { function: #private::Its::new(function) })
                }

                #(#[doc = #launch_docs])*
                #many
                #allow
                pub fn #launch(
                    &self,
                    launch: #private::Launch<'_>,
                    #(#parameters),*
                ) -> #private::Result<()> {
                    #body
                }
            }
        }
    }

    /// `x: impl ::thalweg::__private::ReadArg<f32>`.
    fn parameter(&self, parameter: &Parameter) -> TokenStream {
        let Parameter { name, ty, kind, .. } = parameter;
        match self.view(kind) {
            // It is unknown which of its types are right, so no argument that a pipeline passes is a second
            // error.
            _ if self.stub => quote_spanned!(Span::mixed_site()=> #name: impl ::core::marker::Sized),
            Some((view, element)) => {
                quote_spanned!(Span::mixed_site()=> #name: impl #view<#element>)
            }
            None => quote!(#name: #ty),
        }
    }

    /// The trait of a slice's arguments, and the slice's elements.
    fn view<'k>(&self, kind: &'k ParameterKind) -> Option<(TokenStream, &'k Type)> {
        let (view, element) = match kind {
            ParameterKind::Read(element) => ("ReadArg", element),
            ParameterKind::ReadWrite(element) => ("ReadWriteArg", element),
            ParameterKind::Write(element) => ("WriteArg", element),
            ParameterKind::Scalar | ParameterKind::Unknown => return None,
        };
        let private = self.private();
        let view = Ident::new(view, Span::mixed_site());
        Some((quote_spanned!(Span::mixed_site()=> #private::#view), element))
    }

    /// The body of `launch`.
    fn launch(&self, kernel: &Kernel) -> TokenStream {
        let kernel_name = unraw(&kernel.name);
        let views = kernel.parameters.iter().enumerate().filter_map(|(position, parameter)| {
            let Parameter { name, kind, .. } = parameter;
            let (view, element) = self.view(kind)?;
            let whole = launches::whole(&kernel_name, name, element);
            let lender = launches::lender(position);
            Some(quote_spanned! {Span::mixed_site()=>
                let (#name, #lender) = #view::lend(#name).parts();
                #whole
            })
        });
        let requires = kernel.requires.iter().map(|condition| {
            let said = text(condition);
            let values = self.values(kernel, condition);
            // A closure, so that a `return` in the condition, seen or hidden in a macro, cannot leave
            // `launch`.
            quote_spanned! {Span::mixed_site()=>
                (&launch).requires((|| #condition)(), #kernel_name, #said, #values)?;
            }
        });
        let numbers = kernel.parameters.iter().filter(|parameter| {
            matches!(parameter.kind, ParameterKind::Scalar) && is_primitive(&parameter.ty)
        });
        let numbers: Vec<_> = numbers.map(|parameter| &parameter.name).collect();
        let slices = kernel.parameters.iter().filter(|parameter| self.view(&parameter.kind).is_some());
        let slices: Vec<_> = slices.map(|parameter| &parameter.name).collect();
        let asks = launches::asks(&kernel.requires, (numbers, slices), &self.private());
        let passed = || kernel.parameters.iter().filter(|parameter| parameter.symbol.is_none());
        let arguments = passed().map(|parameter| self.argument(parameter));
        let sizes = passed().map(|Parameter { name, kind, .. }| match self.view(kind) {
            Some(_) => quote_spanned!(Span::mixed_site()=> (&#name).argument_size()),
            None => quote_spanned!(Span::mixed_site()=> ::core::mem::size_of_val(&#name)),
        });
        let accesses = self.accesses(kernel);
        let memory = kernel.parameters.iter().enumerate().filter(|(_, of)| self.view(&of.kind).is_some());
        let lenders = memory.map(|(position, _)| launches::lender(position));
        let symbols = kernel.parameters.iter().filter(|parameter| parameter.symbol.is_some());
        let symbols =
            symbols.map(|Parameter { name, .. }| quote_spanned!(Span::mixed_site()=> (&#name).access()));
        let host = self.host(kernel);
        // SAFETY of the generated block: promised by the user's `unsafe extern`.
        let private = self.private();
        quote_spanned! {Span::mixed_site()=>
            #(#views)*
            #asks
            #(#requires)*
            #host
            unsafe {
                launch.enqueue(
                    #private::Its::of(&self.function),
                    &mut [#(#arguments),*],
                    &[#(#sizes),*],
                    (&[#(#accesses),*], &[#(#lenders),*]),
                    &[#(#symbols),*],
                    &host,
                )
            }
        }
    }

    /// The numbers and lengths in a condition, for the error if it does not hold.
    fn values(&self, kernel: &Kernel, condition: &Expr) -> TokenStream {
        let named = kernel.parameters.iter().filter(|parameter| mentions(condition, &parameter.name));
        let values = named.filter_map(|parameter| {
            let Parameter { name, ty, kind, .. } = parameter;
            if self.view(kind).is_some() {
                let said = format!("{}.len()", unraw(name));
                return Some(quote_spanned!(Span::mixed_site()=> .add(#said, #name.len())));
            }
            let said = unraw(name);
            is_primitive(ty).then(|| quote_spanned!(Span::mixed_site()=> .add(#said, #name)))
        });
        let values: Vec<_> = values.collect();
        launches::values(&values)
    }

    /// The pointer that the driver reads one argument from.
    fn argument(&self, parameter: &Parameter) -> TokenStream {
        let Parameter { name, ty, kind, .. } = parameter;
        if self.view(kind).is_some() {
            return quote_spanned!(Span::mixed_site()=> (&#name).argument());
        }
        let private = self.private();
        // A type that no kernel can take is an error at that type.
        let at_type = ty.span().resolved_at(Span::mixed_site());
        let mut name = name.clone();
        name.set_span(ty.span().resolved_at(name.span()));
        quote_spanned!(at_type=> #private::argument(&#name))
    }

    /// The function that the simulated device runs.
    fn host(&self, kernel: &Kernel) -> TokenStream {
        let private = self.private();
        let Some(host) = &kernel.host else {
            // Never called: `INFO` says that there is no body, and the simulated device does not load the
            // kernel.
            return quote_spanned!(Span::mixed_site()=> let host = |_: #private::Grid| #private::host_body(|| {}););
        };
        let slices = kernel.parameters.iter().filter_map(|Parameter { name, kind, .. }| {
            let (_, element) = self.view(kind)?;
            Some(match kind {
                ParameterKind::Read(_) => quote_spanned! {Span::mixed_site()=>
                    let #name: &[#element] = unsafe { (&#name).slice() };
                },
                _ => quote_spanned! {Span::mixed_site()=>
                    let #name: &mut [#element] = unsafe { (&#name).slice_mut() };
                },
            })
        });
        // rustc reports an argument that the body takes as another type at the argument's declaration, and
        // errors of the body as a whole at its path.
        let arguments = kernel.parameters.iter().map(|Parameter { name, kind, .. }| match kind {
            ParameterKind::ReadWrite(_) | ParameterKind::Write(_) => {
                quote_spanned!(name.span().resolved_at(Span::mixed_site())=> &mut *#name)
            }
            _ => name.to_token_stream(),
        });
        let at_host = Span::mixed_site().located_at(host.span());
        let placed = placed(&private, at_host);
        let each = quote_spanned!(at_host=> #placed::for_each(grid, |at| #host(at, #(#arguments),*)););
        let body = quote_spanned! {Span::mixed_site()=>
            move || {
                #(#slices)*
                #each
            }
        };
        let promises = kernel.parameters.iter().filter_map(|Parameter { name, kind, .. }| {
            let said = unraw(name);
            let promises = matches!(kind, ParameterKind::Write(_));
            promises.then(|| quote_spanned!(Span::mixed_site()=> (&#name).promise(#said)))
        });
        let promises: Vec<_> = promises.collect();
        launches::host(&private, &body, &promises, &self.accesses(kernel))
    }

    /// The memory that the kernel may touch.
    fn accesses(&self, kernel: &Kernel) -> Vec<TokenStream> {
        let accesses = kernel.parameters.iter().filter_map(|Parameter { name, kind, .. }| {
            self.view(kind).map(|_| quote_spanned!(Span::mixed_site()=> (&#name).access()))
        });
        accesses.collect()
    }

    /// The traits by which pipelines know the kernels. The kernels share one module, whose address is its
    /// identity.
    fn impls(
        &self,
        block: &Block,
        module: &TokenStream,
        infos: Vec<TokenStream>,
        checks: &TokenStream,
    ) -> TokenStream {
        let private = self.private();
        if block.kernels.is_empty() {
            return TokenStream::new();
        }
        let shared = &block.attributes;
        let registered = block.kernels.iter().filter(|_| !self.stub).map(|kernel| {
            let Kernel { attributes, name, .. } = kernel;
            let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
            quote_spanned! {Span::mixed_site()=>
                #(#conditions)*
                #[cfg(test)]
                #private::register! { <#name as #private::Kernel>::INFO }
            }
        });
        let impls = block.kernels.iter().zip(infos).map(|(kernel, info)| {
            let Kernel { attributes, name, .. } = kernel;
            quote_spanned! {Span::mixed_site()=>
                #(#attributes)*
                impl #private::Kernel for #name {
                    const INFO: &'static #private::KernelInfo = &#info;

                    unsafe fn from_function(function: #private::Function) -> Self {
                        Self { function: #private::Its::new(function) }
                    }
                }
            }
        });
        quote_spanned! {Span::mixed_site()=>
            #(#shared)*
            const _: () = {
                static MODULE: #private::KernelModule = #module;

                #(#impls)*
                #(#registered)*
                #checks
            };
        }
    }
}

fn launch_docs(kernel: &Kernel) -> Vec<String> {
    let mut docs = vec![format!(" Enqueues `{}` on the launch's stream.", unraw(&kernel.name))];
    docs.push(String::new());
    docs.push(" # Errors".to_owned());
    if !kernel.requires.is_empty() {
        let conditions: Vec<_> =
            kernel.requires.iter().map(|condition| format!("`{}`", text(condition))).collect();
        docs.push(format!(" One of these does not hold: {}.", conditions.join(", ")));
    }
    docs.push(
        " The launch exceeds a limit of the device or of the kernel, or the driver refuses it.".to_owned(),
    );
    docs
}

/// The documentation of facts that the declaration states and the signature does not.
fn source_docs(kernel: &Kernel) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(instance) = &kernel.instance {
        facts.push(format!("`{}` in the source.", instance.instance.text));
    }
    for parameter in &kernel.parameters {
        if parameter.reads.is_some() {
            let name = unraw(&parameter.name);
            facts.push(format!(
                "`{name}` is not a `const` pointer in the source, but the kernel only reads it."
            ));
        }
        if let Some(symbol) = &parameter.symbol {
            facts.push(format!("`{}` is the source's variable `{}`.", unraw(&parameter.name), symbol.name));
        }
    }
    if let Some(cluster) = &kernel.cluster {
        let [x, y, z] = cluster.blocks;
        facts.push(format!("Launched in clusters of {x} x {y} x {z} blocks."));
    }
    if kernel.cooperative.is_some() {
        facts.push("A cooperative launch: all blocks are on the device at once.".to_owned());
    }
    if facts.is_empty() { facts } else { vec![String::new(), format!(" {}", facts.join(" "))] }
}
