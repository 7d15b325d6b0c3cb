//! The declarations of a source in files and namespaces: kernels, types, variables and constants.

use std::collections::{BTreeMap, BTreeSet};

use super::branches::Branches;
use super::constant::Constants;
use super::declarator::{Declarator, declarator, declarators, takes_parentheses};
use super::lexer::Token;
use super::mentions::{Made, made, mentioned};
use super::prototype::{Linkage, Prototype, function};
use super::record::{Definition, definitions};
use super::sequence::{after_group, at_commas};
use super::shared::shared_arrays;
use super::templates::{Template, parameters};
use super::unit::{Unit, Variant};

/// The declarations that were found, in order.
#[derive(Debug)]
pub(crate) struct Declarations {
    pub(crate) prototypes: Vec<Prototype>,
    pub(super) definitions: Vec<Definition>,
    pub(super) templates: Vec<Template>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) constants: Constants,
    /// Whether a `using namespace` may make names known that are not written out.
    pub(crate) uses_namespaces: bool,
    pub(super) packs: bool,
    /// The definitions of macros without parameters.
    pub(super) variants: BTreeMap<String, Vec<Variant>>,
    pub(crate) sides: Branches,
    /// Whether a name that is neither in `mentioned` nor the toolkit's cannot be a type.
    pub(super) is_whole: bool,
    /// Names that some declaration may give to a type.
    pub(super) mentioned: BTreeSet<String>,
    /// Calls of macros that make kernels.
    pub(crate) made: Vec<Made>,
    /// Macros with parameters that may stand for several of a kernel's.
    lists: BTreeSet<String>,
}

/// `__constant__ float weights[25];`
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) declarator: Declarator,
    pub(crate) name: String,
    pub(crate) namespace: Vec<String>,
    pub(crate) file: usize,
    pub(crate) line: usize,
    /// Why a launch cannot give it a value.
    pub(crate) hidden: Option<Hidden>,
}

/// Why a launch cannot give a variable a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// It is `const`: the compiler puts its value into the code.
    Constant,
    /// C++ mangles its name.
    InNamespace,
}

/// The scope that an open brace belongs to.
#[derive(Clone)]
struct Scope {
    /// Whether `extern "C"` holds inside it.
    c_linkage: bool,
    namespace: Vec<String>,
    /// Whether it is in a namespace, including one that paths leave out.
    is_inner: bool,
    /// Whether one of its namespaces has no name, so that no other file sees what is in it.
    is_hidden: bool,
}

