//! [`Source`] and [`Sink`]: host arguments that are read or written chunk by chunk while a run goes on.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::Attached;
use crate::base::chunk::Chunk;

/// Host data that is read chunk by chunk, in order, while a run goes on. [`Streamed`] makes it an argument.
///
/// It is called on a thread of its own, on which it may block, and is dropped there before the run returns. A
/// run cannot interrupt it: while it waits for data that do not come, a run that has failed waits too.
///
/// A slot belongs to the source for one call; the source cannot keep it:
///
/// ```compile_fail,E0521
/// # use thalweg::prelude::*;
/// let mut kept: Vec<&mut [f32]> = Vec::new();
/// let keeps = source::from_fn(|_, slot: &mut [f32]| {
///     kept.push(slot);
///     Ok(0)
/// });
/// ```
///
/// Data that are read and written back cannot be streamed:
///
/// ```compile_fail,E0277
/// # use thalweg::prelude::*;
/// stream_pipeline! {
///     pipeline Back {
///         inout y: [f32];
///         stage all { copy y -> dy; copy dy -> y; }
///     }
/// }
/// # fn run(mut pipeline: Back) {
/// let _ = pipeline.run(source::iter([1.0_f32; 8]));
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no source of `{T}`",
    label = "expected a source of `{T}`",
    note = "a source can be sent to another thread: what `source::read` is given is `Read + Send`, say"
// Note 30: a source has a thread, and slots change hands.
)]
pub trait Source<T: Pod>: Send {
    /// Fills `slot`, the elements of one chunk, from its start, and returns the number of elements filled.
    /// Fewer than `slot` has end the data: it is not called again.
    ///
    /// The previous contents of the slot have no meaning. If nobody knows the number of items, `chunk` has
    /// the length of the largest chunk.
    ///
    /// # Errors
    /// The reason why it cannot go on: the run fails with [`ErrorKind::Source`](crate::ErrorKind::Source), as
    /// it does if this panics.
    fn read(&mut self, chunk: Chunk, slot: &mut [T]) -> io::Result<usize>;

    /// The number of elements that the source is about to give, if it knows: then it has a length like a
    /// slice, so that all arguments need as many items, and ranks can agree on the chunks of the run. An item
    /// has `per_item` elements.
    ///
    /// It is asked once, by the thread that calls `run`, before the run begins. A source that then ends before
    /// is an error, and it is not asked for more.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    fn elements(&mut self, per_item: usize) -> io::Result<Option<usize>> {
        let _ = per_item;
        Ok(None)
    }
}

impl<T: Pod, S: Source<T> + ?Sized> Source<T> for &mut S {
    fn read(&mut self, chunk: Chunk, slot: &mut [T]) -> io::Result<usize> {
        (**self).read(chunk, slot)
    }

    fn elements(&mut self, per_item: usize) -> io::Result<Option<usize>> {
        (**self).elements(per_item)
    }
}

impl<T: Pod, S: Source<T> + ?Sized> Source<T> for Box<S> {
    fn read(&mut self, chunk: Chunk, slot: &mut [T]) -> io::Result<usize> {
        (**self).read(chunk, slot)
    }

    fn elements(&mut self, per_item: usize) -> io::Result<Option<usize>> {
        (**self).elements(per_item)
    }
}

/// Host data that is written chunk by chunk, in order, while a run goes on. [`Streamed`] makes it an
/// argument.
///
/// It is called on a thread of its own, on which it may block, and is dropped there before the run returns. A
/// run cannot interrupt it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no sink for `{T}`",
    label = "expected a sink for `{T}`",
    note = "a sink can be sent to another thread: what `sink::write` is given is `Write + Send`, say"
// Note 37: one copy writes it, which every chunk has.
)]
pub trait Sink<T: Pod>: Send {
    /// Receives one chunk's elements. They count as complete when it returns.
    ///
    /// # Errors
    /// The reason why it cannot go on: it is not called again, and the run fails with
    /// [`ErrorKind::Sink`](crate::ErrorKind::Sink), as it does if this panics.
    fn write(&mut self, chunk: Chunk, data: &[T]) -> io::Result<()>;

    /// Called after the last chunk, when the run is over or has failed elsewhere. Not called after an error
    /// of its own.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: Pod, S: Sink<T> + ?Sized> Sink<T> for &mut S {
    fn write(&mut self, chunk: Chunk, data: &[T]) -> io::Result<()> {
        (**self).write(chunk, data)
    }

    fn finish(&mut self) -> io::Result<()> {
        (**self).finish()
    }
}

impl<T: Pod, S: Sink<T> + ?Sized> Sink<T> for Box<S> {
    fn write(&mut self, chunk: Chunk, data: &[T]) -> io::Result<()> {
        (**self).write(chunk, data)
    }

    fn finish(&mut self) -> io::Result<()> {
        (**self).finish()
    }
}

