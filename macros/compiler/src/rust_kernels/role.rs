//! What a function is, and for which build it is translated.

use syn::ItemFn;

/// What a function is to the macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `#[kernel]`: pipelines launch it.
    Kernel,
    /// `#[device]`: kernels call it.
    Device,
}

impl Role {
    /// The attribute's name.
    pub(super) fn attribute(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Device => "device",
        }
    }

    /// The function, as messages name it.
    pub(super) fn named(self, function: &ItemFn) -> String {
        let name = &function.sig.ident;
        match self {
            Self::Kernel => format!("kernel `{name}`"),
            Self::Device => format!("function `{name}`"),
        }
    }
}

/// The builds whose overflow differs, as rustc's does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// Overflow is a fault.
    Debug,
    /// Integers wrap.
    Release,
}
