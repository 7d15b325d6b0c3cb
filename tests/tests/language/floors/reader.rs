//! The paths that a source file names, and where. It reads tokens, not text: comments, string literals and
//! tests do not count.

/// A piece of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    /// `::`, or one character of anything else.
    Mark(&'static str),
    /// A literal, whose content does not matter.
    Literal,
}

/// A path as the file writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    pub line: usize,
    /// The modules inside the file that it stands in, from the outermost.
    pub within: Vec<String>,
    pub segments: Vec<String>,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A path of an expression, a type or an attribute.
    Inline,
    /// A path of a `use`, with the name that it gets.
    Import { name: String, public: bool },
}

/// The paths of a source file.
pub fn paths(source: &str) -> Vec<Path> {
    let tokens = without_tests(tokens(source));
    Reader { tokens: &tokens, next: 0, within: Vec::new(), paths: Vec::new() }.read()
}

const MARKS: &str = "{}()[]<>;,*$#=.!&'|-+/%^?@:~\\";

fn tokens(source: &str) -> Vec<(Token, usize)> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            _ if rest.starts_with("//") => (None, rest.find('\n').unwrap_or(rest.len())),
            _ if rest.starts_with("/*") => (None, block_comment(rest)),
            _ if first.is_whitespace() => (None, rest.len() - rest.trim_start().len()),
            _ if string(rest).is_some() => (Some(Token::Literal), string(rest).unwrap_or_default()),
            '\'' if character(rest).is_some() => (Some(Token::Literal), character(rest).unwrap_or_default()),
            _ if first.is_alphanumeric() || first == '_' => {
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let is_number = first.is_ascii_digit();
                (
                    Some(if is_number { Token::Literal } else { Token::Name(rest[..length].to_owned()) }),
                    length,
                )
            }
            _ if rest.starts_with("::") => (Some(Token::Mark("::")), 2),
            _ => {
                let at = MARKS.find(first).map_or("", |at| &MARKS[at..at + 1]);
                (Some(Token::Mark(at)), first.len_utf8())
            }
        };
        found.extend(token.map(|token| (token, line)));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// The length of a comment in `/* */`, which may contain others.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                break;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The length of the string literal that the text begins with: plain, of bytes or of C, raw or not.
fn string(text: &str) -> Option<usize> {
    let prefix = text.find(|c: char| !"bcr".contains(c)).filter(|length| *length <= 2)?;
    let is_raw = text[..prefix].ends_with('r');
    let after = &text[prefix..];
    let hashes = if is_raw { after.find(|c| c != '#')? } else { 0 };
    let inside = after[hashes..].strip_prefix('"')?;
    let start = prefix + hashes + 1;
    if is_raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(inside.find(&end).map_or(text.len(), |at| start + at + end.len()));
    }
    Some(start + until(inside, '"'))
}

/// The length of the character literal that the text begins with. A lifetime is not one.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    let closes = first == '\\' || inside[first.len_utf8()..].starts_with('\'');
    closes.then(|| 1 + until(inside, '\''))
}

/// The length up to and including the first `end` without a backslash before it.
fn until(text: &str, end: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if c == end && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

/// Removes every item behind `#[cfg(test)]`.
fn without_tests(tokens: Vec<(Token, usize)>) -> Vec<(Token, usize)> {
    let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
    let is = |(token, _): &(Token, usize), text: &str| match token {
        Token::Name(name) => name == text,
        Token::Mark(mark) => *mark == text,
        Token::Literal => false,
    };
    let mut left = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_test = attribute.len() <= tokens.len() - at
            && tokens[at..].iter().zip(attribute).all(|(token, text)| is(token, text));
        if !is_test {
            left.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += attribute.len();
        let is_use = tokens.get(at).is_some_and(|token| is(token, "use"));
        let mut depth = 0;
        while let Some((token, _)) = tokens.get(at) {
            at += 1;
            match token {
                Token::Mark("{" | "(" | "[") => depth += 1,
                Token::Mark(mark @ ("}" | ")" | "]")) => {
                    depth -= 1;
                    if depth == 0 && *mark == "}" && !is_use {
                        break;
                    }
                }
                Token::Mark(";") if depth == 0 => break,
                _ => {}
            }
        }
    }
    left
}

struct Reader<'a> {
    tokens: &'a [(Token, usize)],
    next: usize,
    /// For each open brace, the module that it opens.
    within: Vec<Option<String>>,
    paths: Vec<Path>,
}

