//! The variables that a pipeline's expressions may use without a declaration: `world`, and `rank` in a `pass`.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;

/// A place where an expression names a variable.
pub struct Named {
    pub name: Ident,
    /// The field that is asked of it: `size` in `world.size`.
    pub field: Option<Ident>,
}

/// The places where tokens name a variable of this name, and no field, path, function or macro. `world` counts
/// only with a field, since nothing else of it is known.
pub fn named(tokens: &(impl ToTokens + ?Sized), name: &str) -> Vec<Named> {
    let mut found = Vec::new();
    search(tokens.to_token_stream(), name, &mut found);
    found.retain(|named| named.field.is_some() || name != "world");
    found
}

fn search(tokens: TokenStream, name: &str, found: &mut Vec<Named>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mark = |at: usize| match tokens.get(at) {
        Some(TokenTree::Punct(punct)) => Some(punct.as_char()),
        _ => None,
    };
    let is = |at: usize, wanted: char| mark(at) == Some(wanted);
    // The two points of a range come before a variable, the one of a field does not.
    let is_field = |at: usize| at > 0 && is(at - 1, '.') && !(at > 1 && is(at - 2, '.'));
    let is_path =
        |at: usize| (at > 1 && is(at - 1, ':') && is(at - 2, ':')) || (is(at + 1, ':') && is(at + 2, ':'));
    // A macro has its tokens behind the `!`; the one of `!=` has none.
    let is_called = |at: usize| match tokens.get(at + 1) {
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
        _ => is(at + 1, '!') && matches!(tokens.get(at + 2), Some(TokenTree::Group(_))),
    };
    let is_variable = |at: usize| !is_field(at) && !is_path(at) && !is_called(at);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => search(group.stream(), name, found),
            TokenTree::Ident(ident) if ident == name && is_variable(at) => {
                let field = match tokens.get(at + 2) {
                    Some(TokenTree::Ident(field)) if is(at + 1, '.') => Some(field.clone()),
                    _ => None,
                };
                found.push(Named { name: ident.clone(), field });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    use super::named;

    /// The fields of `world`, and how often `rank` is a variable.
    fn found(text: &str) -> (Vec<String>, usize) {
        let tokens: TokenStream = text.parse().expect(text);
        let fields = named(&tokens, "world").into_iter().filter_map(|named| named.field);
        (fields.map(|field| field.to_string()).collect(), named(&tokens, "rank").len())
    }

    #[test]
    fn variables_are_told_from_fields_paths_and_functions() {
        assert_eq!(found("world.size * (1 + world.rank)"), (vec!["size".to_owned(), "rank".to_owned()], 0));
        assert_eq!(found("..world.size"), (vec!["size".to_owned()], 0));
        assert_eq!(found("0..=world.size"), (vec!["size".to_owned()], 0));
        assert_eq!(found("(rank + 1) % f(rank, ..rank)"), (Vec::new(), 3));
        assert_eq!(found("rank != 0 && 0 != rank"), (Vec::new(), 2));
        for none in [
            "a.world.size",
            "world::size",
            "world()",
            "my::world.size",
            "a.rank",
            "rank::of(1)",
            "rank!(1)",
            "rank(2)",
        ] {
            assert_eq!(found(none), (Vec::new(), 0), "{none}");
        }
    }
}
