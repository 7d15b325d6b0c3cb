//! What kernels say, as tokens.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::visit::Visit;
use syn::{Block, Item, Pat};

/// Whether a value is made without references and closures: only by methods of which that is known.
pub(super) fn holds_no_reference(tokens: TokenStream) -> bool {
    let tokens: Vec<_> = tokens.into_iter().collect();
    tokens.iter().enumerate().all(|(place, token)| match token {
        TokenTree::Punct(mark) => !matches!(mark.as_char(), '&' | '|'),
        TokenTree::Ident(name) => {
            let is_part = matches!(
                place.checked_sub(1).map(|before| &tokens[before]),
                Some(TokenTree::Punct(dot)) if dot.as_char() == '.'
            );
            // Arguments make `get` give a reference.
            match tokens.get(place + 1) {
                Some(TokenTree::Group(arguments))
                    if is_part && arguments.delimiter() == Delimiter::Parenthesis =>
                {
                    let known = ["rank", "index", "get", "len", "threads", "blocks"];
                    arguments.stream().is_empty() && known.iter().any(|known| name == known)
                }
                _ => name != "ref",
            }
        }
        // `(&*y).len()`
        TokenTree::Group(group) if referred(group.stream()).is_some() => {
            matches!(&tokens[place + 1..], [TokenTree::Punct(_), TokenTree::Ident(method), ..] if method == "len")
        }
        TokenTree::Group(group) => holds_no_reference(group.stream()),
        TokenTree::Literal(_) => true,
    })
}

/// The name in `&*y`, which the macro writes for what has a method by its type and not by that of a reference.
pub(super) fn referred(tokens: TokenStream) -> Option<Ident> {
    match &tokens.into_iter().collect::<Vec<_>>()[..] {
        [TokenTree::Punct(and), TokenTree::Punct(star), TokenTree::Ident(name)]
            if and.as_char() == '&' && star.as_char() == '*' =>
        {
            Some(name.clone())
        }
        _ => None,
    }
}

/// Whether `x[i]`, `x.get(i)` or `x.get_mut(i)` is in there: with `elements` for `x`, and the loop's pattern
/// for `i`.
pub(super) fn is_indexed(tokens: TokenStream, elements: &Ident, pattern: &Pat) -> bool {
    let Pat::Ident(index) = pattern else { return false };
    let is_index = |group: &proc_macro2::Group| {
        let inside: Vec<_> = group.stream().into_iter().collect();
        matches!(&inside[..], [TokenTree::Ident(name)] if *name == index.ident)
    };
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is_here = tokens.iter().enumerate().any(|(place, token)| match (token, &tokens[place + 1..]) {
        (TokenTree::Ident(name), [TokenTree::Group(group), ..])
            if name == elements && group.delimiter() == Delimiter::Bracket =>
        {
            is_index(group)
        }
        (
            TokenTree::Ident(name),
            [TokenTree::Punct(_), TokenTree::Ident(get), TokenTree::Group(group), ..],
        ) if name == elements && (get == "get" || get == "get_mut") => is_index(group),
        _ => false,
    });
    is_here
        || tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => is_indexed(group.stream(), elements, pattern),
            _ => false,
        })
}

/// Whether a function's body has items, such as constants and imports, in whatever block.
pub(super) fn has_items(block: &Block) -> bool {
    struct Found(bool);
    impl<'a> Visit<'a> for Found {
        fn visit_item(&mut self, _: &'a Item) {
            self.0 = true;
        }
    }
    let mut found = Found(false);
    found.visit_block(block);
    found.0
}

/// The words of some code, also within macros.
#[derive(Default)]
pub(super) struct Words {
    pub(super) names: Vec<String>,
    /// Whether there are labels, lifetimes or `?`.
    pub(super) has_marks: bool,
}

impl Words {
    pub(super) fn of(tokens: TokenStream) -> Self {
        let mut words = Self::default();
        words.add(tokens);
        words
    }

    fn add(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(name) => self.names.push(name.unraw().to_string()),
                TokenTree::Punct(mark) => self.has_marks |= matches!(mark.as_char(), '\'' | '?'),
                TokenTree::Group(group) => self.add(group.stream()),
                TokenTree::Literal(_) => {}
            }
        }
    }
}
