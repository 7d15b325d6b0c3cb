//! Whether a declaration passes: without an error of the macro, or of rustc in a check that the macro hands
//! on to it.

use thalweg_compiler::kernels::{Files, expand};

use super::mutation::{LARGER, LOOSER};
use crate::declared::{dense, errors_and_rest, tokens};

/// The result for a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    /// The text is that of the first error.
    Refused(String),
}

/// Expands a declaration against the file `path`.
pub fn verdict(declaration: &str, path: &str, files: &dyn Files) -> Verdict {
    // Functions without a mark may be the host's, and builds look for `<x>` beside the source, too.
    let attr = tokens(&format!("\"{path}\", include(\".\"), options(\"-default-device\")"));
    let expanded = expand(attr, tokens(&format!("unsafe extern \"CUDA\" {{ {declaration} }}")), files);
    let (errors, _) = errors_and_rest(expanded.clone());
    if let Some(first) = errors.first() {
        return Verdict::Refused(first.clone());
    }
    match refused_by_rustc(&dense(expanded)) {
        Some(why) => Verdict::Refused(why),
        None => Verdict::Accepted,
    }
}

/// The error of rustc for the layouts that an expansion has it compare.
fn refused_by_rustc(expanded: &str) -> Option<String> {
    for call in expanded.split("same_layout::<").skip(1) {
        let (ty, rest) = call.split_once(">(")?;
        let (layouts, _) = rest.split_once(",\"")?;
        let layouts = layouts.replace("::core::option::Option::", "");
        // One layout, or one for each branch of an `#if`: `&[(16,Some(4)),(32,None)]`.
        let inside = layouts.trim_start_matches("&[").trim_end_matches(']');
        let each: Vec<(u64, Option<u64>)> = inside
            .replace("),(", "|")
            .split('|')
            .map(|layout| {
                let (size, align) = layout.trim_start_matches('(').split_once(',').expect("a pair");
                let align = align.strip_prefix("Some(").map(|align| align.trim_end_matches([')', ',']));
                (size.parse().expect("a size"), align.map(|align| align.parse().expect("an alignment")))
            })
            .collect();
        let fits = |&(size, align): &(u64, Option<u64>)| match (ty, own(ty)) {
            (LARGER, _) => false,
            (LOOSER, _) => align.is_none_or(|align| align == 1),
            (_, Some((own_size, own_align))) => {
                own_size == size && align.is_none_or(|align| align == own_align)
            }
            (_, None) => true,
        };
        if !each.iter().any(fits) {
            return Some(format!("[TW0417] `{ty}` is none of {each:?}"));
        }
    }
    None
}

/// The size and alignment of an array of numbers.
fn own(ty: &str) -> Option<(u64, u64)> {
    let (element, count) = ty.strip_prefix('[')?.strip_suffix(']')?.split_once(';')?;
    let size = match element {
        "i8" | "u8" => 1,
        "i16" | "u16" | "half::f16" | "half::bf16" => 2,
        "i32" | "u32" | "f32" => 4,
        "i64" | "u64" | "f64" => 8,
        _ => return None,
    };
    Some((size * count.parse::<u64>().ok()?, size))
}
