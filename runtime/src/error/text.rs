//! Parts of what errors say.

use std::fmt::Display;

use super::DriverError;
use crate::function::volume;

/// What the device reported, on a line of its own.
pub(super) fn cause(device: &Option<Box<DriverError>>) -> String {
    device.as_ref().map_or(String::new(), |error| format!("\n  the device reported: {error}"))
}

/// How many of the ring's bytes are there once, however many slots it has.
pub(super) fn of_them_shared(shared: usize) -> String {
    if shared == 0 { String::new() } else { format!(" ({shared} of them for what is `resident` or `carry`)") }
}

/// What lets a ring fit its budget.
pub(super) fn smaller_ring(
    needed: usize,
    shared: usize,
    budget: usize,
    (slots, chunk): (usize, usize),
) -> String {
    if shared > 0 && shared >= budget {
        return format!(
            "what is `resident` or `carry` leaves no room for slots: make the budget at least {needed} bytes"
        );
    }
    let reduce = match (slots > 1, chunk > 1) {
        (true, true) => "reduce either, or ",
        (true, false) => "reduce the depth, or ",
        (false, true) if slots == 1 => "reduce the chunk, or ",
        _ => "",
    };
    let (slots, items) = (counted(slots, "slot"), counted(chunk, "item"));
    format!("it has {slots} for chunks of {items}: {reduce}make the budget at least {needed} bytes")
}

/// `1 item`, `2 items`
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(n: N, what: &str) -> String {
    format!("{n} {what}{}", if n == N::from(1) { "" } else { "s" })
}

/// Of which buffer something has so many elements.
pub(super) fn of(buffer: &Option<&'static str>) -> String {
    buffer.map_or(String::new(), |name| format!(", of buffer `{name}`"))
}

/// ` (n = 5, x.len() = 4)`
pub(super) fn with(values: &[(&'static str, String)]) -> String {
    let values: Vec<_> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) }
}

/// Names, a few a line.
pub(super) fn list(names: &[String]) -> String {
    let lines: Vec<_> = names.chunks(3).map(|names| names.join(", ")).collect();
    lines.join(",\n    ")
}

/// The help for an argument whose length differs from the others'.
pub(super) const OWN_LENGTH: &str = "\n  help: all that is cut into chunks has as many items; what every chunk needs whole is declared `resident`, or `carry` if kernels change it";

/// Asks whether grid and block were meant the other way round, where they would fit so.
pub(super) fn other_way_round(swapped: &Option<[[u32; 3]; 2]>) -> String {
    swapped.as_ref().map_or(String::new(), |[grid, block]| {
        let (grid, block) = (extent(grid), extent(block));
        format!("\n  help: the grid comes first: were grid {grid} and block {block} swapped?")
    })
}

/// `(2, 1, 1)`
pub(super) fn extent([x, y, z]: &[u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// The threads of a launch.
pub(super) fn threads(grid: &[u32; 3], block: &[u32; 3]) -> u64 {
    volume(*grid).saturating_mul(volume(*block))
}

/// The position of the elements that were not written.
pub(super) fn from_first_on(elements: usize, unwritten: usize, first: usize) -> String {
    match unwritten {
        1 => format!("element {first}"),
        _ if first + unwritten == elements => format!("all from element {first} on"),
        _ => format!("the first of them element {first}"),
    }
}

/// The help for a launch that does not write all of its elements. `enough` blocks would do.
pub(super) fn to_write_all(elements: usize, enough: Option<u32>, threads: u64, block: &[u32; 3]) -> String {
    match enough {
        Some(1) => "a grid of 1 block would do".to_owned(),
        Some(blocks) if block[1..] == [1, 1] && (blocks as usize) < elements => {
            format!("a grid of {blocks} blocks would do: `blocks({elements}, {})`", block[0])
        }
        Some(blocks) => format!("a grid of {blocks} blocks would do"),
        None if threads < elements as u64 => {
            "more threads may do, or a kernel in which each writes more elements".to_owned()
        }
        None => {
            "the threads would do: look at the lengths that the kernel is told, and at its conditions. A \
                 kernel that leaves elements out on purpose takes `&mut [T]` in place of `Out<[T]>`, and a \
                 `fill` writes them before"
                .to_owned()
        }
    }
}

/// The text on lines of its own, if there is any.
pub(super) fn after_newline(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() { String::new() } else { format!(":\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::super::ErrorKind;
    use super::counted;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [counted(0, "slot"), counted(1, "slot"), counted(2_u64, "slot")],
            ["0 slots", "1 slot", "2 slots"]
        );
        let of_one = [
            ErrorKind::ParameterSize { kernel: "k", file: "k.cu", index: 1, declared: 1, found: 4 },
            ErrorKind::PerChunkLength { host: "s", len: 1, chunks: 1, per_chunk: 2 },
            ErrorKind::CopyShape { from: "a", from_per_item: 1, to: "b", to_per_item: 3 },
            ErrorKind::Rectangle { side: "source", width: 1, height: 1, pitch: 1, len: 0 },
            ErrorKind::Address { address: 1, len: 1, element: 1 },
        ];
        for kind in of_one {
            let text = kind.to_string();
            let plurals = ["1 bytes", "1 chunks", "1 elements", "1 items", "1 rows"];
            assert!(!plurals.iter().any(|plural| text.contains(plural)), "{text}");
        }
    }

    #[test]
    fn a_requirement_shows_what_it_was_asked_of() {
        let condition = "n as usize <= x.len()";
        let broken = |values| ErrorKind::Requires { kernel: "k", condition, values }.to_string();
        let values = vec![("n", "1001".to_owned()), ("x.len()", "1000".to_owned())];
        assert_eq!(broken(values), "kernel `k` requires `n as usize <= x.len()` (n = 1001, x.len() = 1000)");
        assert_eq!(broken(Vec::new()), "kernel `k` requires `n as usize <= x.len()`");
    }
}
