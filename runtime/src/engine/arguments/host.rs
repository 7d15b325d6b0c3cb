//! The types that `run` accepts as host data: slices, `Vec`s, arrays, [`PinnedBuf`]s, sources and sinks.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use crate::device::memory::{PinnedBuf, PinnedRange, PinnedSlice, PinnedSliceMut};
use crate::exchange::{Feed, Pulled, Pushed, Sink, Source, Streamed};

/// Host data that a pipeline reads: `&[T]`, `&Vec<T>`, `&Box<[T]>`, `&[T; N]` (staged by the CPU through
/// page-locked memory), or `&PinnedBuf<T>` and [`PinnedSlice<T>`] (copied by the device directly); or a
/// [`source`](mod@crate::io::source), which is read while the run goes on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an `input` of `{T}`",
    label = "expected `&[{T}]`, `&Vec<{T}>` or `&PinnedBuf<{T}>`",
    note = "what is read chunk by chunk is a source: `source::read(file)`, `source::channel(receiver)`",
    note = "`run` takes each `param` and all data in the order in which the pipeline declares them"
)]
pub trait Input<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn source(self) -> HostSource<'a>;
}

/// Host data that a pipeline reads and writes back: `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]`,
/// `&mut PinnedBuf<T>` or [`PinnedSliceMut<T>`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an `inout` of `{T}`",
    label = "expected `&mut [{T}]`, `&mut Vec<{T}>` or `&mut PinnedBuf<{T}>`",
    note = "`run` takes each `param` and all data in the order in which the pipeline declares them"
)]
pub trait InOut<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn source(self) -> HostSource<'a>;
}

/// Host data that a pipeline writes: `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]`, `&mut PinnedBuf<T>` or
/// [`PinnedSliceMut<T>`], as long as the result; or a [`sink`](mod@crate::io::sink), which receives the
/// result while the run goes on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an `output` of `{T}`",
    label = "expected `&mut [{T}]`, `&mut Vec<{T}>` or `&mut PinnedBuf<{T}>`",
    note = "what is written chunk by chunk is a sink: `sink::write(file)`, `sink::channel(sender)`",
    note = "`run` takes each `param` and all data in the order in which the pipeline declares them"
)]
pub trait Output<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn source(self) -> HostSource<'a>;
}

/// An [`Input`] that is declared `pinned`: `&PinnedBuf<T>` or a [`PinnedSlice<T>`].
#[diagnostic::on_unimplemented(
    message = "an `input` is declared `pinned`, but a `{Self}` is not page-locked",
    label = "expected `&PinnedBuf<{T}>`",
    note = "the GPU cannot copy pageable memory asynchronously",
    note = "allocate it with `PinnedBuf::from_slice`, or drop `pinned` to have it staged",
    note = "a part of a `PinnedBuf` is `buffer.slice(range)?`"
)]
pub trait PinnedInput<'a, T: Pod>: Input<'a, T> {}

/// An [`InOut`] that is declared `pinned`: `&mut PinnedBuf<T>` or a [`PinnedSliceMut<T>`].
#[diagnostic::on_unimplemented(
    message = "an `inout` is declared `pinned`, but a `{Self}` is not page-locked",
    label = "expected `&mut PinnedBuf<{T}>`",
    note = "the GPU cannot copy pageable memory asynchronously",
    note = "allocate it with `PinnedBuf::from_slice`, or drop `pinned` to have it staged",
    note = "a part of a `PinnedBuf` is `buffer.slice_mut(range)?`"
)]
pub trait PinnedInOut<'a, T: Pod>: InOut<'a, T> {}

/// An [`Output`] that is declared `pinned`: `&mut PinnedBuf<T>` or a [`PinnedSliceMut<T>`].
#[diagnostic::on_unimplemented(
    message = "an `output` is declared `pinned`, but a `{Self}` is not page-locked",
    label = "expected `&mut PinnedBuf<{T}>`",
    note = "the GPU cannot copy to pageable memory asynchronously",
    note = "allocate it with `PinnedBuf::zeroed`, or drop `pinned` to have it staged",
    note = "a part of a `PinnedBuf` is `buffer.slice_mut(range)?`"
)]
pub trait PinnedOutput<'a, T: Pod>: Output<'a, T> {}

