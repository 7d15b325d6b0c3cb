//! [`Shape`]: the sizes of signals, and how many there are.

use crate::Error;

/// Signals of the same sizes, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    sizes: [usize; 3],
    rank: usize,
    pub(super) batch: usize,
}

impl Shape {
    /// One signal; `RANK` is 1, 2 or 3.
    fn new<const RANK: usize>(of: [usize; RANK]) -> Self {
        let mut sizes = [1; 3];
        sizes[..RANK].copy_from_slice(&of);
        Self { sizes, rank: RANK, batch: 1 }
    }

    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes[..self.rank]
    }

    /// The shape of the spectra of real signals.
    pub(super) fn half(mut self) -> Self {
        let last = &mut self.sizes[self.rank - 1];
        *last = if *last == 0 { 0 } else { *last / 2 + 1 };
        self
    }

    /// The elements of all signals; `None` if a `usize` cannot hold the number.
    pub(super) fn len(&self) -> Option<usize> {
        self.sizes().iter().try_fold(self.batch, |len, size| len.checked_mul(*size))
    }

    /// Refuses a slice of another length.
    pub(super) fn check(
        &self,
        routine: &'static str,
        argument: &'static str,
        len: usize,
    ) -> Result<(), Error> {
        // A number that does not fit into a `usize` is more than any slice has.
        let needed = self.len().unwrap_or(usize::MAX);
        if needed == len {
            return Ok(());
        }
        let sizes: Vec<_> = self.sizes().iter().map(usize::to_string).collect();
        let dimensions = format!("{} of {}", self.batch, sizes.join(" x "));
        Err(Error::Dimensions { routine, argument, buffer: None, dimensions, needed, len })
    }
}

/// The sizes of a signal: `1024`, `[480, 640]` or `[64, 64, 64]`.
pub trait Sizes: sealed::Sizes {
    #[doc(hidden)]
    fn shape(self) -> Shape;
}

impl Sizes for usize {
    fn shape(self) -> Shape {
        Shape::new([self])
    }
}

macro_rules! sizes {
    ($($rank:literal)*) => {$(
        impl Sizes for [usize; $rank] {
            fn shape(self) -> Shape {
                Shape::new(self)
            }
        }
        impl sealed::Sizes for [usize; $rank] {}
    )*};
}
sizes!(1 2 3);

mod sealed {
    pub trait Sizes {}
    impl Sizes for usize {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked() {
        let shape = Shape { batch: 3, ..[4, 6].shape() };
        assert_eq!((shape.len(), shape.half().len()), (Some(72), Some(48)));
        shape.check("forward", "signal", 72).expect("all of it");
        let error = shape.half().check("forward", "spectrum", 72).expect_err("too long");
        let text = "`forward`: `spectrum` is 3 of 4 x 4, which takes 48 elements, but it has 72";
        assert_eq!(error.to_string(), text);
        let huge = [usize::MAX, 2].shape();
        huge.check("forward", "signal", 0).expect_err("more than there can be");
        0.shape().half().check("forward", "spectrum", 0).expect("nothing");
    }
}
