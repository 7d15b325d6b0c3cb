//! Compiled images: cubins and fatbins.

use thalweg::__private::{held_by, kernels_in};

use super::sources;

/// `EM_CUDA`
const CUDA: usize = 190;
/// `SHT_NOBITS`: a section of no bytes in the file.
const NO_BITS: usize = 8;

/// The image that the runtime hands to the driver ends where its own headers say. An image with one byte less
/// is refused, and bytes behind its end are ignored. The runtime and the compiler read only parts of the
/// image.
///
/// # Panics
///
/// If that does not hold.
pub fn image(bytes: &[u8]) {
    let held = held_by(bytes);
    let is_text = !bytes.starts_with(b"\x7fELF") && !bytes.starts_with(b"\x50\xed\x55\xba");
    if let (Ok(text), false) = (&held, is_text) {
        let end = end(bytes).unwrap_or_else(|| panic!("{text}, but its headers are not in the file"));
        assert!(end <= bytes.len(), "{text}, but it ends at {end} and the file at {}", bytes.len());
        assert_eq!(held_by(&bytes[..end]).as_ref(), Ok(text), "what is behind the image is part of it");
        assert!(held_by(&bytes[..end - 1]).is_err(), "{text} without its last byte");
        if bytes[0] != 0x7f {
            // A part begins with a header, of which this much is read.
            let parts = if text == "nothing" { 0 } else { text.split(", ").count() };
            assert!(16 + 32 * parts <= end, "{parts} parts in {end} bytes");
        }
    }
    let kernels = kernels_in(bytes);
    assert!(".entry ".len() * kernels.len() <= bytes.len(), "{} kernels", kernels.len());
    for name in kernels {
        assert!(has(bytes, &name), "no kernel of the image is called `{name}`");
    }
    for file in ["k.cubin", "k.fatbin"] {
        let errors = sources::errors(file, bytes);
        let is_image = !errors.iter().any(|error| error.starts_with("[TW0414]"));
        if file == "k.cubin" && is_image {
            assert!(
                sections_end(bytes).is_some_and(|end| end <= bytes.len()),
                "a section lies outside of it"
            );
        }
        let lists = errors
            .iter()
            .flat_map(|error| error.lines())
            .filter_map(|line| line.strip_prefix("note: its kernels are `")?.strip_suffix('`'));
        for name in lists.flat_map(|list| list.split("`, `")) {
            assert!(has(bytes, name), "no kernel of the image is called `{name}`");
        }
    }
}

/// Whether a name stands in the file. Of one that is not UTF-8 nothing can be said.
fn has(bytes: &[u8], name: &str) -> bool {
    let is_there = |name: &[u8]| name.is_empty() || bytes.windows(name.len()).any(|there| there == name);
    name.contains(char::REPLACEMENT_CHARACTER) || is_there(name.as_bytes())
}

/// A little-endian number of so many bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    bytes.iter().rev().try_fold(0_usize, |number, &byte| Some(number.checked_mul(256)? + usize::from(byte)))
}

/// Where an image ends by what its headers say.
fn end(bytes: &[u8]) -> Option<usize> {
    if bytes[0] != 0x7f {
        return number(bytes, 6, 2)?.checked_add(number(bytes, 8, 8)?);
    }
    assert_eq!(number(bytes, 18, 2), Some(CUDA), "it is not for a GPU");
    let all =
        [(32, 54, 56_usize, 8, 32), (40, 58, 64, 24, 32)].map(|(table, counts, header, offset, size)| {
            table_end(bytes, number(bytes, table, 8)?, counts, header, |header| {
                let is_empty = table == 40 && number(bytes, header + 4, 4)? == NO_BITS;
                let range =
                    || number(bytes, header + offset, 8)?.checked_add(number(bytes, header + size, 8)?);
                if is_empty { Some(0) } else { range() }
            })
        });
    let [segments, sections] = all;
    Some(segments?.max(sections?).max(64))
}

/// Where the sections of a cubin end that have bytes.
fn sections_end(bytes: &[u8]) -> Option<usize> {
    table_end(bytes, number(bytes, 40, 8)?, 58, 64, |header| {
        let is_empty = number(bytes, header + 4, 4)? == NO_BITS || number(bytes, header + 32, 8)? == 0;
        let range = || number(bytes, header + 24, 8)?.checked_add(number(bytes, header + 32, 8)?);
        if is_empty { Some(0) } else { range() }
    })
}

/// The end of a table of headers and of all the ranges that its headers name, which `range` gives. The step
/// from header to header is at `counts`, and the number of headers follows it.
fn table_end(
    bytes: &[u8],
    table: usize,
    counts: usize,
    header: usize,
    range: impl Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let (step, count) = (number(bytes, counts, 2)?, number(bytes, counts + 2, 2)?);
    let headers = (0..count).map(|index| table.checked_add(index * step));
    headers.into_iter().try_fold(0, |end, at| Some(end.max(at?.checked_add(header)?).max(range(at?)?)))
}
