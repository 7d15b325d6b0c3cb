//! The page of the error index that each message ends with.

/// The code of an error, `TW` and four digits.
pub fn code(text: &str) -> &str {
    let code = text.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    code.unwrap_or_else(|| panic!("no code: {text}")).0
}

/// The text of an error before its last line, which is the page of its code.
pub fn without_page(error: &str) -> &str {
    let page = format!("\nsee: book/src/errors/{}.md", code(error));
    error.strip_suffix(&page).unwrap_or_else(|| panic!("no page: {error}"))
}
