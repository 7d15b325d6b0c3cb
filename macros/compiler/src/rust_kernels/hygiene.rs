//! Names as rustc compares them: that of a `macro_rules` is another than the same letters of its caller.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;

/// The mark of hygiene, which a stable compiler shows in the debug form of a span alone: `#7 bytes(1..2)`.
/// Where there is none, letters decide.
pub(super) fn origin(span: Span) -> String {
    let shown = format!("{span:?}");
    shown.split_once(" bytes(").map(|(mark, _)| mark.to_owned()).unwrap_or_default()
}

/// Whether rustc takes both for the same name.
pub(super) fn is_same_name(a: &Ident, b: &Ident) -> bool {
    a.unraw() == b.unraw() && origin(a.span()) == origin(b.span())
}
