//! The fields of a struct, and the types that are defined in it.

use std::rc::Rc;

use super::declarator::{Declarator, declarators, is_builtin, takes_parentheses};
use super::lexer::{Kind, Token};
use super::record::{Record, What, defined, definitions, named};
use super::sequence::{after_group, at_commas};

/// The members between a struct's braces.
#[derive(Debug, PartialEq)]
pub(super) struct Members {
    pub(super) fields: Vec<Field>,
    /// The types that it defines.
    pub(super) types: Vec<(String, Rc<What>)>,
}

/// A field. It has no name if it is a struct whose fields are those of the outer one.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) declarator: Declarator,
    /// Its type, if that is defined in the struct.
    pub(super) own: Option<Rc<What>>,
    pub(super) file: usize,
    /// The lines of its first token and of its last.
    pub(super) lines: (usize, usize),
}

impl PartialEq for Field {
    /// Fields are equal wherever they are.
    fn eq(&self, other: &Self) -> bool {
        self.declarator == other.declarator && self.own == other.own
    }
}

/// The names that the structs around a place define.
#[derive(Debug, Default)]
pub(super) struct Around<'a> {
    outer: Option<&'a Around<'a>>,
    types: Vec<(String, Rc<What>)>,
    /// Names with another meaning than outside.
    others: Vec<String>,
    depth: usize,
}

/// How deep structs inside of structs are read.
const DEEPEST: usize = 8;

enum Own {
    Type(Rc<What>),
    Other,
}

impl Around<'_> {
    fn find(&self, name: &str) -> Option<Own> {
        if self.others.iter().any(|other| other == name) {
            return Some(Own::Other);
        }
        let found = self.types.iter().find(|(other, _)| other == name);
        match found {
            Some((_, what)) => Some(Own::Type(Rc::clone(what))),
            None => self.outer?.find(name),
        }
    }

    /// The type of a declarator, if the structs around define it; nothing where plain text does not tell.
    fn own(&self, declared: &Declarator) -> Option<Option<Rc<What>>> {
        let mut bounds = declared.bounds.iter().flatten().filter_map(Token::word);
        if bounds.any(|word| self.find(word).is_some()) {
            return None;
        }
        let text = &declared.base.text;
        match self.find(text) {
            Some(Own::Type(what)) => Some(Some(what)),
            Some(Own::Other) => None,
            None => {
                let mut words = text.split([':', '<', '>', ',', ' ']);
                (!words.any(|word| self.find(word).is_some())).then_some(None)
            }
        }
    }

    /// Adds what `using T = float` or `typedef float T` names.
    fn alias(&mut self, tokens: &[Token]) {
        let mut found = Vec::new();
        definitions(tokens, &[], &mut found);
        for definition in found {
            let is_known = match &definition.what {
                What::Alias(alias) => matches!(self.own(alias), Some(None)),
                What::Function => true,
                _ => false,
            };
            if is_known {
                self.types.push((definition.name, Rc::new(definition.what)));
            }
        }
        let known = |name: &&str| !self.types.iter().any(|(other, _)| other == name);
        let others: Vec<_> = names(tokens).filter(known).map(str::to_owned).collect();
        self.others.extend(others);
    }
}

