//! [`convolution`], with padding, stride, dilation and groups.

use thalweg::Result;
use thalweg::kernel::{DeviceSlice, DeviceSliceOut};
use thalweg::routine::Enqueue;

use super::handle::Handle;
use super::{at_least_one, at_most, check, host};
use crate::error::counted;
use crate::{Calls, Error};

/// The sizes of a convolution. As in neural networks, the filter is not flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convolution {
    pub(super) input: [usize; 4],
    pub(super) filter: [usize; 4],
    pub(super) padding: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) dilation: [usize; 2],
    pub(super) groups: usize,
    pub(super) tf32: bool,
}

impl Convolution {
    /// A convolution of `input`, `[images, channels, height, width]`, with `filter`,
    /// `[filters, channels of a group, height, width]`.
    ///
    /// It has no padding, a stride of 1, no dilation, and one group of all channels.
    pub const fn new(input: [usize; 4], filter: [usize; 4]) -> Self {
        Self { input, filter, padding: [0; 2], stride: [1; 2], dilation: [1; 2], groups: 1, tf32: false }
    }

    /// The same convolution of another number of images: `LAYER.images(c.len)`.
    pub const fn images(self, images: usize) -> Self {
        let [_, channels, height, width] = self.input;
        Self { input: [images, channels, height, width], ..self }
    }

    /// Sets the rows of zeros above and below each image, and the columns of zeros on its left and on its
    /// right.
    pub const fn padding(self, padding: [usize; 2]) -> Self {
        Self { padding, ..self }
    }

    /// Sets the rows and columns from one result to the next.
    pub const fn stride(self, stride: [usize; 2]) -> Self {
        Self { stride, ..self }
    }

    /// Sets the rows and columns from one element of the filter to the next.
    pub const fn dilation(self, dilation: [usize; 2]) -> Self {
        Self { dilation, ..self }
    }

    /// Divides the channels and the filters into groups. The first group of filters sees the first group of
    /// channels, and so on.
    pub const fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    /// Lets a GPU with tensor cores round the factors to TF32, with 10 bits after the point instead of 23,
    /// which is faster. The simulated device always computes in `f32`.
    pub const fn tf32(self) -> Self {
        Self { tf32: true, ..self }
    }

    /// The same convolution, for a constant: if its sizes do not fit together, the constant does not compile.
    /// Without this check, the call of the routine returns an error.
    ///
    /// ```compile_fail,E0080
    /// use thalweg_libraries::cudnn::Convolution;
    ///
    /// // Images of 3 x 3 with one row and column of zeros around them.
    /// const LAYER: Convolution = Convolution::new([1, 1, 3, 3], [8, 1, 7, 7]).padding([1, 1]).checked();
    /// # let _ = LAYER;
    /// ```
    ///
    /// # Panics
    /// Panics outside of a constant, if the sizes do not fit together.
    pub const fn checked(self) -> Self {
        let Self { input, filter, stride, dilation, groups, .. } = self;
        assert!(filter[2] > 0 && filter[3] > 0, "the filter has no rows or no columns");
        assert!(stride[0] > 0 && stride[1] > 0, "the stride is 0");
        assert!(dilation[0] > 0 && dilation[1] > 0, "the dilation is 0");
        assert!(groups > 0, "there are no groups");
        assert!(filter[0].is_multiple_of(groups), "the groups have different numbers of filters");
        assert!(
            input[1].is_multiple_of(groups) && input[1] / groups == filter[1],
            "the filter does not have the channels of a group"
        );
        assert!(self.fits(0), "the dilated filter is higher than the padded image");
        assert!(self.fits(1), "the dilated filter is wider than the padded image");
        self
    }

    /// The sizes of the result, `[images, filters, height, width]`. If the filter does not fit, or a stride
    /// or dilation is 0, there are no rows or no columns, and a call returns an error. For a constant,
    /// [`checked`](Self::checked) makes that a compile error.
    ///
    /// ```
    /// use thalweg_libraries::cudnn::Convolution;
    ///
    /// const LAYER: Convolution = Convolution::new([1, 3, 32, 32], [8, 3, 5, 5]).padding([2, 2]).stride([2, 2]);
    /// assert_eq!(LAYER.output(), [1, 8, 16, 16]);
    /// ```
    pub const fn output(&self) -> [usize; 4] {
        [self.input[0], self.filter[0], self.extent(0), self.extent(1)]
    }

    const fn extent(&self, axis: usize) -> usize {
        if !self.fits(axis) || self.stride[axis] == 0 {
            return 0;
        }
        (self.padded(axis) - self.reach(axis)) / self.stride[axis] + 1
    }

