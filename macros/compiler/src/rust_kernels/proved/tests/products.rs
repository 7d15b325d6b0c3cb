//! Indices that are sums of products: of planes, tiles and tables.

use super::accesses;
use crate::rust_kernels::{Build, Role, translate};

/// Expects that these arrays of a kernel with such parameters are read with a check, and those without one.
#[track_caller]
fn assert_accesses(parameters: &str, requires: &str, body: &str, checked: &[&str], unchecked: &[&str]) {
    let function = format!("#[requires({requires})] fn k({parameters}) {{ {body} }}");
    let found = accesses(Role::Kernel, &function);
    assert_eq!(found.0, checked, "checked: {function}");
    assert_eq!(found.1, unchecked, "unchecked: {function}");
}

#[test]
fn neighbours_in_a_plane_have_no_check() {
    const PLANE: &str = "at: Index<2>, columns: u32, n: usize, u: &[f32], v: &mut Out<[f32]>";
    const HERE: &str = "let Some(v) = v.get_mut(at) else { return };
        let ([r, c], columns) = (at.get(), columns as usize);
        let here = (r + 1) * columns + c;";
    let halo = "v.shape()[1] == columns as usize && v.len() + 2 * columns as usize <= u.len()";
    for (requires, index, is_proved) in [
        (halo, "here", true),
        (halo, "here - columns", true),
        (halo, "here + columns", true),
        (halo, "r * columns + c", true),
        (halo, "here + 1", true),
        // The last of them is one beyond the end, and the first is before the beginning.
        (halo, "here + columns + 1", false),
        (halo, "here - columns - 1", false),
        (halo, "here + 2 * columns", false),
        (halo, "here * 2", false),
        (halo, "r * columns - c", false),
        (halo, "here + n", false),
        // The columns of a row are no rows.
        (halo, "c * columns + r", false),
        ("v.len() + 2 * columns as usize <= u.len()", "here", false),
        ("v.shape()[0] == columns as usize && v.len() + 2 * columns as usize <= u.len()", "here", false),
        ("v.shape()[1] == columns as usize && v.len() <= u.len()", "here", false),
        ("v.shape()[1] == columns as usize && v.len() <= u.len()", "here - columns", true),
        ("v.shape()[1] <= columns as usize && v.len() <= u.len()", "here - columns", false),
        ("v.shape()[1] >= columns as usize && v.len() <= u.len()", "r * columns + c", true),
        ("v.shape()[1..] == [columns as usize] && v.len() <= u.len()", "r * columns + c", true),
        ("v.shape()[0..] == [columns as usize] && v.len() <= u.len()", "r * columns + c", false),
        ("v.shape()[..1] == [columns as usize] && v.len() <= u.len()", "r * columns + c", false),
        // Sums and products of the host that may wrap, and what saturates.
        ("v.shape()[0] * v.shape()[1] <= u.len()", "r * n + c", false),
        ("v.shape()[0] * n <= u.len() && v.shape()[1] <= n", "r * n + c", false),
        ("v.shape()[0].wrapping_mul(n) <= u.len() && v.shape()[1] <= n", "r * n + c", false),
        ("v.shape()[0].saturating_mul(n) <= u.len() && v.shape()[1] <= n", "r * n + c", true),
        ("v.shape()[0].saturating_mul(n) + 1 <= u.len() && v.shape()[1] <= n", "r * n + c", false),
        (
            "v.shape()[0].saturating_mul(n).saturating_add(1) < u.len() && v.shape()[1] <= n",
            "r * n + c + 2",
            true,
        ),
        ("v.shape()[0] as u128 * n as u128 <= u.len() as u128 && v.shape()[1] <= n", "r * n + c", true),
        (
            "v.shape()[0] as u64 as u128 * n as u128 <= u.len() as u128 && v.shape()[1] <= n",
            "r * n + c",
            true,
        ),
        (
            "v.shape()[0] as u32 as u128 * n as u128 <= u.len() as u128 && v.shape()[1] <= n",
            "r * n + c",
            false,
        ),
        ("v.shape()[0].saturating_mul(n) <= u.len() && v.shape()[1] > n", "r * n + c", false),
        // It is not said of how many.
        ("v.shape()[0].saturating_mul(n) <= n && v.shape()[1] <= n", "r * n + c", false),
        ("v.shape()[2] == columns as usize && v.len() <= u.len()", "r * columns + c", false),
    ] {
        let (checked, unchecked) = if is_proved { (&[][..], &["u"][..]) } else { (&["u"][..], &[][..]) };
        assert_accesses(PLANE, requires, &format!("{HERE} *v = u[{index}];"), checked, unchecked);
        // Nothing is known of an element that is not there.
        let elsewhere =
            HERE.replace("else { return }", "else { let [r, c] = at.get(); u[r * n + c]; return }");
        let found = if is_proved { (&["u"][..], &["u"][..]) } else { (&["u", "u"][..], &[][..]) };
        assert_accesses(PLANE, requires, &format!("{elsewhere} *v = u[{index}];"), found.0, found.1);
    }
    // To the left there is one in all columns but the first, and there is always one further down.
    let to_the_left = format!("{HERE} *v = if c > 0 {{ u[here - columns - 1] }} else {{ u[here - 1] }};");
    assert_accesses(PLANE, halo, &to_the_left, &[], &["u", "u"]);
    let changed = format!("{HERE} let mut r = r; r += 1; *v = u[r * columns + c];");
    assert_accesses(PLANE, halo, &changed, &["u"], &[]);
    let below = |rows: u32| format!("{HERE} let r = r + {rows}; *v = u[r * columns + c];");
    assert_accesses(PLANE, halo, &below(2), &[], &["u"]);
    assert_accesses(PLANE, halo, &below(3), &["u"], &[]);
    // Of `v` with several numbers an element, the launch counts the numbers.
    let of_arrays = PLANE.replace("Out<[f32]>", "Out<[[f32; 2]]>");
    let body = format!("{HERE} v[0] = u[r * columns + c];");
    assert_accesses(&of_arrays, "v.shape()[1] == columns as usize && v.len() <= u.len()", &body, &["u"], &[]);
}

