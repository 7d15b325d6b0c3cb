//! A panic in a model is the model's own: nothing contains it.

pub(crate) fn contain(work: impl FnOnce()) {
    work();
}
