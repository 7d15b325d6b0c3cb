//! Integer constants of a source: literals, `#define`, `constexpr`, enumerators, and arithmetic on them.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::lexer::{Kind, Token};

/// The tokens that names of constants stand for.
#[derive(Debug, Default)]
pub(crate) struct Constants {
    /// `None` where a name stands for several things.
    named: BTreeMap<String, Option<Vec<Token>>>,
}

/// How many names one expression may go through; a definition that needs more is circular.
const NAMES: usize = 100;

impl Constants {
    pub(super) fn new(macros: BTreeMap<String, Option<Vec<Token>>>) -> Self {
        Self { named: macros }
    }

    /// Adds `constexpr int name = value;`.
    pub(super) fn add(&mut self, name: &str, value: &[Token]) {
        let same = |known: &Option<Vec<Token>>| {
            known.as_ref().is_some_and(|known| {
                known.iter().map(|token| &token.kind).eq(value.iter().map(|token| &token.kind))
            })
        };
        match self.named.get_mut(name) {
            Some(known) if !same(known) => *known = None,
            Some(_) => {}
            None => drop(self.named.insert(name.to_owned(), Some(value.to_vec()))),
        }
    }

    /// The tokens that a name stands for, if there is one definition.
    pub(super) fn get(&self, name: &str) -> Option<&[Token]> {
        self.named.get(name)?.as_deref()
    }

    /// Whether something has this name.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// The value of an expression, if plain text tells.
    pub(crate) fn evaluate(&self, tokens: &[Token]) -> Option<i128> {
        self.expression(tokens, &Cell::new(NAMES))
    }

    fn expression(&self, tokens: &[Token], names: &Cell<usize>) -> Option<i128> {
        // Long expressions are not sizes, and each bracket is a call of this function.
        if tokens.len() > 64 {
            return None;
        }
        let mut reader = Reader { constants: self, rest: tokens, names };
        let value = reader.binary(0)?;
        reader.rest.is_empty().then_some(value)
    }
}

struct Reader<'a> {
    constants: &'a Constants,
    rest: &'a [Token],
    names: &'a Cell<usize>,
}

impl Reader<'_> {
    fn binary(&mut self, least: u8) -> Option<i128> {
        let mut left = self.unary()?;
        while let Some((operator, precedence, length)) = self.operator()
            && precedence >= least
        {
            self.rest = &self.rest[length..];
            let right = self.binary(precedence + 1)?;
            left = match operator {
                '+' => left.checked_add(right),
                '-' => left.checked_sub(right),
                '*' => left.checked_mul(right),
                '/' => left.checked_div(right),
                '%' => left.checked_rem(right),
                '<' => left.checked_mul(1_i128.checked_shl(u32::try_from(right).ok()?)?),
                _ => left.checked_shr(u32::try_from(right).ok()?),
            }?;
        }
        Some(left)
    }

    /// The operator that comes next, how tightly it binds, and its tokens.
    fn operator(&self) -> Option<(char, u8, usize)> {
        let Kind::Mark(mark) = self.rest.first()?.kind else { return None };
        match mark {
            '*' | '/' | '%' => Some((mark, 2, 1)),
            '+' | '-' => Some((mark, 1, 1)),
            '<' | '>' if self.rest.get(1).is_some_and(|next| next.is(mark)) => Some((mark, 0, 2)),
            _ => None,
        }
    }

    fn unary(&mut self) -> Option<i128> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        match &first.kind {
            Kind::Mark('-') => self.unary()?.checked_neg(),
            Kind::Mark('+') => self.unary(),
            Kind::Mark('(') => {
                let value = self.binary(0)?;
                let (close, rest) = self.rest.split_first()?;
                self.rest = rest;
                close.is(')').then_some(value)
            }
            Kind::Word(word) => match literal(word) {
                Some(value) => Some(value),
                None => {
                    self.names.set(self.names.get().checked_sub(1)?);
                    self.constants.expression(self.constants.get(word)?, self.names)
                }
            },
            _ => None,
        }
    }
}

/// `256`, `0x100u`, `1'024`.
fn literal(word: &str) -> Option<i128> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = word.replace('\'', "").to_ascii_lowercase();
    let digits = digits.trim_end_matches(['u', 'l', 'z']);
    let (digits, radix) = match (digits.strip_prefix("0x"), digits.strip_prefix("0b")) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) => (digits, 2),
        (None, None) if digits.starts_with('0') => (digits, 8),
        (None, None) => (digits, 10),
    };
    i64::from_str_radix(digits, radix).ok().map(i128::from)
}