#[test]
fn products_may_wrap_and_differences_not() {
    const KERNEL: &str =
        "i: Index, a: usize, b: usize, m: u32, k: u32, x: &[f32], z: &[[f32; 0]], y: &mut Own<[f32]>";
    for (requires, body, is_proved) in [
        (
            "m as usize * k as usize <= x.len()",
            "for r in 0..m { for c in 0..k { x[(r * k + c) as usize]; } }",
            true,
        ),
        (
            "m as usize * k as usize <= x.len()",
            "for r in 0..m { for c in 0..=k { x[(r * k + c) as usize]; } }",
            false,
        ),
        (
            "m as usize * k as usize <= x.len()",
            "for r in 0..m { for c in 0..k { x[(r * m + c) as usize]; } }",
            false,
        ),
        // The sum of 64 bits is not that of 32.
        (
            "m as usize * k as usize <= x.len()",
            "for r in 0..m { for c in 0..k { x[(r * k) as usize + c as usize]; } }",
            false,
        ),
        (
            "m as usize * k as usize <= x.len()",
            "for r in 0..m { for c in 0..k { x[r as usize * k as usize + c as usize]; } }",
            true,
        ),
        // It wraps on the host.
        (
            "(m * k) as usize <= x.len()",
            "for r in 0..m { for c in 0..k { x[(r * k + c) as usize]; } }",
            false,
        ),
        (
            "m.saturating_mul(k) as usize <= x.len()",
            "for r in 0..m { for c in 0..k { x[(r * k + c) as usize]; } }",
            false,
        ),
        (
            "m.saturating_mul(k) <= 4000000000 && x.len() >= 4000000000",
            "if m > 0 && k > 1 { x[k as usize]; }",
            false,
        ),
        ("a < x.len()", "x[a - b];", false),
        ("a < x.len() && b <= a", "x[a - b];", true),
        ("a < x.len()", "x[a - b + b];", true),
        ("a < x.len()", "x[a - b * b];", false),
        ("a < x.len()", "x[2 * a - a];", true),
        ("a < x.len()", "x[a + b * a - b * a];", true),
        ("a < x.len()", "x[a + (b - b)];", true),
        ("a < x.len()", "x[0 - a];", false),
        ("a < x.len() && b < a", "x[a - b - 1];", true),
        ("a < x.len() && b <= a", "x[a - b - 1];", false),
        // A difference that is compared with may have wrapped.
        ("x.len() > 4", "for c in 0..a - 1 { if a <= x.len() { x[c]; } }", false),
        ("a <= x.len()", "let each = a / 8; for c in 0..each { for r in 0..8 { x[r * each + c]; } }", true),
        ("a <= x.len()", "let each = a / 8; for c in 0..each { for r in 0..9 { x[r * each + c]; } }", false),
        ("a <= x.len()", "let each = a / 8; for c in 0..=each { for r in 0..8 { x[r * each + c]; } }", false),
        ("a <= x.len()", "let each = a / b; for c in 0..each { for r in 0..b { x[r * each + c]; } }", true),
        ("a <= x.len()", "let each = a / b; for c in 0..each { for r in 0..b { x[c * b + r]; } }", true),
        ("a <= x.len()", "let each = a / b; for c in 0..each { for r in 0..b { x[c * each + r]; } }", false),
        ("a <= x.len()", "let each = a / 8; for c in 0..a % 8 { x[8 * each + c]; }", false),
        (
            "a <= x.len()",
            "for c in 0..a { let (q, r) = (c / 8, c % 8); if q > 0 { x[c - 8 * q]; x[c - 8]; } }",
            true,
        ),
        ("a <= x.len()", "for c in 0..a { let q = c / 8; if q > 0 { x[c - 9]; } }", false),
        // What a loop has shown is over with it.
        (
            "m as usize * k as usize <= x.len() && b < k as usize",
            "for r in 0..m { let c = r; } let c = a; x[c * k as usize + b];",
            false,
        ),
        (
            "m as usize * k as usize <= x.len() && b < k as usize",
            "let mut r = 0; while r < m as usize { x[r * k as usize + b]; r += 1; }",
            false,
        ),
        (
            "m as usize * k as usize <= x.len() && b < k as usize",
            "let f = |r: usize| x[r * k as usize + b]; if a < m as usize { let v = f(a); }",
            false,
        ),
    ] {
        let all = vec!["x"; body.matches("x[").count()];
        let (checked, unchecked) = if is_proved { (&[][..], &all[..]) } else { (&all[..], &[][..]) };
        assert_accesses(KERNEL, requires, body, checked, unchecked);
    }
    // There may be any number of elements without a size.
    let body = "for r in 0..a { for c in 0..b { z[r * b + c]; } }";
    assert_accesses(KERNEL, "a.saturating_mul(b) <= z.len()", body, &["z"], &[]);
    assert_accesses(KERNEL, "a.saturating_mul(b) <= x.len()", &body.replace('z', "x"), &[], &["x"]);
    assert_accesses(KERNEL, "a as u128 * b as u128 <= z.len() as u128", body, &[], &["z"]);
}

