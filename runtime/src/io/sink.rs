//! Destinations that a pipeline writes while it runs: files and sockets, channels, functions.
//!
//! Any `output z: [T]` accepts one of these in place of a slice. Each has a thread of its own for as long as
//! the run lasts, which receives the chunks in order, from page-locked memory. While it is busy the run goes
//! on as long as the ring has free slots, and then waits for it.
//!
//! | function | writes to |
//! | --- | --- |
//! | [`write()`] | a file, a pipe, a socket: whatever is [`Write`] |
//! | [`channel`], [`sync_channel`] | a channel, a `Vec` for each chunk |
//! | [`npy()`] | NumPy's `.npy` files |
//! | [`write_part`], [`npy_part`] | a range of items of a file, such as that of a [rank](crate::World) |
//! | [`extend`] | a `Vec` |
//! | [`for_each`] | a function |
//! | [`Streamed`] | a [`Sink`] of your own |
//!
//! The crate `thalweg-arrow` has Arrow's record batches and arrays, `thalweg-parquet` Parquet files.

use std::io::{self, Write};
use std::marker::PhantomData;
use std::sync::mpsc::{SendError, Sender, SyncSender};

use bytemuck::Pod;

pub use super::bytes::Writer;
pub use super::formats_sink::*;
pub use super::npy::{NpyPartWriter, NpyWriter};
pub use super::parts::PartWriter;
pub use super::parts_sink::*;
use super::{Sink, Streamed};
use crate::base::chunk::Chunk;

/// Writes the bytes of the elements in this machine's byte order to a file, a pipe or a socket. The writer is
/// flushed at the end.
///
/// A chunk is written at once, so a `BufWriter` gains nothing. If the writer returns an error, the run
/// fails with [`ErrorKind::Sink`](crate::ErrorKind::Sink).
///
/// ```
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [u32];
/// #         output z: [u32];
/// #         chunk c = 4;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let mut file = Vec::new();
/// let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
/// through.run(&[1, 2, 0x0403], sink::write(&mut file))?;
/// assert_eq!(file, [1_u32, 2, 0x0403].map(u32::to_ne_bytes).as_flattened());
/// # Ok::<(), Error>(())
/// ```
pub fn write<W: Write + Send>(writer: W) -> Streamed<Writer<W>> {
    Streamed(Writer(writer))
}

/// Sends a `Vec` for each chunk. The run fails once the receiver is gone
/// ([`ErrorKind::Sink`](crate::ErrorKind::Sink)).
///
/// The channel grows with the chunks that nobody has received: [`sync_channel`] bounds them.
///
/// ```
/// use std::sync::mpsc;
///
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [u32];
/// #         output z: [u32];
/// #         chunk c = 4;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let (sender, chunks) = mpsc::channel();
/// Through::new(&Device::simulated(Simulation::h200()))?.run(&[1, 2, 3, 4, 5, 6], sink::channel(sender))?;
/// assert_eq!(chunks.iter().collect::<Vec<_>>(), [vec![1, 2, 3, 4], vec![5, 6]]); // `chunk c = 4;`
/// # Ok::<(), Error>(())
/// ```
pub fn channel<T: Pod + Send>(sender: Sender<Vec<T>>) -> Streamed<Channel<Sender<Vec<T>>>> {
    Streamed(Channel(sender))
}

/// Like [`channel`], but the run waits while the channel is full.
pub fn sync_channel<T: Pod + Send>(sender: SyncSender<Vec<T>>) -> Streamed<Channel<SyncSender<Vec<T>>>> {
    Streamed(Channel(sender))
}

/// Appends to a `Vec`, for results whose length is not known beforehand.
///
/// ```
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [u32];
/// #         output z: [u32];
/// #         chunk c = 4;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let mut z = vec![0];
/// let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
/// let report = through.run(source::iter(1..=9), sink::extend(&mut z))?;
/// assert_eq!((report.items, report.chunks), (9, 3));
/// assert_eq!(z, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
/// # Ok::<(), Error>(())
/// ```
pub fn extend<T: Pod + Send>(data: &mut Vec<T>) -> Streamed<Extend<'_, T>> {
    Streamed(Extend(data))
}

/// Calls a function with each chunk's elements.
///
/// ```
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [u32];
/// #         output z: [u32];
/// #         chunk c = 4;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let mut largest = Vec::<u32>::new();
/// let see = sink::for_each(|_, data: &[u32]| {
///     largest.extend(data.iter().max());
///     Ok(())
/// });
/// Through::new(&Device::simulated(Simulation::default()))?.run(&[3, 1, 4, 1, 5, 9, 2, 6, 5, 3], see)?;
/// assert_eq!(largest, [4, 9, 5]);
/// # Ok::<(), Error>(())
/// ```
pub fn for_each<T, F>(function: F) -> Streamed<ForEach<T, F>>
where
    F: FnMut(Chunk, &[T]) -> io::Result<()> + Send,
{
    Streamed(ForEach { function, elements: PhantomData })
}

/// The sink that [`channel`] and [`sync_channel`] return.
#[derive(Debug)]
pub struct Channel<S>(S);

fn sent<T>(result: Result<(), SendError<Vec<T>>>) -> io::Result<()> {
    result.map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the receiver of its channel is gone"))
}

impl<T: Pod + Send> Sink<T> for Channel<Sender<Vec<T>>> {
    fn write(&mut self, _: Chunk, data: &[T]) -> io::Result<()> {
        sent(self.0.send(data.to_vec()))
    }
}

impl<T: Pod + Send> Sink<T> for Channel<SyncSender<Vec<T>>> {
    fn write(&mut self, _: Chunk, data: &[T]) -> io::Result<()> {
        sent(self.0.send(data.to_vec()))
    }
}

/// The sink that [`extend`] returns.
#[derive(Debug)]
pub struct Extend<'v, T>(&'v mut Vec<T>);

impl<T: Pod + Send> Sink<T> for Extend<'_, T> {
    fn write(&mut self, _: Chunk, data: &[T]) -> io::Result<()> {
        self.0.try_reserve(data.len())?;
        self.0.extend_from_slice(data);
        Ok(())
    }
}

/// The sink that [`for_each`] returns.
pub struct ForEach<T, F> {
    function: F,
    elements: PhantomData<fn(&[T])>,
}

impl<T: Pod, F> Sink<T> for ForEach<T, F>
where
    F: FnMut(Chunk, &[T]) -> io::Result<()> + Send,
{
    fn write(&mut self, chunk: Chunk, data: &[T]) -> io::Result<()> {
        (self.function)(chunk, data)
    }
}

impl<T, F> std::fmt::Debug for ForEach<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForEach")
    }
}