    /// The rows, or columns, of an image with its zeros.
    const fn padded(&self, axis: usize) -> usize {
        self.input[axis + 2].saturating_add(self.padding[axis].saturating_mul(2))
    }

    /// The rows, or columns, from the first of the dilated filter to its last.
    const fn reach(&self, axis: usize) -> usize {
        self.filter[axis + 2].saturating_sub(1).saturating_mul(self.dilation[axis]).saturating_add(1)
    }

    const fn fits(&self, axis: usize) -> bool {
        self.filter[axis + 2] > 0 && self.dilation[axis] > 0 && self.reach(axis) <= self.padded(axis)
    }

    /// Refuses sizes that do not fit together, and slices of other lengths.
    fn check(&self, x: usize, w: usize, y: usize) -> Result<(), Error> {
        const ROUTINE: &str = "convolution";
        let Self { input, filter, stride, dilation, groups, .. } = *self;
        for (dimension, value) in [
            ("the filter's height", filter[2]),
            ("the filter's width", filter[3]),
            ("the vertical stride", stride[0]),
            ("the horizontal stride", stride[1]),
            ("the vertical dilation", dilation[0]),
            ("the horizontal dilation", dilation[1]),
            ("the number of groups", groups),
        ] {
            at_least_one(ROUTINE, dimension, value)?;
            at_most(ROUTINE, dimension, value, i32::MAX as usize)?;
        }
        for (axis, padded, reach) in [
            (0, "the padded height", "the dilated filter's height"),
            (1, "the padded width", "the dilated filter's width"),
        ] {
            at_most(ROUTINE, padded, self.padded(axis), i32::MAX as usize)?;
            at_most(ROUTINE, reach, self.reach(axis), i32::MAX as usize)?;
            if !self.fits(axis) {
                let (value, allowed) = (self.padded(axis), format!("at least {reach}, {}", self.reach(axis)));
                return Err(Error::Dimension { routine: ROUTINE, dimension: padded, value, allowed });
            }
        }
        if !filter[0].is_multiple_of(groups) {
            let (dimension, allowed) =
                ("the number of filters", format!("a multiple of the {groups} groups"));
            return Err(Error::Dimension { routine: ROUTINE, dimension, value: filter[0], allowed });
        }
        if filter[1].checked_mul(groups) != Some(input[1]) {
            let (dimension, value) = ("the number of channels of a filter", filter[1]);
            let channels = counted(input[1], "channel");
            let allowed = match groups {
                1 => format!("the input's {channels}"),
                _ => format!("the input's {channels} divided by the {groups} groups"),
            };
            return Err(Error::Dimension { routine: ROUTINE, dimension, value, allowed });
        }
        check(ROUTINE, "x", &input, x)?;
        check(ROUTINE, "w", &filter, w)?;
        check(ROUTINE, "y", &self.output(), y)
    }
}