#[test]
fn rows_of_a_table_by_index_have_no_check() {
    const GATHER: &str =
        "i: Index, width: u32, rows: u32, index: &[u32], table: &[f32], out: &mut Out<[f32]>";
    const OUT: &str = "out.len() as u128 <= index.len() as u128 * width as u128";
    let table = |requires: &str| format!("{requires} && rows as u128 * width as u128 <= table.len() as u128");
    let body = |column: &str| {
        format!(
            "let Some(out) = out.get_mut(i) else {{ return }};
             let (i, width) = (i.get(), width as usize);
             let row = i / width;
             let from = index[row];
             *out = if from < rows {{ table[from as usize * width + ({column})] }} else {{ 0.0 }};"
        )
    };
    let column = "i - row * width";
    assert_accesses(GATHER, &table(OUT), &body(column), &[], &["index", "table"]);
    assert_accesses(GATHER, &table(OUT), &body("i % width"), &[], &["index", "table"]);
    assert_accesses(GATHER, &table("true"), &body(column), &["index"], &["table"]);
    assert_accesses(GATHER, OUT, &body(column), &["table"], &["index"]);
    for column in ["i - row", "row * width - i", "i - from as usize * width", "i - row * width + 1", "width"]
    {
        assert_accesses(GATHER, &table(OUT), &body(column), &["table"], &["index"]);
    }
    let shorter = "out.len() <= 1 + index.len() && width > 0";
    assert_accesses(GATHER, shorter, &body(column), &["index", "table"], &[]);
    // As many rows as there are elements have elements.
    for (body, tests) in [
        (body(column), 0),
        ("let r = i.get() / width as usize; let Some(out) = out.get_mut(i) else { return };".to_owned(), 1),
        ("let Some(out) = out.get_mut(i) else { return }; let r = i.get() / rows as usize;".to_owned(), 1),
    ] {
        let function = format!("#[requires({OUT})] fn k({GATHER}) {{ {body} }}");
        let text = translate(Role::Kernel, &syn::parse_str(&function).expect("a function"), Build::Release);
        let text = text.unwrap_or_else(|errors| panic!("{}", errors[0]));
        assert_eq!(text.matches("tw::div(").count(), tests, "{text}");
    }
}

