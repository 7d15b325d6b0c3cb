//! Writes the Rust beside a function: a kernel's type, and the source that is joined when a program runs.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Attribute, ItemFn, Safety, Token};

use super::attribute::{self, Arguments};
use super::definition::{self, generics};
use super::device::{self, Calls};
use super::divided;
use super::emit::Text;
use super::instances::Instance;
use super::ir::{Function, LocalId};
use super::numbers;
use super::parts::{conditions, definitions, named, raw, type_beside, type_name, without_ours};
use super::replays;
use super::role::Role;
use super::rounds;
use super::several;
use super::shared_memory;
use super::signature::{ParameterKind, Signature};
use super::twin;
use crate::codegen::{is_primitive, launches, many_arguments, mentions};
use crate::text::{text, unraw};

/// The function, and what stands beside it. `texts` are those of a debug and of a release build, and `checks` what rustc
/// is asked to check.
#[allow(clippy::too_many_arguments, reason = "each is another part of the function")]
pub(super) fn function(
    role: Role,
    arguments: &Arguments,
    item: &ItemFn,
    instance: &Instance,
    signature: &Signature,
    body: &Function,
    texts: &[Text; 2],
    checks: &TokenStream,
) -> TokenStream {
    let generator =
        Generator { private: launches::private(arguments.krate.as_ref()), arguments, item, instance };
    let source = generator.source(role, body, texts);
    let beside = match role {
        Role::Device => {
            let beside = match instance.is_the_only_one() {
                true => generator.device(body, &source),
                false => several::instance(arguments, item, instance, &source),
            };
            let checks = numbers::item(&generator.conditions(), checks);
            quote!(#beside #checks)
        }
        Role::Kernel => generator.kernel(signature, body, &source, &numbers::item(&[], checks)),
    };
    let mut function = without_ours(item);
    if !function.attrs.iter().any(|attribute| attribute.path().is_ident("inline")) {
        // The host calls it in a loop, which may be compiled apart.
        function.attrs.push(syn::parse_quote!(#[inline]));
    }
    let many = many_arguments(item.sig.inputs.len());
    if instance.is_the_only_one() {
        return quote!(#many #function #beside);
    }
    // Each instance has a function of the kernel's name.
    function.vis = syn::Visibility::Inherited;
    let conditions = generator.conditions();
    quote_spanned! {Span::mixed_site()=>
        #(#conditions)*
        const _: () = {
            #many
            #[allow(dead_code, reason = "not every instance is launched")]
            #[allow(
                arithmetic_overflow,
                unconditional_panic,
                clippy::unnecessary_cast,
                clippy::useless_conversion,
                clippy::identity_op,
                clippy::erasing_op,
                clippy::absurd_extreme_comparisons,
                clippy::reversed_empty_ranges,
                unused_comparisons,
                reason = "another type or number may need what this one does not"
            )]
            #function
            #beside
        };
    }
}

pub(super) struct Generator<'a> {
    pub(super) private: TokenStream,
    arguments: &'a Arguments,
    pub(super) item: &'a ItemFn,
    instance: &'a Instance,
}

impl Generator<'_> {
    fn conditions(&self) -> Vec<&Attribute> {
        conditions(self.item)
    }

    fn source(&self, role: Role, body: &Function, texts: &[Text; 2]) -> TokenStream {
        let private = &self.private;
        let at = Span::mixed_site();
        let name = role.in_cpp(self.item, self.instance);
        let (constants, types) = (definitions(private, &body.constants), named(private, &body.named));
        let callees = body.callees.iter().map(|(path, name)| {
            let ty = type_beside(path);
            quote_spanned!(at=> (#name, &|| <#ty as #private::DeviceFunction>::SOURCE))
        });
        let [debug, release] = texts.each_ref().map(|text| {
            let whole: String = text.lines.iter().map(|line| format!("{}\n", line.text)).collect();
            let lines = text.lines.iter().flat_map(|line| {
                // A lambda's lines follow each other.
                let count = line.text.lines().count().max(1);
                (0..count).map(|index| if index == 0 { line.line } else { 0 })
            });
            let lines = lines.map(Literal::usize_unsuffixed);
            let text = raw(&whole);
            quote_spanned!(at=> #private::RustText { text: #text, lines: &[#(#lines),*] })
        });
        quote_spanned! {at=>
            #private::RustSource {
                name: #name,
                file: ::core::file!(),
                text: if ::core::cfg!(debug_assertions) { #debug } else { #release },
                constants: &[#(#constants),*],
                types: &[#(#types),*],
                callees: &[#(#callees),*],
                layout: ::core::option::Option::None,
            }
        }
    }

    fn device(&self, body: &Function, source: &TokenStream) -> TokenStream {
        let (private, name) = (&self.private, type_name(self.item));
        let conditions = self.conditions();
        let callees = body.callees.iter().map(|(path, _)| path.clone()).collect();
        let calls = Calls { callees, is_ordered: body.is_ordered };
        let definition = device::definition(private, self.item, &calls);
        let by_type = device::by_type(self.item);
        quote_spanned! {Span::mixed_site()=>
            #definition

            #(#conditions)*
            impl #private::DeviceFunction for #name {
                const SOURCE: &'static #private::RustSource = &#source;
            }

            #(#conditions)*
            impl #private::ForOneType for #name {}

            #by_type
        }
    }

    fn kernel(
        &self,
        signature: &Signature,
        body: &Function,
        source: &TokenStream,
        checks: &TokenStream,
    ) -> TokenStream {
        let (private, name) = (&self.private, type_name(self.item));
        let at = Span::mixed_site();
        let conditions = self.conditions();
        let plain = self.instance.named(&unraw(&self.item.sig.ident));
        let generics = generics(self.instance.arguments().into_iter());
        let of = quote_spanned!(at=> #name #generics);
        let made = definition::made(self.arguments);
        let parameters = signature.parameters.iter().filter(|of| !of.kind.is_position());
        let parameters: Vec<_> = parameters.collect();
        let dimensions = Literal::usize_unsuffixed(signature.dimensions);
        // The trait of a launch's arguments: those of several dimensions have a shape.
        let is_shaped = signature.dimensions > 1;
        let argument = |kind: &ParameterKind| {
            let name = match (kind, is_shaped) {
                (ParameterKind::Out(_), false) => "OutArg",
                (ParameterKind::Out(_), true) => "ShapedOutArg",
                (_, false) => "OwnArg",
                (_, true) => "ShapedOwnArg",
            };
            Ident::new(name, at)
        };
        let taken = parameters.iter().map(|parameter| {
            let (name, ty) = (&parameter.name, &parameter.kind);
            match ty {
                ParameterKind::Slice(element) => {
                    quote_spanned!(at=> #name: impl #private::ReadArg<#element>)
                }
                ParameterKind::Atomics(element) => {
                    quote_spanned!(at=> #name: impl #private::AtomicArg<#element>)
                }
                ParameterKind::Own(element) | ParameterKind::Out(element) => {
                    let generics = if is_shaped { quote!(#element, #dimensions) } else { quote!(#element) };
                    let argument = argument(ty);
                    quote_spanned!(at=> #name: impl #private::#argument<#generics>)
                }
                ParameterKind::Value(ty) => quote_spanned!(at=> #name: #ty),
                ParameterKind::Index(_) | ParameterKind::Block(_) => TokenStream::new(),
            }
        });
        let is_own = |kind: &ParameterKind| matches!(kind, ParameterKind::Own(_) | ParameterKind::Out(_));
        let views = parameters.iter().enumerate().filter_map(|(position, parameter)| {
            let name = &parameter.name;
            let lender = launches::lender(position);
            let lent = quote_spanned!(at=> let (#name, #lender));
            if let ParameterKind::Atomics(_) = &parameter.kind {
                return Some(quote_spanned!(at=> #lent = #private::AtomicArg::lend(#name).parts();));
            }
            let (argument, element) = match &parameter.kind {
                ParameterKind::Slice(element) => (Ident::new("ReadArg", at), element),
                kind @ (ParameterKind::Own(element) | ParameterKind::Out(element)) => {
                    (argument(kind), element)
                }
                _ => return None,
            };
            let whole = launches::whole(&plain, name, element);
            Some(quote_spanned!(at=> #lent = #private::#argument::lend(#name).parts(); #whole))
        });
        let requires = self.requires(&plain, signature);
        let owns = parameters.iter().filter(|parameter| is_own(&parameter.kind));
        // A block has any number of elements, so that only a shape can be wrong.
        let check = match (signature.is_in_blocks(), is_shaped) {
            (false, _) => Some("covers"),
            (true, true) => Some("shaped"),
            (true, false) => None,
        };
        let covers = owns.filter_map(|parameter| {
            let (name, said) = (&parameter.name, unraw(&parameter.name));
            let of = |id: &LocalId| signature.parameters[id.0].name == *name;
            let check = match check? {
                "covers" if body.unchecked.scattered.iter().any(of) => "counts",
                check => check,
            };
            let check = Ident::new(check, at);
            Some(quote_spanned!(at=> (&launch).#check(#plain, #said, &#name)?;))
        });
        let in_blocks =
            signature.is_in_blocks().then(|| quote_spanned!(at=> (&launch).in_blocks(#plain, #dimensions)?;));
        let has_threads = signature
            .threads
            .filter(|_| signature.is_in_blocks())
            .map(|threads| quote_spanned!(at=> (&launch).has_threads(#plain, #threads)?;));
        let arguments = parameters.iter().flat_map(|parameter| {
            let name = &parameter.name;
            match &parameter.kind {
                ParameterKind::Slice(_) | ParameterKind::Atomics(_) => {
                    vec![
                        quote_spanned!(at=> (&#name).argument()),
                        quote_spanned!(at=> (&#name).length_argument()),
                    ]
                }
                kind if is_own(kind) => {
                    vec![
                        quote_spanned!(at=> (&#name).argument()),
                        quote_spanned!(at=> (&#name).shape_argument()),
                    ]
                }
                _ => vec![quote_spanned!(at=> #private::argument(&#name))],
            }
        });
        let sizes = || {
            parameters.iter().flat_map(|parameter| match &parameter.kind {
                ParameterKind::Value(ty) => vec![quote_spanned!(at=> ::core::mem::size_of::<#ty>())],
                ParameterKind::Slice(_) | ParameterKind::Atomics(_) => {
                    vec![quote_spanned!(at=> 8), quote_spanned!(at=> 8)]
                }
                _ => vec![quote_spanned!(at=> 8), quote_spanned!(at=> 8 * #dimensions)],
            })
        };
        let (passed, declared) = (sizes(), sizes());
        let memory = parameters.iter().enumerate();
        let memory = memory.filter(|(_, parameter)| !matches!(parameter.kind, ParameterKind::Value(_)));
        let (lenders, accesses): (Vec<_>, Vec<_>) = memory
            .map(|(position, parameter)| {
                let name = &parameter.name;
                (launches::lender(position), quote_spanned!(at=> (&#name).access()))
            })
            .unzip();
        let unchecked = &body.unchecked;
        // The function that the host runs in place of the user's.
        let watched = unchecked.may_race().then(|| twin::watched(self.item, private, unchecked));
        let in_rounds = match watched {
            Some(_) => None,
            None => rounds::in_rounds(self.item, signature, private),
        };
        let divided = match watched {
            Some(_) => None,
            None => divided::divided(self.item, signature, private),
        };
        let host = self.host(signature, unchecked, in_rounds.as_ref(), divided.as_ref(), &accesses);
        // A kernel has an index, which may be divided, or a block, which may have rounds.
        let twin = watched.or(in_rounds.map(|of| of.twin));
        let in_rows = divided.map(|of| of.twin);
        let thread = self.thread(twin.is_some());
        let bounds = self.arguments.threads.map(|threads| quote_spanned!(at=> .launch_bounds(#threads)));
        let options: &[&str] = if self.arguments.fast { &["--use_fast_math"] } else { &["--fmad=false"] };
        // NVRTC 11 has an older language by default.
        let options = ["--std=c++17"].iter().chain(options);
        // What runs on the host in place of a kernel whose threads may race ends at the first race, which need not
        // be what a GPU has told of. So such a launch is not run again.
        let replays = !unchecked.may_race() && replays::replays(self.item, signature);
        let replays = replays.then(|| quote_spanned!(at=> .replays()));
        let axes = (!signature.is_in_blocks()).then(|| quote_spanned!(at=> .axes(#dimensions)));
        let fits = shared_memory::fits(self.item, body, &plain, private);
        let unordered = unchecked.may_race().then(|| twin::unordered(self.item, private, &body.callees));
        let launch = Ident::new("launch", name.span().resolved_at(at));
        let many = many_arguments(2 + parameters.len());
        let unsafety = self.unsafety();
        let safety = unsafety.map(|_| {
            quote_spanned! {at=>
                ///
                /// # Safety
                /// What the kernel's function asks of its callers holds for all threads of the launch.
            }
        });
        quote_spanned! {at=>
            #(#conditions)*
            impl #of {
                /// Compiles the kernel for `device` if needed.
                ///
                /// # Errors
                /// NVRTC is missing, or its release is too old for the kernel.
                pub fn load(device: &#private::Device) -> #private::Result<Self> {
                    let function = #private::Function::load(device, <Self as #private::Kernel>::INFO)?;
                    ::core::result::Result::Ok(#made)
                }

                /// Enqueues the kernel on the launch's stream.
                ///
                /// # Errors
                /// The launch exceeds a limit of the device, does not cover the elements, breaks what the kernel
                /// requires, or the driver refuses it.
                #safety
                #many
                pub #unsafety fn #launch(
                    &self,
                    launch: #private::Launch<'_>,
                    #(#taken),*
                ) -> #private::Result<()> {
                    #(#views)*
                    #requires
                    #(#covers)*
                    #in_blocks
                    #has_threads
                    #host
                    // SAFETY: the C++ of the kernel is made of its Rust, which stays within its slices, and its
                    // threads within their own elements; where `unsafe` stands in it, the user promises so.
                    unsafe {
                        launch.enqueue(
                            #private::Its::of(&self.function),
                            &mut [#(#arguments),*],
                            &[#(#passed),*],
                            (&[#(#accesses),*], &[#(#lenders),*]),
                            &[],
                            &host,
                        )
                    }
                }

                #thread
                #twin
                #in_rows
            }

            #fits
            #unordered

            #(#conditions)*
            const _: () = {
                static SOURCE: #private::RustSource = #source;
                static MODULE: #private::KernelModule =
                    #private::KernelModule::rust(&SOURCE).options(&[#(#options),*]);

                impl #private::Kernel for #of {
                    const INFO: &'static #private::KernelInfo = &#private::KernelInfo::new(#plain, &MODULE)
                        .symbol(SOURCE.name)
                        .parameters(&[#(#declared),*])
                        #axes
                        #bounds
                        #replays
                        .on_host();

                    unsafe fn from_function(function: #private::Function) -> Self {
                        #made
                    }
                }

                #[cfg(test)]
                #private::register! { <#of as #private::Kernel>::INFO }

                #checks
            };
        }
    }

    /// The conditions of `#[requires(…)]`, checked at each launch.
    fn requires(&self, plain: &str, signature: &Signature) -> TokenStream {
        let at = Span::mixed_site();
        let conditions = attribute::conditions(self.item);
        if conditions.is_empty() {
            return TokenStream::new();
        }
        let checks = conditions.iter().map(|condition| {
            let said = text(condition);
            let values = signature.parameters.iter().filter(|of| mentions(condition, &of.name));
            let values: Vec<_> = values
                .filter_map(|parameter| {
                    let name = &parameter.name;
                    let said = unraw(name);
                    match &parameter.kind {
                        ParameterKind::Index(_) | ParameterKind::Block(_) => None,
                        ParameterKind::Value(ty) => {
                            is_primitive(ty).then(|| quote_spanned!(at=> .add(#said, #name)))
                        }
                        _ => {
                            let said = format!("{said}.len()");
                            Some(quote_spanned!(at=> .add(#said, #name.len())))
                        }
                    }
                })
                .collect();
            let values = launches::values(&values);
            // A closure, so that a `return` in the condition cannot leave `launch`.
            quote_spanned!(at=> (&launch).requires((|| -> bool { #condition })(), #plain, #said, #values)?;)
        });
        let numbers = signature
            .parameters
            .iter()
            .filter(|of| matches!(&of.kind, ParameterKind::Value(ty) if is_primitive(ty)));
        let slices = signature.parameters.iter().filter(|of| {
            !matches!(of.kind, ParameterKind::Index(_) | ParameterKind::Block(_) | ParameterKind::Value(_))
        });
        let (numbers, slices) = (numbers.map(|of| &of.name).collect(), slices.map(|of| &of.name).collect());
        let asks = launches::asks(&conditions, (numbers, slices), &self.private);
        quote_spanned!(at=> #asks #(#checks)*)
    }

    /// `unsafe`, if the user's function is.
    pub(super) fn unsafety(&self) -> Option<Token![unsafe]> {
        match self.item.sig.safety {
            Safety::Unsafe(word) => Some(word),
            _ => None,
        }
    }
}
