//! Reads the prototypes of kernels from a `.cu`.
//!
//! It reads plain text and never fails: what it does not understand, it leaves out or calls unknown.

pub use super::ctype::{Base, CType, Primitive, Scalar};
use super::ctype::{after_group, parameter, takes_parentheses};
use super::lexer::{Token, tokens};

/// A `__global__` function of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// Its name.
    pub name: String,
    /// The line of its name, from 1.
    pub line: usize,
    /// Whether the driver finds it by that name.
    pub linkage: Linkage,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The first value of `__launch_bounds__`, in threads, where it is an integer literal.
    pub max_threads_per_block: Option<u32>,
}

/// How a name is seen outside its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// `extern "C"`: as written.
    C,
    /// Mangled.
    Cxx,
    /// A template: one mangled name for each instance.
    Template,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its type.
    pub ty: CType,
    /// The line where it begins, from 1.
    pub line: usize,
}

/// The kernels of `source`, in order; one that is declared and then defined, or that has several versions under `#if`,
/// several times.
pub fn prototypes(source: &str) -> Vec<Prototype> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    // For each open brace, whether `extern "C"` holds inside it.
    let mut scopes = vec![false];
    // Where the current declaration begins.
    let mut start = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        if token.is('{') {
            let declaration = &tokens[start..at - 1];
            let inherited = scopes.last().copied().unwrap_or(false);
            scopes.push(c_linkage(declaration).unwrap_or(inherited));
            start = at;
        } else if token.is('}') {
            if scopes.len() > 1 {
                scopes.pop();
            }
            start = at;
        } else if token.is(';') {
            start = at;
        } else if token.is_word("__global__") {
            let before = &tokens[start..at - 1];
            let Some((function, rest)) = function(&tokens[at..]) else { continue };
            let is_template = before.iter().any(|token| token.is_word("template"));
            let in_scope = scopes.last().copied().unwrap_or(false);
            // `extern "C"` may also follow `__global__`.
            let after = &tokens[at..tokens.len() - rest.len()];
            let is_c = c_linkage(before).or_else(|| c_linkage(after)).unwrap_or(in_scope);
            let linkage = match (is_template, is_c) {
                (true, _) => Linkage::Template,
                (false, true) => Linkage::C,
                (false, false) => Linkage::Cxx,
            };
            // Bounds may also precede `__global__`.
            let max_threads_per_block = launch_bounds(before).or_else(|| launch_bounds(after));
            found.push(Prototype { linkage, max_threads_per_block, ..function });
            // Neither a body nor a second declarator holds kernels.
            let body = rest.first().is_some_and(|token| token.is('{'));
            let rest = if body { after_group(rest, '{', '}') } else { rest };
            at = tokens.len() - rest.len();
            start = at;
        }
    }
    found
}

/// What `extern "C"` or `extern "C++"` says in these tokens.
fn c_linkage(tokens: &[Token]) -> Option<bool> {
    tokens.windows(2).find_map(|pair| match pair {
        [first, second] if first.is_word("extern") => {
            if second.is_text("C") {
                Some(true)
            } else {
                second.is_text("C++").then_some(false)
            }
        }
        _ => None,
    })
}

/// The function whose declaration goes on at `tokens`, after `__global__`, and what follows its parameters.
fn function(tokens: &[Token]) -> Option<(Prototype, &[Token])> {
    let mut rest = tokens;
    loop {
        match rest {
            [token, tail @ ..] if token.word().is_some_and(takes_parentheses) => {
                rest = after_group(tail, '(', ')');
            }
            [name, open, ..] if open.is('(') && name.word().is_some() => {
                let after = after_group(&rest[1..], '(', ')');
                // `MACRO(256) saxpy(…)`: the name is yet to come.
                if after.first().and_then(Token::word).is_some_and(|next| !takes_parentheses(next)) {
                    rest = after;
                    continue;
                }
                let inside = &rest[2..(rest.len() - after.len()).saturating_sub(1).max(2)];
                let prototype = Prototype {
                    name: name.word()?.to_owned(),
                    line: name.line,
                    linkage: Linkage::Cxx,
                    parameters: parameters(inside),
                    max_threads_per_block: None,
                };
                return Some((prototype, after));
            }
            [token, ..] if token.is(';') || token.is('{') || token.is('}') => return None,
            [_, tail @ ..] => rest = tail,
            [] => return None,
        }
    }
}

fn launch_bounds(tokens: &[Token]) -> Option<u32> {
    let at = tokens.iter().position(|token| token.is_word("__launch_bounds__"))?;
    match &tokens[at + 1..] {
        [open, value, end, ..] if open.is('(') && (end.is(',') || end.is(')')) => {
            integer_literal(value.word()?)
        }
        _ => None,
    }
}

fn integer_literal(word: &str) -> Option<u32> {
    let digits = word.replace('\'', "").to_ascii_lowercase();
    let digits = digits.trim_end_matches(['u', 'l']);
    let (digits, radix) = match digits.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => match digits.strip_prefix("0b") {
            Some(digits) => (digits, 2),
            None if digits.starts_with('0') => (digits, 8),
            None => (digits, 10),
        },
    };
    u32::from_str_radix(digits, radix).ok().filter(|&threads| threads > 0)
}

/// The parameters between the parentheses.
fn parameters(tokens: &[Token]) -> Vec<Parameter> {
    if tokens.is_empty() {
        return Vec::new();
    }
    if let [void] = tokens
        && void.is_word("void")
    {
        return Vec::new();
    }
    let mut depth = 0_usize;
    tokens
        .split(|token| {
            if ['(', '[', '{', '<'].iter().any(|&open| token.is(open)) {
                depth += 1;
            } else if [')', ']', '}', '>'].iter().any(|&close| token.is(close)) {
                depth = depth.saturating_sub(1);
            }
            depth == 0 && token.is(',')
        })
        .map(|tokens| {
            let (ty, name) = parameter(tokens);
            Parameter { name, ty, line: tokens.first().map_or(0, |token| token.line) }
        })
        .collect()
}
