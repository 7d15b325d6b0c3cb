//! Whether the braces, parentheses and square brackets of a source belong together.

use std::collections::BTreeSet;

use super::lexer::{Kind, Token, tokens};

/// A bracket that has no other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unbalanced {
    /// Nothing closes it.
    Open(Bracket),
    /// It closes nothing.
    Close(Bracket),
    /// The first is closed by the second, which is of another kind.
    Crossed(Bracket, Bracket),
}

/// A bracket and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bracket {
    pub(crate) mark: char,
    /// The index of its file in the unit.
    pub(crate) file: usize,
    /// The line, from 1.
    pub(crate) line: usize,
    /// Whether it is the brace of a namespace, of a type or of `extern "C"`.
    is_scope: bool,
}

/// The brackets of a source, as they are read.
///
/// The branches of an `#if` may open and close any brackets, as long as all of them do the same. If they
/// differ, or a macro holds half of a pair, plain text does not tell, and nothing is reported.
#[derive(Debug, Default)]
pub(super) struct Brackets {
    open: Vec<Bracket>,
    branches: Vec<Branches>,
    /// Whether plain text does not tell.
    unknown: bool,
    found: Option<Unbalanced>,
    /// The bracket that was open where a kernel began that cannot begin there.
    suspect: Option<Bracket>,
    /// Whether the next brace is that of a scope.
    scope_begins: bool,
    /// The mark before this one.
    before: Option<char>,
    /// Whether a file leaves more brackets open than before it, or fewer.
    halves: bool,
    included: BTreeSet<String>,
}

/// The branches of an `#if`.
#[derive(Debug)]
struct Branches {
    /// The brackets that are open before each branch.
    start: Vec<Bracket>,
    /// The brackets that are open after each branch.
    ends: Vec<Vec<Bracket>>,
    has_else: bool,
}

/// Brackets that are nested deeper than this were not written by hand.
const DEEPEST: usize = 200;

impl Brackets {
    /// Goes past a token that is not in a branch that is left out; `certain` says that no branch around it
    /// may be left out.
    pub(super) fn token(&mut self, token: &Token, certain: bool) {
        if self.unknown || self.found.is_some() {
            return;
        }
        let mark = match &token.kind {
            Kind::Mark(mark) => *mark,
            Kind::Word(word) => {
                self.before = None;
                self.word(word);
                return;
            }
            Kind::Text(_) => {
                self.before = None;
                return;
            }
        };
        // `<%` is another spelling of `{`.
        let is_digraph = matches!((self.before, mark), (Some('<'), '%') | (Some('%' | ':'), '>'));
        self.before = Some(mark);
        self.unknown |= is_digraph;
        let bracket = Bracket { mark, file: token.file, line: token.line, is_scope: self.scope_begins };
        match mark {
            '{' | '(' | '[' => {
                self.open.push(bracket);
                self.unknown |= self.open.len() > DEEPEST;
                self.scope_begins &= mark != '{';
            }
            '}' | ')' | ']' => {
                self.scope_begins = false;
                let wrong = match self.open.pop() {
                    Some(open) if closing(open.mark) == mark => return,
                    Some(open) => Unbalanced::Crossed(open, bracket),
                    None => Unbalanced::Close(bracket),
                };
                if certain {
                    self.found = Some(wrong);
                } else {
                    self.unknown = true;
                }
            }
            ';' => self.scope_begins = false,
            _ => {}
        }
    }

    fn word(&mut self, word: &str) {
        match word {
            "namespace" | "extern" | "struct" | "class" | "union" => self.scope_begins = true,
            "__global__" if self.suspect.is_none() => {
                self.suspect = self.open.iter().copied().find(|open| !open.is_scope);
            }
            _ => {}
        }
    }

    /// Goes past a macro's definition: its name, parameters and body.
    pub(super) fn define(&mut self, definition: &str) {
        let mut body = Self::default();
        for token in tokens(definition, 0) {
            body.token(&token, true);
        }
        self.unknown |= body.unknown || body.end().is_some();
    }

    /// Goes past `#if` and its like.
    pub(super) fn begin_if(&mut self) {
        self.unknown |= self.branches.len() > DEEPEST;
        let start = if self.unknown { Vec::new() } else { self.open.clone() };
        self.branches.push(Branches { start, ends: Vec::new(), has_else: false });
    }

    /// Goes past `#else` and its like. `left_out` says that the branch before it is not read.
    pub(super) fn next_branch(&mut self, is_else: bool, left_out: bool) {
        let Some(branches) = self.branches.last_mut() else { return };
        let end = std::mem::replace(&mut self.open, branches.start.clone());
        if !left_out {
            branches.ends.push(end);
        }
        branches.has_else |= is_else;
        self.unknown |= branches.ends.len() > DEEPEST;
    }

    /// Goes past `#endif`. `has_chosen` says that it is known which branch is read.
    pub(super) fn end_if(&mut self, left_out: bool, has_chosen: bool) {
        let Some(Branches { start, mut ends, has_else }) = self.branches.pop() else { return };
        if !left_out {
            ends.push(std::mem::take(&mut self.open));
        }
        if !has_else && !has_chosen {
            ends.push(start.clone());
        }
        let marks = |open: &[Bracket]| open.iter().map(|open| open.mark).collect::<Vec<_>>();
        self.unknown |= ends.windows(2).any(|pair| marks(&pair[0]) != marks(&pair[1]));
        self.open = ends.pop().unwrap_or(start);
    }

    /// Goes past `#include` of a name, as it is written.
    pub(super) fn include(&mut self, name: &str) {
        // It is read once, but may be meant to open something each time.
        let again = !self.included.insert(name.to_owned());
        self.unknown |= again && self.halves;
    }

    /// Begins a file; the result is for [`end_file`](Self::end_file).
    pub(super) fn begin_file(&mut self) -> (usize, usize) {
        (self.open.len(), self.branches.len())
    }

    pub(super) fn end_file(&mut self, (open, branches): (usize, usize)) {
        self.halves |= self.open.len() != open;
        self.unknown |= self.branches.len() != branches;
        self.branches.truncate(branches);
    }

    /// The bracket that has no other half at the end of the source.
    pub(super) fn end(&self) -> Option<Unbalanced> {
        let left = || self.open.last().map(|&last| Unbalanced::Open(self.suspect.unwrap_or(last)));
        if self.unknown { None } else { self.found.or_else(left) }
    }
}

/// The mark that closes a bracket.
pub(crate) fn closing(open: char) -> char {
    match open {
        '{' => '}',
        '(' => ')',
        _ => ']',
    }
}
