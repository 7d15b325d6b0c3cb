//! The prototypes of kernels in CUDA C++.
//!
//! It reads plain text and never fails: it leaves out what it does not understand, or calls it unknown.

use super::branches::{Branches, each_way};
use super::constant::Constants;
pub use super::ctype::{Base, CType, Primitive, Scalar};
use super::declarator::{is_qualifier, parameter, takes_parentheses};
use super::lexer::Token;
use super::sequence::{after_group, at_commas, substituted};
use super::templates::TemplateParameter;

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
    /// The first value of `__launch_bounds__`, in threads, where plain text tells it.
    pub max_threads_per_block: Option<u32>,
    /// The size in `__cluster_dims__`, in blocks, if plain text tells it.
    pub cluster: Option<[u32; 3]>,
    pub(crate) file: usize,
    /// The namespaces that it is in, outermost first.
    pub(crate) namespace: Vec<String>,
    /// The parameters of its template, if it is one.
    pub(crate) template: Vec<TemplateParameter>,
    /// The tokens between its parentheses.
    pub(super) inside: Vec<Token>,
    /// Each parameter as it is written.
    written: Vec<Vec<Token>>,
    /// The tokens before and behind its name.
    attributes: Vec<Token>,
    /// The branches of the `#if`s among its parameters that this version is for.
    pub(crate) chosen: Vec<(String, usize)>,
    /// Whether there are too many `#if`s to tell its parameters.
    pub(super) is_open: bool,
    /// Arrays in shared memory whose size plain text tells: their names, lines and bytes.
    pub(crate) shared: Vec<(String, usize, i128)>,
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

impl Prototype {
    /// As the source names it: `math::reduce`.
    pub(crate) fn path(&self) -> String {
        let mut path = self.namespace.join("::");
        if !path.is_empty() {
            path += "::";
        }
        path + &self.name
    }

    /// Whether plain text tells how many parameters there are.
    pub(crate) fn has_arity(&self) -> bool {
        let dots = |tokens: &[Token]| tokens.windows(3).any(|three| three.iter().all(|token| token.is('.')));
        !self.is_open && !self.written.iter().any(|tokens| dots(tokens))
    }

    /// Writes macros out that stand for several parameters.
    pub(super) fn unfold(&mut self, list: &dyn Fn(&str) -> Option<Vec<Token>>) {
        self.inside = substituted(&self.inside, list);
        self.written = split(&self.inside);
    }

    /// Its versions in the branches of the `#if`s among its parameters.
    pub(super) fn versions(self, sides: &Branches) -> Vec<Self> {
        let inside = |token: &Token| sides.inside((token.file, token.line), (self.file, self.line));
        if self.inside.iter().all(|token| inside(token).is_empty()) {
            return vec![self];
        }
        let ways = each_way(&sides.around(self.file, self.line), |choices| {
            let mut version = Self { is_open: false, ..self.clone() };
            version.inside.retain(|token| {
                let taken = choices.takes(&inside(token), sides);
                version.is_open |= taken.is_none();
                taken == Some(true)
            });
            version.written = split(&version.inside);
            version.chosen = choices.made();
            version
        });
        // A version with an empty parameter, in which a branch lacks its comma, cannot be meant.
        let is_whole = |version: &Self| version.is_open || version.written.iter().all(|one| !one.is_empty());
        let whole: Vec<_> = ways.iter().filter(|version| is_whole(version)).cloned().collect();
        if whole.is_empty() { vec![Self { is_open: true, ..self }] } else { whole }
    }

    /// Reads the types and the attributes, with `replace` in place of each name that it knows.
    pub(super) fn read(&mut self, constants: &Constants, replace: &dyn Fn(&str) -> Option<Vec<Token>>) {
        let replace = |word: &str| replace(word).or_else(|| qualifiers(constants.get(word)?));
        let replaced = |tokens: &[Token]| substituted(tokens, &replace);
        let parameters = self.written.iter().map(|tokens| {
            let (ty, name) = parameter(&replaced(tokens));
            Parameter { name, ty, line: tokens.first().map_or(0, |token| token.line) }
        });
        self.parameters = parameters.collect();
        let attributes = replaced(&self.attributes);
        self.max_threads_per_block = launch_bounds(&attributes, constants);
        self.cluster = cluster(&attributes, constants);
    }
}

