//! The code for the host in a source, which NVRTC refuses because it compiles code for the device only.

use std::collections::BTreeSet;

use super::declarator::is_builtin;
use super::lexer::{Kind, Token};
use super::sequence::after_group;
use super::unit::Unit;

/// Something that NVRTC does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostCode {
    pub(crate) what: What,
    /// The index of its file in the unit.
    pub(crate) file: usize,
    /// The line, from 1.
    pub(crate) line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// A function that nothing marks as the device's.
    Unmarked(String),
    /// A function that is the host's alone.
    Host(String),
    /// `kernel<<<grid, block>>>(…)`
    Launch(String),
}

/// The code that NVRTC takes with the options it is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Takes {
    /// Functions without a mark, which are then the device's.
    pub(super) unmarked: bool,
    /// Launches by kernels, which need code that is linked later.
    pub(super) launches: bool,
}

/// The functions and launches that NVRTC is sure to refuse, in order.
///
/// Code that an `#if` may leave out or a macro may make, and members of classes, are left to NVRTC.
pub(super) fn host_code(unit: &Unit, takes: Takes) -> Vec<HostCode> {
    let mut found = Vec::new();
    let marked = marked(&unit.tokens, &unit.defined);
    let mut rest = &unit.certain[..];
    // Where the current declaration begins.
    let mut start = rest;
    // Its parentheses that are open, and where the outermost is.
    let (mut depth, mut outermost) = (0_usize, rest);
    while let Some((token, behind)) = rest.split_first() {
        let all = rest;
        let head = &start[..start.len() - rest.len()];
        rest = behind;
        if token.is('(') {
            if depth == 0 {
                outermost = all;
            }
            depth += 1;
            continue;
        } else if token.is(')') {
            depth = depth.saturating_sub(1);
            continue;
        } else if token.is('{') && depth > 0 {
            // An argument, which a macro may leave out, or a parameter's default.
            rest = after_group(outermost, '(', ')');
            depth = 0;
            continue;
        } else if token.is('{') && !is_scope(head) {
            rest = after_group(all, '{', '}');
            let body = &all[..all.len() - rest.len()];
            let function = function(head, &unit.defined).filter(|found| {
                let is_host = matches!(found.what, What::Host(_));
                is_host || !(takes.unmarked || marked.contains(found.what.name()))
            });
            // A template's launches count when it is instantiated.
            let may_launch =
                !takes.launches && !has(head, "template") && head.iter().any(|token| token.is('('));
            found.extend(function.or_else(|| launch(body).filter(|_| may_launch)));
        } else if !(token.is(';') || token.is('}') || token.is('{')) {
            continue;
        }
        // An initialiser is followed by a `;`, a function by nothing.
        start = rest;
        depth = 0;
    }
    found
}

impl What {
    pub(crate) fn is_launch(&self) -> bool {
        matches!(self, Self::Launch(_))
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Unmarked(name) | Self::Host(name) | Self::Launch(name) => name,
        }
    }
}

fn has(tokens: &[Token], word: &str) -> bool {
    tokens.iter().any(|token| token.is_word(word))
}

/// Whether a brace behind `head` holds declarations.
fn is_scope(head: &[Token]) -> bool {
    let is_linkage =
        matches!(head, [first, second] if first.is_word("extern") && matches!(second.kind, Kind::Text(_)));
    is_linkage || (has(head, "namespace") && !head.iter().any(|token| token.is('(') || token.is('=')))
}

/// The names of functions that some declaration marks as the device's: their other declarations need not. A
/// macro may be that declaration.
fn marked<'a>(tokens: &'a [Token], macros: &BTreeSet<String>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    let mut depth = 0_usize;
    for pair in tokens.windows(2) {
        let [before, token] = pair else { continue };
        let is_macro = before.word().is_some_and(|word| macros.contains(word));
        if token.is('(') && (depth > 0 || is_macro) {
            depth += 1;
        } else if token.is(')') {
            depth = depth.saturating_sub(1);
        } else if depth > 0 {
            names.extend(token.word());
        }
    }
    for declaration in tokens.split(|token| token.is(';') || token.is('{') || token.is('}')) {
        if has(declaration, "__device__") || has(declaration, "__global__") {
            let pairs = declaration.windows(2).filter(|pair| pair[1].is('('));
            names.extend(pairs.filter_map(|pair| pair[0].word()));
        }
    }
    names
}

