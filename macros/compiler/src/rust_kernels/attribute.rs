//! The arguments of `#[kernel]` and `#[device]`, and the other attributes of the function.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Ident, ItemFn, Lit, LitInt, Meta, Path, Token, Type};

use super::errors::{Errors, error};
use super::instances::{Parameter, Values};
use super::ir::Unroll;
use super::role::Role;
use super::types::Number;
use crate::diagnostics::similar;
use crate::text::text;

/// `threads = 256, fast, crate = thalweg`
#[derive(Default)]
pub(super) struct Arguments {
    /// The threads of each block, if all launches have as many.
    pub(super) threads: Option<u32>,
    /// Products and sums may be fused, and division and square roots be approximate.
    pub(super) fast: bool,
    pub(super) krate: Option<Path>,
    /// The parameters for which the kernel or function has a type or a number each time.
    pub(super) parameters: Vec<Parameter>,
}

/// Reads the attribute's arguments.
pub(super) fn parse(attr: TokenStream, role: Role, errors: &mut Errors) -> Arguments {
    let mut arguments = Arguments::default();
    let parser = |input: ParseStream<'_>| {
        while !input.is_empty() {
            argument(input, role, &mut arguments, errors)?;
            if !input.is_empty() && input.parse::<Token![,]>().is_err() {
                let help = "write a comma between the arguments";
                return Err(wrong(input.span(), role, "a comma is missing before this", help));
            }
        }
        Ok(())
    };
    if let Err(found) = parser.parse2(attr) {
        errors.push(found);
    }
    arguments
}

fn argument(
    input: ParseStream<'_>,
    role: Role,
    arguments: &mut Arguments,
    errors: &mut Errors,
) -> syn::Result<()> {
    let at = input.span();
    if input.peek(Token![crate]) {
        input.parse::<Token![crate]>()?;
        let path = input.parse::<Token![=]>().and_then(|_| input.parse());
        let what = "`crate` needs a path";
        arguments.krate =
            Some(path.map_err(|found| wrong(found.span(), role, what, "write `crate = ::thalweg`"))?);
        return Ok(());
    }
    if input.peek2(Token![in]) {
        arguments.parameters.push(parameter(input, role, errors)?);
        return Ok(());
    }
    let names: &[&str] = if role == Role::Kernel { &["threads", "fast"] } else { &[] };
    let Ok(name) = input.parse::<Ident>() else {
        let (what, help) = match input.peek(syn::LitStr) {
            true => (
                format!("`#[{}]` takes no file", role.attribute()),
                "declare kernels of a CUDA C++ file with `#[kernels(\"…\")]`, and remove it here",
            ),
            false => ("this is no argument".to_owned(), "remove it"),
        };
        return Err(wrong(at, role, &what, help));
    };
    let text = name.to_string();
    if !names.contains(&text.as_str()) {
        let help = match similar(&text, names.iter().copied()) {
            Some(meant) => format!("write `{meant}`"),
            None => "remove it".to_owned(),
        };
        return Err(wrong(name.span(), role, &format!("unknown argument `{name}`"), &help));
    }
    if text == "fast" {
        if input.peek(Token![=]) {
            return Err(wrong(input.span(), role, "`fast` has no value", "write `fast` alone, or remove it"));
        }
        arguments.fast = true;
        return Ok(());
    }
    if arguments.threads.is_some() {
        return Err(wrong(name.span(), role, "`threads` stands twice", "remove one of them"));
    }
    let what = "`threads` needs a number";
    let threads = input.parse::<Token![=]>().and_then(|_| input.parse::<LitInt>());
    let threads = threads.map_err(|found| wrong(found.span(), role, what, "write `threads = 256`"))?;
    match threads.base10_parse::<u32>() {
        Ok(count @ 1..=1024) => arguments.threads = Some(count),
        _ => {
            let what = format!("a block cannot have {threads} threads");
            return Err(wrong(threads.span(), role, &what, "write 1 to 1024"));
        }
    }
    Ok(())
}

