//! Sources and sinks: host arguments that are read or written chunk by chunk while a run goes on.

#[cfg(feature = "arrow")]
mod arrow;
mod bytes;
mod formats_sink;
mod formats_source;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod scalar;
pub mod sink;
pub mod source;

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use crate::memory::{HostSource, Input, Output};
use crate::pipeline::Chunk;
use crate::session::Attached;
pub use scalar::Scalar;
pub use sink::Sink;
pub use source::Source;

/// A [`Source`] as an `input`, or a [`Sink`] as an `output`.
///
/// What the functions of [`source`] and [`sink`] return is that; one of your own is wrapped where it is passed:
/// `run(Streamed(camera), Streamed(&mut archive))`.
///
/// ```
/// use std::io;
///
/// use thalweg::prelude::*;
/// use thalweg::{Chunk, Sink, Source, Streamed};
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
/// Through::new(&Device::simulated(Spec::default()))?.run(Streamed(Count(10_001)), Streamed(&mut sum))?;
/// assert_eq!(sum.0, 50_005_000);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Streamed<S>(pub S);

/// What streams one host argument.
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

    /// The caller that is in its place, if there is one.
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
    /// `to` is aligned for the elements, and valid for reads and writes of so many, which are initialised and which nobody
    /// else accesses before this returns.
    unsafe fn read(&mut self, chunk: Chunk, to: *mut u8, elements: usize) -> io::Result<usize>;
}

/// A sink for elements of some type.
pub(crate) trait AnySink: Send {
    /// # Safety
    /// `from` is aligned for the elements, and valid for reads of so many, which are initialised and which nobody writes
    /// before this returns.
    unsafe fn write(&mut self, chunk: Chunk, from: *const u8, elements: usize) -> io::Result<()>;

    fn finish(&mut self) -> io::Result<()>;
}

struct Typed<S, T> {
    of: S,
    elements: PhantomData<fn() -> T>,
}

impl<S, T> Typed<S, T> {
    fn new(of: S) -> Box<Self> {
        const { assert!(align_of::<T>() <= 64, "page-locked memory is aligned to 64 bytes") };
        Box::new(Self { of, elements: PhantomData })
    }
}

impl<T: Pod, S: Source<T>> AnySource for Typed<S, T> {
    unsafe fn read(&mut self, chunk: Chunk, to: *mut u8, elements: usize) -> io::Result<usize> {
        // SAFETY: the caller's promise; `T: Pod` accepts any bytes. The slice is the source's for this call: what it is handed
        // to cannot keep it.
        let slot = unsafe { std::slice::from_raw_parts_mut(to.cast::<T>(), elements) };
        self.of.read(chunk, slot)
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

impl<'a, T: Pod, S: Source<T> + 'a> Input<'a, T> for Streamed<S> {
    fn source(self) -> HostSource<'a> {
        HostSource::streamed(Feed::Source(Typed::<S, T>::new(self.0)), false)
    }
}

impl<'a, T: Pod, S: Sink<T> + 'a> Output<'a, T> for Streamed<S> {
    fn source(self) -> HostSource<'a> {
        HostSource::streamed(Feed::Sink(Typed::<S, T>::new(self.0)), true)
    }
}
