//! Elements as the bytes of a file, a pipe or a socket, in the byte order of this machine's memory.

use std::io::{self, ErrorKind, Read, Write};

use bytemuck::Pod;

use super::{Sink, Source};
use crate::base::chunk::Chunk;
use crate::base::error::counted;

/// The source that [`source::read`](super::source::read) returns.
#[derive(Debug)]
pub struct Reader<R>(pub(super) R);

impl<T: Pod, R: Read + Send> Source<T> for Reader<R> {
    fn read(&mut self, _: Chunk, slot: &mut [T]) -> io::Result<usize> {
        let size = size_of::<T>();
        if size == 0 {
            return Err(io::Error::new(ErrorKind::InvalidInput, "elements of no bytes cannot be read"));
        }
        let bytes = bytemuck::cast_slice_mut::<T, u8>(slot);
        let mut filled = 0;
        while filled < bytes.len() {
            match self.0.read(&mut bytes[filled..]) {
                Ok(0) => break,
                // A reader that claims to have read more than there is room for has filled the slot.
                Ok(read) => filled = filled.saturating_add(read).min(bytes.len()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
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
