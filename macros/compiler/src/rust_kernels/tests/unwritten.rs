//! Elements of an `Out` that are read before they are written.

use super::{Role, cpp};

/// What a kernel says that does this with the element `y` of an `Out`.
fn of_out(element: &str, statements: &str) -> String {
    let start = "let Some(y) = y.get_mut(i) else { return };";
    cpp(
        Role::Kernel,
        &format!("fn f(i: Index, n: u32, x: &[f32], y: &mut Out<[{element}]>) {{ {start} {statements} }}"),
    )
}

#[test]
fn an_element_to_write_is_not_read_before() {
    for (element, statements) in [
        ("f32", "*y += x[i];"),
        ("f32", "let v = *y; *y = v;"),
        ("f32", "*y = 1.0 + *y;"),
        ("f32", "*y = y.abs();"),
        ("f32", "if n > 1 { *y = 1.0; } *y += 2.0;"),
        ("f32", "if n > 1 { *y = 1.0; } else { *y -= 1.0; }"),
        ("f32", "match n { 0 => *y = 1.0, 1 => {} _ => return } let v = *y;"),
        ("f32", "for k in 0..n { *y += x[k as usize]; }"),
        ("f32", "loop { if n > 3 { break; } *y = 1.0; } let v = *y;"),
        ("f32", "'a: { if n > 3 { break 'a; } *y = 1.0; } let v = *y;"),
        ("f32", "let v = &*y; *y = *v;"),
        ("[f32; 2]", "let v = y[0];"),
        ("[f32; 2]", "y[n as usize] *= 2.0;"),
        ("P", "y.a = y.b;"),
        ("P", "let P { a, b } = *y;"),
        ("f32", "if let Some(v) = x.get(*y as usize) { *y = *v; }"),
    ] {
        let said = of_out(element, statements);
        assert!(said.contains("[TW0913]: `y` is read before it is written"), "{statements}: {said}");
    }
    let said = cpp(
        Role::Kernel,
        "fn f(i: Index, y: &mut Out<[u32]>) { if let Some(y) = y.get_mut(i) && *y > 2 { *y = 1; } }",
    );
    assert!(said.contains("[TW0913]"), "{said}");
    let said = cpp(
        Role::Kernel,
        "fn f(block: Block, y: &mut Out<[u32]>) {
             block.each(|t| { let Some(own) = y.get_mut(t.index()) else { return }; *own += 1; });
         }",
    );
    assert!(said.contains("[TW0913]: `own` is"), "{said}");
}

#[test]
fn an_element_that_is_written_is_read() {
    for (element, statements) in [
        ("f32", "*y = x[i]; *y += 1.0;"),
        ("f32", "if n > 1 { *y = 1.0; } else { *y = 2.0; } *y += 2.0;"),
        ("f32", "if n > 1 { *y = 1.0; } else { return; } *y += 2.0;"),
        ("f32", "match n { 0 => *y = 1.0, 1 => return, _ => *y = 2.0 } let v = *y;"),
        ("f32", "*y = 0.0; for k in 0..n { *y += x[k as usize]; }"),
        ("f32", "for k in 0..n { *y = 1.0; } *y += 1.0;"),
        ("f32", "while n > 3 { if n > 9 { *y = 2.0; break; } *y = 1.0; } *y += 1.0;"),
        ("f32", "loop { *y = 1.0; if n > 3 { break; } } let v = *y;"),
        ("f32", "loop { *y = 1.0; if n > 3 { continue; } break; } let v = *y;"),
        ("f32", "set(y); *y += 1.0;"),
        ("f32", "set(&mut *y); *y += 1.0;"),
        ("f32", "(*y, _) = (1.0, n); *y += 1.0;"),
        ("f32", "let v = match n { 0 => { *y = 1.0; 2_u32 } _ => { *y = 3.0; 4 } }; *y += v as f32;"),
        ("f32", "let v: f32 = 'a: { if n > 3 { *y = 2.0; break 'a 1.0; } *y = 1.0; 2.0 }; *y += v;"),
        ("f32", "if n > 7 { panic!(\"no\"); } else { *y = 1.0; } *y += 1.0;"),
        ("[f32; 2]", "y[0] = 1.0; y[1] = y[0]; y[1] += y[0];"),
        ("[f32; 2]", "for k in 0..y.len() { y[k] = 1.0; } y[1] += y[0];"),
        ("P", "*y = P { a: 1.0, b: 2.0 }; y.a += y.b;"),
        ("P", "y.a = 1.0; y.b = y.a;"),
    ] {
        let said = of_out(element, statements);
        assert!(!said.contains("TW0"), "{statements}: {said}");
        // Of an `Own` it may be read before, too.
        let of_own = "fn f(i: Index, y: &mut Own<[u32]>) { if let Some(y) = y.get_mut(i) { *y += 1; } }";
        assert!(!cpp(Role::Kernel, of_own).contains("TW0"));
    }
}