/// The function that `head` begins, if it is certainly not the device's.
fn function(head: &[Token], macros: &BTreeSet<String>) -> Option<HostCode> {
    let mut rest = head;
    let mut parameters = BTreeSet::new();
    while let [first, tail @ ..] = rest
        && first.is_word("template")
    {
        rest = after_group(tail, '<', '>');
        parameters.extend(tail[..tail.len() - rest.len()].iter().filter_map(Token::word));
    }
    let is_device = has(rest, "__device__") || has(rest, "__global__");
    let other = ["operator", "typedef", "union", "class", "enum"];
    let unclear = |token: &Token| token.is('#') || other.iter().any(|word| token.is_word(word));
    if is_device || rest.iter().any(unclear) {
        return None;
    }
    let open = first_outside(rest, '(')?;
    let (name, specifiers) = rest[..open].split_last()?;
    // `__align__` and its like.
    let is_name = |word: &str| !is_keyword(word) && !word.starts_with("__") && !macros.contains(word);
    let word = name.word().filter(|word| is_name(word))?;
    if specifiers.last().is_some_and(|last| last.is(':')) || specifiers.iter().any(|token| token.is('=')) {
        return None;
    }
    let behind = after_group(&rest[open..], '(', ')');
    if !behind.iter().all(|token| token.is_word("const") || token.is_word("noexcept")) {
        return None;
    }
    let found = |what: fn(String) -> What| {
        let Token { file, line, .. } = *name;
        Some(HostCode { what: what(word.to_owned()), file, line })
    };
    let is_host = has(specifiers, "__host__");
    let others: Vec<_> = specifiers.iter().filter(|token| !token.is_word("__host__")).cloned().collect();
    let what = if is_host { What::Host } else { What::Unmarked };
    is_plain_type(&others, &parameters, macros).then(|| found(what))?
}

/// Whether specifiers and a type hold nothing that may be a macro: macros say `__device__`, too.
fn is_plain_type(specifiers: &[Token], parameters: &BTreeSet<&str>, macros: &BTreeSet<String>) -> bool {
    let mut builtin = false;
    let mut named = 0;
    let mut rest = specifiers;
    let mut in_path = false;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let Some(word) = first.word() else {
            if first.is('<') {
                rest = after_group(&specifiers[specifiers.len() - tail.len() - 1..], '<', '>');
            } else if first.is('(') || first.is('[') || first.is(')') || first.is(']') {
                return false;
            }
            in_path = first.is(':');
            continue;
        };
        let goes_on = std::mem::take(&mut in_path);
        if is_specifier(word) {
            continue;
        }
        if macros.contains(word) {
            return false;
        }
        if is_builtin(word) || word == "auto" {
            builtin = true;
            continue;
        }
        let is_own = parameters.contains(word);
        let may_be_a_macro = !word.contains(char::is_lowercase) || word.starts_with("__");
        if may_be_a_macro && !is_own {
            return false;
        }
        named += usize::from(!goes_on);
    }
    (builtin && named == 0) || (!builtin && named == 1)
}

fn is_specifier(word: &str) -> bool {
    matches!(
        word,
        "static" | "inline" | "extern" | "constexpr" | "const" | "volatile" | "struct" | "typename"
    ) || matches!(word, "__inline__" | "__inline" | "__forceinline__" | "__noinline__")
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "for"
            | "while"
            | "switch"
            | "return"
            | "sizeof"
            | "alignas"
            | "decltype"
            | "noexcept"
            | "requires"
    ) || is_builtin(word)
        || is_specifier(word)
}

/// The position of the first such mark outside of a template's arguments.
fn first_outside(tokens: &[Token], mark: char) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().position(|token| {
        depth += usize::from(token.is('<'));
        depth = depth.saturating_sub(usize::from(token.is('>')));
        depth == 0 && token.is(mark)
    })
}

/// The first launch in a function's body.
fn launch(body: &[Token]) -> Option<HostCode> {
    let launches = body.windows(4).find_map(|window| {
        let [kernel, marks @ ..] = window else { return None };
        let name = kernel.word().filter(|word| *word != "operator")?;
        marks.iter().all(|token| token.is('<')).then_some((kernel, name))
    });
    launches.map(|(kernel, name)| {
        let Token { file, line, .. } = *kernel;
        HostCode { what: What::Launch(name.to_owned()), file, line }
    })
}
