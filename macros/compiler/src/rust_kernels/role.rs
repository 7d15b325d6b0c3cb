//! What a function is, and for which build it is translated.

use syn::ItemFn;

use super::instances::Instance;
use super::names;

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

    /// The function's name in C++. There, functions for several types have one name.
    pub(super) fn in_cpp(self, function: &ItemFn, instance: &Instance) -> String {
        let name = function.sig.ident.to_string();
        match self {
            Self::Kernel => instance.in_cpp(&name),
            Self::Device => names::in_cpp(&name),
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
