//! Parts of the texts of errors.

use std::fmt::Display;

use super::DriverError;
use crate::base::threads::volume;

/// The device's report, on a line of its own.
pub(super) fn cause(device: &Option<Box<DriverError>>) -> String {
    device.as_ref().map_or(String::new(), |error| format!("\n  the device reported: {error}"))
}

/// How many of the ring's bytes exist once, whatever its number of slots.
pub(super) fn of_them_shared(shared: usize) -> String {
    if shared == 0 { String::new() } else { format!(" ({shared} of them for what is `resident` or `carry`)") }
}

/// The change that makes a ring fit its budget.
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

/// ` (n = 5, x.len() = 4)`
pub(super) fn with(values: &[(&'static str, String)]) -> String {
    let values: Vec<_> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) }
}

/// Names, three a line.
pub(super) fn list(names: &[String]) -> String {
    list_of(names, 3)
}

/// Names, `each` of them a line.
pub(super) fn list_of(names: &[String], each: usize) -> String {
    let lines: Vec<_> = names.chunks(each).map(|names| names.join(", ")).collect();
    lines.join(",\n    ")
}

/// The ways to work on a machine without a GPU.
pub(super) const WITHOUT_A_GPU: &str = "\n  help: `Device::open()` goes by `THALWEG_DEVICE`, which may be `cpu` or `sim`\n  help: `Device::cpu()` and `Device::simulated(Simulation::default())` need no GPU";

/// The note that a variable asks for a GPU.
pub(super) fn asked_for(value: Option<&str>) -> String {
    value.map_or(String::new(), |value| format!("\n  note: `THALWEG_DEVICE={value}` asks for a GPU"))
}

/// The help for a GPU that is not there, perhaps since the driver hides it.
pub(super) fn hidden(visible: Option<&str>) -> String {
    visible.map_or(String::new(), |visible| {
        format!(
            "\n  help: `CUDA_VISIBLE_DEVICES={visible}`\n    hides all other devices, and counts these from 0"
        )
    })
}

/// The help for a race on one device.
pub(crate) const RACE_OF_STREAMS: &str = "\n  help: let the later one's stream wait for the earlier one's before,\n    `later.wait_stream(&earlier)?`, or `later.wait(&event)?` for an event that\n    was recorded right after the earlier one";
/// The help for a race between two devices, of which streams can wait for each other.
pub(crate) const RACE_OF_PEERS: &str = "\n  help: they are on two devices: let the later one's stream wait for the earlier one's before,\n    `later.wait_stream(&earlier)?`, or `later.wait(&event)?` for an event that\n    was recorded right after the earlier one";
/// The help for a race between two devices, of which streams cannot wait for each other.
pub(crate) const RACE_OF_STRANGERS: &str = "\n  help: they are on two devices, whose streams cannot wait for each other:\n    wait on the host before, `earlier.synchronize()?`";

/// What a graph's launch must be lent. In place of the buffers' names, which it does not know, stand ordinal numbers.
pub(super) fn loans(all: &[bool]) -> String {
    const NAMES: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];
    match all {
        [writes] => loan(*writes, "buffer"),
        _ => {
            let mut loans: Vec<_> = all.iter().zip(NAMES).map(|(&writes, name)| loan(writes, name)).collect();
            if all.len() > loans.len() {
                loans.push("…".to_owned());
            }
            format!("({})", loans.join(", "))
        }
    }
}

fn loan(writes: bool, name: &str) -> String {
    format!("{}{name}", if writes { "&mut " } else { "&" })
}

/// Why an argument whose chunks see more than their own part cannot be streamed.
pub(crate) const SEES_NEIGHBOURS: &str = "its chunks see items of their neighbours (`halo`)";
/// Why an argument that chunks need whole cannot be streamed.
pub(crate) const IS_NEEDED_WHOLE: &str = "all of it is copied to the device before the first chunk";

/// The help for an argument that cannot arrive piece by piece.
pub(super) fn to_be_in_memory(reason: &str) -> &'static str {
    match reason {
        SEES_NEIGHBOURS | IS_NEEDED_WHOLE => {
            "\n  help: read it into a `Vec`, or map the file: a slice of it can be passed"
        }
        _ => "",
    }
}