/// An [`Input`] that is declared `mapped`: `&PinnedBuf<T>` or a [`PinnedSlice<T>`].
#[diagnostic::on_unimplemented(
    message = "an `input` is declared `mapped`, but a `{Self}` is not page-locked",
    label = "expected `&PinnedBuf<{T}>`",
    note = "kernels read mapped data over the link, where they are: the pages must stay in place",
    note = "allocate it with `PinnedBuf::from_slice`, or drop `mapped` and copy it to the device",
    note = "a part of a `PinnedBuf` is `buffer.slice(range)?`"
)]
pub trait MappedInput<'a, T: Pod>: Input<'a, T> {}

/// An [`InOut`] that is declared `mapped`: `&mut PinnedBuf<T>` or a [`PinnedSliceMut<T>`].
#[diagnostic::on_unimplemented(
    message = "an `inout` is declared `mapped`, but a `{Self}` is not page-locked",
    label = "expected `&mut PinnedBuf<{T}>`",
    note = "kernels read and write mapped data over the link, where they are: the pages must stay in place",
    note = "allocate it with `PinnedBuf::from_slice`, or drop `mapped` and copy it to the device and back",
    note = "a part of a `PinnedBuf` is `buffer.slice_mut(range)?`"
)]
pub trait MappedInOut<'a, T: Pod>: InOut<'a, T> {}

/// An [`Output`] that is declared `mapped`: `&mut PinnedBuf<T>` or a [`PinnedSliceMut<T>`].
#[diagnostic::on_unimplemented(
    message = "an `output` is declared `mapped`, but a `{Self}` is not page-locked",
    label = "expected `&mut PinnedBuf<{T}>`",
    note = "kernels write mapped data over the link, where they are: the pages must stay in place",
    note = "allocate it with `PinnedBuf::zeroed`, or drop `mapped` and copy the result from the device",
    note = "a part of a `PinnedBuf` is `buffer.slice_mut(range)?`"
)]
pub trait MappedOutput<'a, T: Pod>: Output<'a, T> {}

/// The memory of one host argument. Only the traits above create it, so it is valid for the lifetime `'a`.
#[doc(hidden)]
pub struct HostSource<'a> {
    pub(crate) memory: HostMemory,
    /// The source or sink, until the run hands it to a thread.
    pub(crate) feed: Option<Feed<'a>>,
    /// Length in elements. Unknown for sources and sinks.
    pub(crate) len: usize,
    /// Whether it was borrowed mutably.
    pub(crate) writable: bool,
    borrow: PhantomData<&'a mut [u8]>,
}

impl fmt::Debug for HostSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSource").finish_non_exhaustive()
    }
}

pub(crate) enum HostMemory {
    /// Accessed by CPU copies only.
    Pageable(*mut u8),
    Pinned(PinnedRange),
    /// No memory: a source or a sink, which only accesses staging slots.
    Streamed,
}

// SAFETY: it stands for a borrow of plain data, which any thread may copy; the run holds the borrow, and sources and
// sinks are made for other threads.
unsafe impl Send for HostSource<'_> {}

impl<'a> HostSource<'a> {
    fn new(memory: HostMemory, len: usize, writable: bool) -> Self {
        Self { memory, feed: None, len, writable, borrow: PhantomData }
    }

    fn pageable<T: Pod>(ptr: *mut T, len: usize, writable: bool) -> Self {
        Self::new(HostMemory::Pageable(ptr.cast()), len, writable)
    }

    fn pinned(range: PinnedRange, len: usize, writable: bool) -> Self {
        Self::new(HostMemory::Pinned(range), len, writable)
    }

    /// The same memory, for another device: chunks of one run write parts of it that have nothing in common.
    pub(crate) fn again(&self) -> Self {
        let memory = match &self.memory {
            HostMemory::Pageable(data) => HostMemory::Pageable(*data),
            HostMemory::Pinned(range) => HostMemory::Pinned(range.clone()),
            HostMemory::Streamed => HostMemory::Streamed,
        };
        Self::new(memory, self.len, self.writable)
    }

    /// An argument of which only the shape is known yet.
    pub(crate) fn unknown() -> Self {
        Self::new(HostMemory::Streamed, 0, false)
    }

    pub(crate) fn streamed(feed: Feed<'a>, writable: bool) -> Self {
        Self { feed: Some(feed), ..Self::new(HostMemory::Streamed, 0, writable) }
    }
}

macro_rules! readable {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {$(
        impl<'a, T: Pod, $($generics)*> sealed::Sealed for &'a $type {}
        impl<'a, T: Pod, $($generics)*> Input<'a, T> for &'a $type {
            fn source(self) -> HostSource<'a> {
                HostSource::pageable(self.as_ptr().cast_mut(), self.len(), false)
            }
        }
    )*};
}

