//! Stages and their operations.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{ExprPath, Token};

use super::{
    Copy, Fill, Item, Operation, Record, Wait, WaitOf, expected, expression, launch, name, recover, semicolon,
};
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
                let kernel = fork.parse::<ExprPath>().ok();
                let kernel =
                    kernel.filter(|kernel| fork.peek(Token![<]) && launch::keyword(kernel).is_none());
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
    } else if is_followed_by_name(input, "fill") {
        let keyword = input.call(Ident::parse_any)?;
        let buffer = name(input, "the name of a device buffer")?;
        input.parse::<Token![=]>().map_err(|_| expected(input, "`=`"))?;
        let value = expression(input, "the value of every element")?;
        Operation::Fill(Box::new(Fill { keyword, buffer, value }))
    } else if is_followed_by_name(input, "record") {
        let keyword = input.call(Ident::parse_any)?;
        Operation::Record(Record { keyword, event: name(input, "the name of an event")? })
    } else if is_followed_by_name(input, "wait") {
        let keyword = input.call(Ident::parse_any)?;
        let event = name(input, "the name of an event")?;
        Operation::Wait(Wait { keyword, event, of: wait_of(input)? })
    } else {
        Operation::Launch(Box::new(launch::parse(input)?))
    };
    semicolon(input, is_copy, diagnostics)?;
    Ok(operation)
}

/// `@ previous`, `@ reuse` or nothing
fn wait_of(input: ParseStream<'_>) -> syn::Result<WaitOf> {
    if input.parse::<Option<Token![@]>>()?.is_none() {
        return Ok(WaitOf::This);
    }
    let at = expected(input, "`previous` or `reuse`");
    match input.parse::<Ident>() {
        Ok(word) if word == "previous" => Ok(WaitOf::Previous),
        Ok(word) if word == "reuse" => Ok(WaitOf::Reuse),
        _ => Err(at),
    }
}

/// `fill name`, `record name` or `wait name`: kernels may be called so too, but then a `<` or `:` follows.
fn is_followed_by_name(input: ParseStream<'_>, keyword: &str) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == keyword) && fork.peek(Ident::peek_any)
}

/// `copy name …`: a kernel may be called `copy` too, but then a `<` or `:` follows.
fn is_copy(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == "copy")
        && !fork.peek(Token![<])
        && !fork.peek(Token![::])
}
