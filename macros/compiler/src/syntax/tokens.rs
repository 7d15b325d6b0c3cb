//! What all parsers share: errors that say what was expected, names, expressions, and where the next line begins.

use proc_macro2::{Delimiter, Ident, Spacing, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, Token};

use crate::diagnostics::Diagnostics;

/// A syntax error that says what should be at the next token, and what is.
pub(super) fn expected(input: ParseStream<'_>, what: &str) -> syn::Error {
    let text = match input.cursor().token_tree() {
        Some((TokenTree::Group(group), _)) => match group.delimiter() {
            Delimiter::Parenthesis => format!("expected {what}, found `(`"),
            Delimiter::Brace => format!("expected {what}, found `{{`"),
            Delimiter::Bracket => format!("expected {what}, found `[`"),
            Delimiter::None => format!("expected {what}, found `{}`", group.stream()),
        },
        Some((TokenTree::Punct(first), mut rest)) => {
            // An operator whole.
            let (mut found, mut spacing) = (first.to_string(), first.spacing());
            while let (Spacing::Joint, Some((TokenTree::Punct(next), after))) = (spacing, rest.token_tree()) {
                found.push(next.as_char());
                (spacing, rest) = (next.spacing(), after);
            }
            format!("expected {what}, found `{found}`")
        }
        Some((token, _)) => format!("expected {what}, found `{token}`"),
        None => format!("expected {what}, found the end"),
    };
    syn::Error::new(input.span(), text)
}

/// Names what ends where an error says that it found the end. The innermost name stays.
pub(super) fn at_end_of(whole: &str, error: syn::Error) -> syn::Error {
    const FOUND: &str = "found the end";
    let text = error.to_string();
    match text.split_once(FOUND) {
        Some((before, after)) if !after.starts_with(" of ") => {
            syn::Error::new(error.span(), format!("{before}{FOUND} of {whole}{after}"))
        }
        _ => error,
    }
}

/// An error with the edit that mends it.
pub(super) fn helped(error: &syn::Error, help: &str) -> syn::Error {
    syn::Error::new(error.span(), format!("{error}\nhelp: {help}"))
}

/// A name that the user gives to something.
pub(super) fn name(input: ParseStream<'_>, what: &str) -> syn::Result<Ident> {
    let error = expected(input, what);
    input.parse().map_err(|_| match input.call(Ident::parse_any) {
        Ok(keyword) if keyword != "_" => {
            let raw = ["self", "Self", "super", "crate"].iter().all(|word| keyword != word);
            let help = if keyword == "mut" && input.peek(Ident::peek_any) {
                "remove `mut`".to_owned()
            } else if raw {
                format!("write `r#{keyword}`, or choose another name")
            } else {
                "choose another name".to_owned()
            };
            let text = format!("expected {what}, found the keyword `{keyword}`\nhelp: {help}");
            syn::Error::new(keyword.span(), text)
        }
        _ => error,
    })
}

/// The `;` after a declaration or an operation in `whole`. Where it is missing but `begins_next`, what
/// follows is read all the same.
pub(super) fn semicolon(
    input: ParseStream<'_>,
    whole: &str,
    begins_next: impl FnOnce(ParseStream<'_>) -> bool,
    diagnostics: &mut Diagnostics,
) -> syn::Result<()> {
    if input.peek(Token![;]) {
        return input.parse::<Token![;]>().map(drop);
    }
    let error = at_end_of(whole, expected(input, "`;`"));
    if input.is_empty() || begins_next(input) {
        diagnostics.syntax(error);
        return Ok(());
    }
    Err(error)
}

/// Skips to after the next `;`, or after the next `{ … }` that no `;` follows: where the next line begins.
pub(super) fn recover(input: ParseStream<'_>) {
    while let Ok(token) = input.parse::<TokenTree>() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                // A `;` after the group belongs to it; it may be missing.
                let _ = input.parse::<Option<Token![;]>>();
                return;
            }
            _ => {}
        }
    }
}

/// An expression; where there is none, `what` should be there.
pub(super) fn expression(input: ParseStream<'_>, what: &str) -> syn::Result<Expr> {
    if input.is_empty() || input.peek(Token![;]) || input.peek(Token![,]) {
        return Err(expected(input, what));
    }
    input.parse().map(crate::groups::kept)
}

/// Whether this word comes next.
pub(super) fn is_word(input: ParseStream<'_>, word: &str) -> bool {
    input.fork().call(Ident::parse_any).is_ok_and(|next| next == word)
}
