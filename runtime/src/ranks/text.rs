//! Texts that go to other ranks, which have a greatest length.

/// The first bytes of a text, at most so many.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("größe", 3), "gr");
        assert_eq!(cut("größe", 4), "grö");
        assert_eq!(cut("größe", 100), "größe");
        assert_eq!(cut("ö", 0), "");
    }
}
