//! The work of a launch on the simulated device: a host body, called for each position.

use crate::base::serial;
use crate::base::threads::{Grid, Thread, volume};
use crate::driver::HostBody;

/// The first parameter of a host body: a [`Thread`] (called once a thread) or a [`Grid`] (called once a
/// launch).
#[diagnostic::on_unimplemented(
    message = "a host body cannot take `{Self}` first",
    label = "expected `Thread` or `Grid`"
)]
pub trait Position: sealed::Sealed + Sized {
    #[doc(hidden)]
    fn for_each(grid: Grid, body: impl FnMut(Self));
}

// Note 1: the threads run one after another, since each call gets the same `&mut` slices.
impl Position for Thread {
    #[inline]
    fn for_each(Grid { grid_dim, block_dim, .. }: Grid, mut body: impl FnMut(Self)) {
        if volume(grid_dim) > 1 || volume(block_dim) > 1 {
            serial::note();
        }
        for z in 0..grid_dim[2] {
            for y in 0..grid_dim[1] {
                for x in 0..grid_dim[0] {
                    for thread_z in 0..block_dim[2] {
                        for thread_y in 0..block_dim[1] {
                            for thread_x in 0..block_dim[0] {
                                let index = [thread_x, thread_y, thread_z];
                                body(Self { index, block: [x, y, z], block_dim, grid_dim });
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Position for Grid {
    #[inline]
    fn for_each(grid: Grid, mut body: impl FnMut(Self)) {
        body(grid);
    }
}

/// Calls a host body for every position of the launch.
#[doc(hidden)]
#[inline]
pub fn for_each<P: Position>(grid: Grid, body: impl FnMut(P)) {
    P::for_each(grid, body);
}

/// Boxes the work of a launch on the simulated device.
#[doc(hidden)]
pub fn host_body(body: impl FnOnce() + Send + 'static) -> HostBody {
    Box::new(body)
}

mod sealed {
    use super::{Grid, Thread};

    pub trait Sealed {}
    impl Sealed for Thread {}
    impl Sealed for Grid {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::serial::notice;

    #[test]
    fn a_body_that_takes_a_thread_is_noticed() {
        let of = Grid { grid_dim: [2, 1, 1], block_dim: [4, 1, 1], shared: 0 };
        let mut calls = 0;
        assert!(notice(|| for_each(of, |_: Thread| calls += 1)));
        assert_eq!(calls, 8);
        assert!(!notice(|| for_each(of, |_: Grid| calls += 1)));
        assert!(!notice(|| ()));
        let one = Grid { grid_dim: [1; 3], block_dim: [1; 3], shared: 0 };
        assert!(!notice(|| for_each(one, |_: Thread| calls += 1)), "nothing can be shared");
        assert!(notice(|| {
            for_each(of, |_: Thread| ());
            assert!(!notice(|| ()));
        }));
    }
}
