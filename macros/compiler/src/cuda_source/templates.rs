//! Templates of structs, and their instances.

use super::ctype::{Base, Scalar};
use super::lexer::{Kind, Token, tokens};
use super::record::{What, definitions};
use super::sequence::{after_group, at_commas, substituted};

/// `typename T = float`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateParameter {
    pub(crate) name: Option<String>,
    pub(super) default: Option<Vec<Token>>,
    /// Whether it stands for any number of arguments.
    pub(super) pack: bool,
}

/// `template <typename T> struct Vec { … }`, or a specialisation.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) name: String,
    pub(super) namespace: Vec<String>,
    pub(super) file: usize,
    pub(super) line: usize,
    parameters: Vec<TemplateParameter>,
    /// The arguments that it is specialised for.
    arguments: Option<Vec<Vec<Token>>>,
    /// The struct without its template's parameters and arguments. `None` if plain text does not tell its
    /// arguments.
    body: Option<Vec<Token>>,
    /// Whether it is `template <typename T> using Ptr = T*`.
    is_alias: bool,
}

/// The parameters of `template <typename T, int N = 4>`.
pub(super) fn parameters(tokens: &[Token]) -> Vec<TemplateParameter> {
    let Some(at) = tokens.iter().position(|token| token.is_word("template")) else { return Vec::new() };
    let list = &tokens[at + 1..];
    let rest = after_group(list, '<', '>');
    let Some(inside) = list.get(1..(list.len() - rest.len()).saturating_sub(1)) else { return Vec::new() };
    if inside.is_empty() {
        return Vec::new();
    }
    let parameter = |tokens: &[Token]| {
        let equals = tokens.iter().position(|token| token.is('='));
        let (declared, default) = match equals {
            Some(at) => (&tokens[..at], Some(tokens[at + 1..].to_vec())),
            None => (tokens, None),
        };
        let pack = declared.iter().any(|token| token.is('.'));
        // `typename` alone has no name.
        let name = declared.last().and_then(Token::word).filter(|_| declared.len() > 1);
        TemplateParameter { name: name.map(str::to_owned), default, pack }
    };
    at_commas(inside).into_iter().map(parameter).collect()
}

impl Template {
    /// Reads a declaration without its `;`; none where it is something else.
    pub(super) fn read(declaration: &[Token], namespace: &[String]) -> Option<Self> {
        let list = match declaration {
            [first, list @ ..] if first.is_word("template") => list,
            _ => return None,
        };
        let head = after_group(list, '<', '>');
        if let [using, name, equals, ..] = head
            && using.is_word("using")
            && equals.is('=')
        {
            return Some(Self {
                name: name.word()?.to_owned(),
                namespace: namespace.to_vec(),
                file: name.file,
                line: name.line,
                parameters: parameters(declaration),
                arguments: None,
                body: Some(head.to_vec()),
                is_alias: true,
            });
        }
        let open = declaration.iter().position(|token| token.is('{'))?;
        let is_key = |token: &Token| ["struct", "class", "union"].iter().any(|word| token.is_word(word));
        let rest = if head.first().is_some_and(is_key) {
            head
        } else {
            // `requires small<T> struct …`
            let at = declaration[..open].iter().rposition(is_key)?;
            &declaration[at..]
        };
        let (mut name, mut arguments) = (None, None);
        let mut behind = &rest[1..];
        while let Some((token, tail)) = behind.split_first() {
            match &token.kind {
                Kind::Mark('<') => {
                    behind = after_group(behind, '<', '>');
                    let inside = tail.get(..(tail.len() - behind.len()).checked_sub(1)?)?;
                    arguments = Some(at_commas(inside).into_iter().map(<[Token]>::to_vec).collect());
                    continue;
                }
                Kind::Mark('{') => break,
                Kind::Mark(':') if name.is_some() && !tail.first()?.is(':') => break,
                Kind::Word(word) if word != "final" => name = Some((word, token)),
                _ => {}
            }
            behind = tail;
        }
        let (name, at) = name?;
        // The name is one word, without an alignment or a macro.
        let is_plain = rest.len() == head.len()
            && rest.get(1) == Some(at)
            && behind.first().is_some_and(|token| token.is('{'));
        let body = is_plain.then(|| [&rest[..2], behind].concat());
        Some(Self {
            name: name.clone(),
            namespace: namespace.to_vec(),
            file: at.file,
            line: at.line,
            parameters: parameters(declaration),
            arguments,
            body,
            is_alias: false,
        })
    }

    /// The struct with these arguments.
    fn with(&self, arguments: &[Vec<Token>]) -> Option<What> {
        let body = self.body.as_ref()?;
        let mut replaced: Vec<(&str, Vec<Token>)> = Vec::new();
        if self.arguments.is_none() {
            if arguments.len() > self.parameters.len() {
                return None;
            }
            for (at, parameter) in self.parameters.iter().enumerate() {
                let value = arguments.get(at).or(parameter.default.as_ref())?;
                if parameter.pack || !is_literal(value) {
                    return None;
                }
                if let Some(name) = &parameter.name {
                    replaced.push((name, value.clone()));
                }
            }
        }
        let find = |word: &str| {
            let found = replaced.iter().find(|(name, _)| *name == word);
            found.map(|(_, value)| value.clone())
        };
        let mut found = Vec::new();
        definitions(&substituted(body, &find), &self.namespace, &mut found);
        found.pop().filter(|_| found.is_empty()).map(|definition| definition.what)
    }
}

