//! A letter for each stage.

use std::collections::BTreeSet;

/// A different capital for each name: the first free one of its own letters, else the first free one of all.
/// `None` if all Latin, Greek and Cyrillic letters are taken.
///
/// Each has a small letter of its own, for the chunks in between.
pub(super) fn letters(names: &[&str]) -> Vec<Option<char>> {
    let mut taken = BTreeSet::new();
    let others = || ('A'..='Z').chain(('Α'..='Ρ').chain('Σ'..='Ω')).chain('А'..='Я');
    let mut letter = |name: &&str| {
        let name = name.strip_prefix("r#").unwrap_or(name);
        let own = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase());
        let free = own.chain(others()).find(|c| !taken.contains(c));
        taken.extend(free);
        free
    };
    names.iter().map(&mut letter).collect()
}

/// The letter for a chunk: the capital for even ones.
pub(super) fn of_chunk(letter: Option<char>, even: bool) -> char {
    let capital = letter.unwrap_or('#');
    if even { capital } else { capital.to_lowercase().next().unwrap_or(capital) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> String {
        letters(names).into_iter().map(|letter| of_chunk(letter, true)).collect()
    }

    #[test]
    fn a_stage_has_the_first_letter_of_its_name_that_is_free() {
        assert_eq!(of(&["load", "axpy", "store"]), "LAS");
        assert_eq!(of(&["load", "lose", "sell", "ell"]), "LOSE");
        assert_eq!(of(&["r#match", "_2nd", "größe", "日本"]), "MNGA");
    }

    #[test]
    fn letters_differ_in_either_case_and_run_out_at_last() {
        let letters = letters(&["a"; 100]);
        let named: Vec<_> = letters.iter().flatten().map(|&c| Some(c)).collect();
        assert_eq!(named.len(), 26 + 24 + 32);
        let mut both: BTreeSet<_> = named.iter().map(|&c| of_chunk(c, true)).collect();
        both.extend(named.iter().map(|&c| of_chunk(c, false)));
        assert_eq!(both.len(), 2 * named.len());
        assert_eq!(of_chunk(letters[99], false), '#');
    }
}
