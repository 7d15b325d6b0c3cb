//! The errors of `#[kernels]`.

use crate::diagnostics::coded;
pub(super) use crate::diagnostics::error;

/// The errors in the order in which they were found.
pub(super) type Errors = Vec<syn::Error>;

/// A syntax error in syn's words.
pub(super) fn syntax_error(found: syn::Error, help: &str, errors: &mut Errors) {
    for found in found {
        let text = coded("TW0413", &format!("{found}\nhelp: {help}"));
        errors.push(syn::Error::new(found.span(), text));
    }
}

/// ``its kernels are `a`, `b` ``
pub(super) fn listed(what: &str, names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("its {what} are {}{more}", shown.join(", "))
}
