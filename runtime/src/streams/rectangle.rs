//! [`Rectangle`]: rows of memory that a stream copies.

use crate::base::error::{Detail, Result};
use crate::device::pending::uses::Used;
use crate::driver::{Rows, RowsBetween};

/// The size of a copy of rows; all fields count elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rectangle {
    /// Elements copied in each row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Distance from the start of one row to the next in the source.
    pub from_pitch: usize,
    /// Distance from the start of one row to the next in the destination.
    pub to_pitch: usize,
}

impl Rectangle {
    /// The rows' bytes on each side, if each side has room for them.
    pub(super) fn rows<T>(self, from: usize, to: usize) -> Result<[RowBytes; 2]> {
        let Self { width, height, from_pitch, to_pitch } = self;
        let side = |side, pitch: usize, len: usize| {
            let needed = match height.checked_sub(1) {
                Some(before) if width > 0 => before.saturating_mul(pitch).saturating_add(width),
                _ => 0,
            };
            if pitch < width || needed > len {
                return Err(Detail::Rectangle { side, width, height, pitch, len });
            }
            let element = size_of::<T>();
            let count = if width * element == 0 { 0 } else { height };
            Ok(RowBytes { width: width * element, pitch: pitch.saturating_mul(element), count })
        };
        Ok([side("source", from_pitch, from)?, side("destination", to_pitch, to)?])
    }

    pub(super) fn raw<T>(self, between: RowsBetween) -> Rows {
        let bytes = |elements: usize| elements.saturating_mul(size_of::<T>());
        let Self { width, height, from_pitch, to_pitch } = self;
        Rows {
            between,
            width: bytes(width),
            height,
            from_pitch: bytes(from_pitch),
            to_pitch: bytes(to_pitch),
        }
    }
}

/// Rows of memory.
#[derive(Clone, Copy)]
pub(super) struct RowBytes {
    width: usize,
    pitch: usize,
    count: usize,
}

impl RowBytes {
    /// Each row of memory that begins with the first row.
    pub(super) fn of<'m>(self, used: &Used<'m>) -> impl Iterator<Item = Used<'m>> {
        let Self { width, pitch, count } = self;
        let (used, start) = (used.clone(), used.bytes.start);
        // Rows without gaps are one range.
        let (rows, width) = if pitch == width { (count.min(1), width * count) } else { (count, width) };
        (0..rows).map(move |row| {
            let start = start + (row * pitch) as u64;
            Used { bytes: start..start + width as u64, ..used.clone() }
        })
    }
}
