//! Cuts CUDA C++ into tokens and directives: comments go, strings stay as one token each.

use std::borrow::Cow;

/// A token of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(super) kind: Kind,
    /// Which of the unit's files it is in.
    pub(super) file: usize,
    /// Where it begins, from 1.
    pub(super) line: usize,
}

/// The kind of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier, a keyword or a number.
    Word(String),
    /// The inside of a literal in quotes.
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

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A part of a source.
pub(super) enum Item<'a> {
    Token(Token),
    /// The text after the `#`, with the lines over which a comment goes on, and the line of the `#`.
    Directive(&'a str, usize),
}

/// The text with each line that ends in `\` joined with the next, as C++ does before all else. The newlines
/// come behind the whole, so that what follows keeps its line.
pub(super) fn joined(text: &str) -> Cow<'_, str> {
    if !text.contains("\\\n") && !text.contains("\\\r\n") {
        return Cow::Borrowed(text);
    }
    let mut joined = String::with_capacity(text.len());
    let mut newlines = 0;
    for line in text.split_inclusive('\n') {
        match line.strip_suffix("\\\n").or_else(|| line.strip_suffix("\\\r\n")) {
            Some(line) => {
                joined.push_str(line);
                newlines += 1;
            }
            None => {
                joined.push_str(line);
                joined.extend(std::iter::repeat_n('\n', std::mem::take(&mut newlines)));
            }
        }
    }
    Cow::Owned(joined)
}

/// The text after white space and comments.
pub(super) fn past_blanks(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, behind)) = rest.strip_prefix("/*").and_then(|comment| comment.split_once("*/")) {
        rest = behind.trim_start();
    }
    rest
}

pub(super) struct Lexer<'a> {
    rest: &'a str,
    file: usize,
    line: usize,
    at_line_start: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str, file: usize) -> Self {
        // A byte order mark is not part of the text.
        let rest = source.strip_prefix('\u{feff}').unwrap_or(source);
        Self { rest, file, line: 1, at_line_start: true }
    }

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

    pub(super) fn item(&mut self) -> Option<Item<'a>> {
        loop {
            let first = self.rest.chars().next()?;
            let line = self.line;
            let at_line_start = std::mem::replace(&mut self.at_line_start, false);
            let kind = if first.is_whitespace() {
                self.at_line_start = at_line_start || first == '\n';
                self.take(first.len_utf8());
                continue;
            } else if self.rest.starts_with("//") {
                self.take_past("\n");
                self.at_line_start = true;
                continue;
            } else if self.rest.starts_with("/*") {
                self.take(2);
                self.take_past("*/");
                self.at_line_start = at_line_start;
                continue;
            } else if let Some(mark) =
                ["#", "%:"].iter().find(|mark| at_line_start && self.rest.starts_with(**mark))
            {
                self.take(mark.len());
                let directive = self.directive();
                self.at_line_start = true;
                return Some(Item::Directive(directive, line));
            } else if let Some(prefix) = raw_prefix(self.rest) {
                self.take(prefix.len());
                let delimiter = self.take_past("(");
                Kind::Text(self.take_past(&format!("){delimiter}\"")).to_owned())
            } else if first == '"' || first == '\'' {
                self.take(1);
                Kind::Text(self.quoted(first).to_owned())
            } else if first.is_ascii_digit() {
                Kind::Word(self.take(number_length(self.rest)).to_owned())
            } else if is_word(first) {
                Kind::Word(self.take(word_length(self.rest)).to_owned())
            } else {
                self.take(first.len_utf8());
                Kind::Mark(first)
            };
            return Some(Item::Token(Token { kind, file: self.file, line }));
        }
    }

    /// Takes the rest of a directive: a comment may go on over lines, too.
    fn directive(&mut self) -> &'a str {
        self.take(directive_length(self.rest))
    }

    /// Takes the inside of a literal and its closing quote; a line's end closes it too.
    fn quoted(&mut self, quote: char) -> &'a str {
        let inside = self.take(quoted_length(self.rest, quote));
        if self.rest.starts_with(quote) {
            self.take(quote.len_utf8());
        }
        inside
    }
}

/// The tokens of a text without directives.
pub(super) fn tokens(text: &str, file: usize) -> Vec<Token> {
    let mut lexer = Lexer::new(text, file);
    let items = std::iter::from_fn(|| lexer.item());
    items.filter_map(|item| if let Item::Token(token) = item { Some(token) } else { None }).collect()
}

/// How long a number is, with its digit separators.
fn number_length(text: &str) -> usize {
    text.find(|c: char| !(is_word(c) || c == '.' || c == '\'')).unwrap_or(text.len())
}

fn word_length(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}

/// The beginning of a raw string, if one comes next.
fn raw_prefix(text: &str) -> Option<&'static str> {
    ["R\"", "LR\"", "uR\"", "UR\"", "u8R\""].into_iter().find(|prefix| text.starts_with(prefix))
}

/// How long the inside of a literal is, up to its closing quote or the line's end.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.find(|c| {
        let closes = !escaped && (c == quote || c == '\n');
        escaped = !escaped && c == '\\';
        closes
    });
    end.unwrap_or(text.len())
}

/// How long the rest of a directive is: to the end of the line that no comment goes on over.
fn directive_length(text: &str) -> usize {
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let past = |end: &str| rest.find(end).map_or(rest.len(), |found| found + end.len());
        at += if first == '\n' {
            return at + 1;
        } else if rest.starts_with("//") {
            return at + past("\n");
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |found| found + 4)
        } else if let Some(prefix) = raw_prefix(rest) {
            let delimiter = rest[prefix.len()..].split('(').next().unwrap_or_default();
            past(&format!("){delimiter}\""))
        } else if first == '"' || first == '\'' {
            let inside = quoted_length(&rest[1..], first);
            1 + inside + usize::from(rest[1 + inside..].starts_with(first))
        } else if first.is_ascii_digit() {
            number_length(rest)
        } else if is_word(first) {
            word_length(rest)
        } else {
            first.len_utf8()
        };
    }
    text.len()
}
