//! [`TooLittle`]: what is said of a launch that gives too little shared memory.

use std::fmt;

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
}
