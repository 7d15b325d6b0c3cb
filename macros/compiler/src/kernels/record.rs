//! Types that a source defines: structs, enums, typedefs.

use super::constant::Constants;
use super::ctype::Base;
use super::declarations::declarators;
use super::declarator::{Declarator, after_group, takes_parentheses};
use super::lexer::Token;
use super::prototype::at_commas;

/// A name that a source gives to a type.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    /// The namespaces that it is in, outermost first.
    pub(super) namespace: Vec<String>,
    pub(super) file: usize,
    pub(super) line: usize,
    pub(super) what: What,
}

#[derive(Debug, PartialEq)]
pub(super) enum What {
    /// `typedef float Real;`
    Alias(Declarator),
    /// A struct, or a union.
    Record(Record),
    /// An enum, and the type that it is written to have.
    Enum(Option<Base>),
    /// Something else.
    Unknown,
}

/// What decides the layout of a struct.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    pub(super) is_union: bool,
    /// `None` where there is something that plain text does not tell.
    pub(super) fields: Option<Vec<Declarator>>,
    /// What stands in `__align__(…)`.
    pub(super) align: Option<Vec<Token>>,
}

/// Reads the types that a declaration without its `;` defines.
pub(super) fn definitions(tokens: &[Token], namespace: &[String], found: &mut Vec<Definition>) {
    let mut add = |name: &str, at: &Token, what: What| {
        let (name, namespace) = (name.to_owned(), namespace.to_vec());
        found.push(Definition { name, namespace, file: at.file, line: at.line, what });
    };
    match tokens {
        // `using Real = float;`
        [using, name, equals, rest @ ..] if using.is_word("using") && equals.is('=') => {
            let what = match &declarators(rest)[..] {
                [one] if one.name.is_none() => What::Alias(one.clone()),
                _ => What::Unknown,
            };
            if let Some(word) = name.word() {
                add(word, name, what);
            }
        }
        [typedef, rest @ ..] if typedef.is_word("typedef") => match defined(rest, true) {
            Some((name, what, behind)) => {
                let names = || behind.iter().filter(|token| token.word().is_some());
                let only = names().count() == 1 && behind.len() == 1;
                for alias in names().filter(|_| only) {
                    // `typedef struct { … } Params;` names the struct itself; with a name it has two.
                    match name.and_then(Token::word) {
                        None => return add(alias.word().unwrap_or_default(), alias, what),
                        Some(tag) => add(alias.word().unwrap_or_default(), alias, What::Alias(named(tag))),
                    }
                }
                if let Some(tag) = name {
                    add(tag.word().unwrap_or_default(), tag, what);
                }
            }
            None => {
                let aliases = declarators(rest);
                for alias in aliases {
                    let Some(name) = alias.name.clone() else { continue };
                    let at = rest.iter().rfind(|token| token.is_word(&name)).unwrap_or(typedef);
                    add(&name, at, What::Alias(alias));
                }
            }
        },
        _ => {
            if let Some((Some(name), what, _)) = defined(tokens, false) {
                add(name.word().unwrap_or_default(), name, what);
            }
        }
    }
}

fn named(text: &str) -> Declarator {
    Declarator {
        base: Base::named(text.to_owned()),
        constant: false,
        pointers: Vec::new(),
        reference: false,
        name: None,
        bounds: Vec::new(),
        shared: 0,
    }
}

