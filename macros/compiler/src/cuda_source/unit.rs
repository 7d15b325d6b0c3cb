//! A source and the files that it includes, as one sequence of tokens.

use std::collections::{BTreeMap, BTreeSet};

use super::brackets::Brackets;
use super::branches::Branches;
use super::conditions::Conditions;
use super::lexer::{Item, Kind, Lexer, Token, is_word, joined, past_blanks, tokens};
use super::options::definition;
use super::sequence::{after_group, at_commas};

/// The tokens that a compiler would see, as far as plain text tells.
///
/// There is no preprocessor: all branches of an `#if` are seen. Only `#define KERNEL extern "C" __global__`
/// and its like are replaced, since no kernel would be found otherwise; other macros without parameters are
/// kept for later lookups.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) tokens: Vec<Token>,
    /// The tokens that each macro without parameters stands for; `None` if it is defined in several ways.
    pub(super) macros: BTreeMap<String, Option<Vec<Token>>>,
    /// The definitions of each macro without parameters, with their places. A macro that is undefined again
    /// has none.
    pub(super) variants: BTreeMap<String, Vec<Variant>>,
    /// The branches of `#if`s.
    pub(super) sides: Branches,
    /// Whether plain text does not tell all names of types: a macro with parameters makes some, or names a
    /// file.
    pub(super) hides: bool,
    /// Whether `#pragma pack` changes the layout of structs.
    pub(super) packs: bool,
    /// The `tokens` that the compiler reads for certain. A `#` stands for those that an `#if` may leave out.
    pub(super) certain: Vec<Token>,
    /// The names of all macros, also of those with parameters.
    pub(super) defined: BTreeSet<String>,
    pub(super) brackets: Brackets,
    /// Macros with parameters that make kernels.
    pub(super) makers: BTreeSet<String>,
    /// Macros with parameters whose bodies have commas: they may stand for several parameters.
    pub(super) lists: BTreeSet<String>,
    linkage: BTreeMap<String, Vec<Kind>>,
    /// Macros that the command line defines, which the source cannot redefine.
    fixed: Vec<String>,
    /// The `#if`s of this file that are open, outermost first.
    branches: Vec<Vec<Branch>>,
    /// How the `#if`s of all files that are open decide what is included.
    conditions: Conditions,
    /// How many braces are open.
    depth: isize,
}

/// One definition of a macro.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) file: usize,
    pub(super) line: usize,
    pub(super) body: Vec<Token>,
}

/// A branch between `#if`, `#else` and `#endif`.
#[derive(Debug)]
struct Branch {
    /// The line and the text of its directive, which for `#else` is empty.
    line: usize,
    condition: String,
    /// Its first token.
    start: usize,
    /// How many braces are open there.
    depth: isize,
}

/// A file that `#include` names, or `__has_include`.
pub(super) struct Include<'a> {
    /// The file that names it, and where.
    pub(super) from: usize,
    pub(super) line: usize,
    pub(super) path: &'a str,
    /// Whether it is named `"x"`, and not `<x>`.
    pub(super) quoted: bool,
    /// Whether the compiler needs it, whatever the `#if`s say.
    pub(super) needed: bool,
}

/// Finds a file. None where it is not there, or was included before.
pub(super) type Find<'f> = dyn FnMut(&Include<'_>) -> Option<(usize, String)> + 'f;

impl Unit {
    /// Reads `source`, which is file 0. `options` are NVRTC's.
    pub(super) fn read(source: &str, options: &[String], find: &mut Find<'_>) -> Self {
        let mut unit = Self::default();
        for definition in options.iter().filter_map(|option| definition(option)) {
            let (name, body) = definition.split_once('=').unwrap_or((definition, "1"));
            unit.brackets.define(body);
            unit.defined.insert(word(name).0.to_owned());
            unit.macros.insert(name.to_owned(), Some(tokens(body, 0)));
            unit.fixed.push(name.to_owned());
        }
        unit.file(source, 0, find);
        unit
    }

    fn file(&mut self, source: &str, file: usize, find: &mut Find<'_>) {
        let outer = std::mem::take(&mut self.branches);
        let conditions = self.conditions.len();
        let brackets = self.brackets.begin_file();
        let source = joined(source);
        let mut lexer = Lexer::new(&source, file);
        // A guard comes before all else.
        let mut is_first = true;
        while let Some(item) = lexer.item() {
            match item {
                Item::Token(token) => {
                    is_first = false;
                    self.sure(&token);
                    self.depth += isize::from(token.is('{')) - isize::from(token.is('}'));
                    match token.word().and_then(|word| self.linkage.get(word)) {
                        Some(body) => {
                            let Token { file, line, .. } = token;
                            self.tokens.extend(body.iter().map(|kind| Token {
                                kind: kind.clone(),
                                file,
                                line,
                            }));
                        }
                        None => self.tokens.push(token),
                    }
                }
                Item::Directive(text, line) => {
                    let (keyword, rest) = word(past_blanks(text));
                    let rest = past_blanks(rest);
                    self.follow_brackets(keyword, rest);
                    self.conditions.follow(keyword, rest, is_first, &self.defined);
                    is_first &= keyword == "pragma";
                    self.directive(keyword, rest, (file, line), find);
                }
            }
        }
        self.branches = outer;
        self.conditions.truncate(conditions);
        self.brackets.end_file(brackets);
    }

    /// Adds a token to `certain`.
    fn sure(&mut self, token: &Token) {
        if self.conditions.leave_out() {
            return;
        }
        let certain = self.conditions.are_met();
        self.brackets.token(token, certain);
        if certain {
            self.certain.push(token.clone());
        } else if !self.certain.last().is_some_and(|last| last.is('#')) {
            self.certain.push(Token { kind: Kind::Mark('#'), ..*token });
        }
    }

