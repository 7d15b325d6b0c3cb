//! The block of declarations, as the user wrote it.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{
    Attribute, Expr, ExprPath, FnArg, ForeignItem, ForeignItemFn, Ident, LitStr, Path, ReturnType, Safety,
    Token, Visibility,
};

use super::attributes::{self, Cluster, Instantiate};
use super::errors::{Errors, error, syntax_error};
use super::parameter::{Parameter, ParameterKind, nameless, parameter};
use crate::cuda_source::kind::Kind;
use crate::text::text;

/// `unsafe extern "CUDA" { … }`.
pub(super) struct Block {
    /// `cfg` and lint levels of the whole block; each kernel has them too.
    pub(super) attributes: Vec<Attribute>,
    pub(super) kernels: Vec<Kernel>,
}

/// One `safe fn`.
pub(super) struct Kernel {
    pub(super) docs: Vec<Attribute>,
    /// `cfg` and lint levels, for each generated item.
    pub(super) attributes: Vec<Attribute>,
    pub(super) vis: Visibility,
    pub(super) name: Ident,
    pub(super) parameters: Vec<Parameter>,
    pub(super) host: Option<ExprPath>,
    pub(super) requires: Vec<Expr>,
    pub(super) instance: Option<Instantiate>,
    pub(super) cluster: Option<Cluster>,
    /// `#[cooperative]`, where it stands.
    pub(super) cooperative: Option<Path>,
    /// Whether its declaration is free of errors.
    pub(super) sound: bool,
}

const FORM: &str = "kernels are declared `safe fn name(n: u32, x: &[f32], y: &mut [f32]);`";

/// Whether the tokens are an item that may stay as it is.
pub(super) fn is_item(tokens: &TokenStream) -> bool {
    match syn::parse2::<syn::Item>(tokens.clone()) {
        Ok(syn::Item::Verbatim(_) | syn::Item::ForeignMod(_)) | Err(_) => false,
        Ok(_) => true,
    }
}

/// Parses the block, of a source of this kind; none where the item is another one.
pub(super) fn block(item: TokenStream, kind: Kind, errors: &mut Errors) -> Option<Block> {
    let parse = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_outer)?;
        let unsafety: Option<Token![unsafe]> = input.parse()?;
        if !input.peek(Token![extern]) || input.peek2(Token![crate]) || input.peek2(Token![fn]) {
            return other_item(input, errors).map(|()| None);
        }
        let keyword: Token![extern] = input.parse()?;
        let abi: Option<LitStr> = input.parse()?;
        if !input.peek(syn::token::Brace) {
            return other_item(input, errors).map(|()| None);
        }
        if unsafety.is_none() {
            errors.push(error(
                keyword,
                "TW0408",
                "a block of kernels must be `unsafe`",
                &["nothing checks that the device code keeps to these declarations".to_owned()],
                Some("write `unsafe extern \"CUDA\"`, which promises it".to_owned()),
            ));
        }
        if abi.as_ref().is_none_or(|abi| abi.value() != "CUDA") {
            let (what, at) = match abi {
                Some(abi) => {
                    (format!("`extern {}` blocks hold no kernels", text(&abi)), abi.to_token_stream())
                }
                None => ("a block of kernels needs its ABI".to_owned(), keyword.to_token_stream()),
            };
            let help = "write `unsafe extern \"CUDA\"`".to_owned();
            errors.push(error(at, "TW0408", &what, &[], Some(help)));
        }
        let content;
        syn::braced!(content in input);
        let attributes = block_attributes(attributes, errors);
        let kernels = declarations(&content, &attributes, kind, errors)?;
        if !input.is_empty() {
            syntax_error(input.error("unexpected token after the block"), FORM, errors);
            input.parse::<TokenStream>()?;
        }
        Ok(Some(Block { attributes, kernels }))
    };
    match parse.parse2(item) {
        Ok(block) => block,
        Err(found) => {
            syntax_error(found, "write `unsafe extern \"CUDA\" { … }`", errors);
            None
        }
    }
}

fn other_item(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
    let at = input.cursor().token_tree().map(|(token, _)| token);
    errors.push(error(
        at,
        "TW0408",
        "`#[kernels]` stands on an item that is no block of kernels",
        &[],
        Some("put it on `unsafe extern \"CUDA\" { … }`".to_owned()),
    ));
    input.parse::<TokenStream>().map(drop)
}

fn block_attributes(attributes: Vec<Attribute>, errors: &mut Errors) -> Vec<Attribute> {
    let mut shared = Vec::new();
    for attribute in attributes {
        if attributes::is_shared(&attribute) {
            shared.push(attribute);
        } else if !attribute.path().is_ident("doc") {
            errors.push(attributes::unknown(&attribute, "a block of kernels takes `cfg` and lint levels"));
        }
    }
    shared
}

/// Parses the declarations; after a syntax error it goes on behind the next `;`.
fn declarations(
    content: ParseStream<'_>,
    shared: &[Attribute],
    kind: Kind,
    errors: &mut Errors,
) -> syn::Result<Vec<Kernel>> {
    let mut kernels: Vec<Kernel> = Vec::new();
    while !content.is_empty() {
        let ahead = content.fork();
        match ForeignItem::parse(&ahead) {
            Ok(item) => {
                content.advance_to(&ahead);
                let ForeignItem::Fn(item) = item else {
                    errors.push(no_kernel(&item));
                    continue;
                };
                let kernel = kernel(item, shared, kind, errors);
                match kernels.iter().find(|other| other.name == kernel.name) {
                    Some(first) => {
                        errors.push(duplicate("kernel", &kernel.name, &first.name, "remove one of them"))
                    }
                    None => kernels.push(kernel),
                }
            }
            Err(found) => {
                syntax_error(found, FORM, errors);
                while !content.is_empty() {
                    if matches!(content.parse()?, TokenTree::Punct(punct) if punct.as_char() == ';') {
                        break;
                    }
                }
            }
        }
    }
    Ok(kernels)
}

