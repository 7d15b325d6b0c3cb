//! [`Compiled`]: the result of compiling a kernel source.

/// A compiled kernel source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Compiled {
    /// A cubin, or NUL-terminated PTX.
    pub image: Vec<u8>,
    /// For each name expression, the name of its kernel in the image.
    pub names: Vec<(String, String)>,
}

impl Compiled {
    /// The name in the image of the instance of a name expression.
    pub(crate) fn lowered(&self, instance: &str) -> Option<&str> {
        let (_, lowered) = self.names.iter().find(|(expression, _)| expression == instance)?;
        Some(lowered)
    }
}
