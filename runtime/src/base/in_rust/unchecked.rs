//! `get_unchecked` on the host, where it is checked all the same.

/// What `#[kernel]` and `#[device]` write for `get_unchecked` and `get_unchecked_mut` in the function that runs
/// on the host. The C++ has no check.
#[doc(hidden)]
pub trait Unchecked<T> {
    /// The element.
    ///
    /// # Safety
    /// The place is within the slice.
    unsafe fn get_unchecked_in_kernel(&self, place: usize) -> &T;

    /// The element, to write.
    ///
    /// # Safety
    /// The place is within the slice.
    unsafe fn get_unchecked_mut_in_kernel(&mut self, place: usize) -> &mut T;
}

impl<T> Unchecked<T> for [T] {
    #[inline]
    #[track_caller]
    unsafe fn get_unchecked_in_kernel(&self, place: usize) -> &T {
        match self.get(place) {
            Some(element) => element,
            None => outside("get_unchecked", self.len(), place),
        }
    }

    #[inline]
    #[track_caller]
    unsafe fn get_unchecked_mut_in_kernel(&mut self, place: usize) -> &mut T {
        let length = self.len();
        match self.get_mut(place) {
            Some(element) => element,
            None => outside("get_unchecked_mut", length, place),
        }
    }
}

#[cold]
#[track_caller]
fn outside(method: &str, length: usize, place: usize) -> ! {
    panic!("`{method}` is out of bounds: the len is {length} but the index is {place}")
}
