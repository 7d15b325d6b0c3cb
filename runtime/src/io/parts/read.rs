//! Parts of a file that are read.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;

use bytemuck::Pod;

use super::places::{elements_of_item, len, misuse};
use crate::base::chunk::Chunk;
use crate::base::error::counted;
use crate::io::Source;
use crate::io::bytes::{NO_BYTES, attempt, fill};

/// The source that [`source::read_parts`](crate::io::source::read_parts) returns.
#[derive(Debug)]
pub struct PartsReader<R> {
    file: R,
    parts: Parts,
    /// Once the first chunk is read.
    extent: Option<Extent>,
    has_failed: bool,
}

/// The items of a file.
#[derive(Debug, Clone, Copy)]
pub(in crate::io) struct Extent {
    /// The position of the first item, in bytes.
    pub(in crate::io) start: u64,
    /// The number of bytes from there on.
    pub(in crate::io) bytes: u64,
    /// What has the items, as messages name it.
    pub(in crate::io) what: &'static str,
}

impl Extent {
    /// The rest of the file from where it stands.
    fn rest(file: &mut impl Seek) -> io::Result<Self> {
        let start = file.stream_position()?;
        let end = file.seek(SeekFrom::End(0))?;
        Ok(Self { start, bytes: end.saturating_sub(start), what: "the file" })
    }

    /// Refuses a part with items that are not there, and returns its length in items.
    fn check(&self, part: &Range<usize>, bytes_of_item: u64) -> io::Result<usize> {
        let items = len(part)?;
        let (all, rest) = (self.bytes / bytes_of_item, self.bytes % bytes_of_item);
        if part.end as u64 <= all {
            return Ok(items);
        }
        let Range { start, end } = part;
        let mut message =
            format!("part {start}..{end} is not in {}, which has {}", self.what, counted(all, "item"));
        if rest > 0 {
            message += &format!(" and {} of another one", counted(rest, "byte"));
        }
        Err(io::Error::new(ErrorKind::UnexpectedEof, message))
    }
}

/// Ranges of items, and how far they are read.
#[derive(Debug)]
pub(in crate::io) struct Parts {
    /// The part that has begun, and its items that are left.
    current: (Range<usize>, Range<usize>),
    /// The parts that have not begun.
    rest: std::vec::IntoIter<Range<usize>>,
    /// The number of elements of an item, once a chunk has told it.
    item: Option<usize>,
    /// The position in the file, if it is known.
    at: Option<u64>,
}

impl Parts {
    pub(in crate::io) fn new(parts: impl IntoIterator<Item = Range<usize>>) -> Self {
        let rest = parts.into_iter().collect::<Vec<_>>().into_iter();
        Self { current: (0..0, 0..0), rest, item: None, at: None }
    }

    /// The number of elements that are left.
    pub(in crate::io) fn elements(&self, per_item: usize) -> io::Result<Option<usize>> {
        let mut items = Some(self.current.1.len());
        for part in self.rest.as_slice() {
            let more = len(part)?;
            items = items.and_then(|items| items.checked_add(more));
        }
        match items.and_then(|items| items.checked_mul(per_item)) {
            Some(elements) => Ok(Some(elements)),
            None => Err(misuse("its parts have more elements than can be counted")),
        }
    }

    /// Fills a chunk's slot from its start, and returns the number of elements.
    pub(in crate::io) fn read<T: Pod>(
        &mut self,
        file: &mut (impl Read + Seek),
        extent: &Extent,
        chunk: Chunk,
        slot: &mut [T],
    ) -> io::Result<usize> {
        if size_of::<T>() == 0 {
            return Err(misuse(NO_BYTES));
        }
        if slot.is_empty() {
            return Ok(0);
        }
        let bytes_of_item = elements_of_item(&mut self.item, chunk, slot.len())? * size_of::<T>();
        let slot = bytemuck::cast_slice_mut::<T, u8>(slot);
        let mut filled = 0;
        while filled < slot.len() {
            let (part, left) = &mut self.current;
            if left.start >= left.end {
                let Some(next) = self.rest.next() else { break };
                extent.check(&next, bytes_of_item as u64)?;
                (*part, *left) = (next.clone(), next);
                continue;
            }
            // A part that was checked is in the file, so no position overflows.
            let at = extent.start + left.start as u64 * bytes_of_item as u64;
            if self.at != Some(at) {
                self.at = None;
                file.seek(SeekFrom::Start(at))?;
            }
            let items = left.len().min((slot.len() - filled) / bytes_of_item);
            let wanted = items * bytes_of_item;
            let read = fill(file, &mut slot[filled..filled + wanted])?;
            self.at = Some(at + read as u64);
            if read < wanted {
                let item = left.start + read / bytes_of_item;
                let Range { start, end } = part;
                let message = format!("it ended before the end of item {item}, in part {start}..{end}");
                return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
            }
            (filled, left.start) = (filled + wanted, left.start + items);
        }
        Ok(filled / size_of::<T>())
    }
}

impl<R: Read + Seek> PartsReader<R> {
    pub(in crate::io) fn new(file: R, parts: impl IntoIterator<Item = Range<usize>>) -> Self {
        Self { file, parts: Parts::new(parts), extent: None, has_failed: false }
    }
}

impl<T: Pod, R: Read + Seek + Send> Source<T> for PartsReader<R> {
    fn read(&mut self, chunk: Chunk, slot: &mut [T]) -> io::Result<usize> {
        attempt(&mut self.has_failed)?;
        let extent = match self.extent {
            Some(extent) => extent,
            None => *self.extent.insert(Extent::rest(&mut self.file)?),
        };
        let filled = self.parts.read(&mut self.file, &extent, chunk, slot)?;
        self.has_failed = false;
        Ok(filled)
    }

    fn elements(&mut self, per_item: usize) -> io::Result<Option<usize>> {
        self.parts.elements(per_item)
    }
}