impl Reader<'_> {
    fn read(mut self) -> Vec<Path> {
        let mut public = false;
        while let Some((token, line)) = self.tokens.get(self.next) {
            match token {
                Token::Name(name) if name == "use" => {
                    self.next += 1;
                    self.tree(&[], public);
                }
                Token::Name(name) if name == "pub" => {
                    self.next += 1;
                    if self.is("(") {
                        while !self.is(")") && self.next < self.tokens.len() {
                            self.next += 1;
                        }
                        self.next += 1;
                    }
                    public = true;
                    continue;
                }
                Token::Name(name) if name == "mod" && matches!(self.mark(2), Some("{")) => {
                    let opened = self.name(1);
                    self.within.push(opened);
                    self.next += 3;
                }
                Token::Mark("{") => {
                    self.within.push(None);
                    self.next += 1;
                }
                Token::Mark("}") => {
                    self.within.pop();
                    self.next += 1;
                }
                Token::Name(_) => {
                    let is_of_macro = self.next > 0 && self.tokens[self.next - 1].0 == Token::Mark("$");
                    let (segments, line) = (self.segments(), *line);
                    if segments.len() > 1 && !is_of_macro {
                        self.push(line, segments, Kind::Inline);
                    }
                }
                _ => self.next += 1,
            }
            public = false;
        }
        self.paths
    }

    fn mark(&self, ahead: usize) -> Option<&'static str> {
        match self.tokens.get(self.next + ahead)?.0 {
            Token::Mark(mark) => Some(mark),
            _ => None,
        }
    }

    fn is(&self, mark: &str) -> bool {
        self.mark(0) == Some(mark)
    }

    fn name(&self, ahead: usize) -> Option<String> {
        match &self.tokens.get(self.next + ahead)?.0 {
            Token::Name(name) => Some(name.clone()),
            _ => None,
        }
    }

    fn push(&mut self, line: usize, segments: Vec<String>, kind: Kind) {
        let within = self.within.iter().flatten().cloned().collect();
        self.paths.push(Path { line, within, segments, kind });
    }

    /// Names with `::` between them.
    fn segments(&mut self) -> Vec<String> {
        let mut segments = Vec::new();
        while let Some(name) = self.name(0) {
            segments.push(name);
            self.next += 1;
            if self.is("::") && self.name(1).is_some() {
                self.next += 1;
            } else {
                break;
            }
        }
        segments
    }

    /// The content of a `use`: a path, with the name behind `as`, or a group of them.
    fn tree(&mut self, before: &[String], public: bool) {
        let line = self.tokens.get(self.next).map_or(0, |(_, line)| *line);
        if self.is("::") {
            // The path is another crate's: `::std`.
            self.next += 1;
        }
        let mut segments = before.to_vec();
        segments.extend(self.segments());
        if self.is("::") {
            self.next += 1;
        }
        if self.is("{") {
            self.next += 1;
            while !self.is("}") && self.next < self.tokens.len() {
                self.tree(&segments, public);
                if self.is(",") {
                    self.next += 1;
                }
            }
            self.next += 1;
            return;
        }
        if self.is("*") {
            self.next += 1;
            segments.push("*".to_owned());
        }
        if segments.last().is_some_and(|last| last == "self") && segments.len() > 1 {
            segments.pop();
        }
        let mut name = segments.last().cloned().unwrap_or_default();
        if self.name(0).is_some_and(|name| name == "as") {
            name = self.name(1).unwrap_or_default();
            self.next += 2;
        }
        if segments.is_empty() {
            // A `use` cannot contain this; it may be a macro's pattern.
            self.next += 1;
            return;
        }
        self.push(line, segments, Kind::Import { name, public });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(source: &str) -> Vec<String> {
        paths(source).into_iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn groups_are_taken_apart() {
        let source = "use crate::{base::{error::{self, Error as E}, plan}, driver::*};\nuse a;";
        let found =
            ["crate::base::error", "crate::base::error::Error", "crate::base::plan", "crate::driver::*", "a"];
        assert_eq!(written(source), found);
        let lines: Vec<_> =
            paths("pub(crate) use a::{\n    b,\n    c::d as e,\n};\nx::y();").into_iter().collect();
        assert_eq!(lines.iter().map(|path| path.line).collect::<Vec<_>>(), [2, 3, 5]);
        assert_eq!(lines[1].kind, Kind::Import { name: "e".to_owned(), public: true });
        assert_eq!(lines[2].kind, Kind::Inline);
    }

    #[test]
    fn paths_in_expressions_and_types_count() {
        let source = "fn f(x: &crate::a::B<super::C>) -> T { <crate::d::E as self::F>::g::<crate::h::I>(x) }";
        assert_eq!(written(source), ["crate::a::B", "super::C", "crate::d::E", "self::F", "crate::h::I"]);
        assert_eq!(
            written("if a < crate::b::C { d::e!(crate::f::g) }"),
            ["crate::b::C", "d::e", "crate::f::g"]
        );
    }

    #[test]
    fn comments_and_strings_do_not_count() {
        let source = r####"
            //! crate::a::b
            /* crate::a::b /* and */ crate::a::b */
            const A: &str = "crate::a::b \" crate::a::b \\"; x::one();
            const B: &str = r#"crate::a::b " crate::a::b"#; x::two();
            const C: &[u8] = br"crate::a::b\"; x::three();
            const D: [char; 3] = ['"', '\'', '\\']; x::four();
            fn e<'a>(x: &'a str) { x::five(c"crate::a::b", b'"') }
        "####;
        assert_eq!(written(source), ["x::one", "x::two", "x::three", "x::four", "x::five"]);
    }

    #[test]
    fn tests_and_macros_own_paths_do_not_count() {
        let source = "
            use crate::a::b;
            #[cfg(test)]
            use crate::{c::d, e};
            impl F { #[cfg(test)] #[must_use] pub fn g([x]: [u8; 1]) -> H { crate::i::j(x) } fn k() { l::m() } }
            macro_rules! n { ($x:expr) => { $crate::o::p($x, q::r()) }; }
            #[cfg(test)]
            mod tests { use crate::s::t; mod u { fn v() { crate::w::x() } } }
        ";
        assert_eq!(written(source), ["crate::a::b", "l::m", "q::r"]);
        assert_eq!(written("#[cfg(test)]\nmod a_tests;\nuse b::c;"), ["b::c"]);
    }

    #[test]
    fn modules_inside_a_file_are_known() {
        let found = paths("mod a { mod b { use super::c; } fn d() { super::e() } } use self::f;");
        let within: Vec<_> = found.iter().map(|path| path.within.join("::")).collect();
        assert_eq!(within, ["a::b", "a", ""]);
    }
}
