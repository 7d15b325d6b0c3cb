//! Writes a user's tokens as the user would.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Ident;

/// The tokens in the usual spacing: `n as usize <= x.len()`, `&mut [f32]`.
pub(crate) fn text(tokens: &impl ToTokens) -> String {
    let mut writer = Writer { text: String::new(), last: Last::Tight, generics: 0, in_closure: false };
    writer.stream(tokens.to_token_stream());
    writer.text
}

/// A name as C++ writes it, without `r#`.
pub(crate) fn unraw(name: &Ident) -> String {
    let name = name.to_token_stream().to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}

const OPERATORS: &[&str] = &[
    "::", "..", "..=", "->", "=>", "<=", ">=", "==", "!=", "&&", "||", "<<", ">>", "+=", "-=", "*=", "/=",
    "%=", "^=", "&=", "|=",
];

struct Writer {
    text: String,
    last: Last,
    /// How many `<` of a type are open.
    generics: usize,
    /// Whether the first `|` of a closure is open.
    in_closure: bool,
}

/// The kind of the last token.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// A token that nothing follows at a distance: an opening bracket, `.`, `::`, a prefix.
    Tight,
    /// A name, a number or a closing bracket, after which an operator is binary and a bracket a call or an
    /// index.
    Operand,
    /// A name that may begin a type with generics.
    TypeName,
    /// A keyword, an operator or a comma.
    Operator,
}

impl Writer {
    fn stream(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let first = match token {
                TokenTree::Group(group) => {
                    self.group(group.delimiter(), group.stream());
                    continue;
                }
                TokenTree::Ident(ident) => {
                    self.word(&ident.to_string());
                    continue;
                }
                TokenTree::Literal(literal) => {
                    self.word(&literal.to_string());
                    continue;
                }
                TokenTree::Punct(punct) => punct,
            };
            let mut run = first.as_char().to_string();
            if let ("'", Some(TokenTree::Ident(name))) = (run.as_str(), tokens.peek()) {
                let lifetime = format!("'{name}");
                tokens.next();
                self.word(&lifetime);
                self.last = Last::Operator;
                continue;
            }
            let mut spacing = first.spacing();
            while let (Spacing::Joint, Some(TokenTree::Punct(next))) = (spacing, tokens.peek()) {
                run.push(next.as_char());
                if !OPERATORS.contains(&run.as_str()) || self.is_generic(&run[..1]) {
                    run.pop();
                    break;
                }
                spacing = next.spacing();
                tokens.next();
            }
            self.punctuation(&run);
        }
    }

    fn is_generic(&self, run: &str) -> bool {
        match run {
            "<" => self.last == Last::TypeName || self.text.ends_with("::"),
            ">" => self.generics > 0,
            _ => false,
        }
    }

    fn space(&mut self) {
        if self.last != Last::Tight {
            self.text.push(' ');
        }
    }

    fn word(&mut self, word: &str) {
        self.space();
        self.text.push_str(word);
        let is_type = word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
        self.last = match word {
            "as" | "mut" | "const" | "return" | "in" | "if" | "else" | "match" | "dyn" | "impl" => {
                Last::Operator
            }
            _ if is_type => Last::TypeName,
            _ => Last::Operand,
        };
    }

    fn group(&mut self, delimiter: Delimiter, inside: TokenStream) {
        let (open, close) = match delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{ ", " }"),
            Delimiter::None => return self.stream(inside),
        };
        if delimiter == Delimiter::Brace || self.last == Last::Operator {
            self.space();
        }
        self.text.push_str(open);
        self.last = Last::Tight;
        self.stream(inside);
        self.text.push_str(close);
        self.last = Last::Operand;
    }

    fn punctuation(&mut self, run: &str) {
        let after_operand = matches!(self.last, Last::Operand | Last::TypeName);
        let (space_before, last) = match run {
            "." | "::" | ".." | "..=" => (self.last == Last::Operator, Last::Tight),
            "," | ";" | ":" => (false, Last::Operator),
            "?" => (false, Last::Operand),
            "<" if self.is_generic(run) => {
                self.generics += 1;
                (false, Last::Tight)
            }
            ">" if self.generics > 0 => {
                self.generics -= 1;
                (false, Last::Operand)
            }
            "|" if self.in_closure || !after_operand => {
                self.in_closure = !self.in_closure;
                if self.in_closure { (true, Last::Tight) } else { (false, Last::Operator) }
            }
            "!" if after_operand => (false, Last::Operand),
            "&" | "*" | "-" | "!" | "&&" if !after_operand => (true, Last::Tight),
            _ => (true, Last::Operator),
        };
        if space_before {
            self.space();
        }
        self.text.push_str(run);
        self.last = last;
    }
}
