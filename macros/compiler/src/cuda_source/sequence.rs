//! Sequences of tokens: groups in brackets, the parts between commas, names that are replaced.

use super::lexer::{Kind, Token};

/// The tokens after the group that opens at the first token.
pub(super) fn after_group(tokens: &[Token], open: char, close: char) -> &[Token] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.is(open) {
            depth += 1;
        } else if token.is(close) {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return &tokens[at + 1..];
        }
    }
    &[]
}

/// The parts between the commas that are in no bracket.
pub(super) fn at_commas(tokens: &[Token]) -> Vec<&[Token]> {
    let mut nesting = Nesting::default();
    tokens.split(|token| nesting.pass(token) && token.is(',')).collect()
}

/// The brackets that are open. In other brackets `<` and `>` compare.
#[derive(Default)]
pub(super) struct Nesting(Vec<char>);

impl Nesting {
    /// Goes past a token, and says whether no bracket is open then.
    pub(super) fn pass(&mut self, token: &Token) -> bool {
        let last = self.0.last().copied();
        match token.kind {
            Kind::Mark('<') if last.is_none_or(|last| last == '<') => self.0.push('<'),
            Kind::Mark('>') if last == Some('<') => drop(self.0.pop()),
            Kind::Mark(open @ ('(' | '[' | '{')) => self.0.push(open),
            Kind::Mark(close @ (')' | ']' | '}')) => {
                let open = match close {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                if let Some(at) = self.0.iter().rposition(|&last| last == open) {
                    self.0.truncate(at);
                }
            }
            _ => {}
        }
        self.0.is_empty()
    }
}

/// The tokens with what `replace` gives in place of each name that it knows.
pub(super) fn substituted(tokens: &[Token], replace: &dyn Fn(&str) -> Option<Vec<Token>>) -> Vec<Token> {
    let mut all = Vec::new();
    for token in tokens {
        match token.word().and_then(replace) {
            Some(body) => {
                let Token { file, line, .. } = *token;
                all.extend(body.into_iter().map(|token| Token { file, line, ..token }));
            }
            None => all.push(token.clone()),
        }
    }
    all
}
