//! Name expressions: `math::reduce<float, 256>`.

use super::constant::Constants;
use super::lexer::{Token, tokens};
use super::prototype::{Linkage, Prototype};
use super::sequence::{Nesting, at_commas};

/// A name expression, taken apart.
#[derive(Debug, PartialEq)]
pub(crate) struct Instance {
    /// As the user wrote it.
    pub(crate) text: String,
    /// `math`, `reduce`.
    pub(super) path: Vec<String>,
    /// The arguments between `<` and `>`; none without them.
    pub(super) arguments: Option<Vec<Vec<Token>>>,
}

/// Why a kernel has no such instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoInstance {
    /// It is a template, and no arguments are given.
    WithoutArguments,
    /// Arguments are given, and it is not a template.
    NoTemplate,
    /// The template does not have as many parameters as arguments are given.
    Count { parameters: usize, arguments: usize },
}

impl Instance {
    /// Reads a name expression; none where it is something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let tokens = tokens(text, 0);
        let mut rest = &tokens[..];
        if let [first, second, tail @ ..] = rest
            && first.is(':')
            && second.is(':')
        {
            rest = tail;
        }
        let mut path = Vec::new();
        loop {
            let (name, tail) = rest.split_first()?;
            let name = name.word().filter(|name| !name.starts_with(|c: char| c.is_ascii_digit()))?;
            path.push(name.to_owned());
            rest = match tail {
                [first, second, tail @ ..] if first.is(':') && second.is(':') => tail,
                _ => {
                    rest = tail;
                    break;
                }
            };
        }
        let arguments = match rest {
            [] => None,
            [open, inside @ .., close] if open.is('<') && close.is('>') && is_closed(inside) => {
                let arguments = at_commas(inside);
                let only = arguments.len() == 1 && inside.is_empty();
                if !only && arguments.iter().any(|argument| argument.is_empty()) {
                    return None;
                }
                Some(if only { Vec::new() } else { arguments.into_iter().map(<[Token]>::to_vec).collect() })
            }
            _ => return None,
        };
        Some(Self { text: text.trim().to_owned(), path, arguments })
    }

    /// The name without namespaces and arguments.
    pub(crate) fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// `math::reduce`
    pub(crate) fn path(&self) -> String {
        self.path.join("::")
    }

    /// Whether it names this kernel; in a source that has `using namespace`, the namespaces may be left out.
    pub(crate) fn names(&self, kernel: &Prototype, uses_namespaces: bool) -> bool {
        let Some((name, namespace)) = self.path.split_last() else { return false };
        *name == kernel.name && (kernel.namespace == namespace || uses_namespaces)
    }

    /// The kernel with the template's arguments in place of its parameters, as far as plain text tells.
    pub(crate) fn of(&self, kernel: &Prototype, constants: &Constants) -> Result<Prototype, NoInstance> {
        let mut instance = kernel.clone();
        let arguments = match (&self.arguments, kernel.linkage) {
            (None, Linkage::Template)
                if kernel.template.iter().all(|one| one.default.is_none() && !one.pack) =>
            {
                return Err(NoInstance::WithoutArguments);
            }
            (None, _) => &Vec::new(),
            (Some(arguments), Linkage::Template) => arguments,
            (Some(_), _) => return Err(NoInstance::NoTemplate),
        };
        let packs = kernel.template.iter().any(|parameter| parameter.pack);
        let most = kernel.template.len();
        let least = kernel.template.iter().filter(|one| one.default.is_none() && !one.pack).count();
        if (arguments.len() > most && !packs) || arguments.len() < least {
            return Err(NoInstance::Count { parameters: most, arguments: arguments.len() });
        }
        let mut replaced: Vec<(&str, Vec<Token>)> = Vec::new();
        for (at, parameter) in kernel.template.iter().enumerate() {
            if parameter.pack {
                break;
            }
            let Some(name) = &parameter.name else { continue };
            let value = match (arguments.get(at), &parameter.default) {
                (Some(argument), _) => argument.clone(),
                // A default may be made of the parameters before it.
                (None, Some(default)) => {
                    default.iter().flat_map(|token| known(&replaced, token)).take(LONGEST).collect()
                }
                (None, None) => continue,
            };
            replaced.push((name, value));
        }
        let find = |word: &str| {
            let found = replaced.iter().find(|(name, _)| *name == word);
            found.map(|(_, value)| value.clone())
        };
        instance.read(constants, &find);
        Ok(instance)
    }
}

/// The most tokens of a default; a longer one is cut off, so that plain text tells no type or number.
const LONGEST: usize = 1000;

fn known(replaced: &[(&str, Vec<Token>)], token: &Token) -> Vec<Token> {
    let found = replaced.iter().find(|(name, _)| token.is_word(name));
    found.map_or_else(|| vec![token.clone()], |(_, value)| value.clone())
}

/// Whether these are the arguments of one template: each bracket that opens closes, and no other one closes.
fn is_closed(tokens: &[Token]) -> bool {
    let mut nesting = Nesting::default();
    let mut none_is_open = true;
    for token in tokens {
        let closes = [')', ']', '}', '>'].iter().any(|&close| token.is(close));
        if (closes && none_is_open) || token.is(';') {
            return false;
        }
        none_is_open = nesting.pass(token);
    }
    none_is_open
}