impl Declarations {
    /// Goes through a source once.
    pub(super) fn of(unit: Unit) -> Self {
        let Unit { tokens, macros, variants, sides, hides, packs, makers, lists, .. } = unit;
        let mut found = Self {
            prototypes: Vec::new(),
            definitions: Vec::new(),
            templates: Vec::new(),
            variables: Vec::new(),
            constants: Constants::new(macros),
            uses_namespaces: false,
            packs,
            variants,
            sides,
            is_whole: !hides,
            mentioned: mentioned(&tokens),
            made: made(&tokens, &makers),
            lists,
        };
        let outermost = Scope { c_linkage: false, namespace: Vec::new(), is_inner: false, is_hidden: false };
        let mut scopes = Vec::new();
        // Where the current declaration begins.
        let mut start = 0;
        // The first token behind the last brace of this declaration, and whether an initialiser began before
        // it.
        let mut tail = (0, false);
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let scope = scopes.last().unwrap_or(&outermost);
            let declaration = &tokens[start..at - 1];
            if token.is('{') {
                let behind = || tokens.len() - after_group(&tokens[at - 1..], '{', '}').len();
                if tail.0 <= start {
                    tail = (start, false);
                }
                // Each token is looked at once, however many braces a declaration has.
                let since = &tokens[tail.0..at - 1];
                let is_initialiser = tail.1 || since.iter().any(|token| token.is('='));
                let opened = match brace(since) {
                    _ if tail.1 => Brace::Part,
                    Brace::Scope if tail.0 > start => Brace::Part,
                    opened => opened,
                };
                match opened {
                    Brace::Scope => {
                        let scope = inner(declaration, scope);
                        scopes.push(scope);
                        start = at;
                    }
                    Brace::Body => {
                        at = behind();
                        start = at;
                    }
                    // The declaration goes on behind it, to the `;`.
                    Brace::Part => {
                        at = behind();
                        tail = (at, is_initialiser);
                    }
                }
            } else if token.is('}') {
                scopes.pop();
                start = at;
            } else if token.is(';') {
                found.declaration(declaration, scope);
                start = at;
            } else if token.is_word("__global__") {
                let Some((function, rest)) = function(declaration, &tokens[at..]) else { continue };
                let after = &tokens[at..tokens.len() - rest.len()];
                let body = rest.first().is_some_and(|token| token.is('{'));
                // Neither a body nor a second declarator holds kernels.
                let behind = if body { after_group(rest, '{', '}') } else { rest };
                found.kernel(function, declaration, after, scope, &rest[..rest.len() - behind.len()]);
                at = tokens.len() - behind.len();
                start = at;
            }
        }
        found
    }

    fn kernel(
        &mut self,
        mut kernel: Prototype,
        before: &[Token],
        after: &[Token],
        scope: &Scope,
        body: &[Token],
    ) {
        let is_template = before.iter().any(|token| token.is_word("template"));
        // `extern "C"` may also follow `__global__`.
        let is_c = c_linkage(before).or_else(|| c_linkage(after)).unwrap_or(scope.c_linkage);
        // A kernel without external linkage cannot have that of C.
        let is_c =
            is_c && !scope.is_hidden && !before.iter().chain(after).any(|token| token.is_word("static"));
        kernel.linkage = match (is_template, is_c) {
            (true, _) => Linkage::Template,
            (false, true) => Linkage::C,
            (false, false) => Linkage::Cxx,
        };
        kernel.template = parameters(before);
        kernel.namespace = scope.namespace.clone();
        kernel.shared = shared_arrays(body, &self.constants);
        let is_open = self.unfold(&mut kernel);
        for mut version in kernel.versions(&self.sides) {
            version.is_open |= is_open;
            version.read(&self.constants, &|_| None);
            self.prototypes.push(version);
        }
    }

    /// Writes out macros that stand for several parameters; true where plain text does not tell how many.
    fn unfold(&self, kernel: &mut Prototype) -> bool {
        let has_comma = |body: &[Token]| at_commas(body).len() > 1;
        let is_list = |word: &str| self.constants.get(word).is_some_and(has_comma);
        if kernel.inside.iter().any(|token| token.word().is_some_and(is_list)) {
            let of_list =
                |word: &str| self.constants.get(word).filter(|body| has_comma(body)).map(<[Token]>::to_vec);
            kernel.unfold(&of_list);
        }
        // Whether one may stand for several in a way that is not written out; each name is looked at once.
        let mut left: Vec<_> = kernel.inside.iter().filter_map(Token::word).collect();
        let mut seen = BTreeSet::new();
        while let Some(word) = left.pop() {
            if self.lists.contains(word) {
                return true;
            }
            if !seen.insert(word) {
                continue;
            }
            let variants = self.variants.get(word).map_or(&[][..], Vec::as_slice);
            let bodies = variants.iter().map(|variant| &variant.body[..]).chain(self.constants.get(word));
            for body in bodies {
                if has_comma(body) {
                    return true;
                }
                left.extend(body.iter().filter_map(Token::word));
            }
        }
        false
    }

    /// Reads a declaration that ends in a `;`.
    fn declaration(&mut self, tokens: &[Token], scope: &Scope) {
        // Words among a type's members say nothing about the declaration itself.
        let end = tokens.iter().position(|token| token.is('{')).unwrap_or(tokens.len());
        let has = |word: &str| tokens[..end].iter().any(|token| token.is_word(word));
        if let [using, namespace, ..] = tokens
            && using.is_word("using")
            && namespace.is_word("namespace")
        {
            self.uses_namespaces = true;
        } else if has("template") {
            self.templates.extend(Template::read(tokens, &scope.namespace));
        } else if has("__constant__") || has("__device__") || has("__managed__") {
            self.variables(tokens, scope);
        } else if has("constexpr") || (has("const") && tokens[..end].iter().any(|token| token.is('='))) {
            self.constant(tokens);
        } else {
            self.enumerators(tokens);
            definitions(tokens, &scope.namespace, &mut self.definitions);
        }
    }

    /// The constants of `enum { tile = 16 };` that have a value of their own, and whose enum does not enclose
    /// them.
    fn enumerators(&mut self, tokens: &[Token]) {
        let Some(open) = tokens.iter().position(|token| token.is('{')) else { return };
        let head = &tokens[..open];
        let is_enum = head.iter().any(|token| token.is_word("enum"));
        if !is_enum || head.iter().any(|token| token.is_word("class") || token.is_word("struct")) {
            return;
        }
        let behind = after_group(&tokens[open..], '{', '}');
        let Some(body) = tokens.get(open + 1..(tokens.len() - behind.len()).saturating_sub(1)) else {
            return;
        };
        for part in at_commas(body) {
            if let [name, equals, value @ ..] = part
                && equals.is('=')
                && let Some(name) = name.word()
            {
                self.constants.add(name, value);
            }
        }
    }

    /// `constexpr int tile = 16;`
    fn constant(&mut self, tokens: &[Token]) {
        let words = ["constexpr", "static", "inline", "__device__"];
        let tokens: Vec<_> =
            tokens.iter().filter(|token| !words.iter().any(|word| token.is_word(word))).cloned().collect();
        let Some(at) = tokens.iter().position(|token| token.is('=') || token.is('{')) else { return };
        let value = match &tokens[at..] {
            [equals, value @ ..] if equals.is('=') => value,
            [_, value @ .., _] => value,
            _ => return,
        };
        let Some(Declarator { name: Some(name), .. }) = declarator(&tokens[..at]) else { return };
        self.constants.add(&name, value);
    }

    fn variables(&mut self, tokens: &[Token], scope: &Scope) {
        let is_c = c_linkage(tokens).unwrap_or(scope.c_linkage);
        let is_constant = tokens.iter().any(|token| token.is_word("constexpr"));
        let specifiers =
            ["static", "extern", "inline", "constexpr", "__constant__", "__device__", "__managed__"];
        let is_specifier = |token: &Token| {
            specifiers.iter().any(|word| token.is_word(word)) || token.is_text("C") || token.is_text("C++")
        };
        let tokens: Vec<_> = tokens.iter().filter(|token| !is_specifier(token)).cloned().collect();
        for declared in declarators(&tokens) {
            let Some(name) = declared.name.clone() else { continue };
            let place = tokens.iter().find(|token| token.is_word(&name)).or(tokens.first());
            let Some(&Token { file, line, .. }) = place else { continue };
            let hidden = if is_constant || declared.constant {
                Some(Hidden::Constant)
            } else {
                (!is_c && scope.is_inner).then_some(Hidden::InNamespace)
            };
            let namespace = scope.namespace.clone();
            self.variables.push(Variable { declarator: declared, name, namespace, file, line, hidden });
        }
    }
}

