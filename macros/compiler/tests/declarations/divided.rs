//! Which kernels the host runs by rows, since their threads divide their index by one number.

use thalweg_compiler::rust_kernels::{Role, expand};

use crate::declared::tokens;
use crate::emitted;

/// What is said of the rows of a kernel with these statements: the number that their elements are told by, and
/// the limits of rows and columns; `None` if it has no rows.
#[track_caller]
fn rows(body: &str) -> Option<(String, String)> {
    let parameters = "i: Index, n: u32, m: usize, x: &[f32], t: &[f32], y: &mut Out<[f32]>";
    of_kernel(&format!("fn k({parameters}) {{ {body} }}"))
}

#[track_caller]
fn of_kernel(kernel: &str) -> Option<(String, String)> {
    let expanded = expand(Role::Kernel, tokens(""), tokens(kernel));
    let errors: Vec<_> = emitted::errors(expanded.clone()).into_iter().map(|said| said.text).collect();
    assert!(errors.is_empty(), "{kernel}: {errors:?}");
    let text: String = expanded.to_string().split_whitespace().collect();
    assert_eq!(text.contains("fnin_rows"), text.contains("indices_divided"), "{kernel}");
    let (_, rows) = text.split_once("letlength_of_row:::core::primitive::usize=")?;
    let (length, rest) = rows.split_once(';').expect("the end of a statement");
    let (_, limits) = rest.split_once("RowColumn{").expect("the limits");
    let (limits, _) = limits.split_once('}').expect("their end");
    let limits = limits.replace("::core::primitive::usize::", "").replace("::core::cmp::Ord::", "");
    Some((length.to_owned(), limits))
}

const ELEMENT: &str = "let Some(y) = y.get_mut(i) else { return };";

#[test]
fn an_index_that_is_divided_by_what_all_threads_have_is_a_row_and_a_column() {
    let none = "row:MAX,column:MAX";
    for (body, length, limits) in [
        ("let c = i.get() % m; *y = t[c];", "m", "row:MAX,column:min(MAX,t.len())"),
        ("*y = t[i.get() / m];", "m", "row:min(MAX,t.len()),column:MAX"),
        (
            "let i = i.get(); let (r, c) = (i / m, i % m); *y = x[r] + t[c];",
            "m",
            "row:min(MAX,x.len()),column:min(MAX,t.len())",
        ),
        ("let n = n as usize; *y = (i.get() / n + i.get() % n) as f32;", "(nasusize)", none),
        ("*y = t[(i.get() % (n as usize))];", "(nasusize)", "row:MAX,column:min(MAX,t.len())"),
        ("*y = (i.get() % 3) as f32;", "3usize", none),
        ("let m: u8 = 200; *y = (i.get() % (m as i8 as usize)) as f32;", "((200u8asi8)asusize)", none),
        ("let w = 300; *y = (i.get() % w) as f32;", "300usize", none),
        ("*y = (i.get() % WIDTH / 2) as f32;", "WIDTH", none),
        ("*y = (i.get() % sizes::WIDTH) as f32;", "sizes::WIDTH", none),
        ("*y = (i.get() % t.len()) as f32;", "t.len()", none),
        ("if m > 3 { let w: usize = m; *y = (i.get() / w) as f32; } else { *y = 1.0; }", "m", none),
        // The first of two numbers is the rows' length.
        ("*y = (i.get() % m + i.get() % x.len()) as f32;", "m", none),
        // A table that is indexed by something else, too, has any length.
        ("let c = i.get() % m; *y = t[c + 1] + t[c % 2];", "m", none),
    ] {
        let found = rows(&format!("{ELEMENT} {body}"));
        assert_eq!(found, Some((length.to_owned(), limits.to_owned())), "{body}");
    }
}

#[test]
fn what_threads_have_of_their_own_divides_no_rows() {
    for body in [
        "*y = x[i];",
        "*y = (i.get() % x[i] as usize) as f32;",
        "let mut w = m; w += 1; *y = (i.get() % w) as f32;",
        "let mut at = i.get(); at += 1; *y = (at % m) as f32;",
        "*y = ((i.get() + 1) % m) as f32;",
        "*y = (i.get() as u32 % n) as f32;",
        "*y = (m % i.get()) as f32;",
        // Compilers know what to do with these.
        "*y = (i.get() % 4) as f32;",
        // The names have been given to other things.
        "let m = x[i] as usize; *y = (i.get() % m) as f32;",
        "*y = 0.0; for m in 1..3 { *y += (i.get() % m) as f32; }",
        "if let Some(m) = x.get(m) { *y = (i.get() % *m as usize) as f32; } else { *y = 0.0; }",
        "*y = 0.0; for i in 0..m { *y += (i % m) as f32; }",
        "let (m, w) = (x[i] as usize, m); *y = (i.get() % m) as f32 + w as f32;",
        // An item may hide any name.
        "{ const m: usize = 5; *y = (i.get() % m) as f32; }",
        "*y = 0.0; for _ in 0..2 { use widths::m; *y = (i.get() % m) as f32; }",
    ] {
        assert_eq!(rows(&format!("{ELEMENT} {body}")), None, "{body}");
    }
    for kernel in [
        "fn k(i: Index<2>, m: usize, y: &mut Out<[f32]>) {
            let Some(y) = y.get_mut(i) else { return }; *y = (i.get()[1] % m) as f32; }",
        "fn k(i: Index, mut m: usize, y: &mut Out<[f32]>) {
            let Some(y) = y.get_mut(i) else { return }; m += 1; *y = (i.get() % m) as f32; }",
    ] {
        assert_eq!(of_kernel(kernel), None, "{kernel}");
    }
}

#[test]
fn names_end_with_their_blocks() {
    let body = "{ let m = x[i] as usize; assert!(m < 9); } *y = (i.get() % m) as f32;";
    assert_eq!(rows(&format!("{ELEMENT} {body}")).map(|(length, _)| length), Some("m".to_owned()));
    let body = "if let Some(m) = x.get(3) { assert!(*m < 9.0); } *y = (i.get() % m) as f32;";
    assert_eq!(rows(&format!("{ELEMENT} {body}")).map(|(length, _)| length), Some("m".to_owned()));
}
