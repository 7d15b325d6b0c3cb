//! Lets rustc check that a path after `call` is a routine.

use crate::engine::Enqueue;

/// A routine of up to 16 arguments: a function whose first parameter is [`&Enqueue`](Enqueue). `M` is the
/// whole signature, so that each function implements this for at most one `M`.
#[diagnostic::on_unimplemented(
    message = "`call` takes a routine, which this function is not",
    label = "expected a function whose first parameter is `&Enqueue<'_>`",
    note = "a routine is `fn name(queue: &Enqueue<'_>, x: DeviceSlice<'_, f32>, y: DeviceSliceMut<'_, f32>) -> thalweg::Result<()>`",
    note = "an ordinary function of slices is called on the CPU: `host name(&x, &mut y)`"
)]
pub trait Routine<M> {
    /// The function. If it is not a routine, rustc does not know this type and reports nothing more about the
    /// call.
    type Itself;

    #[doc(hidden)]
    fn itself(&self) -> &Self::Itself;
}

/// The function, if it is a routine.
pub fn routine<F: Routine<M>, M>(function: &F) -> &F::Itself {
    function.itself()
}

macro_rules! routines {
    ($(($($argument:ident)*))*) => {$(
        impl<'q, 'r: 'q, F, R, $($argument),*> Routine<(&'q Enqueue<'r>, ($($argument,)*), R)> for F
        where
            F: FnOnce(&'q Enqueue<'r>, $($argument),*) -> R,
        {
            type Itself = F;

            fn itself(&self) -> &F {
                self
            }
        }
    )*};
}
routines!(
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E G) (A B C D E G H) (A B C D E G H I) (A B C D E G H I J)
    (A B C D E G H I J K) (A B C D E G H I J K L) (A B C D E G H I J K L N) (A B C D E G H I J K L N O)
    (A B C D E G H I J K L N O P) (A B C D E G H I J K L N O P Q) (A B C D E G H I J K L N O P Q S)
);
