//! The errors and warnings in an expansion of the macros.

use std::ops::Range;

use proc_macro2::{Span, TokenStream, TokenTree};

use crate::page::{self, without_page};

/// An error or a warning.
pub struct Said {
    /// The text without its last line, which names the page.
    pub text: String,
    /// Where it begins.
    pub span: Span,
    /// From its first token to its last, if both have a place in the source.
    pub bytes: Option<Range<usize>>,
}

/// All `compile_error!`s, wherever they are.
pub fn errors(tokens: TokenStream) -> Vec<Said> {
    let mut found = Vec::new();
    let mut begin = None;
    for token in tokens {
        match token {
            TokenTree::Group(group) => match begin.take() {
                Some(span) => {
                    let text: syn::LitStr = syn::parse2(group.stream()).expect("an error has a text");
                    let bytes = joined(span, text.span());
                    found.push(Said { text: without_page(&text.value()).to_owned(), span, bytes });
                }
                None => found.extend(errors(group.stream())),
            },
            TokenTree::Ident(word) => begin = (word == "compile_error").then(|| word.span()),
            TokenTree::Punct(punct) if punct.as_char() == '!' => {}
            _ => begin = None,
        }
    }
    found
}

fn joined(first: Span, last: Span) -> Option<Range<usize>> {
    let (first, last) = (first.byte_range(), last.byte_range());
    (!first.is_empty() && !last.is_empty()).then_some(first.start..last.end)
}

/// The code of an error, `TW` and four digits.
pub fn code(text: &str) -> &str {
    page::code(text)
}

/// A code, the fact in lower case, then notes and helps; no full stop, no exclamation.
pub fn in_style(error: &str) {
    let fact = error.strip_prefix("[TW").and_then(|rest| rest.split_once("]: "));
    let (code, fact) = fact.unwrap_or_else(|| panic!("no code: {error}"));
    assert!(code.len() == 4 && code.chars().all(|digit| digit.is_ascii_digit()), "{error}");
    assert!(!fact.starts_with(char::is_uppercase), "{error}");
    for (index, line) in fact.lines().enumerate() {
        assert!(!line.is_empty() && !line.ends_with(['.', '!', ' ']), "{error}");
        assert!(index == 0 || line.starts_with("note: ") || line.starts_with("help: "), "{error}");
    }
}

/// The warnings, each a constant named after its code, and where they are.
pub fn warnings(tokens: TokenStream) -> Vec<(String, Span)> {
    let mut found = Vec::new();
    let mut after_const = false;
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            found.extend(warnings(group.stream()));
        }
        let TokenTree::Ident(word) = token else {
            after_const = false;
            continue;
        };
        if after_const && is_code(&word.to_string()) {
            found.push((word.to_string(), word.span()));
        }
        after_const = word == "const";
    }
    found
}

fn is_code(word: &str) -> bool {
    word.strip_prefix("TW").is_some_and(|digits| digits.len() == 4 && digits.parse::<u16>().is_ok())
}
