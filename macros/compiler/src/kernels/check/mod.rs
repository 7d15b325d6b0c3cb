//! Compares the declarations with the source.

mod cuda;
mod image;
mod symbols;
mod types;

use quote::ToTokens;
use syn::{Ident, Type};

use super::error;
use super::source::Source;
use super::syntax::{Block, Errors, Kernel};

/// What the source says of a kernel.
#[derive(Default, Clone)]
pub(super) struct Facts {
    /// The first value of `__launch_bounds__`, in threads.
    pub(super) max_threads_per_block: Option<u32>,
    /// Whether the source gives the size of its clusters, so that launches need not.
    pub(super) has_cluster: bool,
    /// What must hold of the sizes of its types.
    pub(super) layouts: Vec<LayoutCheck>,
    /// The bytes of each of its symbols' variables, in order, where the source tells.
    pub(super) symbol_bytes: Vec<Option<u64>>,
}

/// A type of Rust, of which only rustc knows how it lies in memory.
#[derive(Clone)]
pub(super) struct LayoutCheck {
    pub(super) ty: Type,
    /// The layouts of which one must fit, since the branches of an `#if` may differ.
    pub(super) layouts: Vec<Expected>,
    /// What messages call the type of the source.
    pub(super) there: String,
    /// The file and the line of that, where there is one.
    pub(super) place: Option<String>,
}

/// Size and alignment in bytes, the latter where it matters.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Expected {
    pub(super) size: u64,
    pub(super) align: Option<u64>,
}

impl LayoutCheck {
    /// The one check that stands for one in each branch; none where a branch has none.
    fn of_all(each: Vec<Option<Self>>) -> Option<Self> {
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

/// Checks each sound kernel, and gives what the source says of it.
pub(super) fn check(block: &Block, file: &str, source: &Source, errors: &mut Errors) -> Vec<Facts> {
    let kernel = |kernel: &Kernel| match source {
        _ if !kernel.sound => Facts::default(),
        Source::Cuda(source) => cuda::kernel(source, kernel, errors),
        Source::Image(image) => image::kernel(image, file, kernel, errors),
        Source::Fatbin => Facts::default(),
    };
    block.kernels.iter().map(kernel).collect()
}

/// Compares the size of a launch's clusters with the source's.
fn cluster(kernel: &Kernel, there: Option<[u32; 3]>, file: &str, place: Option<String>, errors: &mut Errors) {
    let (Some(cluster), Some(there)) = (&kernel.cluster, there) else { return };
    if cluster.blocks == there {
        return;
    }
    let shown = |[x, y, z]: [u32; 3]| match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}, {y}"),
        _ => format!("{x}, {y}, {z}"),
    };
    let what = format!(
        "kernel `{}` is launched in clusters of ({}), but {file} has ({})",
        kernel.name,
        shown(cluster.blocks),
        shown(there)
    );
    let notes: Vec<_> =
        place.into_iter().chain(["a launch cannot change what is compiled in".to_owned()]).collect();
    let help = "remove `#[cluster]`: the source says enough".to_owned();
    errors.push(error(&cluster.at, "TW0418", &what, &notes, Some(help)));
}

/// The name as the source has it.
pub(super) fn unraw(name: &Ident) -> String {
    let name = name.to_token_stream().to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}

/// ``its kernels are `a`, `b` ``
fn listed(what: &str, names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("its {what} are {}{more}", shown.join(", "))
}