fn no_kernel(item: &ForeignItem) -> syn::Error {
    let what = "this is not a declaration of a kernel";
    error(item, "TW0410", what, &[], Some(FORM.to_owned()))
}

fn duplicate(what: &str, second: &Ident, first: &Ident, help: &str) -> syn::Error {
    let notes = [format!("first declared at line {}", first.span().start().line)];
    let message = format!("{what} `{second}` is declared twice");
    error(second, "TW0411", &message, &notes, Some(help.to_owned()))
}

fn kernel(item: ForeignItemFn, shared: &[Attribute], kind: Kind, errors: &mut Errors) -> Kernel {
    let errors_before = errors.len();
    let ForeignItemFn { attrs, vis, sig, .. } = item;
    let name = sig.ident.clone();
    let mut kernel = Kernel {
        docs: Vec::new(),
        attributes: shared.to_vec(),
        vis,
        name: name.clone(),
        parameters: Vec::new(),
        host: None,
        requires: Vec::new(),
        instance: None,
        cluster: None,
        cooperative: None,
        sound: true,
    };
    for attribute in attrs {
        attributes::of_kernel(attribute, kind, &mut kernel, errors);
    }
    signature(&sig, errors);
    let has_generics = !sig.generics.params.is_empty();
    for (at, input) in sig.inputs.into_iter().enumerate() {
        let mut parameter = match input {
            FnArg::Receiver(receiver) => {
                let what = format!("kernel `{name}` takes `self`");
                let notes = ["a kernel is a free function of the source".to_owned()];
                let help = "remove it".to_owned();
                errors.push(error(receiver, "TW0410", &what, &notes, Some(help)));
                continue;
            }
            FnArg::Typed(typed) => parameter(typed, at, &name, kind, errors),
        };
        if has_generics {
            parameter.kind = ParameterKind::Unknown;
        }
        if let Some(first) = kernel.parameters.iter().find(|other| other.name == parameter.name) {
            errors.push(duplicate("parameter", &parameter.name, &first.name, "rename one of them"));
            // Without it launches would not fit the stub, which would be a second error.
            parameter.name = nameless(at, parameter.name.span());
        }
        same_symbol(&kernel.parameters, &parameter, errors);
        kernel.parameters.push(parameter);
    }
    kernel.sound = errors.len() == errors_before;
    kernel
}

/// Two parameters may not stand for one variable: it can hold only one of them.
fn same_symbol(before: &[Parameter], parameter: &Parameter, errors: &mut Errors) {
    let Some(symbol) = &parameter.symbol else { return };
    let same = |other: &&Parameter| other.symbol.as_ref().is_some_and(|other| other.name == symbol.name);
    if let Some(first) = before.iter().find(same) {
        let what = format!("two parameters stand for the symbol `{}`", symbol.name);
        let notes = [format!("the other is `{}`", first.name)];
        let help = "name another variable of the source".to_owned();
        errors.push(error(&symbol.at, "TW0411", &what, &notes, Some(help)));
    }
}

/// Reports the parts that a kernel's signature may not have.
fn signature(sig: &syn::Signature, errors: &mut Errors) {
    let name = &sig.ident;
    let mut wrong = |at: TokenStream, what: String, note: &str, help: String| {
        errors.push(error(at, "TW0410", &what, &[note.to_owned()], Some(help)));
    };
    let remove = || "remove it".to_owned();
    for (word, at) in [
        ("const", sig.constness.map(ToTokens::into_token_stream)),
        ("async", sig.asyncness.map(ToTokens::into_token_stream)),
        ("extern", sig.abi.clone().map(ToTokens::into_token_stream)),
    ] {
        if let Some(at) = at {
            let what = format!("kernel `{name}` is declared `{word}`");
            wrong(at, what, "a kernel is a plain `safe fn`", remove());
        }
    }
    let generics = &sig.generics;
    if !generics.params.is_empty() || generics.where_clause.is_some() {
        let at = if generics.params.is_empty() {
            generics.where_clause.to_token_stream()
        } else {
            generics.to_token_stream()
        };
        let what = format!("kernel `{name}` is generic");
        let help = "declare one kernel for each type".to_owned();
        wrong(at, what, "the source has one kernel of that name", help);
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        let ty_text = text(ty);
        let what = format!("kernel `{name}` returns `{ty_text}`");
        let help = format!("write the result through a parameter, `Out<[{ty_text}]>`");
        wrong(ty.to_token_stream(), what, "`__global__` functions return nothing", help);
    }
    if let Some(variadic) = &sig.variadic {
        let what = format!("kernel `{name}` is variadic");
        let note = "a kernel has a fixed list of parameters";
        wrong(variadic.dots.to_token_stream(), what, note, remove());
    }
    if !matches!(sig.safety, Safety::Safe(_)) {
        let at = match &sig.safety {
            Safety::Unsafe(keyword) => keyword.to_token_stream(),
            _ => sig.fn_token.to_token_stream(),
        };
        errors.push(error(
            at,
            "TW0409",
            &format!("kernel `{name}` is not declared `safe`"),
            &["pipelines launch kernels from safe code".to_owned()],
            Some("write `safe fn`, and state with `#[requires(…)]` what it needs".to_owned()),
        ));
    }
}
