//! Arrays in static shared memory.

use super::constant::Constants;
use super::declarator::declarators;
use super::known::builtin;
use super::lexer::Token;

/// The arrays in static shared memory in a kernel's body whose size plain text tells: name, line and bytes.
pub(super) fn shared_arrays(body: &[Token], constants: &Constants) -> Vec<(String, usize, i128)> {
    let mut found = Vec::new();
    for (at, token) in body.iter().enumerate() {
        if !token.is_word("__shared__") {
            continue;
        }
        let rest = &body[at + 1..];
        let is_end = |token: &Token| token.is(';') || token.is('}') || token.is_word("__shared__");
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        for declared in declarators(&rest[..end]) {
            let Some(name) = &declared.name else { continue };
            let Some(element) = builtin(&declared.base).filter(|_| declared.pointers.is_empty()) else {
                continue;
            };
            let bytes = declared.bounds.iter().try_fold(i128::from(element.size), |bytes, bound| {
                bytes.checked_mul(constants.evaluate(bound)?)
            });
            if let Some(bytes) = bytes.filter(|_| !declared.bounds.is_empty()) {
                found.push((name.clone(), token.line, bytes));
            }
        }
    }
    found
}
