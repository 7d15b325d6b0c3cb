//! Phase 1, parse: tokens -> [`Pipeline`], the declarations as they are written.

mod ast;
mod collective;
mod declaration;
mod launch;
mod stage;
mod tokens;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Expr, Generics, Path, Token, Type, Visibility};

pub use ast::*;

use crate::diagnostics::{Diagnostics, similar};
use tokens::{at_end_of, expected, expression, helped, is_word, name, recover, semicolon};

/// Parses a whole `stream_pipeline! { … }`. Errors go to `diagnostics`; what could be read comes back all the
/// same.
pub fn parse(input: TokenStream, diagnostics: &mut Diagnostics) -> Option<Pipeline> {
    let mut pipeline = None;
    let mut parser = |input: ParseStream<'_>| {
        let runtime = parse_runtime(input, diagnostics)?;
        let attrs = input.call(Attribute::parse_outer)?;
        let vis: Visibility = input.parse()?;
        let name = header(input, diagnostics)?;
        let mut generics: Generics = generics(input)?;
        let mut items = Vec::new();
        if input.peek(Token![where]) {
            generics.where_clause = Some(input.parse()?);
        }
        if input.peek(syn::token::Brace) {
            let body;
            syn::braced!(body in input);
            items = declaration::parse_all(&body, diagnostics);
            if !input.is_empty() {
                diagnostics.syntax(expected(input, "nothing after the pipeline"));
            }
        } else {
            let error = expected(input, "`{` and the pipeline's declarations");
            diagnostics.syntax(at_end_of("the macro's input", error));
        }
        input.parse::<TokenStream>()?;
        pipeline = Some(Pipeline { runtime, attrs, vis, name, generics, items });
        Ok(())
    };
    // A token missing at the end is reported after the last token, not at the macro's call.
    let last = input.clone().into_iter().last().map_or_else(Span::call_site, |token| token.span());
    let mut whole = Group::new(Delimiter::Brace, input);
    whole.set_span(last);
    let parser = |input: ParseStream<'_>| {
        let content;
        syn::braced!(content in input);
        parser(&content)
    };
    if let Err(error) = parser.parse2(TokenTree::from(whole).into()) {
        let error = at_end_of("the macro's input", error);
        // syn also reports what is left in a group after an error in it: the same problem again.
        if pipeline.is_none() || !diagnostics.has_errors() {
            diagnostics.syntax(error);
        }
    }
    pipeline
}

