//! What a pipeline reads as it runs: files and sockets, iterators, channels, functions.
//!
//! Any `input x: [T]` takes one of these in place of a slice. Each has a thread of its own for as long as the run lasts, which
//! reads into page-locked memory, at most as far ahead as the ring has slots.
//!
//! | function | reads |
//! | --- | --- |
//! | [`read`] | the bytes of a file, a pipe, a socket: whatever is [`Read`] |
//! | [`iter`] | elements, one by one |
//! | [`batches`], [`channel`] | `Vec`s or slices of any length |
//! | [`npy()`] | NumPy's `.npy` files |
//! | `arrow`, `arrays` | Arrow's record batches and arrays (feature `arrow`) |
//! | `parquet` | a column of a Parquet file (feature `parquet`) |
//! | [`from_fn`] | what a function puts into each chunk's slot |
//! | [`Streamed`] | a [`Source`] of your own |
//!
//! If another argument has a length, a source is read for so many items and no more; else until it ends.

use std::io::{self, Read};
use std::marker::PhantomData;
use std::sync::mpsc::Receiver;

use bytemuck::Pod;

#[cfg(feature = "arrow")]
pub use super::arrow::{Arrays, Batch};
pub use super::bytes::Reader;
pub use super::formats_source::*;
pub use super::npy::NpyReader;
#[cfg(feature = "parquet")]
pub use super::parquet::ParquetReader;
use super::{Source, Streamed};
use crate::base::chunk::Chunk;

/// The bytes of a file, a pipe or a socket, as elements of this machine's byte order (little-endian on all that CUDA runs on).
///
/// Reads that give less than was asked for are gone on with, also after [`Interrupted`](io::ErrorKind::Interrupted). It reads a
/// whole chunk at once, so that a `BufReader` gains nothing. A reader that ends within an element is an error.
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
/// Through::new(&Device::simulated(Spec::default()))?.run(source::read(file), sink::extend(&mut z))?;
/// assert_eq!(z, [1, 2, 0x103]);
/// # Ok::<(), Error>(())
/// ```
pub fn read<R: Read + Send>(reader: R) -> Streamed<Reader<R>> {
    Streamed(Reader(reader))
}

/// Elements, one by one, until the iterator ends, or until there are as many items as another argument has.
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
/// let mut through = Through::new(&Device::simulated(Spec::h200()))?;
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

/// `Vec`s, slices or whatever else holds elements, each of any length: they need not have to do with chunks.
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
/// Through::new(&Device::simulated(Spec::h200()))?.run(batches, sink::extend(&mut z))?;
/// assert_eq!(z, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), Error>(())
/// ```
pub fn batches<I>(batches: I) -> Streamed<Batches<I::IntoIter, I::Item>>
where
    I: IntoIterator<IntoIter: Send, Item: Send>,
{
    Streamed(Batches { rest: batches.into_iter(), current: None, taken: 0 })
}

/// The batches that others send, until all of them have hung up.
///
/// While nothing comes the run waits. A sender that is kept and not used, in the thread that calls `run` say, keeps it waiting
/// for ever.
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
/// Through::new(&Device::simulated(Spec::h200()))?.run(source::channel(batches), sink::extend(&mut z))?;
/// assert_eq!(z, [1, 2, 3, 4, 5]);
/// # producer.join().expect("it has not panicked");
/// # Ok::<(), Error>(())
/// ```
pub fn channel<B: Send>(receiver: Receiver<B>) -> Streamed<Batches<std::sync::mpsc::IntoIter<B>, B>> {
    batches(receiver)
}

/// What a function puts into the slot of each chunk. It says how many elements it has filled; fewer than there are is the end.
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
/// Through::new(&Device::simulated(Spec::default()))?.run(squares, sink::extend(&mut z))?;
/// assert_eq!(z, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
/// # Ok::<(), Error>(())
/// ```
pub fn from_fn<T, F>(function: F) -> Streamed<FromFn<T, F>>
where
    F: FnMut(Chunk, &mut [T]) -> io::Result<usize> + Send,
{
    Streamed(FromFn { function, elements: PhantomData })
}

/// What [`iter`] gives.
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

/// What [`batches`] and [`channel`] give.
#[derive(Debug)]
pub struct Batches<I, B> {
    rest: I,
    /// The one that elements were taken of last.
    current: Option<B>,
    /// So many.
    taken: usize,
}

impl<T: Pod, B: AsRef<[T]> + Send, I: Iterator<Item = B> + Send> Source<T> for Batches<I, B> {
    fn read(&mut self, _: Chunk, slot: &mut [T]) -> io::Result<usize> {
        let Self { rest, current, taken } = self;
        fill_from(slot, (current, taken), B::as_ref, || Ok(rest.next()))
    }
}

/// Fills a slot with what batches hold, and says how far. `current`: the batch that elements were taken of last, and how many.
pub(super) fn fill_from<T: Pod, B>(
    slot: &mut [T],
    (current, taken): (&mut Option<B>, &mut usize),
    elements: impl Fn(&B) -> &[T],
    mut next: impl FnMut() -> io::Result<Option<B>>,
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < slot.len() {
        let left = current.as_ref().and_then(|batch| elements(batch).get(*taken..));
        let Some(left) = left.filter(|left| !left.is_empty()) else {
            (*current, *taken) = (next()?, 0);
            if current.is_none() {
                break;
            }
            continue;
        };
        let len = left.len().min(slot.len() - filled);
        slot[filled..filled + len].copy_from_slice(&left[..len]);
        (filled, *taken) = (filled + len, *taken + len);
    }
    Ok(filled)
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
