//! Declarators: the type, the name and the array bounds in `const float* x[4]`.

use super::ctype::{Base, CType, Scalar};
use super::lexer::{Kind, Token};
use super::sequence::{after_group, at_commas};

/// `const Base* const name[4]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declarator {
    pub(super) base: Base,
    /// Whether the base is `const`.
    pub(super) constant: bool,
    /// For each `*`, whether the pointer that it makes is `const`.
    pub(super) pointers: Vec<bool>,
    /// Whether it is a reference.
    pub(super) reference: bool,
    pub(super) name: Option<String>,
    /// The bounds between the brackets of an array, outermost first.
    pub(crate) bounds: Vec<Vec<Token>>,
    /// How many tokens a second declarator shares: those before the first `*`.
    pub(super) shared: usize,
}

/// Reads one declarator; none where it is something else.
pub(super) fn declarator(tokens: &[Token]) -> Option<Declarator> {
    let tokens = before_default(tokens);
    let mut reader = Reader { tokens, constant: false };
    reader.skip_qualifiers();
    let base = Base::named(reader.base()?);
    reader.skip_qualifiers();
    let constant = reader.constant;
    let shared = tokens.len() - reader.tokens.len();
    let mut pointers = Vec::new();
    while reader.take('*') {
        reader.constant = false;
        reader.skip_qualifiers();
        pointers.push(reader.constant);
    }
    let reference = reader.take('&');
    reader.take('&');
    reader.skip_qualifiers();
    let mut declarator =
        Declarator { base, constant, pointers, reference, name: None, bounds: Vec::new(), shared };
    // `float (&x)[4]`
    if let [open, reference, ..] = reader.tokens
        && open.is('(')
        && reference.is('&')
    {
        declarator.reference = true;
        return Some(declarator);
    }
    declarator.name = reader.tokens.first().and_then(Token::word).map(str::to_owned);
    if declarator.name.is_some() {
        reader.tokens = &reader.tokens[1..];
    }
    reader.skip_qualifiers();
    while reader.tokens.first().is_some_and(|token| token.is('[')) {
        let rest = after_group(reader.tokens, '[', ']');
        let end = (reader.tokens.len() - rest.len()).saturating_sub(1).max(1);
        declarator.bounds.push(reader.tokens[1..end].to_vec());
        reader.tokens = rest;
        reader.skip_qualifiers();
    }
    reader.tokens.is_empty().then_some(declarator)
}

/// The declarators of `float *x, y[4]`, up to the first that is not one, such as a function.
pub(super) fn declarators(tokens: &[Token]) -> Vec<Declarator> {
    let mut found: Vec<Declarator> = Vec::new();
    let mut base = Vec::new();
    for part in at_commas(tokens) {
        // `int n{4}`
        let end = part.iter().position(|token| token.is('{')).unwrap_or(part.len());
        let tokens = [&base, &part[..end]].concat();
        let Some(declared) = declarator(&tokens) else { return found };
        if found.is_empty() {
            base = tokens[..declared.shared].to_vec();
        }
        found.push(declared);
    }
    found
}

/// The type and the name in one parameter's tokens.
pub(super) fn parameter(tokens: &[Token]) -> (CType, Option<String>) {
    match declarator(tokens) {
        Some(mut declarator) => (declarator.parameter(), declarator.name.take()),
        None => match function_pointer(tokens) {
            Some(name) => (CType::Function, name.and_then(Token::word).map(str::to_owned)),
            None => (CType::Opaque, None),
        },
    }
}

/// The name, if there is one, in `float (*name)(float)`.
pub(super) fn function_pointer(tokens: &[Token]) -> Option<Option<&Token>> {
    let open = tokens.iter().position(|token| token.is('('))?;
    // A type comes before it.
    let returns = &tokens[..open];
    let is_type = |token: &Token| {
        token.word().is_some() || [':', '*', '<', '>', ','].iter().any(|&mark| token.is(mark))
    };
    if returns.is_empty() || !returns.iter().all(is_type) {
        return None;
    }
    let (name, behind) = match &tokens[open + 1..] {
        [star, close, behind @ ..] if star.is('*') && close.is(')') => (None, behind),
        [star, name, close, behind @ ..] if star.is('*') && name.word().is_some() && close.is(')') => {
            (Some(name), behind)
        }
        _ => return None,
    };
    let is_whole =
        behind.first().is_some_and(|token| token.is('(')) && after_group(behind, '(', ')').is_empty();
    is_whole.then_some(name)
}