/// The name and the definition in `struct Params { … } p`, and what follows its `}`.
fn defined(tokens: &[Token], is_typedef: bool) -> Option<(Option<&Token>, What, &[Token])> {
    let open = tokens.iter().position(|token| token.is('{'))?;
    let (head, rest) = tokens.split_at(open);
    let behind = after_group(rest, '{', '}');
    let body = rest.get(1..(rest.len() - behind.len()).checked_sub(1)?)?;
    let at = head
        .iter()
        .position(|token| ["struct", "class", "union", "enum"].iter().any(|word| token.is_word(word)))?;
    let keyword = head[at].word()?;
    let mut rest = &head[at + 1..];
    let (mut name, mut align, mut base) = (None, None, None);
    while let Some((first, tail)) = rest.split_first() {
        match first.word() {
            // The strictest of several counts.
            Some("__align__" | "alignas") if align.is_some() => return Some((name, What::Unknown, behind)),
            Some("__align__" | "alignas") => {
                let after = after_group(tail, '(', ')');
                align = tail.get(1..(tail.len() - after.len()).checked_sub(1)?).map(<[Token]>::to_vec);
                rest = after;
            }
            Some(word) if takes_parentheses(word) => return Some((name, What::Unknown, behind)),
            Some("class" | "struct" | "final") => rest = tail,
            // A word too many is a macro's, which may pack or align it.
            Some(_) if name.is_some() => {
                let last = rest.iter().rfind(|token| token.word().is_some());
                return Some((last, What::Unknown, behind));
            }
            Some(_) => {
                name = Some(first);
                rest = tail;
            }
            None if first.is(':') => {
                base = Some(tail);
                break;
            }
            // `math::Params`, `Vec<float>`
            None => return Some((name, What::Unknown, behind)),
        }
    }
    // `} __attribute__((packed))`; without `typedef`, a word there is a macro's that may say the same, or a variable.
    let attributed = behind.iter().any(|token| token.word().is_some_and(takes_parentheses))
        || !(is_typedef || behind.is_empty());
    let what = match (keyword, base) {
        _ if attributed => What::Unknown,
        ("enum", base) => enumeration(head, body, base),
        (_, Some(_)) => What::Unknown,
        _ => What::Record(Record { is_union: keyword == "union", fields: fields(name, body), align }),
    };
    Some((name, what, behind))
}

fn enumeration(head: &[Token], body: &[Token], base: Option<&[Token]>) -> What {
    let scoped = head.iter().any(|token| token.is_word("class") || token.is_word("struct"));
    // An enumerator that does not fit makes the whole enum wider.
    let is_plain = |token: &Token| match token.word() {
        Some(word) => !word.starts_with(|c: char| c.is_ascii_digit()) || word.parse::<u32>().is_ok(),
        None => [',', '=', '-'].iter().any(|&mark| token.is(mark)),
    };
    match base {
        Some(base) => match &declarators(base)[..] {
            [one] if one.pointers.is_empty() => What::Enum(Some(one.base.clone())),
            _ => What::Unknown,
        },
        None if scoped => What::Enum(Some(Base::named("int".to_owned()))),
        None if body.iter().all(is_plain) => What::Enum(None),
        None => What::Unknown,
    }
}