/// The help for an argument whose length differs from the others'.
pub(super) const OWN_LENGTH: &str = "\n  help: all that is cut into chunks has as many items;\n    what every chunk needs whole is declared `resident`, or `carry` if kernels change it";

/// Asks whether grid and block were swapped, if they would fit the other way round.
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

/// The number of threads of a launch.
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

/// The help for a launch that does not write all of its elements; a grid of `enough` blocks would. `by_threads`
/// says that each thread has elements of its own, as in Rust.
pub(super) fn to_write_all(
    elements: usize,
    enough: Option<u32>,
    threads: u64,
    block: &[u32; 3],
    by_threads: bool,
) -> String {
    match enough {
        Some(1) => "a grid of 1 block would do".to_owned(),
        Some(blocks) if block[1..] == [1, 1] && (blocks as usize) < elements => {
            format!("a grid of {blocks} blocks would do: `blocks({elements}, {})`", block[0])
        }
        Some(blocks) => format!("a grid of {blocks} blocks would do"),
        None if threads < elements as u64 => {
            "more threads may do, or a kernel in which each writes more elements".to_owned()
        }
        None if by_threads => {
            "the threads would do: look at where one returns, or branches, before it writes its element.\n    \
             A kernel that leaves elements out on purpose takes `&mut Own<[T]>` in place of `&mut Out<[T]>`;\n    \
             its launch passes `&mut` in place of `out`, and a `fill` writes the elements before"
                .to_owned()
        }
        None => {
            "the threads would do: look at the lengths that the kernel is told, and at its conditions.\n    \
             A kernel that leaves elements out on purpose takes `&mut [T]` in place of `Out<[T]>`,\n    \
             and a `fill` writes them before"
                .to_owned()
        }
    }
}

/// What a launch has and what it needs: `` `v` has 65 elements, and the launch has 64 threads along x ``.
pub(super) fn threads_and_elements(
    parameter: &str,
    shape: &[usize],
    grid: &[u32; 3],
    block: &[u32; 3],
) -> String {
    let along = |axis: usize| u64::from(grid[axis]) * u64::from(block[axis]);
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let threads = counted(along(axis), "thread");
        match shape.iter().rev().nth(axis) {
            Some(&length) if along(axis) < length as u64 => {
                let elements = counted(length, "element");
                let of = if shape.len() == 1 { "" } else { &format!(" along {name}") };
                return format!(
                    "`{parameter}` has {elements}{of}, and the launch has {threads} along {name}"
                );
            }
            None if along(axis) != 1 => {
                let dimensions = match shape.len() {
                    1 => "one dimension",
                    _ => "two dimensions",
                };
                return format!(
                    "the kernel counts in {dimensions}, and the launch has {threads} along {name}"
                );
            }
            _ => {}
        }
    }
    String::new()
}

/// The help for a launch whose threads are not one for each element.
pub(super) fn to_cover(shape: &[usize], block: &[u32; 3]) -> String {
    let axes: Vec<_> = shape.iter().rev().zip(block).collect();
    let blocks: Vec<_> = axes.iter().map(|(length, block)| format!("blocks({length}, {block})")).collect();
    let sizes: Vec<_> = axes.iter().map(|(_, block)| block.to_string()).collect();
    match (&blocks[..], &sizes[..]) {
        ([blocks], [size]) => format!("write `<<<{blocks}, {size}>>>`"),
        _ => format!("write `<<<({}), ({})>>>`", blocks.join(", "), sizes.join(", ")),
    }
}

/// What a launch of a kernel in blocks has too much of, and what to write.
pub(super) fn dimensions_of_blocks(axes: usize) -> String {
    match axes {
        1 => "one dimension\n  note: the threads of a `Block` are counted along x alone\n  \
              help: write one number for the grid, and one for the block"
            .to_owned(),
        _ => {
            let grid = ["blocks(columns, 32)", "blocks(rows, 32)", "items"];
            format!(
                "{axes} dimensions in its grid, or one in its blocks\n  note: a kernel with a `Block<{axes}>` counts \
                 the blocks along {axes} axes, and the threads of a block along x alone\n  \
                 help: write {axes} numbers for the grid, and one for the block: `<<<({}), 256>>>`",
                grid[..axes].join(", ")
            )
        }
    }
}