#[test]
fn places_in_tiles_have_no_check() {
    const TILES: &str = "block: Block<3>, n: usize, x: &[f32], z: &[f32], y: &mut Out<[f32]>";
    let body = |index: &str| {
        format!(
            "let mut tile = block.shared::<[[f32; 8]; 8]>();
             let [_, rows, columns] = block.shape(y);
             for at in block.tiles::<8, 8>(y) {{
                 let (top, left, above) = (at.left(), at.top(), at.item() * columns);
                 block.fill(&mut tile, |[r, c]| {{
                     let (row, column) = (top + r, left + c);
                     if row < columns && column < rows {{ x[{index}] }} else {{ 0.0 }}
                 }});
             }}"
        )
    };
    for (index, is_proved) in [
        ("(above + row) * rows + column", true),
        ("(at.item() * rows + column) * columns + row", true),
        ("(at.item() * rows + at.top()) * columns + at.left()", true),
        ("(above + row) * rows + row", false),
        ("(above + column) * rows + row", false),
        ("(above + row + 1) * rows + column", false),
        ("(n * columns + row) * rows + column", false),
        // What was compared is the sum, whether or not it has wrapped.
        ("(above + (top + r)) * rows + (left + c)", true),
        ("(above + top) * rows + left", true),
        ("(above + top) * rows + left + r * rows + c", false),
        ("(above + (r + top)) * rows + (left + c)", false),
    ] {
        let (checked, unchecked) = if is_proved { (&[][..], &["x"][..]) } else { (&["x"][..], &[][..]) };
        assert_accesses(TILES, "y.len() <= x.len()", &body(index), checked, unchecked);
        assert_accesses(TILES, "y.len() <= z.len()", &body(index), &["x"], &[]);
    }
    let two =
        "for at in block.tiles::<8, 8>(y) { block.each(|t| { x[at.top() * block_columns + at.left()]; }); }";
    let two = format!("let [_, block_columns] = block.shape(y); {two}");
    let plane = TILES.replace("Block<3>", "Block<2>");
    assert_accesses(&plane, "y.len() <= x.len()", &two, &[], &["x"]);
    let item = two.replace("at.top()", "at.item()");
    assert_accesses(&plane, "y.len() <= x.len()", &item, &["x"], &[]);
}