impl Declarator {
    /// The type as that of a parameter: an array is a pointer to its elements.
    pub(super) fn parameter(&self) -> CType {
        if self.reference {
            return CType::Reference(self.base.clone());
        }
        let mut pointers = self.pointers.clone();
        if !self.bounds.is_empty() {
            pointers.push(false);
        }
        let (base, constant) = (self.base.clone(), self.constant);
        match pointers[..] {
            [] => CType::Value(base),
            [_] => CType::Pointer { pointee: base, constant },
            [.., constant, _] => {
                let text = base.text + &"*".repeat(pointers.len() - 1);
                CType::Pointer { pointee: Base { text, scalar: Scalar::Compound }, constant }
            }
        }
    }
}

/// `int n = 4` without the default.
fn before_default(tokens: &[Token]) -> &[Token] {
    let end = tokens.iter().position(|token| token.is('=')).unwrap_or(tokens.len());
    &tokens[..end]
}

struct Reader<'a> {
    tokens: &'a [Token],
    /// Whether a `const` was skipped.
    constant: bool,
}

impl Reader<'_> {
    /// Takes this mark, if it comes next.
    fn take(&mut self, mark: char) -> bool {
        let is_next = self.tokens.first().is_some_and(|token| token.is(mark));
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn skip_qualifiers(&mut self) {
        loop {
            match self.tokens {
                [token, rest @ ..] if token.is_word("const") => {
                    self.constant = true;
                    self.tokens = rest;
                }
                [token, rest @ ..] if token.word().is_some_and(is_qualifier) => {
                    self.tokens = rest;
                }
                [token, ..] if token.word().is_some_and(takes_parentheses) => {
                    self.tokens = after_group(&self.tokens[1..], '(', ')');
                }
                [open, second, ..] if open.is('[') && second.is('[') => {
                    self.tokens = after_group(self.tokens, '[', ']');
                }
                _ => return,
            }
        }
    }

    /// Takes the name of a type; `const` may stand between its words.
    fn base(&mut self) -> Option<String> {
        let mut words: Vec<&str> = Vec::new();
        while let Some(word) = self.tokens.first().and_then(Token::word) {
            if !is_builtin(word) {
                break;
            }
            words.push(word);
            self.tokens = &self.tokens[1..];
            self.skip_qualifiers();
        }
        if !words.is_empty() {
            return Some(words.join(" "));
        }
        self.path()
    }

    /// Takes `Params`, `struct Params`, `math::Vec<float, 3>`.
    fn path(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.tokens {
                [token, rest @ ..] if token.word().is_some_and(is_elaboration) => {
                    self.tokens = rest;
                    continue;
                }
                [first, second, rest @ ..] if first.is(':') && second.is(':') => {
                    text.push_str("::");
                    self.tokens = rest;
                    continue;
                }
                _ => {}
            }
            text.push_str(self.tokens.first()?.word()?);
            self.tokens = &self.tokens[1..];
            if self.tokens.first().is_some_and(|token| token.is('<')) {
                let rest = after_group(self.tokens, '<', '>');
                let arguments = &self.tokens[..self.tokens.len() - rest.len()];
                let after_word = |at: usize| at > 0 && arguments[at - 1].word().is_some();
                text.extend(arguments.iter().enumerate().map(|(at, token)| match &token.kind {
                    Kind::Word(word) if after_word(at) => format!(" {word}"),
                    Kind::Word(word) => word.clone(),
                    Kind::Text(text) => format!("\"{text}\""),
                    Kind::Mark(',') => ", ".to_owned(),
                    Kind::Mark(mark) => mark.to_string(),
                }));
                self.tokens = rest;
            }
            match self.tokens {
                [first, second, ..] if first.is(':') && second.is(':') => {}
                _ => return Some(text),
            }
        }
    }
}

pub(super) fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "volatile"
            | "register"
            | "restrict"
            | "__restrict"
            | "__restrict__"
            | "__grid_constant__"
            | "__const__"
    )
}

/// Words that take a parenthesised argument and are not part of a type.
pub(super) fn takes_parentheses(word: &str) -> bool {
    matches!(
        word,
        "__launch_bounds__"
            | "__cluster_dims__"
            | "__block_size__"
            | "__maxnreg__"
            | "__attribute__"
            | "__declspec"
            | "__align__"
            | "alignas"
    )
}

pub(super) fn is_builtin(word: &str) -> bool {
    matches!(
        word,
        "unsigned"
            | "signed"
            | "char"
            | "short"
            | "int"
            | "long"
            | "float"
            | "double"
            | "bool"
            | "void"
            | "__int64"
    )
}

fn is_elaboration(word: &str) -> bool {
    matches!(word, "struct" | "class" | "union" | "enum" | "typename")
}