/// `y = x * w`, the convolution of each image with each filter: `cudnnConvolutionForward`.
///
/// The algorithm is `IMPLICIT_PRECOMP_GEMM`, or `IMPLICIT_GEMM` where cuDNN lacks that one: both are
/// deterministic, and add the products without transforming them.
///
/// The [module's page](super) has an example. The sizes of `x` are `[images, channels, height, width]`, those
/// of `w` are `[filters, channels of a group, height, width]`, and [`output`](Convolution::output) gives
/// those of `y`. Each slice has exactly as many elements as its sizes say.
///
/// # Errors
/// A slice is not as long as `convolution` says ([`Error::Dimensions`]), the sizes do not fit together
/// ([`Error::Dimension`]), or `y` overlaps another slice ([`ErrorKind::Contract`]). On a GPU also: there is
/// no cuDNN ([`Error::NoLibrary`]) or one that is too old ([`Error::LibraryTooOld`]), it fails
/// ([`Error::Library`]), or device memory does not suffice for its workspace ([`ErrorKind::OutOfMemory`]).
///
/// [`Error::NoLibrary`]: crate::Error::NoLibrary
/// [`Error::LibraryTooOld`]: crate::Error::LibraryTooOld
/// [`Error::Library`]: crate::Error::Library
/// [`ErrorKind::Contract`]: thalweg::ErrorKind::Contract
/// [`ErrorKind::OutOfMemory`]: thalweg::ErrorKind::OutOfMemory
pub fn convolution(
    queue: &Enqueue<'_>,
    convolution: Convolution,
    x: DeviceSlice<'_, f32>,
    w: DeviceSlice<'_, f32>,
    y: DeviceSliceOut<'_, f32>,
) -> Result<()> {
    let arguments = [("x", x.address()), ("w", w.address()), ("y", y.address())];
    queue.naming(&arguments, convolution.check(x.len(), w.len(), y.len()))?;
    let Some(stream) = queue.cuda_stream() else {
        return queue.simulate((x, w, y), move |(x, w, y)| host::convolution(&convolution, x, w, y));
    };
    let [x_at, w_at, y_at] = [x.address(), w.address(), y.address()];
    let empty = [x.is_empty() || w.is_empty(), y.is_empty()];
    let memory = (x, w, y);
    queue.admit(&memory)?;
    let (.., y) = memory;
    match empty {
        [_, true] => Ok(()),
        // Each sum is empty.
        [true, false] => queue.zero(y.into_mut()),
        [false, false] => {
            let mut handle = queue.state(|| Handle::new(stream))?;
            // SAFETY: `admit` has found the slices to be the run's, which keeps them until the stream has got
            // past this. `check` has found them as long as the sizes say, which fit together; none of the
            // slices is empty.
            queue.library(|| unsafe { handle.convolution(queue, &convolution, x_at, w_at, y_at) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of each element, straight from the definition.
    fn naive(of: &Convolution, x: &[f32], w: &[f32]) -> Vec<f64> {
        let [images, channels, height, width] = of.input;
        let [filters, group, rows, columns] = of.filter;
        let [_, _, out_height, out_width] = of.output();
        let at = |n: usize, c: usize, i: isize, j: isize| {
            let inside = (0..height as isize).contains(&i) && (0..width as isize).contains(&j);
            let flat = || ((n * channels + c) * height + i as usize) * width + j as usize;
            if inside { f64::from(x[flat()]) } else { 0.0 }
        };
        let mut y = Vec::new();
        for n in 0..images {
            for k in 0..filters {
                let first = k * of.groups / filters * group;
                for p in 0..out_height {
                    for q in 0..out_width {
                        let mut sum = 0.0;
                        for c in 0..group {
                            for r in 0..rows {
                                for s in 0..columns {
                                    let i = (p * of.stride[0] + r * of.dilation[0]) as isize
                                        - of.padding[0] as isize;
                                    let j = (q * of.stride[1] + s * of.dilation[1]) as isize
                                        - of.padding[1] as isize;
                                    let w = w[((k * group + c) * rows + r) * columns + s];
                                    sum += at(n, first + c, i, j) * f64::from(w);
                                }
                            }
                        }
                        y.push(sum);
                    }
                }
            }
        }
        y
    }

    #[test]
    fn it_is_the_definition() {
        let shapes = [
            Convolution::new([2, 3, 7, 9], [4, 3, 3, 2]),
            Convolution::new([2, 3, 7, 9], [4, 3, 3, 3]).padding([1, 2]),
            Convolution::new([1, 2, 8, 5], [2, 2, 3, 3]).padding([1, 1]).stride([2, 3]),
            Convolution::new([1, 2, 9, 9], [3, 2, 3, 2]).dilation([3, 2]).padding([2, 0]),
            Convolution::new([2, 6, 5, 4], [4, 3, 2, 2]).groups(2),
            Convolution::new([2, 4, 5, 4], [8, 1, 3, 3]).groups(4).padding([1, 1]),
            Convolution::new([3, 5, 1, 1], [2, 5, 1, 1]),
            Convolution::new([1, 1, 1, 1], [1, 1, 3, 3]).padding([1, 1]),
            Convolution::new([1, 1, 2, 2], [1, 1, 2, 2]).padding([5, 5]),
        ];
        for shape in shapes {
            let len = |sizes: [usize; 4]| sizes.iter().product::<usize>();
            // These numbers have exact products and sums.
            let x: Vec<f32> = (0..len(shape.input)).map(|i| (i * 37 % 101) as f32 / 8.0 - 6.0).collect();
            let w: Vec<f32> = (0..len(shape.filter)).map(|i| (i * 53 % 23) as f32 / 4.0 - 3.0).collect();
            let mut y = vec![f32::NAN; len(shape.output())];
            shape.check(x.len(), w.len(), y.len()).expect("the sizes fit together");
            host::convolution(&shape, &x, &w, &mut y);
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            assert_eq!(y, naive(&shape, &x, &w), "{shape:?}");
        }
    }

    #[test]
    fn sums_of_nothing_are_zero() {
        let none = Convolution::new([2, 0, 3, 3], [4, 0, 2, 2]);
        none.check(0, 0, 32).expect("no channels");
        let mut y = [f32::NAN; 32];
        host::convolution(&none, &[], &[], &mut y);
        assert_eq!(y, [0.0; 32]);
        for nothing in
            [Convolution::new([0, 1, 3, 3], [4, 1, 2, 2]), Convolution::new([2, 1, 3, 3], [0, 1, 2, 2])]
        {
            let len = |sizes: [usize; 4]| sizes.iter().product::<usize>();
            let (x, w) = (vec![1.0; len(nothing.input)], vec![1.0; len(nothing.filter)]);
            nothing.check(x.len(), w.len(), 0).expect("nothing");
            host::convolution(&nothing, &x, &w, &mut []);
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let good = Convolution::new([2, 6, 5, 4], [4, 3, 2, 2]).groups(2);
        let refused = |shape: Convolution, x, w, y| shape.check(x, w, y).expect_err("refused").to_string();
        let text = "`convolution`: `x` is 2 x 6 x 5 x 4, which takes 240 elements, but it has 239";
        assert_eq!(refused(good, 239, 48, 96), text);
        let text = "`convolution`: `y` is 2 x 4 x 4 x 3, which takes 96 elements, but it has 95";
        assert_eq!(refused(good, 240, 48, 95), text);
        let text =
            "`convolution`: the number of channels of a filter is 3, but it must be the input's 6 channels";
        assert_eq!(refused(good.groups(1), 240, 48, 96), text);
        let text = "`convolution`: the number of filters is 4, but it must be a multiple of the 3 groups";
        assert_eq!(refused(good.groups(3), 240, 48, 96), text);
        let text = "`convolution`: the vertical stride is 0, but it must be at least 1";
        assert_eq!(refused(good.stride([0, 1]), 240, 48, 96), text);
        let text = "`convolution`: the horizontal dilation is 0, but it must be at least 1";
        assert_eq!(refused(good.dilation([1, 0]), 240, 48, 96), text);
        let huge = Convolution::new([usize::MAX, usize::MAX, 3, 3], [1, usize::MAX, 3, 3]);
        assert!(huge.check(0, 0, 0).is_err());
        let far = Convolution::new([1, 1, 3, 3], [1, 1, 3, 3]).padding([usize::MAX, 0]);
        assert!(far.check(9, 9, 9).is_err());
    }

    #[test]
    fn a_filter_that_does_not_fit_is_refused() {
        let of = |filter: [usize; 2]| Convolution::new([2, 1, 3, 4], [1, 1, filter[0], filter[1]]);
        let refused =
            |of: Convolution| of.check(24, of.filter[2] * of.filter[3], 0).expect_err("refused").to_string();
        assert_eq!(of([4, 1]).output(), [2, 1, 0, 4]);
        let text =
            "`convolution`: the padded height is 3, but it must be at least the dilated filter's height, 4";
        assert_eq!(refused(of([4, 1])), text);
        let text =
            "`convolution`: the padded width is 6, but it must be at least the dilated filter's width, 7";
        assert_eq!(refused(of([1, 4]).dilation([1, 2]).padding([0, 1])), text);
        // The filter is exactly as large as the image.
        assert_eq!(of([3, 2]).dilation([1, 3]).output(), [2, 1, 1, 1]);
        of([3, 2]).dilation([1, 3]).check(24, 6, 2).expect("it fits");
        // These have no rows or no columns, and do not divide by zero.
        assert_eq!(of([2, 2]).stride([0, 1]).output(), [2, 1, 0, 3]);
        assert_eq!(of([2, 2]).dilation([1, 0]).output(), [2, 1, 2, 0]);
        assert_eq!(of([0, 2]).output(), [2, 1, 0, 3]);
    }

    /// In a constant, each of these is a compile error.
    #[test]
    fn a_constant_is_checked() {
        const GOOD: Convolution = Convolution::new([2, 6, 5, 4], [4, 3, 2, 2]).groups(2).checked();
        assert_eq!(GOOD.output(), [2, 4, 4, 3]);
        for bad in [
            Convolution::new([2, 6, 5, 4], [4, 6, 6, 2]),
            Convolution::new([2, 6, 5, 4], [4, 6, 2, 5]),
            Convolution::new([2, 6, 5, 4], [4, 6, 0, 2]),
            Convolution::new([2, 6, 5, 4], [4, 5, 2, 2]),
            GOOD.groups(0),
            GOOD.groups(4),
            GOOD.stride([1, 0]),
            GOOD.dilation([0, 1]),
        ] {
            std::panic::catch_unwind(|| bad.checked()).expect_err("it does not fit together");
            let len = |sizes: [usize; 4]| sizes.iter().product();
            bad.check(len(bad.input), len(bad.filter), len(bad.output())).expect_err("nor in a call");
        }
    }
}