/// The members between a struct's braces. `None` if plain text does not tell all fields.
pub(super) fn members(of: Option<&Token>, body: &[Token], outer: &Around<'_>) -> Option<Members> {
    if outer.depth >= DEEPEST {
        return None;
    }
    let (types, others) = (Vec::new(), Vec::new());
    let mut around = Around { outer: Some(outer), types, others, depth: outer.depth + 1 };
    let mut fields = Vec::new();
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
        let lines = (first.line, tokens.last().map_or(first.line, |last| last.line));
        let field = |declarator, own| Field { declarator, own, file: first.file, lines };
        let has = |word: &str| tokens.iter().any(|token| token.is_word(word));
        let head = tokens.iter().position(|token| token.is('{') || token.is('=')).unwrap_or(end);
        let opens = tokens[..head].iter().position(|token| token.is('('));
        let is_type = ["struct", "class", "union", "enum"].iter().any(|word| first.is_word(word));
        // `alignas(16)` is a type's.
        let is_function = opens.is_some_and(|open| {
            open.checked_sub(1).and_then(|at| tokens[at].word()).is_none_or(|word| !takes_parentheses(word))
        });
        if is_type && !is_function && tokens.get(head).is_some_and(|token| token.is('{')) {
            let inner = inner(tokens, &mut around)?;
            fields.extend(inner.into_iter().map(|(declarator, own)| field(declarator, Some(own))));
            continue;
        }
        if has("virtual") {
            return None;
        }
        // The name of an operator may look like the end of a declarator: `operator==`.
        if has("operator") {
            continue;
        }
        if let Some(open) = opens {
            // A function takes no place, but a pointer to one does, and so does what an attribute aligns.
            let before = open.checked_sub(1).and_then(|before| tokens[before].word());
            if before.is_none_or(takes_parentheses) || tokens.get(open + 1).is_some_and(|next| next.is('*')) {
                return None;
            }
            // `FIELD(float, x)` is not a constructor.
            let is_alone = open == 1 && before != of.and_then(Token::word) && before != Some("static_assert");
            if is_alone {
                return None;
            }
            continue;
        }
        if first.is_word("using") || first.is_word("typedef") {
            around.alias(tokens);
            continue;
        }
        let is_not_a_field = ["static", "friend", "template"].iter().any(|word| has(word));
        if is_not_a_field || (is_type && tokens.len() == 2) {
            around.others.extend(names(tokens).map(str::to_owned));
            continue;
        }
        // Two colons are a path's, and a third one a bit field's: `int flags : ::WIDTH;`.
        let mut runs = tokens[..head].chunk_by(|one, next| one.is(':') && next.is(':'));
        let is_bit_field = runs.any(|run| run[0].is(':') && run.len() % 2 == 1);
        if is_type && head < end || is_bit_field {
            return None;
        }
        let declared = declarators(tokens);
        let parts = at_commas(tokens).len();
        let sound =
            declared.len() == parts && declared.iter().all(|one| one.name.is_some() && !one.reference);
        if !sound {
            return None;
        }
        for declarator in declared {
            let own = around.own(&declarator)?;
            fields.push(field(declarator, own));
        }
    }
    Some(Members { fields, types: around.types })
}

/// The fields whose type `struct Inner { … } a, b` defines, which is added to what is known.
fn inner(tokens: &[Token], around: &mut Around<'_>) -> Option<Vec<(Declarator, Rc<What>)>> {
    let (name, what, behind) = defined(tokens, true, around)?;
    let is_enum = matches!(what, What::Enum(_)) || tokens[0].is_word("enum");
    if is_enum {
        // The enumerators, and some other names with them.
        let words = tokens.iter().filter(|&token| Some(token) != name).filter_map(Token::word);
        around.others.extend(words.filter(|word| !is_builtin(word) && *word != "enum").map(str::to_owned));
    }
    let aligns = |record: &Record| {
        record.align.iter().flatten().filter_map(Token::word).all(|word| around.find(word).is_none())
    };
    let is_known = match &what {
        What::Record(record) => aligns(record),
        What::Enum(Some(base)) => {
            base.text.split([':', ' ']).all(|word| is_builtin(word) || word.ends_with("_t"))
        }
        other => *other != What::Unknown,
    };
    let what = Rc::new(what);
    if let Some(name) = name.and_then(Token::word) {
        if is_known {
            around.types.push((name.to_owned(), Rc::clone(&what)));
        } else {
            around.others.push(name.to_owned());
        }
    }
    match behind {
        [] if name.is_some() => return Some(Vec::new()),
        // A nameless enum is not a field.
        [] if is_enum => return Some(Vec::new()),
        [] => return is_known.then(|| vec![(named("struct"), what)]),
        _ if !is_known => return None,
        // `} PACKED;`
        [only] if only.word().is_some_and(|word| word.len() > 1 && !word.contains(char::is_lowercase)) => {
            return None;
        }
        _ => {}
    }
    let of = Token { kind: Kind::Word("Inner".to_owned()), ..behind[0].clone() };
    let tokens = [&[of], behind].concat();
    let declared = declarators(&tokens);
    let mut all = declared.iter();
    let sound = declared.len() == at_commas(behind).len()
        && all.all(|one| {
            one.name.is_some() && !one.reference && {
                let mut bounds = one.bounds.iter().flatten().filter_map(Token::word);
                bounds.all(|word| around.find(word).is_none())
            }
        });
    sound.then(|| declared.into_iter().map(|one| (one, Rc::clone(&what))).collect())
}

/// The names that `using T = float`, `typedef float T` and `static constexpr int N = 4` may give inside a
/// struct.
fn names(tokens: &[Token]) -> impl Iterator<Item = &str> {
    let first = tokens.get(1).filter(|_| tokens[0].is_word("using"));
    let ends = |token: &Token| ['=', '[', '{', ';', ','].iter().any(|&mark| token.is(mark));
    let mut before_ends = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_last = tokens.get(at + 1).is_none_or(ends);
        before_ends.extend(Some(token).filter(|_| is_last));
    }
    let words = first.into_iter().chain(before_ends).filter_map(Token::word);
    words.filter(|word| !is_builtin(word))
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
