//! A part of a file that is written.

use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

use bytemuck::Pod;

use super::places::{elements_of_item, len, misuse};
use crate::base::chunk::Chunk;
use crate::base::error::counted;
use crate::io::Sink;
use crate::io::bytes::attempt;

/// The sink that [`sink::write_part`](crate::io::sink::write_part) returns.
#[derive(Debug)]
pub struct PartWriter<W> {
    file: W,
    part: Part,
    /// The position of the file's first item, once one is written.
    start: Option<u64>,
    has_failed: bool,
}

/// A range of items, and how far they are written.
#[derive(Debug)]
pub(in crate::io) struct Part {
    items: Range<usize>,
    /// The number of items that the run has written.
    written: usize,
    /// The number of elements of an item, once a chunk has told it.
    item: Option<usize>,
}

impl Part {
    pub(in crate::io) fn new(items: Range<usize>) -> Self {
        Self { items, written: 0, item: None }
    }

    pub(in crate::io) fn is_first(&self) -> bool {
        self.items.start == 0
    }

    pub(in crate::io) fn items(&self) -> Range<usize> {
        self.items.clone()
    }

    /// The number of elements of an item, of which there is at least one.
    pub(in crate::io) fn elements_of_item<T>(&mut self, chunk: Chunk, data: &[T]) -> io::Result<usize> {
        elements_of_item(&mut self.item, chunk, data.len())
    }

    pub(in crate::io) fn is_new(&self) -> bool {
        self.written == 0
    }

    /// Writes a chunk behind the one before. `start`: the position of the file's first item.
    pub(in crate::io) fn write<T: Pod>(
        &mut self,
        file: &mut (impl Write + Seek),
        start: u64,
        chunk: Chunk,
        data: &[T],
    ) -> io::Result<()> {
        let Range { start: first, end } = self.items;
        let item = self.elements_of_item(chunk, data)?;
        let left = len(&self.items)? - self.written;
        if chunk.len > left {
            let (all, more) = (counted(self.items.len(), "item"), chunk.len - left);
            return Err(misuse(format!("part {first}..{end} has {all}, and the run has {more} more")));
        }
        // Elements without bytes are not written: `cast_slice` divides by the size.
        if size_of::<T>() > 0 {
            let bytes_of_item = item as u64 * size_of::<T>() as u64;
            let place = |items: usize| (items as u64).checked_mul(bytes_of_item)?.checked_add(start);
            let is_place = |at: &u64| i64::try_from(*at).is_ok();
            let (Some(at), Some(_)) = (place(first), place(end).filter(is_place)) else {
                return Err(misuse(format!("part {first}..{end} lies beyond the end of any file")));
            };
            if self.is_new() {
                file.seek(SeekFrom::Start(at))?;
            }
            file.write_all(bytemuck::cast_slice(data))?;
            if self.is_new() && file.stream_position()? != at + size_of_val(data) as u64 {
                return Err(misuse(
                    "a part is written at its place, which a file that is open for appending does not allow",
                ));
            }
        }
        self.written += chunk.len;
        Ok(())
    }

    /// Refuses a part that has a hole. Afterwards another run may write it anew.
    pub(in crate::io) fn finish(&mut self) -> io::Result<()> {
        let (all, written) = (len(&self.items)?, std::mem::take(&mut self.written));
        if written == all {
            return Ok(());
        }
        let Range { start, end } = self.items;
        let all = counted(all, "item");
        Err(misuse(format!("part {start}..{end} has {all}, but the run had {written} of them")))
    }
}

/// Where the file stands when the first items come.
pub(in crate::io) fn starts_at(start: &mut Option<u64>, file: &mut impl Seek) -> io::Result<u64> {
    match *start {
        Some(start) => Ok(start),
        None => Ok(*start.insert(file.stream_position()?)),
    }
}

impl<W: Write + Seek> PartWriter<W> {
    pub(in crate::io) fn new(file: W, part: Range<usize>) -> Self {
        Self { file, part: Part::new(part), start: None, has_failed: false }
    }
}

impl<T: Pod, W: Write + Seek + Send> Sink<T> for PartWriter<W> {
    fn write(&mut self, chunk: Chunk, data: &[T]) -> io::Result<()> {
        attempt(&mut self.has_failed)?;
        let start = starts_at(&mut self.start, &mut self.file)?;
        self.part.write(&mut self.file, start, chunk, data)?;
        self.has_failed = false;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        attempt(&mut self.has_failed)?;
        self.part.finish()?;
        self.file.flush()?;
        self.has_failed = false;
        Ok(())
    }
}