/// The names that exist, the closest to `to` first, a few a line.
pub(super) fn closest(names: &[&'static str], to: &str) -> String {
    let mut names: Vec<_> = names.to_vec();
    // The sort is by distance alone and stable, so equally close names keep their order.
    names.sort_by_key(|name| distance(name, to));
    let mut text = String::new();
    let mut column = "  help: it has ".len();
    for (index, name) in names.iter().enumerate() {
        let name = format!("`{name}`{}", if index + 1 < names.len() { "," } else { "" });
        let width = name.chars().count() + 1;
        if index > 0 && column + width > LINE {
            text.push_str("\n    ");
            column = 4;
        } else if index > 0 {
            text.push(' ');
        }
        text.push_str(&name);
        column += width;
    }
    if text.is_empty() { text } else { format!("\n  help: it has {text}") }
}

/// Columns that a line of an error has at most, if it can be broken.
const LINE: usize = 80;

/// The number of characters to insert, remove or replace to turn one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, char) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, its) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(char != *its);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

/// Suggests an architecture for a name that is none: the one with the same number.
pub(super) fn meant(architecture: &str, supported: &[String]) -> String {
    let number: String = architecture.chars().filter(char::is_ascii_digit).collect();
    let known = supported.iter().find(|known| known.strip_prefix("sm_") == Some(&number));
    known.filter(|known| *known != architecture).map_or(String::new(), |known| format!(": is it `{known}`?"))
}

/// The text on lines of its own, if there is any.
pub(super) fn after_newline(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() { String::new() } else { format!(":\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::super::Detail;
    use super::counted;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [counted(0, "slot"), counted(1, "slot"), counted(2_u64, "slot")],
            ["0 slots", "1 slot", "2 slots"]
        );
        let of_one = [
            Detail::ParameterSize { kernel: "k", file: "k.cu", index: 1, declared: 1, found: 4 },
            Detail::PerChunkLength { host: "s", len: 1, chunks: 1, per_chunk: 2 },
            Detail::CopyShape { from: "a", from_per_item: 1, to: "b", to_per_item: 3 },
            Detail::Rectangle { side: "source", width: 1, height: 1, pitch: 1, len: 0 },
            Detail::Address { address: 1, len: 1, element: 1 },
        ];
        for kind in of_one {
            let text = kind.to_string();
            let plurals = ["1 bytes", "1 chunks", "1 elements", "1 items", "1 rows"];
            assert!(!plurals.iter().any(|plural| text.contains(plural)), "{text}");
        }
    }

    /// A terminal of 100 columns shows the lines whole, and one of 80 breaks few.
    #[test]
    fn no_line_is_too_long() {
        let unwritten = |enough, first, by_threads| Detail::Unwritten {
            kernel: "square",
            parameter: "y",
            elements: 1000,
            unwritten: 488,
            first,
            grid: [2, 1, 1],
            block: [256, 2, 1],
            enough,
            by_threads,
        };
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let kinds = [
            unwritten(None, 512, false),
            unwritten(None, 512, true),
            unwritten(Some(4), 3, false),
            Detail::Length { host: "y", items: 9, other: "x", other_items: 10 },
            Detail::SourcesDiffer { host: "y", items: 9, other: "x", given: 10 },
            Detail::NoKernels,
            Detail::NoSuchDevice {
                index: 0,
                count: 0,
                visible: Some("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6".to_owned()),
            },
            Detail::NoCudaDriver {
                looked_for: names(&["libcuda.so", "libcuda.so.13", "libcuda.so.12"]),
                asked: Some("cuda:0,1,2,3,4,5,6,7".to_owned()),
            },
            Detail::NoNvrtc { file: "k.cu", looked_for: names(&["libnvrtc.so", "libnvrtc.so.13"]) },
        ];
        for text in kinds.map(|kind| kind.to_string()) {
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
    }

    #[test]
    fn a_requirement_shows_what_it_was_asked_of() {
        let condition = "n as usize <= x.len()";
        let broken = |values| Detail::Requires { kernel: "k", condition, values }.to_string();
        let values = vec![("n", "1001".to_owned()), ("x.len()", "1000".to_owned())];
        assert_eq!(broken(values), "kernel `k` requires `n as usize <= x.len()` (n = 1001, x.len() = 1000)");
        assert_eq!(broken(Vec::new()), "kernel `k` requires `n as usize <= x.len()`");
    }
}