    /// Goes past a directive, before it counts.
    fn follow_brackets(&mut self, keyword: &str, rest: &str) {
        let left_out = self.conditions.skip_this();
        match keyword {
            "if" | "ifdef" | "ifndef" => self.brackets.begin_if(),
            "else" | "elif" | "elifdef" | "elifndef" => {
                self.brackets.next_branch(keyword == "else", left_out)
            }
            "endif" => self.brackets.end_if(left_out, self.conditions.have_chosen()),
            "define" if !self.conditions.leave_out() => self.brackets.define(rest),
            "include" if !self.conditions.leave_out() => self.brackets.include(rest.trim()),
            _ => {}
        }
    }

    fn branch(&self, keyword: &str, rest: &str, line: usize) -> Branch {
        let words = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        let condition = if keyword == "else" { String::new() } else { format!("{keyword} {words}") };
        Branch { line, condition, start: self.tokens.len(), depth: self.depth }
    }

    /// If all branches of an `#if` open, or close, the same number of braces, only one branch may count: each
    /// of the others gets the other half. The tokens that follow belong to the last branch that opens, or the
    /// first that closes.
    fn end_if(&mut self, (file, line): (usize, usize)) {
        let Some(branches) = self.branches.pop() else { return };
        let conditions: Vec<_> = branches.iter().map(|branch| branch.condition.clone()).collect();
        let lines: Vec<_> = branches.iter().map(|branch| branch.line).chain([line]).collect();
        self.sides.add(file, &conditions, &lines);
        if branches.len() < 2 {
            return;
        }
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

    fn directive(&mut self, keyword: &str, rest: &str, at: (usize, usize), find: &mut Find<'_>) {
        if matches!(keyword, "if" | "elif") {
            // The result depends on whether the file is there, so it must also be there where the program
            // runs, or be nowhere.
            for (before, _) in rest.match_indices(HAS_INCLUDE) {
                let operand = rest[before + HAS_INCLUDE.len()..].trim_start();
                if let Some(operand) = operand.strip_prefix('(') {
                    self.include(operand.trim_start(), at, false, find);
                }
            }
        }
        match keyword {
            "define" => self.define(rest, at),
            "if" | "ifdef" | "ifndef" => self.branches.push(vec![self.branch(keyword, rest, at.1)]),
            "else" | "elif" | "elifdef" | "elifndef" => {
                let branch = self.branch(keyword, rest, at.1);
                if let Some(branches) = self.branches.last_mut() {
                    branches.push(branch);
                }
            }
            "endif" => self.end_if(at),
            "undef" => {
                self.variants.remove(word(rest).0);
                if let Some(body) = self.macros.get_mut(word(rest).0) {
                    *body = None;
                }
            }
            "include" => {
                let needed = self.conditions.are_met();
                self.include(rest, at, needed, find);
            }
            "pragma" => self.packs |= rest.starts_with("pack"),
            _ => {}
        }
    }

    /// Reads the file that `<x>` or `"x"` names, once.
    fn include(&mut self, operand: &str, (from, line): (usize, usize), needed: bool, find: &mut Find<'_>) {
        let (quoted, path) = match (operand.strip_prefix('"'), operand.strip_prefix('<')) {
            (Some(rest), _) => (true, rest.split_once('"')),
            (_, Some(rest)) => (false, rest.split_once('>')),
            // A macro's name.
            _ => return self.hides = true,
        };
        let Some((path, _)) = path else { return };
        if let Some((found, text)) = find(&Include { from, line, path, quoted, needed }) {
            self.sides.include(found, (from, line));
            self.file(&text, found, find);
        }
    }

    fn define(&mut self, definition: &str, (file, line): (usize, usize)) {
        let (name, body) = word(definition);
        if name.is_empty() {
            return;
        }
        self.defined.insert(name.to_owned());
        let is_function = body.starts_with('(');
        let body = tokens(body, file);
        let makes = ["typedef", "using", "struct", "class", "union", "enum"];
        self.hides |= body.iter().any(|token| makes.iter().any(|word| token.is_word(word)));
        if is_function {
            if body.iter().any(|token| token.is_word("__global__")) {
                self.makers.insert(name.to_owned());
            }
            // The commas of its own parameters come first.
            let list = after_group(&body, '(', ')');
            if at_commas(list).len() > 1 {
                self.lists.insert(name.to_owned());
            }
            return;
        }
        if body.iter().any(|token| token.is_word("__global__")) {
            self.linkage.insert(name.to_owned(), body.into_iter().map(|token| token.kind).collect());
        } else if !self.fixed.iter().any(|fixed| fixed == name) {
            let variants = match self.variants.get_mut(name) {
                Some(variants) => variants,
                None if self.macros.contains_key(name) => &mut Vec::new(),
                None => self.variants.entry(name.to_owned()).or_default(),
            };
            variants.push(Variant { file, line, body: body.clone() });
            let kinds = |tokens: &[Token]| tokens.iter().map(|token| token.kind.clone()).collect::<Vec<_>>();
            let known = self.macros.entry(name.to_owned()).or_insert_with(|| Some(body.clone()));
            if known.as_ref().is_some_and(|known| kinds(known) != kinds(&body)) {
                *known = None;
            }
        }
    }
}

const HAS_INCLUDE: &str = "__has_include";

/// The word that a text begins with, and what follows it.
fn word(text: &str) -> (&str, &str) {
    text.split_at(text.len() - text.trim_start_matches(is_word).len())
}
