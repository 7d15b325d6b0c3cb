//! Reads kernels and variables from PTX.

use super::image::{Image, ImageKernel, ImageParameter, ImageVariable};
use super::lexer::{Token, tokens};
use super::sequence::{after_group, at_commas};

/// Reads a PTX module, and leaves out what it does not understand.
pub(crate) fn read(text: &str) -> Image {
    let tokens = tokens(text, 0);
    let mut image = Image::default();
    let mut rest = &tokens[..];
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if first.is('{') {
            rest = after_group(&tokens[tokens.len() - tail.len() - 1..], '{', '}');
        } else if first.is_word("entry") {
            rest = entry(tail, &mut image);
        } else if first.is_word("func") {
            // Its parameters are not variables.
            let end = tail.iter().position(|token| token.is('{') || token.is(';')).unwrap_or(tail.len());
            rest = &tail[end..];
        } else if first.is_word("global") || first.is_word("const") {
            let end = tail.iter().position(|token| token.is(';')).unwrap_or(tail.len());
            image.variables.extend(variable(&tail[..end]));
            rest = &tail[end..];
        }
    }
    image
}

/// Reads what follows `.entry`.
fn entry<'a>(tokens: &'a [Token], image: &mut Image) -> &'a [Token] {
    let Some((name, mut rest)) = tokens.split_first() else { return &[] };
    let Some(word) = name.word() else { return rest };
    let mut parameters = Vec::new();
    if rest.first().is_some_and(|token| token.is('(')) {
        let after = after_group(rest, '(', ')');
        let inside = &rest[1..(rest.len() - after.len()).saturating_sub(1).max(1)];
        parameters = at_commas(inside).into_iter().filter(|tokens| !tokens.is_empty()).collect();
        rest = after;
    }
    let end = rest.iter().position(|token| token.is('{') || token.is(';')).unwrap_or(rest.len());
    let (directives, rest) = rest.split_at(end);
    let threads = ["maxntid", "reqntid"].iter().find_map(|name| dims(directives, name));
    let product = |dims: [u32; 3]| dims.iter().try_fold(1_u32, |product, &dim| product.checked_mul(dim));
    image.kernels.push(ImageKernel {
        name: word.to_owned(),
        line: Some(name.line),
        parameters: parameters.into_iter().map(parameter).collect(),
        max_threads_per_block: threads.and_then(product).filter(|&threads| threads > 0),
        cluster: dims(directives, "reqnctapercluster"),
    });
    rest
}

/// `.param .align 8 .b8 p[24]`
fn parameter(tokens: &[Token]) -> Option<ImageParameter> {
    let line = tokens.first().map(|token| token.line);
    Some(ImageParameter { size: size(tokens)?, line })
}

/// `.align 4 .b8 weights[100] = { … }`
fn variable(tokens: &[Token]) -> Option<ImageVariable> {
    let end = tokens.iter().position(|token| token.is('=')).unwrap_or(tokens.len());
    let tokens = &tokens[..end];
    let behind = tokens.iter().position(|token| token.is('[')).unwrap_or(tokens.len());
    let name = tokens[..behind].last()?;
    Some(ImageVariable { name: name.word()?.to_owned(), size: size(tokens), line: Some(name.line) })
}

/// The bytes of what is declared.
fn size(tokens: &[Token]) -> Option<u64> {
    let element = tokens.windows(2).find_map(|pair| match pair {
        [dot, word] if dot.is('.') => width(word.word()?),
        _ => None,
    })?;
    let mut size = element;
    let mut rest = tokens;
    while let Some(at) = rest.iter().position(|token| token.is('[')) {
        size = size.checked_mul(rest.get(at + 1)?.word()?.parse().ok()?)?;
        rest = &rest[at + 2..];
    }
    Some(size)
}

/// The bytes of `u64`, `f32`, `b8`.
fn width(word: &str) -> Option<u64> {
    let bits = word.strip_prefix(['b', 'u', 's', 'f'])?;
    ["8", "16", "32", "64", "128"].contains(&bits).then(|| bits.parse::<u64>().ok().map(|bits| bits / 8))?
}

/// Up to three numbers behind a directive.
fn dims(tokens: &[Token], directive: &str) -> Option<[u32; 3]> {
    let at = tokens.iter().position(|token| token.is_word(directive))?;
    let mut dims = [1; 3];
    for (dim, tokens) in dims.iter_mut().zip(tokens[at + 1..].chunks(2)) {
        *dim = tokens[0].word()?.parse().ok()?;
        if !tokens.get(1).is_some_and(|token| token.is(',')) {
            break;
        }
    }
    Some(dims)
}

/// Whether a text is PTX: its first directive is `.version`.
pub(super) fn is_ptx(text: &str) -> bool {
    let first = tokens(&text[..floor(text, 4096)], 0);
    matches!(&first[..], [dot, version, ..] if dot.is('.') && version.is_word("version"))
}

/// The last boundary of a character up to `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}
