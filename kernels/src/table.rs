//! Rows of a table by index.

use thalweg::prelude::*;

use crate::map::of_type;

/// Row `i` of `out` is row `index[i]` of `table`, or zeros if the table has no such row.
///
/// `table` is `[rows, width]`, `index` has an element for each row of `out`, and `out` is `[n, width]`; all
/// sizes count elements. Needs one thread an element of `out`.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::gather_f32;
///
/// stream_pipeline! {
///     /// An item is an index, and the row that it stands for.
///     pipeline LookUp {
///         param width: u32;
///         param rows: u32;
///         resident table: [f32];
///         input index: [u32];
///         output found: [f32; width as usize];
///         device df: [f32; width as usize];
///         chunk c = auto;
///         stage load { copy index -> di; }
///         stage gather {
///             gather_f32<<<blocks(c.len * width as usize, 256), 256>>>(width, rows, &di, &table, out df);
///         }
///         stage store { copy df -> found; }
///     }
/// }
///
/// let table = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]; // 3 rows of 2
/// let mut found = [0.0; 8];
/// let mut look_up = LookUp::new(&Device::simulated(Simulation::h200()))?;
/// look_up.run(2, 3, &table, &[2, 0, 2, 3], &mut found)?;
/// assert_eq!(found, [2.0, 2.5, 0.0, 0.5, 2.0, 2.5, 0.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[kernel(T in [f32, u32])]
#[requires(rows as u128 * width as u128 <= table.len() as u128)]
#[requires(out.len() as u128 <= index.len() as u128 * width as u128)]
pub fn gather(i: Index, width: u32, rows: u32, index: &[u32], table: &[T], out: &mut Out<[T]>) {
    let Some(out) = out.get_mut(i) else { return };
    let (i, width) = (i.get(), width as usize);
    let row = i / width;
    let from = index[row];
    *out = if from < rows { table[from as usize * width + (i - row * width)] } else { 0 as T };
}

of_type! {
    gather_f32 = gather<f32>, "floats";
    gather_u32 = gather<u32>, "`u32`";
}