macro_rules! writable {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {$(
        impl<'a, T: Pod, $($generics)*> sealed::Sealed for &'a mut $type {}
        impl<'a, T: Pod, $($generics)*> InOut<'a, T> for &'a mut $type {
            fn source(self) -> HostSource<'a> {
                HostSource::pageable(self.as_mut_ptr(), self.len(), true)
            }
        }
        impl<'a, T: Pod, $($generics)*> Output<'a, T> for &'a mut $type {
            fn source(self) -> HostSource<'a> {
                HostSource::pageable(self.as_mut_ptr(), self.len(), true)
            }
        }
    )*};
}

readable!([] [T], [] Vec<T>, [] Box<[T]>, [const N: usize] [T; N]);
writable!([] [T], [] Vec<T>, [] Box<[T]>, [const N: usize] [T; N]);

// Written without a macro, because rustc shows these lines where a `Vec` is passed.
impl<'a, T: Pod> PinnedInput<'a, T> for &'a PinnedBuf<T> {}
impl<'a, T: Pod> PinnedInput<'a, T> for PinnedSlice<'a, T> {}
impl<'a, T: Pod> MappedInput<'a, T> for &'a PinnedBuf<T> {}
impl<'a, T: Pod> MappedInput<'a, T> for PinnedSlice<'a, T> {}
impl<'a, T: Pod> PinnedInOut<'a, T> for &'a mut PinnedBuf<T> {}
impl<'a, T: Pod> PinnedInOut<'a, T> for PinnedSliceMut<'a, T> {}
impl<'a, T: Pod> PinnedOutput<'a, T> for &'a mut PinnedBuf<T> {}
impl<'a, T: Pod> PinnedOutput<'a, T> for PinnedSliceMut<'a, T> {}
impl<'a, T: Pod> MappedInOut<'a, T> for &'a mut PinnedBuf<T> {}
impl<'a, T: Pod> MappedInOut<'a, T> for PinnedSliceMut<'a, T> {}
impl<'a, T: Pod> MappedOutput<'a, T> for &'a mut PinnedBuf<T> {}
impl<'a, T: Pod> MappedOutput<'a, T> for PinnedSliceMut<'a, T> {}

macro_rules! pinned {
    ($read:ty, $write:ty, $len:ident) => {
        impl<'a, T: Pod> sealed::Sealed for $read {}
        impl<'a, T: Pod> Input<'a, T> for $read {
            fn source(self) -> HostSource<'a> {
                HostSource::pinned(self.range(false), self.$len(), false)
            }
        }

        impl<'a, T: Pod> sealed::Sealed for $write {}
        impl<'a, T: Pod> InOut<'a, T> for $write {
            fn source(self) -> HostSource<'a> {
                HostSource::pinned(self.range(true), self.$len(), true)
            }
        }
        impl<'a, T: Pod> Output<'a, T> for $write {
            fn source(self) -> HostSource<'a> {
                HostSource::pinned(self.range(true), self.$len(), true)
            }
        }
    };
}
pinned!(&'a PinnedBuf<T>, &'a mut PinnedBuf<T>, elements);
pinned!(PinnedSlice<'a, T>, PinnedSliceMut<'a, T>, len);

impl<S> sealed::Sealed for Streamed<S> {}
impl<'a, T: Pod, S: Source<T> + 'a> Input<'a, T> for Streamed<S> {
    fn source(self) -> HostSource<'a> {
        HostSource::streamed(self.into_source::<T>(), false)
    }
}
impl<'a, T: Pod, S: Sink<T> + 'a> Output<'a, T> for Streamed<S> {
    fn source(self) -> HostSource<'a> {
        HostSource::streamed(self.into_sink::<T>(), true)
    }
}

impl<T> sealed::Sealed for Pushed<T> {}
impl<'a, T: Pod> Input<'a, T> for Pushed<T> {
    fn source(self) -> HostSource<'a> {
        HostSource::streamed(self.into_feed(), false)
    }
}

impl<T> sealed::Sealed for Pulled<T> {}
impl<'a, T: Pod> Output<'a, T> for Pulled<T> {
    fn source(self) -> HostSource<'a> {
        HostSource::streamed(self.into_feed(), true)
    }
}

mod sealed {
    pub trait Sealed {}
}