/// `pipeline Name`: gives the name, if there is one, whatever stands before it.
fn header(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Ident> {
    let form = "`pipeline Name { … }`";
    let is_named = |input: ParseStream<'_>| input.peek(Ident::peek_any) && input.peek2(Ident::peek_any);
    if !input.peek(Ident::peek_any) {
        return Err(expected(input, form));
    }
    let word = input.fork().call(Ident::parse_any)?.to_string();
    if word == "pipeline" {
        input.call(Ident::parse_any)?;
        return name(input, "the pipeline's name");
    }
    let mut error = expected(input, form);
    if similar(&word, ["pipeline"]).is_some() {
        error = helped(&error, "a similar keyword exists: `pipeline`");
    }
    diagnostics.syntax(error);
    if is_named(input) {
        input.call(Ident::parse_any)?;
    }
    input.parse()
}

/// `<T: Pod, const K: usize>`
fn generics(input: ParseStream<'_>) -> syn::Result<Generics> {
    let generics: Generics = input.parse()?;
    if let Some(lifetime) = generics.lifetimes().next() {
        let text = "a pipeline has no lifetime parameters\nhelp: `run` takes borrowed data as arguments";
        return Err(syn::Error::new_spanned(lifetime, text));
    }
    Ok(generics)
}

/// `#![crate = path]`
fn parse_runtime(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Option<Path>> {
    if !(input.peek(Token![#]) && input.peek2(Token![!]) && input.peek3(syn::token::Bracket)) {
        return Ok(None);
    }
    input.parse::<Token![#]>()?;
    input.parse::<Token![!]>()?;
    let attribute;
    syn::bracketed!(attribute in input);
    let path = |attribute: ParseStream<'_>| {
        if !attribute.peek(Token![crate]) {
            return Err(expected(attribute, "`crate = path`, the only attribute with `!`"));
        }
        attribute.parse::<Token![crate]>()?;
        attribute.parse::<Token![=]>().map_err(|_| expected(attribute, "`=`"))?;
        let path = attribute
            .call(Path::parse_mod_style)
            .map_err(|_| expected(attribute, "the path of the `thalweg` crate"))?;
        if attribute.is_empty() { Ok(path) } else { Err(expected(attribute, "`]`")) }
    };
    let path = path(&attribute).map_err(|error| at_end_of("the attribute", error));
    path.map(Some).or_else(|error| {
        diagnostics.syntax(error);
        Ok(None)
    })
}

/// The words that may stand before the brackets of an argument's shape.
const MEMORY: [&str; 3] = ["pinned", "mapped", "device"];

impl Shape {
    /// Parses `[T]` or `[T; k]`; `is_given` says that data of this shape are an argument of `run`.
    fn parse(input: ParseStream<'_>, is_given: bool) -> syn::Result<Self> {
        if !input.peek(syn::token::Bracket) {
            let mut error = expected(input, "`[T]` or `[T; k]`");
            let fork = input.fork();
            if let Ok(word) = fork.parse::<Ident>()
                && fork.peek(syn::token::Bracket)
            {
                let word = word.to_string();
                let help = if MEMORY.contains(&word.as_str()) {
                    format!("only an `input`, `output` or `inout` can be `{word}`")
                } else if let Some(meant) = similar(&word, MEMORY) {
                    format!("a similar keyword exists: `{meant}`")
                } else {
                    "`pinned`, `mapped` or `device` may stand before the brackets".to_owned()
                };
                error = helped(&error, &help);
            } else if let Ok(element) = input.fork().parse::<Type>() {
                let element = innermost(&element).to_token_stream();
                let takes = if is_given { "; `run` takes slices, `Vec`s and `PinnedBuf`s of it" } else { "" };
                error = helped(&error, &format!("write `[{element}]`{takes}"));
            }
            return Err(error);
        }
        let content;
        syn::bracketed!(content in input);
        let element = content.parse()?;
        let per_item = if content.is_empty() {
            None
        } else {
            content.parse::<Token![;]>().map_err(|_| expected(&content, "`]` or `; k]`"))?;
            let number = expression(&content, "the number of elements an item");
            Some(number.map_err(|error| at_end_of("the brackets", error))?)
        };
        if !content.is_empty() {
            return Err(expected(&content, "`]`"));
        }
        Ok(Self { element, per_item, per_chunk: None, halo: None })
    }
}

/// `per chunk`, after a shape.
fn per_chunk(input: ParseStream<'_>) -> syn::Result<Option<TokenStream>> {
    if !is_word(input, "per") {
        return Ok(None);
    }
    let per: Ident = input.parse()?;
    let at = expected(input, "`chunk`");
    match input.parse::<Ident>() {
        Ok(chunk) if chunk == "chunk" => {
            let mut tokens = per.into_token_stream();
            chunk.to_tokens(&mut tokens);
            Ok(Some(tokens))
        }
        _ => Err(at),
    }
}

/// `halo items = edge`, after a shape.
fn halo(input: ParseStream<'_>) -> syn::Result<Option<Halo>> {
    if !is_word(input, "halo") {
        return Ok(None);
    }
    let keyword: Ident = input.parse()?;
    let form = "`= clamp`, `= zero` or `= wrap`";
    // `2 = clamp` is an assignment to Rust's grammar.
    let (items, edge) = match expression(input, "the items on each side")? {
        Expr::Assign(assign) => (assign.left, assign.right),
        _ => return Err(expected(input, form)),
    };
    let edge = match &*edge {
        Expr::Path(path) if path.path.is_ident("clamp") => Edge::Clamp,
        Expr::Path(path) if path.path.is_ident("zero") => Edge::Zero,
        Expr::Path(path) if path.path.is_ident("wrap") => Edge::Wrap,
        other => {
            let found = other.to_token_stream();
            return Err(syn::Error::new_spanned(
                other,
                format!("expected `clamp`, `zero` or `wrap`, found `{found}`"),
            ));
        }
    };
    Ok(Some(Halo { keyword, items, edge }))
}

/// The elements of a container: `f32` of `Vec<f32>`, `&[f32]` or `f32`.
fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::Reference(reference) => innermost(&reference.elem),
        Type::Slice(slice) => innermost(&slice.elem),
        Type::Path(path) => {
            let arguments = path.path.segments.last().map(|segment| &segment.arguments);
            match arguments {
                Some(syn::PathArguments::AngleBracketed(angle)) if angle.args.len() == 1 => {
                    match &angle.args[0] {
                        syn::GenericArgument::Type(element) => innermost(element),
                        _ => ty,
                    }
                }
                _ => ty,
            }
        }
        _ => ty,
    }
}

impl Parse for Size {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let fork = input.fork();
        if fork.parse::<Ident>().is_ok_and(|ident| ident == "auto") && fork.peek(Token![;]) {
            input.parse::<Ident>()?;
            return Ok(Self::Auto);
        }
        expression(input, "`auto` or an expression").map(|expr| Self::Given(Box::new(expr)))
    }
}
