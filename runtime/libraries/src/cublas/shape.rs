//! The matrices that a routine's dimensions describe, which are checked before anything is called.

use std::ffi::c_int;

use crate::Error;
use crate::error::counted;

/// A dimension for a library that counts with 32 bits.
///
/// # Errors
/// [`Error::Dimension`] if the value is more than those hold.
pub(super) fn int(routine: &'static str, dimension: &'static str, value: usize) -> Result<c_int, Error> {
    c_int::try_from(value).map_err(|_| {
        let allowed = format!("at most {}", c_int::MAX);
        Error::Dimension { routine, dimension, value, allowed }
    })
}

/// A matrix in row-major order, or several of them one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix {
    /// The argument, such as `a`.
    pub(super) name: &'static str,
    /// The names of the dimensions, such as `m x k`.
    pub(super) form: &'static str,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The elements from one row to the next.
    pub(super) ld: usize,
    pub(super) count: usize,
    /// The elements from one matrix to the next.
    pub(super) stride: usize,
    /// Whether a routine is to write all of its slice.
    pub(super) whole: bool,
}

impl Matrix {
    /// One matrix. `name` and `form` are for errors, such as `a` and `m x k`.
    pub(super) fn new(
        name: &'static str,
        form: &'static str,
        [rows, columns]: [usize; 2],
        ld: Option<usize>,
    ) -> Self {
        let ld = ld.unwrap_or(columns);
        Self { name, form, rows, columns, ld, count: 1, stride: rows.saturating_mul(ld), whole: false }
    }

    /// A batch of `count` such matrices.
    pub(super) fn batch(self, count: usize, stride: Option<usize>) -> Self {
        Self { count, stride: stride.unwrap_or(self.stride), ..self }
    }

    /// Sets whether all of its slice is to be written.
    pub(super) fn whole(self, whole: bool) -> Self {
        Self { whole, ..self }
    }

    fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0 || self.count == 0
    }

    /// The elements from the first to the last of one matrix, with any gaps.
    fn extent(&self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.rows - 1).saturating_mul(self.ld).saturating_add(self.columns)
    }

    /// Compares it with the `len` elements of its slice. If rows or matrices stand apart, the slice may end
    /// with the gap after the last one, or before that gap.
    pub(super) fn check(&self, routine: &'static str, len: usize) -> Result<(), Error> {
        if self.ld < self.columns {
            return Err(Error::Dimension {
                routine,
                dimension: self.leading(),
                value: self.ld,
                allowed: format!("at least its {}", counted(self.columns, "column")),
            });
        }
        let (least, most) = match self.is_empty() {
            // Nothing of the slice is used.
            true if self.whole => (0, 0),
            true => (0, usize::MAX),
            false => {
                let before_last = (self.count - 1).saturating_mul(self.stride);
                let last = self.rows.saturating_mul(self.ld).max(self.stride);
                (before_last.saturating_add(self.extent()), before_last.saturating_add(last))
            }
        };
        let elements = self.rows.saturating_mul(self.columns).saturating_mul(self.count);
        if self.whole && !self.is_empty() && least > elements {
            return Err(self.with_gaps(routine));
        }
        let is_whole = !self.whole || elements == len;
        if least <= len && len <= most && is_whole {
            return Ok(());
        }
        let Self { form, rows, columns, .. } = self;
        let mut dimensions = format!("{form} = {rows} x {columns}");
        if self.ld != self.columns {
            dimensions += &format!(" with rows {} apart", self.ld);
        }
        if self.count != 1 {
            dimensions += &format!(", {} times, {} apart", self.count, self.stride);
        }
        let needed = if self.whole { elements } else { least };
        Err(Error::Dimensions { routine, argument: self.name, buffer: None, dimensions, needed, len })
    }

    fn leading(&self) -> &'static str {
        match self.name {
            "a" => "the leading dimension of `a`",
            "b" => "the leading dimension of `b`",
            "d" => "the leading dimension of `d`",
            _ => "the leading dimension of `c`",
        }
    }

    /// The error for a slice that is to be written whole, but has elements that are in none of the matrices.
    fn with_gaps(&self, routine: &'static str) -> Error {
        let Self { rows, columns, ld, count, stride, .. } = *self;
        let (dimension, value, needed) = match rows > 1 && ld != columns && (count == 1 || stride >= ld) {
            true => (self.leading(), ld, format!("its {}", counted(columns, "column"))),
            false => (
                "the stride of `c`",
                stride,
                format!("the {} of a matrix", counted(self.extent(), "element")),
            ),
        };
        let allowed = format!("{needed}: all of it is written");
        Error::Dimension { routine, dimension, value, allowed }
    }

    /// Refuses overlapping matrices, for matrices that are written.
    pub(super) fn apart(&self, routine: &'static str) -> Result<(), Error> {
        let of_a_row = self.count.saturating_sub(1).saturating_mul(self.stride).saturating_add(self.columns);
        let side_by_side = self.stride >= self.columns && of_a_row <= self.ld;
        if self.count <= 1 || self.stride >= self.extent() || side_by_side {
            return Ok(());
        }
        let allowed = format!("at least the {} of a matrix", counted(self.extent(), "element"));
        Err(Error::Dimension { routine, dimension: "the stride of `c`", value: self.stride, allowed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(matrix: Matrix, len: usize) -> Option<usize> {
        match matrix.check("gemm", len) {
            Ok(()) => None,
            Err(Error::Dimensions { needed, .. }) => Some(needed),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_matrix_has_the_elements_of_its_rows() {
        let plain = Matrix::new("a", "m x k", [3, 4], None);
        assert_eq!([11, 12, 13].map(|len| needed(plain, len)), [Some(12), None, Some(12)]);
        let apart = Matrix::new("a", "m x k", [3, 4], Some(6));
        assert_eq!(
            [15, 16, 17, 18, 19].map(|len| needed(apart, len)),
            [Some(16), None, None, None, Some(16)]
        );
        for len in [12, 16] {
            let error = apart.whole(true).check("gemm_out", len).unwrap_err();
            assert!(matches!(error, Error::Dimension { value: 6, .. }), "{error}");
        }
        let several = apart.batch(3, Some(20));
        assert_eq!([55, 56, 60, 61].map(|len| needed(several, len)), [Some(56), None, None, Some(56)]);
        let same = apart.batch(9, Some(0));
        assert_eq!([15, 16, 18, 19].map(|len| needed(same, len)), [Some(16), None, None, Some(16)]);
    }

    #[test]
    fn what_has_no_elements_asks_for_none() {
        for size in [[0, 4], [4, 0], [0, 0]] {
            let empty = Matrix::new("b", "k x n", size, None);
            assert_eq!([0, 5].map(|len| needed(empty, len)), [None, None]);
            assert_eq!([0, 5].map(|len| needed(empty.whole(true), len)), [None, Some(0)]);
        }
        assert_eq!(needed(Matrix::new("b", "k x n", [2, 2], None).batch(0, None), 1), None);
    }

    #[test]
    fn sizes_that_overflow_are_too_large() {
        let huge = Matrix::new("a", "m x k", [usize::MAX, usize::MAX], None);
        assert_eq!(needed(huge, 100), Some(usize::MAX));
        let error = int("gemm", "m", 1 << 31).unwrap_err();
        assert_eq!(error.to_string(), "`gemm`: m is 2147483648, but it must be at most 2147483647");
        assert_eq!(int("gemm", "m", (1 << 31) - 1).unwrap(), c_int::MAX);
    }

    #[test]
    fn errors_say_what_does_not_fit() {
        let error =
            Matrix::new("a", "m x k", [3, 4], Some(6)).batch(2, Some(18)).check("gemm", 7).unwrap_err();
        let text = "`gemm`: `a` is m x k = 3 x 4 with rows 6 apart, 2 times, 18 apart, which takes 34 elements, but it has 7";
        assert_eq!(error.to_string(), text);
        let error = Matrix::new("b", "k x n", [3, 4], Some(3)).check("gemm", 9).unwrap_err();
        let text = "`gemm`: the leading dimension of `b` is 3, but it must be at least its 4 columns";
        assert_eq!(error.to_string(), text);
        let written = |ld| Matrix::new("c", "m x n", [3, 4], ld);
        let error = written(None).batch(2, Some(11)).apart("gemm_batched").unwrap_err();
        let text =
            "`gemm_batched`: the stride of `c` is 11, but it must be at least the 12 elements of a matrix";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn matrices_that_are_written_may_stand_side_by_side() {
        let apart = |ld, count, stride| {
            let matrix = Matrix::new("c", "m x n", [3, 4], Some(ld)).batch(count, Some(stride));
            matrix.apart("gemm_batched").is_ok()
        };
        // The trial: every element is in one matrix at most.
        let by_trial = |ld: usize, count: usize, stride: usize| {
            let places = (0..count * 12).map(|i| i / 12 * stride + i % 12 / 4 * ld + i % 4);
            let unique: std::collections::BTreeSet<_> = places.collect();
            unique.len() == count * 12
        };
        for (ld, count, stride) in [(8, 2, 4), (9, 2, 4), (9, 2, 5), (14, 3, 5), (4, 2, 12), (8, 3, 20)] {
            assert!(apart(ld, count, stride) && by_trial(ld, count, stride), "{ld} {count} {stride}");
        }
        for (ld, count, stride) in [(8, 2, 3), (8, 2, 5), (8, 3, 4), (4, 2, 4), (4, 2, 0), (13, 3, 5)] {
            assert!(!apart(ld, count, stride) && !by_trial(ld, count, stride), "{ld} {count} {stride}");
        }
        assert!(!apart(8, usize::MAX, 4));
    }
}
