//! How deep the schema of a file is nested. The crate `parquet` follows it by recursion and without a limit:
//! a small file whose groups are nested thousands deep would overflow the stack, which ends the process.
//!
//! Source: Apache Parquet's `parquet.thrift`, and Thrift's compact protocol.

use std::io::{self, ErrorKind};

use parquet::file::reader::ChunkReader;

use crate::failed;

/// Groups within groups. Schemas of programs have a few.
const DEEPEST: usize = 100;
/// Values within values of the metadata's encoding. The format has seven.
const DEEPEST_VALUE: usize = 32;
/// What is behind the metadata: their length and the magic number.
const END: usize = 8;

// Types of the compact protocol.
const INTEGERS: std::ops::RangeInclusive<u8> = 4..=6;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
// Fields of `FileMetaData` and `SchemaElement`.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// Refuses a file whose schema is nested too deep. Files that are no files of Parquet are left to the reader.
pub(crate) fn check(file: &impl ChunkReader) -> io::Result<()> {
    let len = file.len();
    let Some(before) = len.checked_sub(END as u64) else { return Ok(()) };
    let end = file.get_bytes(before, END).map_err(failed)?;
    let Some((bytes, b"PAR1")) = end.split_first_chunk() else { return Ok(()) };
    let bytes = u32::from_le_bytes(*bytes);
    let Some(start) = before.checked_sub(bytes.into()) else { return Ok(()) };
    let metadata = file.get_bytes(start, bytes as usize).map_err(failed)?;
    match (Metadata { left: &metadata }).deepest() {
        Some(deepest) if deepest <= DEEPEST => Ok(()),
        Some(_) => {
            let message = format!("its columns are nested more than {DEEPEST} groups deep");
            Err(io::Error::new(ErrorKind::InvalidData, message))
        }
        None => Err(io::Error::new(ErrorKind::InvalidData, "its metadata are damaged")),
    }
}

/// What is left of a file's metadata. `None` is what no metadata are.
struct Metadata<'a> {
    left: &'a [u8],
}

impl Metadata<'_> {
    /// The groups around the innermost column, up to one more than are allowed.
    fn deepest(&mut self) -> Option<usize> {
        let (mut last, mut deepest) = (0, 0);
        while let Some((field, kind)) = self.field(&mut last)? {
            match (field, kind) {
                (SCHEMA, LIST) => deepest = deepest.max(self.schema()?),
                (SCHEMA, _) => return None,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(deepest)
    }

    fn schema(&mut self) -> Option<usize> {
        let (elements, kind) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        // The children that are left of each group around the element: a group comes before its children.
        let (mut groups, mut deepest) = (Vec::new(), 0);
        for _ in 0..elements {
            while groups.pop_if(|left| *left == 0).is_some() {}
            if let Some(left) = groups.last_mut() {
                *left -= 1;
            }
            let children = self.children()?;
            // The reader makes room for all of them at once.
            if children > elements {
                return None;
            }
            if children > 0 {
                groups.push(children);
                deepest = deepest.max(groups.len());
            }
            if deepest > DEEPEST {
                break;
            }
        }
        Some(deepest)
    }

    /// The number of children of a schema's element.
    fn children(&mut self) -> Option<u64> {
        let (mut last, mut children) = (0, 0);
        while let Some((field, kind)) = self.field(&mut last)? {
            match (field, kind) {
                (CHILDREN, kind) if INTEGERS.contains(&kind) => {
                    children = u64::try_from(self.signed()?).ok()?;
                }
                (CHILDREN, _) => return None,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(children)
    }

    /// The next field of a structure, with its type; `Some(None)` at its end.
    fn field(&mut self, last: &mut i64) -> Option<Option<(i64, u8)>> {
        let header = self.byte()?;
        if header == 0 {
            return Some(None);
        }
        *last = match header >> 4 {
            0 => self.signed()?,
            delta => last.checked_add(delta.into())?,
        };
        Some(Some((*last, header & 0xf)))
    }

    /// The length of a list, and the type of its elements.
    fn list(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let len = match header >> 4 {
            15 => self.unsigned()?,
            len => len.into(),
        };
        Some((len, header & 0xf))
    }

    /// Skips a field's value.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEEPEST_VALUE {
            return None;
        }
        match kind {
            // A boolean's value is its type.
            1 | 2 => Some(()),
            3 => self.bytes(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.bytes(8),
            8 => {
                let len = self.unsigned()?;
                self.bytes(len)
            }
            LIST | 10 => {
                let (len, kind) = self.list()?;
                (0..len).try_for_each(|_| self.skip_element(kind, depth))
            }
            11 => {
                let len = self.unsigned()?;
                let kinds = if len > 0 { self.byte()? } else { 0 };
                (0..len).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 0xf, depth)
                })
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            13 => self.bytes(16),
            _ => None,
        }
    }

    /// Skips an element of a list, where a boolean has a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        if let 1 | 2 = kind { self.bytes(1) } else { self.skip(kind, depth + 1) }
    }

    fn bytes(&mut self, len: u64) -> Option<()> {
        self.left = self.left.get(usize::try_from(len).ok()?..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, left) = self.left.split_first()?;
        self.left = left;
        Some(*first)
    }

    /// Seven bits a byte, the lowest ones first.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The sign is in the lowest bit.
    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}