/// Whether a type that is otherwise unknown may be a pointer: one that an alias template makes, or a member
/// of a template.
pub(super) fn may_be_a_pointer(templates: &[Template], text: &str) -> bool {
    let path = path(text.trim_start_matches("::")).unwrap_or_default();
    let Some(at) = path.iter().rposition(|(_, arguments)| arguments.is_some()) else { return false };
    let name = &path[at].0;
    at + 1 < path.len() || templates.iter().any(|one| one.is_alias && one.name == *name)
}

/// A path of names, each with the arguments of a template: `ns::Vec<float>::Type`.
pub(super) type Path = Vec<(String, Option<Vec<Vec<Token>>>)>;

/// Takes a type's name apart.
pub(super) fn path(text: &str) -> Option<Path> {
    let all = tokens(text, 0);
    let mut rest = &all[..];
    let mut path = Path::new();
    loop {
        let (first, behind) = rest.split_first()?;
        let name = first.word()?.to_owned();
        rest = behind;
        let mut arguments = None;
        if rest.first().is_some_and(|token| token.is('<')) {
            let behind = after_group(rest, '<', '>');
            let inside = rest.get(1..(rest.len() - behind.len()).checked_sub(1)?)?;
            let parts = if inside.is_empty() { Vec::new() } else { at_commas(inside) };
            arguments = Some(parts.into_iter().map(<[Token]>::to_vec).collect());
            rest = behind;
        }
        path.push((name, arguments));
        match rest {
            [] => return Some(path),
            [one, other, behind @ ..] if one.is(':') && other.is(':') => rest = behind,
            _ => return None,
        }
    }
}

/// The template of this name, as seen from `namespace`, and the struct with these arguments. `None` if plain
/// text does not tell.
pub(super) fn instance<'a>(
    templates: &'a [Template],
    namespace: &[String],
    path: &[&str],
    arguments: &[Vec<Token>],
) -> Option<(&'a Template, What)> {
    let (name, outer) = path.split_last()?;
    let mut all = templates.iter().filter(|one| one.name == *name);
    let first = all.next()?;
    let is_seen = (0..=namespace.len()).any(|inner| {
        let from = namespace[..inner].iter().map(String::as_str).chain(outer.iter().copied());
        first.namespace.iter().map(String::as_str).eq(from)
    });
    if !is_seen || all.any(|other| other.namespace != first.namespace) {
        return None;
    }
    let all = || templates.iter().filter(|one| one.name == *name);
    let mut chosen = None;
    for special in all() {
        let Some(wanted) = &special.arguments else { continue };
        // A partial specialisation may be meant or not.
        if !special.parameters.is_empty() || special.body.is_none() {
            return None;
        }
        match same(wanted, arguments)? {
            true if chosen.is_some() => return None,
            true => chosen = Some(special),
            false => {}
        }
    }
    let mut primary = all().filter(|one| one.arguments.is_none());
    let found = match chosen {
        Some(special) => special,
        None => primary.next().filter(|_| primary.next().is_none())?,
    };
    Some((found, found.with(arguments)?))
}

/// Whether all arguments of a template are the same; none where plain text does not tell.
fn same(wanted: &[Vec<Token>], given: &[Vec<Token>]) -> Option<bool> {
    if wanted.len() != given.len() {
        return None;
    }
    let mut all = true;
    for (wanted, given) in wanted.iter().zip(given) {
        if !is_literal(wanted) || !is_literal(given) {
            return None;
        }
        let (wanted, given) = (spelt(wanted), spelt(given));
        if wanted != given {
            let scalar = |text: &str| Base::named(text.to_owned()).scalar;
            // `long` and `long long` are two types of one width, `unsigned` and `unsigned int` are one.
            match (scalar(&wanted), scalar(&given)) {
                (Scalar::Is(one), Scalar::Is(other)) if one == other => return None,
                (Scalar::Unknown, Scalar::Unknown)
                    if wanted.parse::<u64>().is_err() != given.parse::<u64>().is_err() =>
                {
                    return None;
                }
                _ => all = false,
            }
        }
    }
    Some(all)
}

fn spelt(tokens: &[Token]) -> String {
    tokens.iter().filter_map(Token::word).collect::<Vec<_>>().join(" ")
}

/// Whether these are the same wherever they stand: types of the language and CUDA, and numbers.
fn is_literal(tokens: &[Token]) -> bool {
    let text = spelt(tokens);
    let is_number = text.parse::<u64>().is_ok() || text == "true" || text == "false";
    let is_type = || Base::named(text.clone()).scalar != Scalar::Unknown;
    tokens.iter().all(|token| token.word().is_some()) && (is_number || is_type())
}
