//! Cuts CUDA C++ into tokens: comments and directives go, strings stay as one token each.

use std::collections::BTreeMap;

/// A token of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Where it begins, from 1.
    pub(super) line: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier, a keyword or a number.
    Word(String),
    /// The inside of a string literal.
    Text(String),
    /// Any other character.
    Mark(char),
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn is(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    pub(super) fn is_text(&self, text: &str) -> bool {
        matches!(&self.kind, Kind::Text(inside) if inside == text)
    }
}

/// The tokens of a source.
///
/// There is no preprocessor: all branches of an `#if` are seen, and included files are not. Only `#define KERNEL
/// extern "C" __global__` and its like are replaced, since no kernel would be found otherwise.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer { rest: source, line: 1, at_line_start: true };
    let mut tokens = Vec::new();
    let mut linkage_macros = BTreeMap::new();
    while let Some(item) = lexer.item() {
        match item {
            Item::Token(token) => match token.word().and_then(|word| linkage_macros.get(word)) {
                Some(body) => {
                    let body: &Vec<Kind> = body;
                    let line = token.line;
                    tokens.extend(body.iter().map(|kind| Token { kind: kind.clone(), line }));
                }
                None => tokens.push(token),
            },
            Item::Directive(text) => {
                if let Some((name, body)) = linkage_macro(text) {
                    linkage_macros.insert(name, body);
                }
            }
        }
    }
    tokens
}

/// `define KERNEL extern "C" __global__`: the name and what it stands for.
fn linkage_macro(directive: &str) -> Option<(String, Vec<Kind>)> {
    let definition = directive.trim_start().strip_prefix("define")?.trim_start();
    let name = &definition[..definition.len() - definition.trim_start_matches(is_word).len()];
    let body = definition.strip_prefix(name)?;
    if name.is_empty() || body.starts_with('(') || !body.contains("__global__") {
        return None;
    }
    let body = body.replace("\\\r\n", " ").replace("\\\n", " ");
    Some((name.to_owned(), tokens(&body).into_iter().map(|token| token.kind).collect()))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

enum Item<'a> {
    Token(Token),
    Directive(&'a str),
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    at_line_start: bool,
}

impl<'a> Lexer<'a> {
    /// Takes `length` bytes, which end at a character.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Takes all before `end`, and `end`; the whole rest where there is none.
    fn take_past(&mut self, end: &str) -> &'a str {
        let length = self.rest.find(end).unwrap_or(self.rest.len());
        let taken = self.take(length);
        self.take(end.len());
        taken
    }

    fn item(&mut self) -> Option<Item<'a>> {
        loop {
            let first = self.rest.chars().next()?;
            let line = self.line;
            let at_line_start = std::mem::replace(&mut self.at_line_start, false);
            let kind = if first.is_whitespace() {
                self.at_line_start = at_line_start || first == '\n';
                self.take(first.len_utf8());
                continue;
            } else if self.rest.starts_with("//") {
                self.line_with_continuations();
                self.at_line_start = true;
                continue;
            } else if self.rest.starts_with("/*") {
                self.take(2);
                self.take_past("*/");
                self.at_line_start = at_line_start;
                continue;
            } else if first == '\\' {
                self.take(1);
                continue;
            } else if first == '#' && at_line_start {
                self.take(1);
                let directive = self.line_with_continuations();
                self.at_line_start = true;
                return Some(Item::Directive(directive));
            } else if self.rest.starts_with("R\"") {
                self.take(2);
                let delimiter = self.take_past("(");
                Kind::Text(self.take_past(&format!("){delimiter}\"")).to_owned())
            } else if first == '"' || first == '\'' {
                self.take(1);
                Kind::Text(self.quoted(first).to_owned())
            } else if first.is_ascii_digit() {
                let end = |c: char| !(is_word(c) || c == '.' || c == '\'');
                let length = self.rest.find(end).unwrap_or(self.rest.len());
                Kind::Word(self.take(length).to_owned())
            } else if is_word(first) {
                let length = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                Kind::Word(self.take(length).to_owned())
            } else {
                self.take(first.len_utf8());
                Kind::Mark(first)
            };
            return Some(Item::Token(Token { kind, line }));
        }
    }

    /// Takes the rest of the line, and the next ones while each ends in `\`.
    fn line_with_continuations(&mut self) -> &'a str {
        let start = self.rest;
        let mut length = 0;
        for line in start.split_inclusive('\n') {
            length += line.len();
            if !line.trim_end_matches(['\r', '\n']).ends_with('\\') {
                break;
            }
        }
        self.take(length)
    }

    /// Takes the inside of a literal and its closing quote; a line's end closes it too.
    fn quoted(&mut self, quote: char) -> &'a str {
        let mut escaped = false;
        let end = self.rest.find(|c| {
            let closes = !escaped && (c == quote || c == '\n');
            escaped = !escaped && c == '\\';
            closes
        });
        let inside = self.take(end.unwrap_or(self.rest.len()));
        if self.rest.starts_with(quote) {
            self.take(quote.len_utf8());
        }
        inside
    }
}
