//! `kernel<<<grid, block, shared, stream>>>(args)`.
//!
//! Rust has no chevron token. Only one-character tokens are read, whether or not they are joined: inside a
//! `macro_rules` fragment `<<<` arrives as three lone `<`. The closing chevron is the last three of a run of
//! at least three `>` that a parenthesised group and the end of the operation follow, so that shifts and
//! generic arguments may come before it.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprPath, Token, token};

use super::{Argument, Launch, at_end_of, expected, helped};
use crate::groups::kept;

pub(super) fn parse(input: ParseStream<'_>) -> syn::Result<Launch> {
    let kernel = path(input, "an operation")?;
    if let Some(last) = keyword(&kernel) {
        let text = format!("expected the name of a kernel, found the keyword `{last}`");
        return Err(syn::Error::new(last.span(), text));
    }
    if !(input.peek(Token![<]) && input.peek2(Token![<]) && input.peek3(Token![<])) {
        return Err(expected(input, "`<<<grid, block[, shared[, stream]]>>>`"));
    }
    let at = input.span();
    for _ in 0..3 {
        input.parse::<Token![<]>()?;
    }
    let (config, group) = split_chevrons(input, at)?;
    let config = within(config, Punctuated::<Expr, Token![,]>::parse_terminated)?;
    let args = within(group, arguments)?;
    Ok(Launch { unsafety: None, kernel, config: config.into_iter().map(kept).collect(), args })
}

/// The path of a kernel or function. It is parsed as an expression, so that generic arguments come by turbofish
/// only and `kernel<<<` is not taken for them. An expression may have attributes, and a path may not.
pub(super) fn path(input: ParseStream<'_>, what: &str) -> syn::Result<ExprPath> {
    let start = expected(input, what);
    if input.peek(Token![#]) {
        return Err(helped(&start, "remove the attribute; a comment begins with `//`"));
    }
    input.parse().map_err(|_| start)
}

/// The arguments between the parentheses.
pub(super) fn arguments(input: ParseStream<'_>) -> syn::Result<Vec<Argument>> {
    let args = Punctuated::<Argument, Token![,]>::parse_terminated_with(input, argument)?;
    Ok(args.into_iter().collect())
}

/// Parses what a group holds. A token missing at its end is reported where the group closes, not at the
/// macro's call.
fn within<T>(group: Group, parse: impl FnOnce(ParseStream<'_>) -> syn::Result<T>) -> syn::Result<T> {
    let parser = |input: ParseStream<'_>| {
        let content;
        syn::parenthesized!(content in input);
        parse(&content)
    };
    parser.parse2(TokenTree::from(group).into()).map_err(|error| at_end_of("the launch's values", error))
}

/// The keyword that a path ends with, which names no kernel.
pub(super) fn keyword(kernel: &ExprPath) -> Option<&Ident> {
    let last = &kernel.path.segments.last()?.ident;
    ["Self", "self", "super", "crate"].iter().any(|word| last == word).then_some(last)
}

/// The tokens up to `>>>`, as a group that is closed there, and the parenthesised group after it.
fn split_chevrons(input: ParseStream<'_>, open: Span) -> syn::Result<(Group, Group)> {
    input.step(|cursor| {
        let mut rest = *cursor;
        let mut inner: Vec<TokenTree> = Vec::new();
        let mut closing = 0;
        let mut goes_on = None;
        while let Some((token, next)) = rest.token_tree() {
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => break,
                TokenTree::Punct(punct) if punct.as_char() == '>' => closing += 1,
                TokenTree::Group(group) if closing >= 3 && group.delimiter() == Delimiter::Parenthesis => {
                    if ends_operation(next.token_tree().map(|(token, _)| token)) {
                        let chevrons = inner.split_off(inner.len() - 3);
                        let mut config = Group::new(Delimiter::Parenthesis, inner.into_iter().collect());
                        config.set_span(chevrons[0].span());
                        return Ok(((config, group.clone()), next));
                    }
                    // In no expression does a name follow on a call, so that this is the launch's end.
                    if let Some((TokenTree::Ident(name), _)) = next.token_tree()
                        && name != "as"
                    {
                        let text = format!("expected `;`, found `{name}`\nhelp: write `;` after the launch");
                        return Err(syn::Error::new(name.span(), text));
                    }
                    goes_on = goes_on.or_else(|| next.token_tree().and_then(|(token, _)| result_of(&token)));
                    closing = 0;
                }
                _ => closing = 0,
            }
            inner.push(token);
            rest = next;
        }
        if let Some(error) = goes_on {
            return Err(error);
        }
        Err(syn::Error::new(
            open,
            "these chevrons are not closed\nhelp: write `>>>(…);` after the last value",
        ))
    })
}

