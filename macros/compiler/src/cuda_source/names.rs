//! The meanings of the names of types in the chosen branches of `#if`s.

use super::branches::{Choices, Place};
use super::declarations::Declarations;
use super::declarator::Declarator;
use super::lexer::Token;
use super::record::Definition;
use super::toolkit_types;

/// The meaning of a name in one branch.
#[derive(Clone)]
pub(super) enum Meaning<'a> {
    Defined(&'a Definition),
    Macro(Declarator),
    Unknown,
}

impl Meaning<'_> {
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Defined(one), Self::Defined(other)) => one.what == other.what,
            (Self::Macro(one), Self::Macro(other)) => one == other,
            (Self::Unknown, Self::Unknown) => true,
            _ => false,
        }
    }
}

/// The names of a source.
pub(super) struct Names<'a> {
    pub(super) declarations: &'a Declarations,
    pub(super) choices: &'a Choices,
}

impl<'a> Names<'a> {
    /// The meaning of a name, looked up from the inside to the outside.
    pub(super) fn find(&self, text: &str, namespace: &[String]) -> Option<Meaning<'a>> {
        let (absolute, text) = match text.strip_prefix("::") {
            Some(text) => (true, text),
            None => (false, text),
        };
        let mut path: Vec<&str> = text.split("::").collect();
        let name = path.pop()?;
        let outermost = if absolute { 0 } else { namespace.len() };
        for outer in (0..=outermost).rev() {
            let wanted = || namespace[..outer].iter().map(String::as_str).chain(path.iter().copied());
            let found = self.declarations.definitions.iter().filter(|definition| {
                definition.name == name && definition.namespace.iter().map(String::as_str).eq(wanted())
            });
            let mut found: Vec<_> = found
                .map(|one| (Meaning::Defined(one), self.declarations.sides.around(one.file, one.line)))
                .collect();
            if !found.is_empty() || outer == 0 {
                found.extend(self.macros(text));
            }
            if found.is_empty() {
                continue;
            }
            // Under `#if` there may be several.
            let (meanings, places): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            let chosen =
                self.choices.choose(text, &places, |one, other| meanings[one].same(&meanings[other]));
            return Some(chosen.map_or(Meaning::Unknown, |at| meanings[at].clone()));
        }
        None
    }

    /// A macro such as `#define REAL float`, and its place.
    fn macros(&self, name: &str) -> Vec<(Meaning<'a>, Vec<Place<'a>>)> {
        let declarator = |body: &[Token]| {
            let found = super::declarator::declarator(body).filter(|found| found.name.is_none())?;
            (found.base.text != name).then_some(Meaning::Macro(found))
        };
        // A macro that options define has no place.
        if let Some(body) = self.declarations.constants.get(name) {
            let places = self.declarations.variants.get(name).and_then(|variants| variants.first());
            let places =
                places.map_or_else(Vec::new, |one| self.declarations.sides.around(one.file, one.line));
            return declarator(body).map(|meaning| (meaning, places)).into_iter().collect();
        }
        let variants = self.declarations.variants.get(name).map_or(&[][..], Vec::as_slice);
        let each = variants.iter().map(|variant| {
            let meaning = declarator(&variant.body).unwrap_or(Meaning::Unknown);
            (meaning, self.declarations.sides.around(variant.file, variant.line))
        });
        each.collect()
    }

    /// Whether no file that is read defines a plain name, and no other file can define it.
    pub(super) fn is_nowhere(&self, name: &str) -> bool {
        let is_plain = name.chars().all(super::lexer::is_word) && name != "void";
        let macros = &self.declarations.constants;
        is_plain
            && self.declarations.is_whole
            && !self.declarations.mentioned.contains(name)
            && !macros.is_named(name)
            && !super::declarator::is_builtin(name)
            && !toolkit_types::may_have(name)
    }
}