/// The fields between a struct's braces; none where plain text does not tell them all.
fn fields(of: Option<&Token>, body: &[Token]) -> Option<Vec<Declarator>> {
    let mut fields = Vec::new();
    let mut own = Vec::new();
    let mut rest = body;
    while let Some((first, tail)) = rest.split_first() {
        if first.is(';') {
            rest = tail;
            continue;
        }
        if first.word().is_some_and(|word| matches!(word, "public" | "private" | "protected"))
            && tail.first().is_some_and(|token| token.is(':'))
        {
            rest = &tail[1..];
            continue;
        }
        let end = member(rest);
        let tokens = &rest[..end];
        rest = &rest[end..];
        let has = |word: &str| tokens.iter().any(|token| token.is_word(word));
        if has("virtual") {
            return None;
        }
        let head = tokens.iter().position(|token| token.is('{') || token.is('=')).unwrap_or(end);
        let opens = tokens[..head].iter().position(|token| token.is('('));
        // What an operator is called may look like the end of a declarator: `operator==`.
        if has("operator") {
            continue;
        }
        if let Some(open) = opens {
            // A function takes no place, but a pointer to one does, and so does what an attribute aligns.
            let before = open.checked_sub(1).and_then(|before| tokens[before].word());
            if before.is_none_or(takes_parentheses) || tokens.get(open + 1).is_some_and(|next| next.is('*')) {
                return None;
            }
            // `FIELD(float, x)` is no constructor.
            let is_alone = open == 1 && before != of.and_then(Token::word) && before != Some("static_assert");
            if is_alone {
                return None;
            }
            continue;
        }
        let is_not_a_field =
            ["static", "using", "typedef", "friend", "template"].iter().any(|word| has(word));
        let is_declared = first.is_word("enum") || first.is_word("struct");
        if is_not_a_field || (is_declared && tokens.len() == 2) {
            own.extend(names(tokens));
            continue;
        }
        // A type inside, or a bit field.
        let mut colons = tokens[..head].iter().filter(|token| token.is(':')).count();
        colons -= tokens[..head].windows(2).filter(|pair| pair[0].is(':') && pair[1].is(':')).count() * 2;
        if is_declared && tokens[..head].len() < end || first.is_word("union") || colons > 0 {
            return None;
        }
        let declared = declarators(tokens);
        let parts = at_commas(tokens).len();
        let sound =
            declared.len() == parts && declared.iter().all(|one| one.name.is_some() && !one.reference);
        if !sound {
            return None;
        }
        fields.extend(declared);
    }
    // What they mean here is not what they mean outside.
    let is_own = |word: &str| own.contains(&word);
    let shadowed = |field: &Declarator| {
        let mut bounds = field.bounds.iter().flatten().filter_map(Token::word);
        field.base.text.split([':', '<', '>', ',', ' ']).any(is_own) || bounds.any(is_own)
    };
    (!fields.iter().any(shadowed)).then_some(fields)
}

/// The names that `using T = float`, `typedef float T` and `static constexpr int N = 4` may give inside a struct.
fn names(tokens: &[Token]) -> impl Iterator<Item = &str> {
    let first = tokens.get(1).filter(|_| tokens[0].is_word("using"));
    let ends = |token: &Token| ['=', '[', '{', ';', ','].iter().any(|&mark| token.is(mark));
    let mut before_ends = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_last = tokens.get(at + 1).is_none_or(ends);
        before_ends.extend(Some(token).filter(|_| is_last));
    }
    let words = first.into_iter().chain(before_ends).filter_map(Token::word);
    words.filter(|word| !super::declarator::is_builtin(word))
}

/// Where the first member ends: at its `;`, or behind the braces of a function.
fn member(tokens: &[Token]) -> usize {
    let mut at = 0;
    let mut is_function = false;
    while let Some(token) = tokens.get(at) {
        if token.is(';') {
            return at;
        }
        is_function |= token.is('(');
        if token.is('{') {
            at = tokens.len() - after_group(&tokens[at..], '{', '}').len();
            if is_function {
                return at;
            }
        } else {
            at += 1;
        }
    }
    tokens.len()
}

/// The arrays in static shared memory in a kernel's body whose size plain text tells: name, line and bytes.
pub(super) fn shared_arrays(body: &[Token], constants: &Constants) -> Vec<(String, usize, i128)> {
    let mut found = Vec::new();
    for (at, token) in body.iter().enumerate() {
        if !token.is_word("__shared__") {
            continue;
        }
        let rest = &body[at + 1..];
        let is_end = |token: &Token| token.is(';') || token.is('}') || token.is_word("__shared__");
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        for declared in declarators(&rest[..end]) {
            let Some(name) = &declared.name else { continue };
            let Some(element) =
                super::layout::builtin(&declared.base).filter(|_| declared.pointers.is_empty())
            else {
                continue;
            };
            let bytes = declared.bounds.iter().try_fold(i128::from(element.size), |bytes, bound| {
                bytes.checked_mul(constants.evaluate(bound)?)
            });
            if let Some(bytes) = bytes.filter(|_| !declared.bounds.is_empty()) {
                found.push((name.clone(), token.line, bytes));
            }
        }
    }
    found
}
