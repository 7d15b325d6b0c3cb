//! Compares the sizes of clusters.

use crate::kernels::errors::{Errors, error};
use crate::kernels::syntax::Kernel;

/// Compares the size of a launch's clusters with the source's.
pub(super) fn cluster(
    kernel: &Kernel,
    there: Option<[u32; 3]>,
    file: &str,
    place: Option<String>,
    errors: &mut Errors,
) {
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
