//! Data that a pipeline reads while it runs: files and sockets, iterators, channels, functions.
//!
//! Any `input x: [T]` accepts one of these in place of a slice. Each has a thread of its own for as long as
//! the run lasts, which reads into page-locked memory, at most as far ahead as the ring has slots.
//!
//! | function | reads |
//! | --- | --- |
//! | [`read`] | the bytes of a file, a pipe, a socket: whatever is [`Read`] |
//! | [`iter`] | elements, one by one |
//! | [`batches`], [`channel`] | `Vec`s or slices of any length |
//! | [`npy()`] | NumPy's `.npy` files |
//! | [`read_parts`], [`npy_parts`] | ranges of items of a file, such as those of a [rank](crate::World) |
//! | [`from_fn`] | what a function puts into each chunk's slot |
//! | [`Streamed`] | a [`Source`] of your own |
//!
//! The crate `thalweg-arrow` has Arrow's record batches and arrays; `thalweg-parquet` has columns of Parquet
//! files.
//!
//! If another argument has a length, a source is read for so many items and no more; else until it ends.
//! Sources of parts have a length themselves.

use std::io::{self, Read};
use std::marker::PhantomData;
use std::sync::mpsc::Receiver;

use bytemuck::Pod;

pub use super::bytes::Reader;
pub use super::formats_source::*;
pub use super::npy::{NpyPartsReader, NpyReader};
pub use super::parts::PartsReader;
pub use super::parts_source::*;
use super::{Source, Streamed};
use crate::base::chunk::Chunk;

