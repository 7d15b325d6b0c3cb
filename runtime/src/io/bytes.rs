//! Elements as the bytes of a file, a pipe or a socket, in the byte order of this machine's memory.

use std::io::{self, ErrorKind, Read, Write};

use bytemuck::Pod;

use super::{Sink, Source};
use crate::base::chunk::Chunk;
use crate::base::error::counted;

pub(super) const NO_BYTES: &str = "elements of no bytes cannot be read";

/// Reads until `bytes` are full or the reader ends, and returns the number of bytes read.
pub(super) fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match reader.read(&mut bytes[filled..]) {
            Ok(0) => break,
            // A reader that claims to have read more than there is room for has filled the slot.
            Ok(read) => filled = filled.saturating_add(read).min(bytes.len()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Notes a failure, which a caller that succeeds takes back. After an error or a panic a reader or a writer
/// has lost its place in the file, and what follows would be taken for other elements.
pub(super) fn attempt(has_failed: &mut bool) -> io::Result<()> {
    match std::mem::replace(has_failed, true) {
        true => Err(io::Error::new(ErrorKind::InvalidInput, "it has failed before")),
        false => Ok(()),
    }
}

/// The source that [`source::read`](super::source::read) returns.
#[derive(Debug)]
pub struct Reader<R>(pub(super) R);

impl<T: Pod, R: Read + Send> Source<T> for Reader<R> {
    fn read(&mut self, _: Chunk, slot: &mut [T]) -> io::Result<usize> {
        let size = size_of::<T>();
        if size == 0 {
            return Err(io::Error::new(ErrorKind::InvalidInput, NO_BYTES));
        }
        let filled = fill(&mut self.0, bytemuck::cast_slice_mut::<T, u8>(slot))?;
        match filled % size {
            0 => Ok(filled / size),
            rest => {
                let message = format!("it ended {} into an element of {size}", counted(rest, "byte"));
                Err(io::Error::new(ErrorKind::UnexpectedEof, message))
            }
        }
    }
}

/// The sink that [`sink::write`](super::sink::write) returns.
#[derive(Debug)]
pub struct Writer<W>(pub(super) W);

impl<T: Pod, W: Write + Send> Sink<T> for Writer<W> {
    fn write(&mut self, _: Chunk, data: &[T]) -> io::Result<()> {
        // Elements without bytes are not written: `cast_slice` divides by the size.
        if size_of::<T>() == 0 { Ok(()) } else { self.0.write_all(bytemuck::cast_slice(data)) }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