/// `T in [f32, f64]`, or `N in [3, 5]`. What cannot be is left out, so that the kernel is read for the rest.
fn parameter(input: ParseStream<'_>, role: Role, errors: &mut Errors) -> syn::Result<Parameter> {
    let name: Ident = input.parse()?;
    input.parse::<Token![in]>()?;
    let mut report = |at: proc_macro2::Span, what: &str, help: &str| errors.push(wrong(at, role, what, help));
    let list = |input: ParseStream<'_>| {
        let content;
        syn::bracketed!(content in input);
        Punctuated::<Listed, Token![,]>::parse_terminated(&content)
    };
    let whole = match role {
        Role::Kernel => {
            "write the types or the numbers for which there is a kernel: `T in [f32, f64]`, `N in [3, 5]`"
        }
        Role::Device => "write the types that the function is for: `T in [f32, f64]`",
    };
    let (mut types, mut numbers): (Vec<Type>, Vec<u64>) = (Vec::new(), Vec::new());
    match list(input) {
        Ok(listed) if listed.is_empty() => {
            report(name.span(), &format!("`{name}` stands for nothing"), whole);
        }
        Ok(listed) => {
            let is_number = matches!(listed.first(), Some(Listed::Number(_)));
            for one in listed {
                match one {
                    Listed::Type(ty) => {
                        let said = text(&ty);
                        if is_number || Number::named(&said).is_none() {
                            let what = format!("`{name}` cannot be `{said}`");
                            let help = match is_number {
                                true => "write numbers alone, such as `3` and `5`",
                                false => "write types of numbers, such as `f32` and `u64`",
                            };
                            report(ty.span(), &what, help);
                        } else if types.iter().any(|before| text(before) == said) {
                            report(ty.span(), &format!("`{said}` stands twice"), "remove one of them");
                        } else {
                            types.push(*ty);
                        }
                    }
                    Listed::Number(literal) => match literal.base10_parse::<u64>() {
                        Ok(number) if numbers.contains(&number) => {
                            report(
                                literal.span(),
                                &format!("`{literal}` stands twice"),
                                "remove one of them",
                            );
                        }
                        Ok(number) if is_number && matches!(literal.suffix(), "" | "usize") => {
                            numbers.push(number);
                        }
                        _ => {
                            let what = format!("`{name}` cannot be `{literal}`");
                            let help = match is_number {
                                true => "write numbers of the type `usize`, such as `3` and `5`",
                                false => "write types alone, such as `f32` and `u64`",
                            };
                            report(literal.span(), &what, help);
                        }
                    },
                }
            }
        }
        Err(found) => {
            report(found.span(), "this is no list of types or numbers", whole);
            while !input.is_empty() && !input.peek(Token![,]) {
                input.parse::<proc_macro2::TokenTree>()?;
            }
        }
    }
    if types.is_empty() && numbers.is_empty() {
        types.push(syn::parse_quote!(f32));
    }
    let values = match numbers.is_empty() {
        true => Values::Types(types.iter().map(Type::to_token_stream).collect()),
        false => Values::Numbers(numbers),
    };
    Ok(Parameter { name, values })
}

/// A type or a number between the brackets.
enum Listed {
    Type(Box<Type>),
    Number(LitInt),
}

impl Parse for Listed {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitInt) {
            input.parse().map(Self::Number)
        } else {
            input.parse().map(Box::new).map(Self::Type)
        }
    }
}

fn wrong(at: proc_macro2::Span, role: Role, what: &str, help: &str) -> syn::Error {
    let takes = match role {
        Role::Kernel => "`threads = 256`, `fast`, `T in [f32, f64]`, `N in [3, 5]` and `crate = …`",
        Role::Device => "`T in [f32, f64]` and `crate = …`",
    };
    let notes = [format!("`#[{}]` takes {takes}", role.attribute())];
    error(Ident::new("_at", at), "TW0910", what, &notes, Some(help.to_owned()))
}

/// Reports attributes that a function or its parts cannot have, and takes those off that would be a second
/// error.
pub(super) fn others(function: &mut ItemFn, role: Role, errors: &mut Errors) {
    let name = function.sig.ident.clone();
    function.attrs.retain(|attribute| {
        let last = attribute.path().segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let what = match (last.as_str(), role) {
            ("kernel", Role::Kernel) | ("device", Role::Device) => format!("`{name}` has `#[{last}]` twice"),
            ("kernel" | "device", _) => format!("`{name}` has both `#[kernel]` and `#[device]`"),
            _ => return true,
        };
        let notes =
            ["pipelines launch what has `#[kernel]`, and kernels call what has `#[device]`".to_owned()];
        errors.push(error(attribute, "TW0910", &what, &notes, Some("remove one of them".to_owned())));
        false
    });
    let requires: Vec<_> =
        function.attrs.iter().filter(|attribute| attribute.path().is_ident("requires")).collect();
    requires.into_iter().for_each(|attribute| requirement(attribute, &name, role, errors));
    let mut inside = Inside(errors, "function");
    inside.visit_signature(&function.sig);
    inside.visit_block(&function.block);
}

