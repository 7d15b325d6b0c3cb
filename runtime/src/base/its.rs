//! [`Its`]: what belongs to one type that a macro has made.

use std::fmt;
use std::marker::PhantomData;

/// What belongs to the type `K`. The type's private field is within reach of the module in which the macro stands, so
/// it cannot be filled with what belongs to another type: a kernel with the code of another one, or a pipeline with
/// the streams of another one.
pub struct Its<K, T>(T, PhantomData<fn() -> K>);

impl<K, T> Its<K, T> {
    /// Belongs to `K` from now on.
    pub fn new(of: T) -> Self {
        Self(of, PhantomData)
    }

    /// What belongs to the type.
    #[inline]
    pub fn of(this: &Self) -> &T {
        &this.0
    }

    /// The same, to change.
    #[inline]
    pub fn of_mut(this: &mut Self) -> &mut T {
        &mut this.0
    }
}

impl<K, T: Clone> Clone for Its<K, T> {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl<K, T: fmt::Debug> fmt::Debug for Its<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
