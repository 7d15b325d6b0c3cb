//! The shared memory that a launch gives to a block, and what is said where it is too little.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// The shared memory that the launch gives to a block.
#[derive(Debug)]
pub(super) struct Dynamic {
    pub(super) given: u32,
    /// The end of the slice that was made last, of those that there are.
    used: Cell<u32>,
    /// The bytes on the host of all shared arrays and slices that were made so far.
    pub(super) on_host: Cell<usize>,
}

impl Dynamic {
    pub(super) fn new(given: u32) -> Rc<Self> {
        Rc::new(Self { given, used: Cell::new(0), on_host: Cell::new(0) })
    }

    /// Notes so many bytes of a shared array or slice.
    pub(super) fn add_on_host(&self, bytes: usize) {
        self.on_host.set(self.on_host.get() + bytes);
    }

    /// Takes the memory of so many elements, as the C++ does.
    pub(super) fn take(
        self: &Rc<Self>,
        length: usize,
        [size, align]: [usize; 2],
    ) -> Result<Taken, TooLittle> {
        let before = self.used.get();
        let start = u64::from(before).next_multiple_of(align as u64);
        let bytes = (length as u64).saturating_mul(size as u64);
        let end = u32::try_from(start.saturating_add(bytes)).unwrap_or(u32::MAX);
        let needed = if length == 0 { 0 } else { end };
        if needed == 0 || end > self.given {
            return Err(TooLittle { needed, given: self.given });
        }
        self.used.set(end);
        Ok(Taken { of: Rc::clone(self), before })
    }
}

/// The memory of a slice, which is free again when the slice is dropped: before any that was made earlier, since no
/// kernel can move one.
pub(super) struct Taken {
    of: Rc<Dynamic>,
    before: u32,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.used.set(self.before);
    }
}

/// Why a block ends where it makes a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLittle {
    /// The bytes that it needs, with those of the slices before: 0 for a slice without elements, and the greatest
    /// number for that many or more.
    pub(super) needed: u32,
    /// The bytes that the launch gives.
    pub(super) given: u32,
}

/// The bytes that a block has at most on any GPU.
const MOST: u32 = 227 << 10;

impl fmt::Display for TooLittle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, given } = *self;
        match needed {
            0 => return f.write_str("the length of a shared slice is 0, and it must have elements"),
            u32::MAX => {
                write!(f, "the shared slices need 4 GiB or more, and the launch gives {given} bytes")?
            }
            _ => write!(f, "the shared slices need {needed} bytes, and the launch gives {given}")?,
        }
        match needed <= MOST {
            true => write!(
                f,
                "\n  help: write the bytes as the third value of the launch: `<<<grid, block, {needed}>>>`"
            ),
            false => write!(f, "\n  note: no GPU has more than {MOST} bytes for a block"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_said_with_the_cure() {
        let said = |needed| TooLittle { needed, given: 48 }.to_string();
        assert_eq!(
            said(64),
            "the shared slices need 64 bytes, and the launch gives 48\n  help: write the bytes as the third value of \
             the launch: `<<<grid, block, 64>>>`"
        );
        assert!(said(300_000).ends_with("\n  note: no GPU has more than 232448 bytes for a block"));
        assert!(
            said(u32::MAX)
                .starts_with("the shared slices need 4 GiB or more, and the launch gives 48 bytes\n")
        );
        assert_eq!(said(0), "the length of a shared slice is 0, and it must have elements");
    }

    #[test]
    fn slices_lie_one_after_the_other_and_are_aligned() {
        let dynamic = Dynamic::new(100);
        let bytes = dynamic.take(3, [1, 1]).unwrap_or_else(|lacking| panic!("{lacking}"));
        {
            let words = dynamic.take(2, [8, 8]).unwrap_or_else(|lacking| panic!("{lacking}"));
            assert_eq!((dynamic.used.get(), words.before), (24, 3));
            let lacking = dynamic.take(20, [4, 4]).err();
            assert_eq!(lacking, Some(TooLittle { needed: 104, given: 100 }));
            assert_eq!(dynamic.take(19, [4, 4]).map(|_| ()), Ok(()));
        }
        assert_eq!(dynamic.used.get(), 3);
        drop(bytes);
        assert_eq!(dynamic.used.get(), 0);
    }

    #[test]
    fn no_length_wraps() {
        let dynamic = Dynamic::new(227 << 10);
        let needed = |length| dynamic.take(length, [8, 8]).err().map(|lacking| lacking.needed);
        assert_eq!(needed(0), Some(0));
        assert_eq!(needed((1 << 29) - 1), Some(u32::MAX - 7));
        for length in [1 << 29, (1 << 29) + 1, 1 << 32, 1 << 61, usize::MAX] {
            assert_eq!(needed(length), Some(u32::MAX), "{length}");
        }
    }
}
