//! Names that plain text mentions where a macro or a declaration may give them a meaning.

use std::collections::BTreeSet;

use super::lexer::Token;
use super::sequence::after_group;

/// `MAKE(float, add)`, where `MAKE` makes a kernel.
#[derive(Debug)]
pub(crate) struct Made {
    /// The macro.
    pub(crate) by: String,
    /// The words that it is given.
    pub(crate) words: Vec<String>,
    pub(crate) file: usize,
    pub(crate) line: usize,
}

/// Calls of macros that make kernels.
pub(super) fn made(tokens: &[Token], makers: &BTreeSet<String>) -> Vec<Made> {
    let mut found = Vec::new();
    let mut rest = tokens;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let Some(by) = first.word().filter(|word| makers.contains(*word)) else { continue };
        if tail.first().is_some_and(|next| next.is('(')) {
            rest = after_group(tail, '(', ')');
            let given = &tail[..tail.len() - rest.len()];
            let words = given.iter().filter_map(Token::word).map(str::to_owned).collect();
            found.push(Made { by: by.to_owned(), words, file: first.file, line: first.line });
        }
    }
    found
}

/// The names that follow `struct` and its like, stand in a `typedef` or a `using`, or in the parentheses of a
/// macro.
pub(super) fn mentioned(tokens: &[Token]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |tokens: &[Token]| found.extend(tokens.iter().filter_map(Token::word).map(str::to_owned));
    let mut rest = tokens;
    let mut last = None;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let before = last.replace(first);
        let Some(word) = first.word() else { continue };
        match word {
            "struct" | "class" | "union" | "enum" | "typename" => {
                let ends = [';', '{', ',', '>', ')', '*', '=', ':'];
                while let Some((first, tail)) = rest.split_first()
                    && !ends.iter().any(|&mark| first.is(mark))
                {
                    add(&rest[..1]);
                    // `alignas(16)`
                    rest = if first.is('(') { after_group(rest, '(', ')') } else { tail };
                }
            }
            "typedef" | "using" => {
                let mut depth = 0_usize;
                let end = tail.iter().position(|token| {
                    depth += usize::from(token.is('{'));
                    depth = depth.saturating_sub(usize::from(token.is('}')));
                    depth == 0 && token.is(';')
                });
                let (inside, behind) = tail.split_at(end.unwrap_or(tail.len()));
                // The members of a struct do not count.
                let open = inside.iter().position(|token| token.is('{')).unwrap_or(inside.len());
                let close = inside.iter().rposition(|token| token.is('}')).unwrap_or(inside.len());
                add(&inside[..open]);
                add(&inside[close..]);
                rest = behind;
            }
            // A function's name may be written so, too.
            _ if word.len() > 1 && !word.contains(char::is_lowercase) => {
                let is_function = before.is_some_and(|before| before.is_word("void"));
                if !is_function && tail.first().is_some_and(|next| next.is('(')) {
                    rest = after_group(tail, '(', ')');
                    add(&tail[..tail.len() - rest.len()]);
                }
            }
            _ => {}
        }
    }
    found
}
