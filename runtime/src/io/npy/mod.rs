//! NumPy's `.npy` files, of versions 1 to 3.

mod header;
mod parts;
#[cfg(test)]
mod parts_tests;

use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

use self::header::Header;
pub(super) use self::parts::shape;
pub use self::parts::{NpyPartWriter, NpyPartsReader};
use super::bytes::{Reader, attempt};
use super::{Scalar, Sink, Source};
use crate::base::chunk::Chunk;

const APPENDING: &str = "the header is written last, and at the beginning, which a file that is open for appending does not allow";

/// The source that [`source::npy`](super::source::npy) returns.
#[derive(Debug)]
pub struct NpyReader<R> {
    reader: Reader<R>,
    /// Once the header is read: the number of all elements, and of those that are left.
    elements: Option<(u64, u64)>,
    has_failed: bool,
}

impl<R> NpyReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: Reader(reader), elements: None, has_failed: false }
    }
}

impl<R: Read + Send> NpyReader<R> {
    fn fill<T: Scalar>(&mut self, chunk: Chunk, slot: &mut [T]) -> io::Result<usize> {
        let (all, left) = match self.elements {
            Some(elements) => elements,
            None => {
                let all = Header::read::<T>(&mut self.reader.0)?.elements;
                (all, all)
            }
        };
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(slot.len());
        let filled = self.reader.read(chunk, &mut slot[..wanted])?;
        if filled < wanted {
            let message = format!("it ended after {} of {all} elements", all - left + filled as u64);
            return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
        }
        self.elements = Some((all, left - filled as u64));
        Ok(filled)
    }
}

impl<T: Scalar, R: Read + Send> Source<T> for NpyReader<R> {
    fn read(&mut self, chunk: Chunk, slot: &mut [T]) -> io::Result<usize> {
        attempt(&mut self.has_failed)?;
        let filled = self.fill(chunk, slot)?;
        self.has_failed = false;
        Ok(filled)
    }
}

pub(super) fn slice<T: Scalar>(bytes: &[u8]) -> io::Result<&[T]> {
    let header = Header::read::<T>(&mut &*bytes)?;
    let data = &bytes[header.data..];
    let wanted =
        usize::try_from(header.elements).ok().and_then(|elements| elements.checked_mul(size_of::<T>()));
    let Some(data) = wanted.and_then(|wanted| data.get(..wanted)) else {
        let message =
            format!("it ended after {} of {} elements", data.len() / size_of::<T>(), header.elements);
        return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
    };
    bytemuck::try_cast_slice(data).map_err(|_| {
        let message = format!("its elements do not lie at multiples of {} bytes in memory", align_of::<T>());
        io::Error::new(ErrorKind::InvalidInput, message)
    })
}

/// The sink that [`sink::npy`](super::sink::npy) returns.
#[derive(Debug)]
pub struct NpyWriter<W> {
    writer: W,
    /// The shape of one item.
    shape: Vec<usize>,
    /// The position of the header, and the number of elements written after it so far.
    begun: Option<(u64, u64)>,
    has_failed: bool,
}

impl<W: Write + Seek> NpyWriter<W> {
    pub(super) fn new(writer: W, shape: &[usize]) -> Self {
        Self { writer, shape: shape.to_vec(), begun: None, has_failed: false }
    }

    /// Writes zeros in place of the header, so that an unfinished file is not a `.npy` file.
    fn begin<T: Scalar>(&mut self) -> io::Result<(u64, u64)> {
        if let Some(begun) = self.begun {
            return Ok(begun);
        }
        self.item()?;
        let start = self.writer.stream_position()?;
        self.writer.write_all(&vec![0; header::written::<T>(0, &self.shape).len()])?;
        Ok(*self.begun.insert((start, 0)))
    }

    /// The number of elements of one item.
    fn item(&self) -> io::Result<u64> {
        let product = self.shape.iter().try_fold(1_u64, |product, &len| product.checked_mul(len as u64));
        product.filter(|&product| product > 0).ok_or_else(|| {
            let message = format!("an item of the shape {:?} has no elements, or too many", self.shape);
            io::Error::new(ErrorKind::InvalidInput, message)
        })
    }

    fn append<T: Scalar>(&mut self, data: &[T]) -> io::Result<()> {
        let (start, elements) = self.begin::<T>()?;
        self.writer.write_all(bytemuck::cast_slice(data))?;
        self.begun = Some((start, elements + data.len() as u64));
        Ok(())
    }

    /// Writes the header.
    fn end<T: Scalar>(&mut self) -> io::Result<()> {
        let (start, elements) = self.begin::<T>()?;
        let item = self.item()?;
        if elements % item != 0 {
            let message =
                format!("{elements} elements are no whole number of items of the shape {:?}", self.shape);
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        let end = self.writer.stream_position()?;
        // Buffered data reach the disk before the header counts them.
        self.writer.flush()?;
        self.writer.seek(SeekFrom::Start(start))?;
        let header = header::written::<T>(elements / item, &self.shape);
        self.writer.write_all(&header)?;
        if self.writer.stream_position()? != start + header.len() as u64 {
            return Err(io::Error::new(ErrorKind::InvalidInput, APPENDING));
        }
        self.writer.seek(SeekFrom::Start(end))?;
        self.writer.flush()?;
        self.begun = None;
        Ok(())
    }
}

impl<T: Scalar, W: Write + Seek + Send> Sink<T> for NpyWriter<W> {
    fn write(&mut self, _: Chunk, data: &[T]) -> io::Result<()> {
        attempt(&mut self.has_failed)?;
        self.append(data)?;
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
