//! A source and the files that it includes, as one sequence of tokens.

use std::collections::BTreeMap;

use super::lexer::{Item, Kind, Lexer, Token, is_word};

/// What a compiler would see, as far as plain text tells.
///
/// There is no preprocessor: all branches of an `#if` are seen. Only `#define KERNEL extern "C" __global__` and its like
/// are replaced, since no kernel would be found otherwise; other macros without parameters are kept for who asks.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) tokens: Vec<Token>,
    /// What each macro without parameters stands for; `None` where it is defined in several ways.
    pub(super) macros: BTreeMap<String, Option<Vec<Token>>>,
    /// Whether `#pragma pack` changes the layout of structs.
    pub(super) packs: bool,
    linkage: BTreeMap<String, Vec<Kind>>,
    /// Macros that the command line defines, which the source cannot redefine.
    fixed: Vec<String>,
    /// The `#if`s that are open, outermost first.
    branches: Vec<Vec<Branch>>,
    /// How many braces are open.
    depth: isize,
}

/// What stands between `#if`, `#else` and `#endif`.
#[derive(Debug)]
struct Branch {
    /// Its first token.
    start: usize,
    /// How many braces are open there.
    depth: isize,
}

/// Finds the file that `#include` names: `from` is the file that has the directive, `quoted` tells `"x"` from `<x>`. None
/// where it is not there, or was included before.
pub(super) type Find<'f> = dyn FnMut(usize, &str, bool) -> Option<(usize, String)> + 'f;

impl Unit {
    /// Reads `source`, which is file 0. `options` are NVRTC's.
    pub(super) fn read(source: &str, options: &[String], find: &mut Find<'_>) -> Self {
        let mut unit = Self::default();
        for definition in options.iter().filter_map(|option| definition(option)) {
            let (name, body) = definition.split_once('=').unwrap_or((definition, "1"));
            unit.macros.insert(name.to_owned(), Some(plain_tokens(body, 0, 0)));
            unit.fixed.push(name.to_owned());
        }
        unit.file(source, 0, find);
        unit
    }

    fn file(&mut self, source: &str, file: usize, find: &mut Find<'_>) {
        let outer = std::mem::take(&mut self.branches);
        let mut lexer = Lexer::new(source, file);
        while let Some(item) = lexer.item() {
            if let Item::Token(token) = &item {
                self.depth += isize::from(token.is('{')) - isize::from(token.is('}'));
            }
            match item {
                Item::Token(token) => match token.word().and_then(|word| self.linkage.get(word)) {
                    Some(body) => {
                        let Token { file, line, .. } = token;
                        self.tokens.extend(body.iter().map(|kind| Token { kind: kind.clone(), file, line }));
                    }
                    None => self.tokens.push(token),
                },
                Item::Directive(text) => self.directive(text, file, find),
            }
        }
        self.branches = outer;
    }

    fn branch(&self) -> Branch {
        Branch { start: self.tokens.len(), depth: self.depth }
    }

    /// Where all branches of an `#if` open as many braces, or close them, only one of them does: each branch but one gets
    /// the other half. What follows belongs to the last that opens, or the first that closes.
    fn end_if(&mut self) {
        let Some(branches) = self.branches.pop().filter(|branches| branches.len() > 1) else { return };
        let ends = branches[1..].iter().map(|next| next.depth).chain([self.depth]);
        let opened: Vec<_> = branches.iter().zip(ends).map(|(branch, end)| end - branch.depth).collect();
        let each = opened[0];
        if each == 0 || opened.iter().any(|&other| other != each) {
            return;
        }
        let brace = Kind::Mark(if each > 0 { '}' } else { '{' });
        for branch in branches[1..].iter().rev() {
            let Some(&Token { file, line, .. }) = self.tokens.get(branch.start.saturating_sub(1)) else {
                continue;
            };
            let braces = vec![Token { kind: brace.clone(), file, line }; each.unsigned_abs()];
            self.tokens.splice(branch.start..branch.start, braces);
            self.depth -= each;
        }
    }

    fn directive(&mut self, text: &str, file: usize, find: &mut Find<'_>) {
        let text = text.trim_start();
        let keyword = &text[..text.len() - text.trim_start_matches(is_word).len()];
        let rest = text[keyword.len()..].trim_start();
        match keyword {
            "define" => self.define(rest, file),
            "if" | "ifdef" | "ifndef" => self.branches.push(vec![self.branch()]),
            "else" | "elif" | "elifdef" | "elifndef" => {
                let branch = self.branch();
                if let Some(branches) = self.branches.last_mut() {
                    branches.push(branch);
                }
            }
            "endif" => self.end_if(),
            "undef" => {
                let name = rest.split(|c| !is_word(c)).next().unwrap_or_default();
                if let Some(body) = self.macros.get_mut(name) {
                    *body = None;
                }
            }
            "include" => {
                let (quoted, end) = match rest.chars().next() {
                    Some('"') => (true, '"'),
                    Some('<') => (false, '>'),
                    _ => return,
                };
                let Some((path, _)) = rest[1..].split_once(end) else { return };
                if let Some((found, text)) = find(file, path, quoted) {
                    self.file(&text, found, find);
                }
            }
            "pragma" => self.packs |= rest.starts_with("pack"),
            _ => {}
        }
    }

    fn define(&mut self, definition: &str, file: usize) {
        let name = &definition[..definition.len() - definition.trim_start_matches(is_word).len()];
        let body = &definition[name.len()..];
        if name.is_empty() || body.starts_with('(') {
            return;
        }
        let body = plain_tokens(&body.replace("\\\r\n", " ").replace("\\\n", " "), file, 0);
        if body.iter().any(|token| token.is_word("__global__")) {
            self.linkage.insert(name.to_owned(), body.into_iter().map(|token| token.kind).collect());
        } else if !self.fixed.iter().any(|fixed| fixed == name) {
            let kinds = |tokens: &[Token]| tokens.iter().map(|token| token.kind.clone()).collect::<Vec<_>>();
            let known = self.macros.entry(name.to_owned()).or_insert_with(|| Some(body.clone()));
            if known.as_ref().is_some_and(|known| kinds(known) != kinds(&body)) {
                *known = None;
            }
        }
    }
}

/// The tokens of a text without directives.
pub(super) fn plain_tokens(text: &str, file: usize, line: usize) -> Vec<Token> {
    let mut lexer = Lexer::new(text, file);
    let mut tokens = Vec::new();
    while let Some(item) = lexer.item() {
        if let Item::Token(token) = item {
            tokens.push(Token { line, ..token });
        }
    }
    tokens
}

/// `TILE=16` of `-DTILE=16`, and of its other spellings.
fn definition(option: &str) -> Option<&str> {
    let option = option.trim();
    let definition = option
        .strip_prefix("--define-macro=")
        .or_else(|| option.strip_prefix("--define-macro "))
        .or_else(|| option.strip_prefix("-D"))?;
    Some(definition.trim_start_matches('=').trim_start())
}
