//! Launches: CUDA's limits where the values are constant, and buffers passed twice.

use syn::{Expr, ExprPath};

use super::constant::{below_zero, extents, value};
use crate::diagnostics::Diagnostics;
use crate::resolve::{BufferUse, Launch, OperationKind, Program};

/// Threads in a block.
pub const THREADS: u128 = 1024;
/// Threads that a GPU runs together.
const WARP: u128 = 32;
/// Threads in a block along x, y and z.
pub const BLOCK: [u128; 3] = [1024, 1024, 64];
/// Blocks in a grid along x, y and z.
pub const GRID: [u128; 3] = [2_147_483_647, 65_535, 65_535];
/// Dynamic shared memory of a block, in bytes: the most that any device has.
const SHARED: u128 = 227 * 1024;

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    for operation in &program.operations {
        if let OperationKind::Launch(launch) = &operation.kind {
            limits(launch, diagnostics);
        }
        let what = match &operation.kind {
            OperationKind::Call(_) => "routine",
            OperationKind::Host(_) => "function",
            _ => "kernel",
        };
        if let Some(path) = operation.path() {
            aliases(program, &operation.buffers(), what, path, diagnostics);
        }
    }
}

fn limits(launch: &Launch, diagnostics: &mut Diagnostics) {
    let grid_ok = extent("grid", "blocks", &launch.grid, GRID, diagnostics);
    let block_ok = block(&launch.block, &launch.grid, diagnostics);
    if let (true, true, Some(shared)) = (grid_ok, block_ok, &launch.shared)
        && let Some(bytes) = value(shared).filter(|&bytes| bytes > SHARED)
    {
        diagnostics
            .error(
                "TW0505",
                shared,
                format!("launch asks for {bytes} bytes of dynamic shared memory, but the limit is {SHARED}"),
            )
            .note("the order is `<<<grid, block, shared, stream>>>`, and `shared` is in bytes")
            .help("work on smaller tiles");
    }
}

fn block(block: &Expr, grid: &Expr, diagnostics: &mut Diagnostics) -> bool {
    let axes = extents(block);
    let threads = axes.iter().try_fold(1_u128, |product, axis| product.checked_mul(value(axis)?));
    if let Some(threads) = threads.filter(|&threads| threads > THREADS) {
        let help = match (&axes[..], threads / THREADS) {
            ([_], _) if are_swapped(grid, &axes) => {
                "the grid comes first, `<<<grid, block>>>`: were the two swapped?".to_owned()
            }
            ([_], _) if threads % THREADS == 0 && matches!(grid, Expr::Call(_)) => {
                "use 1024 threads, here and where the grid is computed".to_owned()
            }
            ([_], 2) if threads % THREADS == 0 => "use 1024 threads and double the grid".to_owned(),
            ([_], times) if threads % THREADS == 0 => {
                format!("use 1024 threads and {times} times the grid")
            }
            ([_], _) => "use 256 threads, and `blocks(c.len, 256)` for the grid".to_owned(),
            _ => "use fewer threads along one axis, and more blocks".to_owned(),
        };
        diagnostics
            .error("TW0502", block, format!("block has {threads} threads, but the limit is {THREADS}"))
            .help(help);
        return false;
    }
    let within = extent("block", "threads", block, BLOCK, diagnostics);
    if let (true, Some(threads)) = (within, threads)
        && threads > WARP
        && threads % WARP != 0
    {
        let (idle, full) = (WARP - threads % WARP, threads.next_multiple_of(WARP));
        diagnostics
            .warning(
                "TW0514",
                block,
                format!("block has {threads} threads, which is not a multiple of {WARP}"),
            )
            .note(format!("a GPU runs warps of {WARP} threads: {idle} of the last warp do nothing"))
            .help(format!("use {full} threads"));
    }
    within
}

/// Whether grid and block look swapped: the grid would be a valid block of whole warps, and the block, which
/// is too large and not a multiple of the largest block, a valid grid.
fn are_swapped(grid: &Expr, block: &[&Expr]) -> bool {
    let product =
        |axes: &[&Expr]| axes.iter().try_fold(1_u128, |product, axis| product.checked_mul(value(axis)?));
    let is_within = |axes: &[&Expr], limits: [u128; 3]| {
        axes.len() <= 3
            && axes.iter().zip(limits).all(|(axis, limit)| value(axis).is_some_and(|n| n <= limit))
    };
    let axes = extents(grid);
    let is_block =
        product(&axes).is_some_and(|threads| (1..=THREADS).contains(&threads) && threads % WARP == 0);
    let is_whole = product(block).is_some_and(|threads| threads % THREADS == 0);
    is_block && !is_whole && is_within(&axes, BLOCK) && is_within(block, GRID)
}

/// Whether every constant axis is within its limit.
fn extent(what: &str, of: &str, expr: &Expr, limits: [u128; 3], diagnostics: &mut Diagnostics) -> bool {
    let axes = extents(expr);
    if !(1..=3).contains(&axes.len()) {
        diagnostics
            .error("TW0504", expr, format!("{what} has {} extents, but 1 to 3 are possible", axes.len()))
            .help("write `n`, `(x, y)` or `(x, y, z)`");
        return false;
    }
    for ((axis, limit), name) in axes.into_iter().zip(limits).zip(["x", "y", "z"]) {
        if let Some(count) = below_zero(axis) {
            diagnostics
                .error("TW0503", axis, format!("{what} has -{count} {of} along {name}"))
                .help("write at least 1");
            return false;
        }
        match value(axis) {
            Some(0) => {
                diagnostics
                    .error("TW0503", axis, format!("{what} has 0 {of} along {name}"))
                    .help("write at least 1");
                return false;
            }
            Some(count) if count > limit => {
                let error = diagnostics.error(
                    "TW0503",
                    axis,
                    format!("{what} has {count} {of} along {name}, but the limit is {limit}"),
                );
                if name == "x" {
                    error.help("let each thread work on several elements");
                } else {
                    error.help("put the largest extent along x");
                }
                return false;
            }
            _ => {}
        }
    }
    true
}

fn aliases(
    program: &Program,
    uses: &[BufferUse<'_>],
    what: &str,
    kernel: &ExprPath,
    diagnostics: &mut Diagnostics,
) {
    let kernel = kernel.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    for (index, second) in uses.iter().enumerate() {
        let clash = uses[..index]
            .iter()
            .find(|first| first.buffer == second.buffer && (first.mode.writes() || second.mode.writes()));
        if let Some(first) = clash {
            let name = &program.buffers[second.buffer.0].name;
            let fact = if first.mode == second.mode {
                format!("`{name}` is passed to `{kernel}` as `{}` twice", first.mode.written().trim_end())
            } else {
                format!(
                    "`{name}` is passed to `{kernel}` as both `{}` and `{}`",
                    first.mode.written().trim_end(),
                    second.mode.written().trim_end()
                )
            };
            diagnostics
                .error("TW0506", second.at, fact)
                .note(format!("a {what} may not alias its output"))
                .help(format!("use a second buffer, or a {what} with one in-place parameter"));
        }
    }
}
