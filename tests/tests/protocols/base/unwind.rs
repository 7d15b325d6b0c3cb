//! A panic in a model is one of the model's: nothing contains it.

pub(crate) fn contain(work: impl FnOnce()) {
    work();
}