enum Brace {
    /// Declarations are in it: a namespace, `extern "C"`, something that a macro makes.
    Scope,
    /// Nothing in it is visible outside.
    Body,
    /// The members of a type, or an initialiser.
    Part,
}

/// The kind of the brace that opens behind `declaration`.
fn brace(declaration: &[Token]) -> Brace {
    let has = |word: &str| declaration.iter().any(|token| token.is_word(word));
    let mut rest = declaration;
    while let Some((first, tail)) = rest.split_first() {
        if first.is_word("template") {
            rest = after_group(tail, '<', '>');
        } else if first.word().is_some_and(takes_parentheses) {
            rest = after_group(tail, '(', ')');
        } else if first.is('(') || first.is_word("operator") {
            // A function has parentheses of its own.
            return Brace::Body;
        } else if first.is('=') {
            return Brace::Part;
        } else {
            rest = tail;
        }
    }
    let makes_a_part = ["struct", "class", "union", "enum", "__constant__", "__device__", "constexpr"]
        .iter()
        .any(|word| has(word));
    if makes_a_part { Brace::Part } else { Brace::Scope }
}

fn inner(declaration: &[Token], outer: &Scope) -> Scope {
    let mut scope = outer.clone();
    if let Some(is_c) = c_linkage(declaration) {
        scope.c_linkage = is_c;
    }
    if let Some(at) = declaration.iter().position(|token| token.is_word("namespace")) {
        scope.is_inner = true;
        scope.is_hidden |= !declaration[at + 1..].iter().any(|token| token.word().is_some());
        // An inline or nameless namespace is left out of paths.
        let inline = at.checked_sub(1).is_some_and(|before| declaration[before].is_word("inline"));
        if !inline {
            scope.namespace.extend(declaration[at + 1..].iter().filter_map(Token::word).map(str::to_owned));
        }
    }
    scope
}

/// Whether `extern "C"` or `extern "C++"` stands in these tokens.
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