/// `#define RESTRICT __restrict__`, or nothing at all.
fn qualifiers(body: &[Token]) -> Option<Vec<Token>> {
    let is_qualifier = |token: &Token| token.word().is_some_and(|word| word == "const" || is_qualifier(word));
    body.iter().all(is_qualifier).then(|| body.to_vec())
}

/// The function whose declaration goes on at `tokens`, after `__global__`, and what follows its parameters.
pub(super) fn function<'a>(before: &[Token], tokens: &'a [Token]) -> Option<(Prototype, &'a [Token])> {
    let mut rest = tokens;
    loop {
        match rest {
            [token, tail @ ..] if token.word().is_some_and(takes_parentheses) => {
                rest = after_group(tail, '(', ')');
            }
            [name, open, ..] if open.is('(') && name.word().is_some() => {
                let after = after_group(&rest[1..], '(', ')');
                // `MACRO(256) saxpy(…)`: the name is yet to come.
                let is_name = |next: &str| next != "requires" && !takes_parentheses(next);
                if after.first().and_then(Token::word).is_some_and(is_name) {
                    rest = after;
                    continue;
                }
                let inside = &rest[2..(rest.len() - after.len()).saturating_sub(1).max(2)];
                let between = &tokens[..tokens.len() - rest.len()];
                let end = after.iter().position(|token| token.is('{') || token.is(';')).unwrap_or(0);
                let prototype = Prototype {
                    name: name.word()?.to_owned(),
                    line: name.line,
                    file: name.file,
                    linkage: Linkage::Cxx,
                    namespace: Vec::new(),
                    template: Vec::new(),
                    parameters: Vec::new(),
                    max_threads_per_block: None,
                    cluster: None,
                    inside: inside.to_vec(),
                    written: split(inside),
                    chosen: Vec::new(),
                    is_open: false,
                    attributes: [before, between, &after[..end]].concat(),
                    shared: Vec::new(),
                };
                return Some((prototype, after));
            }
            [token, ..] if token.is(';') || token.is('{') || token.is('}') || token.is_word("__global__") => {
                return None;
            }
            [_, tail @ ..] => rest = tail,
            [] => return None,
        }
    }
}

/// The arguments in the parentheses behind `word`.
fn arguments<'a>(tokens: &'a [Token], word: &str) -> Option<Vec<&'a [Token]>> {
    let at = tokens.iter().position(|token| token.is_word(word))? + 1;
    tokens.get(at).filter(|token| token.is('('))?;
    let rest = after_group(&tokens[at..], '(', ')');
    let inside = tokens.get(at + 1..(tokens.len() - rest.len()).checked_sub(1)?)?;
    Some(at_commas(inside))
}

fn launch_bounds(tokens: &[Token], constants: &Constants) -> Option<u32> {
    let arguments = arguments(tokens, "__launch_bounds__")?;
    let threads = constants.evaluate(arguments.first()?)?;
    u32::try_from(threads).ok().filter(|&threads| threads > 0)
}

fn cluster(tokens: &[Token], constants: &Constants) -> Option<[u32; 3]> {
    let dims = match arguments(tokens, "__cluster_dims__") {
        Some(dims) => dims,
        // `__block_size__((256, 1, 1), (2, 1, 1))`: threads, then blocks of a cluster.
        None => match *arguments(tokens, "__block_size__")?.get(1)? {
            [open, inside @ .., close] if open.is('(') && close.is(')') => at_commas(inside),
            one => vec![one],
        },
    };
    let mut cluster = [1; 3];
    if dims.len() > cluster.len() || dims.iter().all(|tokens| tokens.is_empty()) {
        return None;
    }
    for (dim, tokens) in cluster.iter_mut().zip(dims) {
        *dim = u32::try_from(constants.evaluate(tokens)?).ok().filter(|&blocks| blocks > 0)?;
    }
    Some(cluster)
}

/// The parameters between the parentheses.
fn split(tokens: &[Token]) -> Vec<Vec<Token>> {
    match tokens {
        [] => Vec::new(),
        [void] if void.is_word("void") => Vec::new(),
        _ => at_commas(tokens).into_iter().map(<[Token]>::to_vec).collect(),
    }
}
