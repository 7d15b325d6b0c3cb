//! Handles by which generated code names the arguments and buffers of a call.

use std::marker::PhantomData;

use bytemuck::Pod;

/// A host argument of the call that created the handle.
#[derive(Debug)]
pub struct Host<T> {
    pub(crate) index: usize,
    elements: PhantomData<fn() -> T>,
}

/// A device buffer of the call that created the handle.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) index: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> Host<T> {
    pub(crate) fn new(index: usize) -> Self {
        Self { index, elements: PhantomData }
    }
}

impl<T> Clone for Host<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Host<T> {}
impl<T> Buffer<T> {
    pub(crate) fn new(index: usize) -> Self {
        Self { index, elements: PhantomData }
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Buffer<T> {}

/// A [`Buffer`] whose element type the callee does not constrain.
///
/// If `Operation::read` took a `Buffer<T>`, the routine's parameter would determine `T`, and the compiler
/// would report a mismatch at `read`'s argument; this way it reports it at the routine's.
pub trait AnyBuffer {
    type Element: Pod;
    fn buffer(self) -> Buffer<Self::Element>;
}

impl<T: Pod> AnyBuffer for Buffer<T> {
    type Element = T;

    #[inline]
    fn buffer(self) -> Self {
        self
    }
}
