//! Up to which index the host runs the threads of a kernel in one fast loop.

use thalweg_compiler::rust_kernels::{Role, expand};

use crate::declared::tokens;
use crate::emitted;

/// Whether the loop ends where the slice `table` does, in a kernel with these statements.
#[track_caller]
fn ends_with_table(body: &str) -> bool {
    let kernel =
        format!("fn k(i: Index, n: usize, x: &[f32], table: &[f32], y: &mut Own<[f32]>) {{ {body} }}");
    let expanded = expand(Role::Kernel, tokens(""), tokens(&kernel));
    let errors: Vec<_> = emitted::errors(expanded.clone()).into_iter().map(|said| said.text).collect();
    assert!(errors.is_empty(), "{kernel}: {errors:?}");
    let text = expanded.to_string();
    assert!(text.contains("x . len ()") && text.contains("(& y) . along_x ()"), "{text}");
    // The limits of rows and columns are others.
    let (index, rest) = text.split_once("RowColumn {").unwrap_or((&text, "}"));
    let (_, rest) = rest.split_once('}').expect("the end of the limits");
    index.contains("table . len ()") || rest.contains("table . len ()")
}

#[test]
fn a_slice_that_is_read_at_the_index_ends_the_loop() {
    for read in [
        "table[i]",
        "table[i.get() + 2]",
        "if let Some(at) = table.get(i) { *at } else { 0.0 }",
        "{ let k = i.get() + n; let j = k - 1; table[j] }",
        // Nothing is known of what a function reads.
        "read(table, i.get())",
        // Two places.
        "table[0] + table[i]",
    ] {
        assert!(
            ends_with_table(&format!("if let Some(y) = y.get_mut(i) {{ *y = x[i] * ({read}); }}")),
            "{read}"
        );
    }
}

#[test]
fn a_table_does_not_end_the_loop() {
    for read in [
        "table[0]",
        "table[n]",
        "table[i.get() % 3]",
        "{ let c = i.get() % n; table[c] }",
        "{ let c = i.get() / n; table[c + 1] }",
        "table[x[i] as usize]",
        "{ let v = x[i]; table[v as usize] }",
        "if let Some(v) = x.get(i) { table[*v as usize] } else { 0.0 }",
        "{ let mut sum = 0.0; for k in 0..n { sum += table[k]; } sum }",
    ] {
        assert!(
            !ends_with_table(&format!("if let Some(y) = y.get_mut(i) {{ *y = x[i] * ({read}); }}")),
            "{read}"
        );
    }
}