/// A [`Source`] as an `input`, or a [`Sink`] as an `output`.
///
/// The functions of [`source`](mod@crate::io::source) and [`sink`](mod@crate::io::sink) return this type; a
/// source or sink of your own is wrapped where it is passed: `run(Streamed(camera), Streamed(&mut archive))`.
///
/// ```
/// use std::io;
///
/// use thalweg::io::{Sink, Source, Streamed};
/// use thalweg::plan::Chunk;
/// use thalweg::prelude::*;
///
/// /// The numbers below a bound.
/// struct Count(u32);
///
/// impl Source<u32> for Count {
///     fn read(&mut self, chunk: Chunk, slot: &mut [u32]) -> io::Result<usize> {
///         let left = (self.0 as usize).saturating_sub(chunk.start).min(slot.len());
///         slot[..left].iter_mut().zip(chunk.start..).for_each(|(number, i)| *number = i as u32);
///         Ok(left)
///     }
/// }
///
/// /// Their sum.
/// struct Sum(u64);
///
/// impl Sink<u32> for Sum {
///     fn write(&mut self, _: Chunk, data: &[u32]) -> io::Result<()> {
///         self.0 += data.iter().map(|&number| u64::from(number)).sum::<u64>();
///         Ok(())
///     }
/// }
///
/// stream_pipeline! {
///     pipeline Through {
///         input x: [u32];
///         output z: [u32];
///         chunk c = 1000;
///         stage there { copy x -> dx; }
///         stage back { copy dx -> z; }
///     }
/// }
///
/// let mut sum = Sum(0);
/// Through::new(&Device::simulated(Simulation::default()))?.run(Streamed(Count(10_001)), Streamed(&mut sum))?;
/// assert_eq!(sum.0, 50_005_000);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Streamed<S>(pub S);

/// The source or sink of one host argument.
pub(crate) enum Feed<'a> {
    Source(Box<dyn AnySource + 'a>),
    Sink(Box<dyn AnySink + 'a>),
    /// A caller in place of a source.
    Pushed(Arc<Attached>),
    /// A caller in place of a sink.
    Pulled(Arc<Attached>),
}

impl Feed<'_> {
    pub(crate) fn is_sink(&self) -> bool {
        matches!(self, Feed::Sink(_) | Feed::Pulled(_))
    }

    /// The number of elements that a source knows it has.
    pub(crate) fn elements(&mut self, per_item: usize) -> io::Result<Option<usize>> {
        match self {
            Feed::Source(source) => source.elements(per_item),
            Feed::Sink(_) | Feed::Pushed(_) | Feed::Pulled(_) => Ok(None),
        }
    }

    /// The caller in its place, if there is one.
    pub(crate) fn caller(&self) -> Option<&Arc<Attached>> {
        match self {
            Feed::Pushed(caller) | Feed::Pulled(caller) => Some(caller),
            Feed::Source(_) | Feed::Sink(_) => None,
        }
    }
}

/// A source of elements of some type.
pub(crate) trait AnySource: Send {
    /// # Safety
    /// `to` is aligned for the elements, and valid for reads and writes of `elements` of them, which are
    /// initialised and which nobody else accesses before this returns.
    unsafe fn read(&mut self, chunk: Chunk, to: *mut u8, elements: usize) -> io::Result<usize>;

    fn elements(&mut self, per_item: usize) -> io::Result<Option<usize>>;
}

/// A sink for elements of some type.
pub(crate) trait AnySink: Send {
    /// # Safety
    /// `from` is aligned for the elements, and valid for reads of `elements` of them, which are initialised
    /// and which nobody writes before this returns.
    unsafe fn write(&mut self, chunk: Chunk, from: *const u8, elements: usize) -> io::Result<()>;

    fn finish(&mut self) -> io::Result<()>;
}

struct Typed<S, T> {
    of: S,
    elements: PhantomData<fn() -> T>,
}

impl<S> Streamed<S> {
    /// The reader for elements of this type.
    pub(crate) fn into_source<'a, T: Pod>(self) -> Feed<'a>
    where
        S: Source<T> + 'a,
    {
        Feed::Source(Typed::<S, T>::new(self.0))
    }

    /// The writer for elements of this type.
    pub(crate) fn into_sink<'a, T: Pod>(self) -> Feed<'a>
    where
        S: Sink<T> + 'a,
    {
        Feed::Sink(Typed::<S, T>::new(self.0))
    }
}

impl<S, T> Typed<S, T> {
    fn new(of: S) -> Box<Self> {
        const { assert!(align_of::<T>() <= 64, "page-locked memory is aligned to 64 bytes") };
        Box::new(Self { of, elements: PhantomData })
    }
}

impl<T: Pod, S: Source<T>> AnySource for Typed<S, T> {
    unsafe fn read(&mut self, chunk: Chunk, to: *mut u8, elements: usize) -> io::Result<usize> {
        // SAFETY: the caller's promise; `T: Pod` accepts any bytes. The slice belongs to the source for this
        // call, and the source cannot keep it.
        let slot = unsafe { std::slice::from_raw_parts_mut(to.cast::<T>(), elements) };
        self.of.read(chunk, slot)
    }

    fn elements(&mut self, per_item: usize) -> io::Result<Option<usize>> {
        self.of.elements(per_item)
    }
}

impl<T: Pod, S: Sink<T>> AnySink for Typed<S, T> {
    unsafe fn write(&mut self, chunk: Chunk, from: *const u8, elements: usize) -> io::Result<()> {
        // SAFETY: as above.
        let data = unsafe { std::slice::from_raw_parts(from.cast::<T>(), elements) };
        self.of.write(chunk, data)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.of.finish()
    }
}