/// Reports a kernel that is generic beside the list of what it is for, and makes it none.
pub(super) fn no_generics(function: &mut ItemFn, arguments: &Arguments, errors: &mut Errors) {
    let generics = &function.sig.generics;
    if arguments.parameters.is_empty() || generics.params.is_empty() {
        return;
    }
    let what =
        format!("kernel `{}` has generic parameters beside those of `#[kernel(…)]`", function.sig.ident);
    let help = format!("remove them here: `fn {}(…)`", function.sig.ident);
    errors.push(error(generics, "TW0907", &what, &[], Some(help)));
    function.sig.generics = syn::Generics::default();
}

/// The conditions of `#[requires(…)]` that can be read.
pub(super) fn conditions(function: &ItemFn) -> Vec<Expr> {
    let requires = function.attrs.iter().filter(|attribute| attribute.path().is_ident("requires"));
    requires.filter_map(|attribute| attribute.parse_args().ok()).collect()
}

fn requirement(attribute: &Attribute, name: &Ident, role: Role, errors: &mut Errors) {
    let mut report = |at: TokenStream, what: &str, note: &str, help: &str| {
        errors.push(error(at, "TW0910", what, &[note.to_owned()], Some(help.to_owned())));
    };
    let path = attribute.path().to_token_stream();
    if role == Role::Device {
        let what = format!("`{name}` is no kernel, and nothing checks what it requires");
        let help = "put it on the kernels that call the function, or write `assert!`";
        return report(path, &what, "conditions are checked at each launch", help);
    }
    let condition = match &attribute.meta {
        Meta::List(list) => syn::parse2::<Expr>(list.tokens.clone()),
        _ => Err(syn::Error::new_spanned(&path, "there is none")),
    };
    match condition {
        Ok(Expr::Lit(ExprLit { lit: lit @ Lit::Str(_), .. })) => report(
            lit.to_token_stream(),
            "`#[requires]` needs a condition, and this is a text",
            "it is Rust, of the kernel's parameters",
            "write it without the quotes",
        ),
        Ok(_) => {}
        Err(found) => report(
            path,
            "`#[requires]` needs a condition",
            &found.to_string(),
            "write one, such as `#[requires(x.len() == y.len())]`",
        ),
    }
}

/// Reports `#[cfg]` within a function or a struct, as it is called: rustc would leave out of it what the C++ has. Also
/// `#[unroll]` anywhere but on a `for`.
pub(super) struct Inside<'e>(pub(super) &'e mut Errors, pub(super) &'static str);

impl<'ast> Visit<'ast> for Inside<'_> {
    fn visit_expr_for_loop(&mut self, of: &'ast syn::ExprForLoop) {
        for attribute in &of.attrs {
            match attribute.path().is_ident("unroll") {
                true if unrolled(attribute).is_none() => {
                    let what = "`#[unroll]` has no number of turns".to_owned();
                    let help = "write `#[unroll]` for all turns, or `#[unroll(4)]` for 1 to 256 at a time";
                    self.0.push(error(attribute, "TW0910", &what, &[], Some(help.to_owned())));
                }
                true => {}
                false => self.visit_attribute(attribute),
            }
        }
        self.visit_pat(&of.pat);
        self.visit_expr(&of.expr);
        self.visit_block(&of.body);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let path = attribute.path();
        if path.is_ident("unroll") {
            let notes = ["the turns of a `for` are written out one after another".to_owned()];
            let help = Some("put it on a `for`, or remove it".to_owned());
            self.0.push(error(attribute, "TW0910", "`#[unroll]` is on no `for`", &notes, help));
        }
        if path.is_ident("cfg") || path.is_ident("cfg_attr") {
            let name = path.to_token_stream();
            let what = format!("`#[{name}]` inside of a {} is not in the language of kernels", self.1);
            let notes = ["the macro does not know which conditions hold".to_owned()];
            let help = format!("put it on the whole {}, and write one for each case", self.1);
            self.0.push(error(path, "TW0901", &what, &notes, Some(help)));
        }
        visit::visit_attribute(self, attribute);
    }
}

/// What `#[unroll]` or `#[unroll(4)]` says; `None` if it cannot be read.
pub(super) fn unrolled(attribute: &Attribute) -> Option<Unroll> {
    match &attribute.meta {
        Meta::Path(_) => Some(Unroll::Whole),
        Meta::List(list) => {
            let turns = syn::parse2::<LitInt>(list.tokens.clone()).ok()?.base10_parse().ok()?;
            (1..=256).contains(&turns).then_some(Unroll::By(turns))
        }
        Meta::NameValue(_) => None,
    }
}
