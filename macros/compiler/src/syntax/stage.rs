//! Stages and their operations.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{ExprPath, Token};

use super::{Copy, Item, Operation, expected, launch, name, recover, semicolon};
use crate::diagnostics::Diagnostics;

/// `name [on stream] { … }`, after the keyword.
pub(super) fn parse(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Item> {
    let stage_name = name(input, "the stage's name")?;
    let mut stream = None;
    if input.peek(Ident::peek_any) {
        let at = expected(input, "`on` or `{`");
        if input.call(Ident::parse_any)? != "on" {
            return Err(at);
        }
        stream = Some(name(input, "the name of a stream")?);
    }
    if !input.peek(syn::token::Brace) {
        return Err(expected(input, "`{` and the stage's operations"));
    }
    let body;
    syn::braced!(body in input);
    let (mut operations, mut unread) = (Vec::new(), Vec::new());
    while !body.is_empty() {
        let fork = body.fork();
        match operation(&body, diagnostics) {
            Ok(operation) => operations.push(operation),
            Err(error) => {
                diagnostics.syntax(error);
                let kernel = fork.parse::<ExprPath>().ok().filter(|_| fork.peek(Token![<]));
                unread.extend(kernel);
                recover(&body);
            }
        }
    }
    Ok(Item::Stage { name: stage_name, stream, operations, unread })
}

fn operation(input: ParseStream<'_>, diagnostics: &mut Diagnostics) -> syn::Result<Operation> {
    let operation = if is_copy(input) {
        let keyword = input.call(Ident::parse_any)?;
        let from = name(input, "the name of what to copy")?;
        input.parse::<Token![->]>().map_err(|_| expected(input, "`->`"))?;
        let to = name(input, "the name of where to copy it")?;
        Operation::Copy(Copy { keyword, from, to })
    } else {
        Operation::Launch(Box::new(launch::parse(input)?))
    };
    semicolon(input, is_copy, diagnostics)?;
    Ok(operation)
}

/// `copy name …`: a kernel may be called `copy` too, but then a `<` or `:` follows.
fn is_copy(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == "copy")
        && !fork.peek(Token![<])
        && !fork.peek(Token![::])
}
