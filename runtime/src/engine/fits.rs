//! Lets rustc check that a ring whose size is constant fits its budget.

use crate::base::layout::Message;
use crate::engine::Size;

/// Stops the compilation if a ring does not fit its budget, in bytes, and says which chunk and depth would. A
/// depth that is left to the runtime counts as the smallest. The message begins with the error's code.
#[track_caller]
pub const fn fits_budget(code: &str, budget: usize, depth: Option<usize>, chunk: usize, buffers: &[Size]) {
    let slots = match depth {
        Some(depth) => depth,
        None => 1,
    };
    let slot = bytes(chunk, buffers);
    let needed = slot.saturating_mul(slots);
    if needed <= budget {
        return;
    }
    let message = Message::new().text(code).text(": the ring needs ").bytes(needed);
    let message = message.text(" of device memory, but its `budget` has ").number(budget).text("\nnote: ");
    let message = match slots {
        1 => message.text("1 slot has "),
        _ => message.number(slots).text(" slots have "),
    };
    let each = if slots == 1 { "" } else { " each" };
    let message = message.bytes(slot).text(each).text(", for a chunk of ").number(chunk);
    let message = message.text(if chunk == 1 { " item" } else { " items" }).text("\nhelp: ");
    let (items, most) =
        (chunk_that_fits(budget / at_least_1(slots), chunk, buffers), budget / at_least_1(slot));
    let message = match (items, most) {
        (0, 0) => message.text("give it a `budget` of at least ").bytes(needed),
        (0, _) => message.text("use a depth of ").number(most).text(" or less"),
        (_, 0) => message.text("use a chunk of ").number(items).text(" or less"),
        _ => {
            let message = message.text("use a chunk of ").number(items).text(" or less");
            message.text(", or a depth of ").number(most).text(" or less")
        }
    };
    message.stop();
}

/// The bytes of a slot.
const fn bytes(chunk: usize, buffers: &[Size]) -> usize {
    let mut bytes: usize = 0;
    let mut index = 0;
    while index < buffers.len() {
        bytes = bytes.saturating_add(buffers[index].bytes_for(chunk));
        index += 1;
    }
    bytes
}

/// The largest chunk of fewer than `too_large` items whose slot has at most `most` bytes; 0 if there is none.
const fn chunk_that_fits(most: usize, too_large: usize, buffers: &[Size]) -> usize {
    let (mut fits, mut too_large) = (0, too_large);
    while too_large - fits > 1 {
        let between = fits + (too_large - fits) / 2;
        if bytes(between, buffers) <= most {
            fits = between;
        } else {
            too_large = between;
        }
    }
    fits
}

const fn at_least_1(number: usize) -> usize {
    if number == 0 { 1 } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(budget: usize, depth: Option<usize>, chunk: usize, buffers: &[Size]) -> Option<String> {
        let buffers = buffers.to_vec();
        let checked =
            std::panic::catch_unwind(move || fits_budget("[TW0708]", budget, depth, chunk, &buffers));
        checked.err().map(|panic| {
            let said = *panic.downcast::<String>().unwrap();
            said.strip_suffix("\nsee: book/src/errors/TW0708.md").expect("its page").to_owned()
        })
    }

    #[test]
    fn what_would_fit_is_said() {
        let two = [Size::of::<f32>(1), Size::of::<f32>(3)];
        assert_eq!(said(160, Some(2), 5, &two), None);
        let expected = "[TW0708]: the ring needs 192 bytes of device memory, but its `budget` has 160\n\
            note: 2 slots have 96 bytes each, for a chunk of 6 items\n\
            help: use a chunk of 5 or less, or a depth of 1 or less";
        assert_eq!(said(160, Some(2), 6, &two).unwrap(), expected);
        let expected = "[TW0708]: the ring needs 176 bytes of device memory, but its `budget` has 160\n\
            note: 1 slot has 176 bytes, for a chunk of 11 items\n\
            help: use a chunk of 10 or less";
        assert_eq!(said(160, None, 11, &two).unwrap(), expected);
        let per_chunk = [Size::of::<f32>(2).per_chunk()];
        let expected = "[TW0708]: the ring needs 24 bytes of device memory, but its `budget` has 20\n\
            note: 3 slots have 8 bytes each, for a chunk of 100 items\n\
            help: use a depth of 2 or less";
        assert_eq!(said(20, Some(3), 100, &per_chunk).unwrap(), expected);
        let expected = "[TW0708]: the ring needs 8 bytes of device memory, but its `budget` has 1\n\
            note: 1 slot has 8 bytes, for a chunk of 1 item\n\
            help: give it a `budget` of at least 8 bytes";
        assert_eq!(said(1, None, 1, &per_chunk).unwrap(), expected);
    }
}
