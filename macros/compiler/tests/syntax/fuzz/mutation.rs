//! Edits of token trees, and tokens whose places in a source are real.

use std::str::FromStr;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

use super::random::Random;

/// Stands before a brace group that stands for an invisible one, which no text has.
const INVISIBLE: &str = "an_invisible_group";

const DELIMITERS: [Delimiter; 4] =
    [Delimiter::Parenthesis, Delimiter::Brace, Delimiter::Bracket, Delimiter::None];

/// Changes a few tokens of `program`, with tokens of the others.
pub fn mutate(program: &[TokenTree], others: &[Vec<TokenTree>], random: &mut Random) -> Vec<TokenTree> {
    let mut program = program.to_vec();
    for _ in 0..*random.pick(&[1, 1, 1, 2, 3]) {
        let mut place = random.below(count(&program) + 1);
        program = at(program, &mut place, &mut |list, index| edit(list, index, others, random));
    }
    program
}

fn count(tokens: &[TokenTree]) -> usize {
    let inside = |token: &TokenTree| match token {
        TokenTree::Group(group) => 1 + count(&group.stream().into_iter().collect::<Vec<_>>()),
        _ => 1,
    };
    tokens.iter().map(inside).sum()
}

/// Applies `edit` to the list that holds the token of this number, counted down while groups are entered.
fn at(
    tokens: Vec<TokenTree>,
    place: &mut usize,
    edit: &mut dyn FnMut(Vec<TokenTree>, usize) -> Vec<TokenTree>,
) -> Vec<TokenTree> {
    for index in 0..tokens.len() {
        if *place == 0 {
            *place = usize::MAX;
            return edit(tokens, index);
        }
        *place -= 1;
        let TokenTree::Group(group) = &tokens[index] else { continue };
        let inside: Vec<_> = group.stream().into_iter().collect();
        let held = count(&inside);
        if *place < held {
            let group = Group::new(group.delimiter(), at(inside, place, edit).into_iter().collect());
            let mut tokens = tokens;
            tokens[index] = group.into();
            return tokens;
        }
        *place -= held;
    }
    tokens
}

fn is_alike(one: &TokenTree, other: &TokenTree) -> bool {
    match (one, other) {
        (TokenTree::Group(one), TokenTree::Group(other)) => one.delimiter() == other.delimiter(),
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

fn edit(
    mut tokens: Vec<TokenTree>,
    index: usize,
    others: &[Vec<TokenTree>],
    random: &mut Random,
) -> Vec<TokenTree> {
    let end = (index + 1 + random.below(4)).min(tokens.len());
    match random.below(16) {
        10.. => {
            // Another of its kind, so that the parser has less to say.
            let token = &tokens[index];
            let found = (0..8).flat_map(|_| piece(others, 1, random)).find(|other| is_alike(token, other));
            if let Some(other) = found {
                tokens[index] = other;
            }
        }
        0 => drop(tokens.drain(index..end)),
        1 => {
            let again = tokens[index..end].to_vec();
            tokens.splice(index..index, again);
        }
        2 => {
            let other = random.below(tokens.len());
            tokens.swap(index, other);
        }
        3 => drop(tokens.splice(index..index, piece(others, 8, random))),
        4 => drop(tokens.splice(index..end, piece(others, 8, random))),
        5 => drop(tokens.splice(index..=index, piece(others, 1, random))),
        6 | 7 => {
            let inside = tokens[index..end].iter().cloned().collect();
            let group = Group::new(*random.pick(&DELIMITERS), inside);
            tokens.splice(index..end, [group.into()]);
        }
        8 => {
            if let TokenTree::Group(group) = tokens[index].clone() {
                tokens.splice(index..=index, group.stream());
            }
        }
        _ => tokens.truncate(index),
    }
    tokens
}

/// Neighbours somewhere in one of the programs, `most` at most.
fn piece(programs: &[Vec<TokenTree>], most: usize, random: &mut Random) -> Vec<TokenTree> {
    let program = random.pick::<Vec<_>>(programs);
    let mut place = random.below(count(program).max(1));
    let mut found = Vec::new();
    at(program.clone(), &mut place, &mut |list, index| {
        let end = (index + 1 + random.below(most)).min(list.len());
        found = list[index..end].to_vec();
        list
    });
    found
}

/// The same tokens read from a text, so that each has its place there; none if they do not lex so.
pub fn placed(tokens: &[TokenTree]) -> Option<(String, TokenStream)> {
    let text = visible(tokens.iter().cloned()).to_string();
    // Only the places of one source are asked for at a time.
    proc_macro2::extra::invalidate_current_thread_spans();
    let tokens = TokenStream::from_str(&text).ok()?;
    Some((text, invisible(tokens)))
}

fn visible(tokens: impl IntoIterator<Item = TokenTree>) -> TokenStream {
    let mut shown: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let TokenTree::Group(group) = token else {
            shown.push(token);
            continue;
        };
        let inside = visible(group.stream());
        let delimiter = match group.delimiter() {
            Delimiter::None => {
                shown.push(Ident::new(INVISIBLE, Span::call_site()).into());
                Delimiter::Brace
            }
            other => other,
        };
        shown.push(Group::new(delimiter, inside).into());
    }
    shown.into_iter().collect()
}

fn invisible(tokens: TokenStream) -> TokenStream {
    let mut hidden: Vec<TokenTree> = Vec::new();
    let mut marked = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if word == INVISIBLE => marked = true,
            TokenTree::Group(group) => {
                let delimiter = if marked { Delimiter::None } else { group.delimiter() };
                let mut new = Group::new(delimiter, invisible(group.stream()));
                new.set_span(group.span());
                hidden.push(new.into());
                marked = false;
            }
            other => {
                hidden.push(other);
                marked = false;
            }
        }
    }
    hidden.into_iter().collect()
}
