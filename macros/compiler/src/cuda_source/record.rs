//! Types that a source defines: structs, enums, typedefs.

use super::ctype::Base;
use super::declarator::{Declarator, declarator, declarators, function_pointer, takes_parentheses};
use super::fields::{Around, Members, members};
use super::lexer::{Kind, Token};
use super::sequence::{after_group, at_commas};

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
    /// An enum, and the type that is written for it.
    Enum(Option<Base>),
    /// A pointer to a function.
    Function,
    /// Something else.
    Unknown,
}

/// The parts of a struct that decide its layout.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    pub(super) is_union: bool,
    /// `None` where there is something that plain text does not tell.
    pub(super) members: Option<Members>,
    /// The tokens in `__align__(…)`.
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
                _ if function_pointer(rest).is_some() => What::Function,
                _ => What::Unknown,
            };
            if let Some(word) = name.word() {
                add(word, name, what);
            }
        }
        [typedef, rest @ ..] if typedef.is_word("typedef") => match defined(rest, true, &Around::default()) {
            Some((name, what, behind)) => {
                let attributed = behind.iter().any(|token| token.word().is_some_and(takes_parentheses));
                let aliases = if attributed { Vec::new() } else { at_commas(behind) };
                // `typedef struct { … } Params;` names the struct itself; with a name it has two.
                let own =
                    || aliases.iter().find_map(|alias| if let [one] = alias { Some(one) } else { None });
                let unnamed = aliases.first().and_then(|alias| alias.last());
                let Some(at) = name.or_else(own).or(unnamed) else { return };
                let of_no_name = name.or_else(own).is_none();
                let tag = at.word().unwrap_or_default();
                let tag = if of_no_name { format!("struct of {tag}") } else { tag.to_owned() };
                for alias in &aliases {
                    let tokens = [&[Token { kind: Kind::Word(tag.clone()), ..*at }], *alias].concat();
                    let Some(alias) = declarator(&tokens) else { continue };
                    // `typedef struct Params { … } Params;` has one name, too.
                    if let Some(name) = alias.name.clone().filter(|name| *name != tag) {
                        add(&name, at, What::Alias(alias));
                    }
                }
                add(&tag, at, what);
            }
            None => {
                if let Some(Some(name)) = function_pointer(rest) {
                    return add(name.word().unwrap_or_default(), name, What::Function);
                }
                let aliases = declarators(rest);
                for alias in aliases {
                    let Some(name) = alias.name.clone() else { continue };
                    let at = rest.iter().rfind(|token| token.is_word(&name)).unwrap_or(typedef);
                    add(&name, at, What::Alias(alias));
                }
            }
        },
        _ => {
            if let Some((Some(name), what, _)) = defined(tokens, false, &Around::default()) {
                add(name.word().unwrap_or_default(), name, what);
            }
        }
    }
}

pub(super) fn named(text: &str) -> Declarator {
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
pub(super) fn defined<'a>(
    tokens: &'a [Token],
    is_typedef: bool,
    around: &Around<'_>,
) -> Option<(Option<&'a Token>, What, &'a [Token])> {
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
            // An extra word is a macro, which may pack or align it.
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
    // `} __attribute__((packed))`; without `typedef`, a word there is a macro's that may say the same, or a
    // variable.
    let attributed = behind.iter().any(|token| token.word().is_some_and(takes_parentheses))
        || !(is_typedef || behind.is_empty());
    let what = match (keyword, base) {
        _ if attributed => What::Unknown,
        ("enum", base) => enumeration(head, body, base),
        (_, Some(_)) => What::Unknown,
        _ => {
            What::Record(Record { is_union: keyword == "union", members: members(name, body, around), align })
        }
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
