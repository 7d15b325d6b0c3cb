//! The decisions of the `#if`s around a place, as far as plain text tells.

use std::collections::BTreeSet;

use super::lexer::is_word;

/// The `#if`s that are open, outermost first.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<Condition>);

/// The decision of an `#if` about the branch that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    /// Whether the branch is there.
    Open,
    /// No decision, if `#define` of this name comes next: it keeps a file from being included twice.
    Guarding(String),
    /// No decision: it is such a guard.
    Guard,
    /// NVRTC takes the branch.
    Taken,
    /// NVRTC does not take the branch, but may take one that follows.
    Skipped,
    /// NVRTC has taken an earlier branch.
    Over,
}

/// The macros that NVRTC defines before it reads a source.
const DEFINED: [&str; 4] = ["__CUDACC_RTC__", "__CUDACC__", "__CUDA_ARCH__", "__cplusplus"];

impl Conditions {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Whether the compiler reads what stands here, whatever is defined elsewhere.
    pub(super) fn are_met(&self) -> bool {
        self.0.iter().all(|condition| matches!(condition, Condition::Guard | Condition::Taken))
    }

    /// Whether the compiler does not read what stands here.
    pub(super) fn leave_out(&self) -> bool {
        self.0.iter().any(|condition| matches!(condition, Condition::Skipped | Condition::Over))
    }

    /// Whether the innermost `#if` leaves this branch out.
    pub(super) fn skip_this(&self) -> bool {
        matches!(self.0.last(), Some(Condition::Skipped | Condition::Over))
    }

    /// Whether the innermost `#if` has had the branch that is taken.
    pub(super) fn have_chosen(&self) -> bool {
        matches!(self.0.last(), Some(Condition::Guard | Condition::Taken | Condition::Over))
    }

    /// Goes on behind a directive. `is_first` says that only directives without effect stand before it in its
    /// file. `defined` names the macros defined so far, one of which may leave the whole file out.
    pub(super) fn follow(&mut self, keyword: &str, rest: &str, is_first: bool, defined: &BTreeSet<String>) {
        let guard =
            |name: String| if defined.contains(&name) { Condition::Open } else { Condition::Guarding(name) };
        if let Some(last @ Condition::Guarding(_)) = self.0.last_mut() {
            let guards = keyword == "define" && *last == Condition::Guarding(word(rest).to_owned());
            *last = if guards { Condition::Guard } else { Condition::Open };
        }
        let condition = match keyword {
            "ifndef" if is_first && known(word(rest)).is_none() => guard(word(rest).to_owned()),
            "if" if is_first && value(rest).is_none() => unless_defined(rest).map_or(Condition::Open, guard),
            "if" => decided(value(rest)),
            "ifdef" => decided(known(word(rest))),
            "ifndef" => decided(known(word(rest)).map(|is_defined| !is_defined)),
            "else" | "elif" | "elifdef" | "elifndef" => match self.0.pop() {
                Some(Condition::Taken | Condition::Over) => Condition::Over,
                Some(Condition::Skipped) => match keyword {
                    "else" => Condition::Taken,
                    "elif" => decided(value(rest)),
                    "elifdef" => decided(known(word(rest))),
                    _ => decided(known(word(rest)).map(|is_defined| !is_defined)),
                },
                _ => Condition::Open,
            },
            "endif" => return drop(self.0.pop()),
            _ => return,
        };
        self.0.push(condition);
    }
}

fn decided(value: Option<bool>) -> Condition {
    match value {
        Some(true) => Condition::Taken,
        Some(false) => Condition::Skipped,
        None => Condition::Open,
    }
}

/// The word that a text begins with.
fn word(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches(is_word).len()]
}

/// Whether a macro is defined.
fn known(name: &str) -> Option<bool> {
    DEFINED.contains(&name).then_some(true)
}

/// The value of a condition that has no macros other than NVRTC's own.
fn value(condition: &str) -> Option<bool> {
    let condition = condition.split("//").next().unwrap_or_default();
    let condition = condition.split("/*").next().unwrap_or_default().trim();
    match condition {
        "0" | "false" => return Some(false),
        "1" | "true" => return Some(true),
        _ => {}
    }
    let (negated, operand) = match condition.strip_prefix('!') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, condition),
    };
    let operand = operand.strip_prefix("defined")?;
    let name = operand.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let is_name = !name.is_empty() && name.chars().all(is_word);
    known(name).filter(|_| is_name).map(|is_defined| is_defined != negated)
}

/// The `X` of `!defined(X)`.
fn unless_defined(condition: &str) -> Option<String> {
    let operand = condition.strip_prefix('!')?.trim_start().strip_prefix("defined")?;
    let operand = operand.trim().trim_start_matches('(').trim_end_matches(')').trim();
    Some(operand.to_owned()).filter(|name| !name.is_empty() && name.chars().all(is_word))
}