/// Reads the bytes of a file, a pipe or a socket, as elements in this machine's byte order (little-endian on
/// all that CUDA runs on).
///
/// A read that gives fewer bytes than requested is continued, also after
/// [`Interrupted`](io::ErrorKind::Interrupted). It asks for a whole chunk at once, so a `BufReader` gains
/// nothing. A reader that ends within an element is an error.
///
/// ```
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     pipeline Through {
///         input x: [u16];
///         output z: [u16];
///         chunk c = 2;
///         stage there { copy x -> dx; }
///         stage back { copy dx -> z; }
///     }
/// }
///
/// let (file, mut z) = (&[1_u8, 0, 2, 0, 3, 1][..], Vec::new());
/// Through::new(&Device::simulated(Simulation::default()))?.run(source::read(file), sink::extend(&mut z))?;
/// assert_eq!(z, [1, 2, 0x103]);
/// # Ok::<(), Error>(())
/// ```
pub fn read<R: Read + Send>(reader: R) -> Streamed<Reader<R>> {
    Streamed(Reader(reader))
}

/// Reads elements one by one, until the iterator ends, or until there are as many items as another argument
/// has.
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
/// let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
/// let mut z = Vec::new();
/// through.run(source::iter((0..).map(|i| i * i).take(6)), sink::extend(&mut z))?;
/// assert_eq!(z, [0, 1, 4, 9, 16, 25]);
///
/// // An iterator without an end: the length of `z` counts.
/// let mut z = [0; 5];
/// through.run(source::iter(10..), &mut z)?;
/// assert_eq!(z, [10, 11, 12, 13, 14]);
/// # Ok::<(), Error>(())
/// ```
pub fn iter<I>(elements: I) -> Streamed<Elements<I::IntoIter>>
where
    I: IntoIterator<IntoIter: Send>,
{
    Streamed(Elements(elements.into_iter()))
}

/// Reads `Vec`s, slices or other holders of elements, each of any length, independent of the length of
/// chunks.
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
/// let mut z = Vec::new();
/// let batches = source::batches([vec![1], vec![], vec![2, 3, 4, 5, 6]]);
/// Through::new(&Device::simulated(Simulation::h200()))?.run(batches, sink::extend(&mut z))?;
/// assert_eq!(z, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), Error>(())
/// ```
pub fn batches<I>(batches: I) -> Streamed<Batches<I::IntoIter, I::Item>>
where
    I: IntoIterator<IntoIter: Send, Item: Send>,
{
    Streamed(Batches { rest: batches.into_iter(), current: None, taken: 0 })
}

/// Reads the batches that others send, until every sender is dropped.
///
/// The run waits while no batch comes. A sender that stays alive without being used, for example in the
/// thread that calls `run`, keeps it waiting for ever.
///
/// ```
/// use std::sync::mpsc;
/// use std::thread;
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
/// let (sender, batches) = mpsc::channel();
/// let producer = thread::spawn(move || {
///     for batch in [vec![1, 2, 3], vec![4, 5]] {
///         sender.send(batch).expect("the run receives");
///     }
///     // Here the sender is dropped, which ends the run.
/// });
/// let mut z = Vec::new();
/// Through::new(&Device::simulated(Simulation::h200()))?.run(source::channel(batches), sink::extend(&mut z))?;
/// assert_eq!(z, [1, 2, 3, 4, 5]);
/// # producer.join().expect("it has not panicked");
/// # Ok::<(), Error>(())
/// ```
pub fn channel<B: Send>(receiver: Receiver<B>) -> Streamed<Batches<std::sync::mpsc::IntoIter<B>, B>> {
    batches(receiver)
}

/// Fills the slot of each chunk by calling a function, which returns the number of elements filled. Fewer
/// than the slot has end the data.
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
/// let mut z = Vec::new();
/// let squares = source::from_fn(|c, slot: &mut [u32]| {
///     let len = slot.len().min(10 - c.start);
///     slot[..len].iter_mut().zip(c.start as u32..).for_each(|(square, i)| *square = i * i);
///     Ok(len)
/// });
/// Through::new(&Device::simulated(Simulation::default()))?.run(squares, sink::extend(&mut z))?;
/// assert_eq!(z, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
/// # Ok::<(), Error>(())
/// ```
pub fn from_fn<T, F>(function: F) -> Streamed<FromFn<T, F>>
where
    F: FnMut(Chunk, &mut [T]) -> io::Result<usize> + Send,
{
    Streamed(FromFn { function, elements: PhantomData })
}

/// The source that [`iter`] returns.
#[derive(Debug)]
pub struct Elements<I>(I);

impl<T: Pod, I: Iterator<Item = T> + Send> Source<T> for Elements<I> {
    fn read(&mut self, _: Chunk, slot: &mut [T]) -> io::Result<usize> {
        for (filled, room) in slot.iter_mut().enumerate() {
            match self.0.next() {
                Some(element) => *room = element,
                None => return Ok(filled),
            }
        }
        Ok(slot.len())
    }
}

/// The source that [`batches`] and [`channel`] return.
#[derive(Debug)]
pub struct Batches<I, B> {
    rest: I,
    /// The batch that elements were last taken from.
    current: Option<B>,
    /// The number of elements taken from it.
    taken: usize,
}

impl<T: Pod, B: AsRef<[T]> + Send, I: Iterator<Item = B> + Send> Source<T> for Batches<I, B> {
    fn read(&mut self, _: Chunk, slot: &mut [T]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < slot.len() {
            let left = self.current.as_ref().and_then(|batch| batch.as_ref().get(self.taken..));
            let Some(left) = left.filter(|left| !left.is_empty()) else {
                (self.current, self.taken) = (self.rest.next(), 0);
                if self.current.is_none() {
                    break;
                }
                continue;
            };
            let len = left.len().min(slot.len() - filled);
            slot[filled..filled + len].copy_from_slice(&left[..len]);
            (filled, self.taken) = (filled + len, self.taken + len);
        }
        Ok(filled)
    }
}

/// What [`from_fn`] gives.
pub struct FromFn<T, F> {
    function: F,
    elements: PhantomData<fn(&mut [T])>,
}

impl<T: Pod, F> Source<T> for FromFn<T, F>
where
    F: FnMut(Chunk, &mut [T]) -> io::Result<usize> + Send,
{
    fn read(&mut self, chunk: Chunk, slot: &mut [T]) -> io::Result<usize> {
        (self.function)(chunk, slot)
    }
}

impl<T, F> std::fmt::Debug for FromFn<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FromFn")
    }
}