/// The error for a `?` or `.` behind a launch.
fn result_of(token: &TokenTree) -> Option<syn::Error> {
    let TokenTree::Punct(punct) = token else { return None };
    let mark = Some(punct.as_char()).filter(|mark| matches!(mark, '?' | '.'))?;
    let text =
        format!("expected `;`, found `{mark}`\nhelp: a launch returns nothing: `run` returns its errors");
    Some(syn::Error::new(punct.span(), text))
}

fn ends_operation(next: Option<TokenTree>) -> bool {
    match next {
        None => true,
        Some(TokenTree::Punct(punct)) => punct.as_char() == ';',
        Some(_) => false,
    }
}

/// `&name`, `&mut name`, `out name`, the latter two perhaps with a shape, or any expression.
fn argument(input: ParseStream<'_>) -> syn::Result<Argument> {
    let fork = input.fork();
    if let Ok(argument) = buffer(&fork)
        && (fork.is_empty() || fork.peek(Token![,]))
    {
        return buffer(input).map(|_| argument);
    }
    if input.peek(Token![,]) {
        return Err(expected(input, "an argument"));
    }
    if input.peek(Token![mut])
        && let Some((name, _)) = input.cursor().token_tree().and_then(|(_, next)| next.ident())
    {
        return Err(helped(&expected(input, "an argument"), &format!("write `&mut {name}`")));
    }
    wrong_shape(input)?;
    no_reference_of_out(input)?;
    input.parse().map(|expr| Argument::Scalar(kept(expr)))
}

/// The error of `&out dy`.
fn no_reference_of_out(input: ParseStream<'_>) -> syn::Result<()> {
    let fork = input.fork();
    let (Ok(and), Ok(_)) = (fork.parse::<Token![&]>(), fork.parse::<Option<Token![mut]>>()) else {
        return Ok(());
    };
    match (fork.parse::<Ident>(), fork.parse::<Ident>()) {
        (Ok(out), Ok(name)) if out == "out" => {
            let error = syn::Error::new(and.span, "`out` stands without `&`");
            Err(helped(&error, &format!("write `out {name}`")))
        }
        _ => Ok(()),
    }
}

/// The error of a shape that is in the wrong place, or is none. To syn `as` begins a cast.
fn wrong_shape(input: ParseStream<'_>) -> syn::Result<()> {
    let fork = input.fork();
    let is_read = fork.parse::<Token![&]>().is_ok() && !fork.peek(Token![mut]);
    if is_read && fork.parse::<Ident>().is_ok() && fork.peek(Token![as]) && fork.peek2(token::Bracket) {
        let text = "a buffer that is read has no shape";
        return Err(helped(&syn::Error::new(fork.span(), text), "remove it"));
    }
    let fork = input.fork();
    let Ok(out) = fork.parse::<Ident>() else { return Ok(()) };
    if out == "out" && fork.parse::<Ident>().is_ok() && fork.peek(Token![as]) && !fork.peek2(token::Bracket) {
        fork.parse::<Token![as]>()?;
        return Err(helped(&expected(&fork, "a shape"), "write `as [rows, columns]`"));
    }
    Ok(())
}

fn buffer(input: ParseStream<'_>) -> syn::Result<Argument> {
    if input.peek(Token![&]) {
        let and = input.parse()?;
        let mutable = input.parse::<Option<Token![mut]>>()?.is_some();
        let name = input.parse()?;
        return match mutable {
            true => shaped(input, Argument::ReadWrite { and, name }),
            false => Ok(Argument::Read { and, name }),
        };
    }
    let out: Ident = input.parse()?;
    let name = input.parse()?;
    if out == "out" { shaped(input, Argument::Out { out, name }) } else { Err(input.error("expected `out`")) }
}

/// The shape behind a buffer that is written, if there is one.
fn shaped(input: ParseStream<'_>, buffer: Argument) -> syn::Result<Argument> {
    if !input.peek(Token![as]) {
        return Ok(buffer);
    }
    Ok(Argument::Shaped { buffer: Box::new(buffer), keyword: input.parse()?, shape: input.parse()? })
}
