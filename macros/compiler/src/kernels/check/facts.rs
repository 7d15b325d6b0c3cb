//! The facts that the comparison finds for the generated code.

use syn::Type;

/// The facts about a kernel in its source.
#[derive(Default, Clone)]
pub(crate) struct Facts {
    /// The first value of `__launch_bounds__`, in threads.
    pub(crate) max_threads_per_block: Option<u32>,
    /// Whether the source gives the size of its clusters, so that launches need not.
    pub(crate) has_cluster: bool,
    /// The conditions on the sizes of its types.
    pub(crate) layouts: Vec<LayoutCheck>,
    /// The bytes of each of its symbols' variables, in order, where the source tells.
    pub(crate) symbol_bytes: Vec<Option<u64>>,
}

/// A type of Rust, whose layout only rustc knows.
#[derive(Clone)]
pub(crate) struct LayoutCheck {
    pub(crate) ty: Type,
    /// The layouts of which one must fit, since the branches of an `#if` may differ.
    pub(crate) layouts: Vec<Expected>,
    /// The words in messages for the type of the source.
    pub(crate) there: String,
    /// The file and the line of that, where there is one.
    pub(crate) place: Option<String>,
}

/// Size and alignment in bytes, the latter where it matters.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Expected {
    pub(crate) size: u64,
    pub(crate) align: Option<u64>,
}

impl LayoutCheck {
    /// The one check that stands for one in each branch; none where a branch has none.
    pub(super) fn of_all(each: Vec<Option<Self>>) -> Option<Self> {
        let mut each = each.into_iter();
        let mut whole = each.next()??;
        for one in each {
            for layout in one?.layouts {
                if !whole.layouts.contains(&layout) {
                    whole.layouts.push(layout);
                }
            }
        }
        Some(whole)
    }
}
