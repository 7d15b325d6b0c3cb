//! Parts of a `.npy` file.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use super::header::{self, Header};
use crate::base::chunk::Chunk;
use crate::base::error::counted;
use crate::io::bytes::attempt;
use crate::io::parts::{Extent, Part, Parts, starts_at};
use crate::io::{Scalar, Sink, Source};

/// The shape that the header says. The position remains.
pub(in crate::io) fn shape(file: &mut (impl Read + Seek)) -> io::Result<Vec<usize>> {
    let start = file.stream_position()?;
    let shape = header::shape(file);
    file.seek(SeekFrom::Start(start))?;
    shape
}

/// The source that [`source::npy_parts`](crate::io::source::npy_parts) returns.
#[derive(Debug)]
pub struct NpyPartsReader<R> {
    file: R,
    parts: Parts,
    /// Once the header is read.
    extent: Option<Extent>,
    has_failed: bool,
}

impl<R: Read + Seek> NpyPartsReader<R> {
    pub(in crate::io) fn new(file: R, parts: impl IntoIterator<Item = Range<usize>>) -> Self {
        Self { file, parts: Parts::new(parts), extent: None, has_failed: false }
    }

    fn extent<T: Scalar>(&mut self, chunk: Chunk, slot: &[T]) -> io::Result<Extent> {
        if let Some(extent) = self.extent {
            return Ok(extent);
        }
        let header = Header::read::<T>(&mut self.file)?;
        let item = slot.len().checked_div(chunk.len).unwrap_or_default() as u64;
        if header.elements.checked_rem(item).is_some_and(|rest| rest > 0) {
            let (elements, item) = (header.elements, counted(item, "element"));
            let message = format!("its {elements} elements are no whole number of items of {item}");
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        let start = self.file.stream_position()?;
        // The number of elements was multiplied by their size before.
        let bytes = header.elements * size_of::<T>() as u64;
        if start.checked_add(bytes).is_none() {
            return Err(io::Error::new(ErrorKind::InvalidData, header::TOO_LARGE));
        }
        Ok(*self.extent.insert(Extent { start, bytes, what: "the array" }))
    }
}

impl<T: Scalar, R: Read + Seek + Send> Source<T> for NpyPartsReader<R> {
    fn read(&mut self, chunk: Chunk, slot: &mut [T]) -> io::Result<usize> {
        attempt(&mut self.has_failed)?;
        let extent = self.extent(chunk, slot)?;
        let filled = self.parts.read(&mut self.file, &extent, chunk, slot)?;
        self.has_failed = false;
        Ok(filled)
    }

    fn elements(&mut self, per_item: usize) -> io::Result<Option<usize>> {
        self.parts.elements(per_item)
    }
}

/// The sink that [`sink::npy_part`](crate::io::sink::npy_part) returns.
#[derive(Debug)]
pub struct NpyPartWriter<W> {
    file: W,
    /// The shape of the whole array.
    shape: Vec<usize>,
    part: Part,
    /// The position of the header, once anything is written.
    start: Option<u64>,
    has_failed: bool,
}

impl<W: Write + Seek> NpyPartWriter<W> {
    pub(in crate::io) fn new(file: W, shape: &[usize], part: Range<usize>) -> Self {
        Self { file, shape: shape.to_vec(), part: Part::new(part), start: None, has_failed: false }
    }

    fn header<T: Scalar>(&self) -> io::Result<Vec<u8>> {
        let Some((&items, item)) = self.shape.split_first() else {
            let message = "the array has no dimension, so it has no parts";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        };
        Ok(header::written::<T>(items as u64, item))
    }

    /// Refuses a part that is not in the array.
    fn check<T: Scalar>(&mut self, chunk: Chunk, data: &[T]) -> io::Result<()> {
        let refused = |message| Err(io::Error::new(ErrorKind::InvalidInput, message));
        let Self { shape, part, .. } = self;
        let mut lengths = shape.iter().map(|&len| len as u64);
        let elements = if shape.contains(&0) {
            Some(0)
        } else {
            lengths.try_fold(1, |product: u64, len| product.checked_mul(len))
        };
        let Some(elements) = elements else {
            return refused(format!("an array of the shape {shape:?} has too many elements"));
        };
        let item = part.elements_of_item(chunk, data)? as u64;
        if elements % item != 0 {
            let item = counted(item, "element");
            return refused(format!("an array of the shape {shape:?} is no whole number of items of {item}"));
        }
        let (Range { start, end }, all) = (part.items(), elements / item);
        if end as u64 > all {
            let all = counted(all, "item");
            return refused(format!(
                "part {start}..{end} is not in an array of the shape {shape:?}, which has {all}"
            ));
        }
        Ok(())
    }

    fn append<T: Scalar>(&mut self, chunk: Chunk, data: &[T]) -> io::Result<()> {
        let header = self.header::<T>()?;
        self.check(chunk, data)?;
        let start = starts_at(&mut self.start, &mut self.file)?;
        if self.part.is_first() && self.part.is_new() {
            // Until the part is complete, the file is no `.npy` file.
            self.file.seek(SeekFrom::Start(start))?;
            self.file.write_all(&vec![0; header.len()])?;
        }
        let data_start = start.saturating_add(header.len() as u64);
        self.part.write(&mut self.file, data_start, chunk, data)
    }

    fn end<T: Scalar>(&mut self) -> io::Result<()> {
        let header = self.header::<T>()?;
        self.part.finish()?;
        // Buffered data reach the disk before the header counts them.
        self.file.flush()?;
        if !self.part.is_first() {
            return Ok(());
        }
        let start = starts_at(&mut self.start, &mut self.file)?;
        self.file.seek(SeekFrom::Start(start))?;
        self.file.write_all(&header)?;
        if self.file.stream_position()? != start.saturating_add(header.len() as u64) {
            return Err(io::Error::new(ErrorKind::InvalidInput, super::APPENDING));
        }
        self.file.flush()
    }
}

impl<T: Scalar, W: Write + Seek + Send> Sink<T> for NpyPartWriter<W> {
    fn write(&mut self, chunk: Chunk, data: &[T]) -> io::Result<()> {
        attempt(&mut self.has_failed)?;
        self.append(chunk, data)?;
        self.has_failed = false;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        attempt(&mut self.has_failed)?;
        self.end::<T>()?;
        self.has_failed = false;
        Ok(())
    }
}
