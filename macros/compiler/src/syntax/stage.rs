//! Stages and their operations.

use proc_macro2::Ident;
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::ParseStream;

use super::{Copy, Item, Operation, expected, launch, recover};
use crate::diagnostics::Diagnostics;

/// `name [on stream] { … }`, after the keyword.
pub(super) fn parse(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Item> {
    let name: Ident = input.parse().map_err(|error| expected(error, "the stage's name"))?;
    let mut stream = None;
    if input.peek(Ident::peek_any) {
        let on = input.call(Ident::parse_any)?;
        if on != "on" {
            return Err(syn::Error::new(on.span(), format!("expected `on` or `{{`, found `{on}`")));
        }
        stream = Some(input.parse().map_err(|error| expected(error, "the name of a stream"))?);
    }
    if !input.peek(syn::token::Brace) {
        return Err(input.error("expected `{` and the stage's operations"));
    }
    let body;
    syn::braced!(body in input);
    let mut operations = Vec::new();
    while !body.is_empty() {
        match operation(&body) {
            Ok(operation) => operations.push(operation),
            Err(error) => {
                diagnostics.syntax(error);
                recover(&body);
            }
        }
    }
    Ok(Item::Stage { name, stream, operations })
}

fn operation(input: ParseStream<'_>) -> syn::Result<Operation> {
    let operation = if is_copy(input) {
        let keyword = input.call(Ident::parse_any)?;
        let from = input.parse().map_err(|error| expected(error, "the name of what to copy"))?;
        input.parse::<Token![->]>().map_err(|error| expected(error, "`->`"))?;
        let to = input.parse().map_err(|error| expected(error, "the name of where to copy it"))?;
        Operation::Copy(Copy { keyword, from, to })
    } else {
        Operation::Launch(Box::new(launch::parse(input)?))
    };
    input.parse::<Token![;]>().map_err(|error| expected(error, "`;`"))?;
    Ok(operation)
}

/// `copy name …`: a kernel may be called `copy` too, but then a `<` or `:` follows.
fn is_copy(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == "copy")
        && !fork.peek(Token![<])
        && !fork.peek(Token![::])
}
