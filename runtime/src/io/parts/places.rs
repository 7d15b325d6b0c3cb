//! Items, the parts that they make, and where they are in a file.

use std::io::{self, ErrorKind};
use std::ops::Range;

use crate::base::chunk::Chunk;

pub(super) fn misuse(message: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, message.into())
}

/// The number of a part's items.
pub(super) fn len(part: &Range<usize>) -> io::Result<usize> {
    let Range { start, end } = part;
    end.checked_sub(*start).ok_or_else(|| misuse(format!("part {start}..{end} ends before it begins")))
}

/// The elements of one item, as the chunks tell. `known`: what earlier ones have told.
pub(super) fn elements_of_item(
    known: &mut Option<usize>,
    chunk: Chunk,
    elements: usize,
) -> io::Result<usize> {
    let is_whole = |item: &usize| *item > 0 && item.checked_mul(chunk.len) == Some(elements);
    let item = elements.checked_div(chunk.len).filter(is_whole);
    match item.filter(|item| known.is_none_or(|known| known == *item)) {
        Some(item) => Ok(*known.insert(item)),
        None => Err(misuse("it has elements for each chunk, and a part is a range of items")),
    }
}
