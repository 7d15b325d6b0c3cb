//! The text in C++ tells which checks are left out.

mod products;
mod required;

use syn::ItemFn;

use super::super::{Build, Role, translate};

/// The accesses of a function's C++: those with a check, and those without.
fn accesses(role: Role, function: &str) -> (Vec<String>, Vec<String>) {
    let parsed: ItemFn = syn::parse_str(function).unwrap_or_else(|error| panic!("{function}: {error}"));
    let texts = [Build::Debug, Build::Release].map(|build| {
        translate(role, &parsed, build).unwrap_or_else(|errors| panic!("{function}: {}", errors[0]))
    });
    let of = |text: &str| {
        let begins = |mark: &str| {
            let parts: Vec<_> = text.match_indices(mark).map(|(at, _)| at).collect();
            let name = |at: usize| text[..at].rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
            parts.into_iter().filter_map(name).map(str::to_owned).collect::<Vec<_>>()
        };
        (begins(".at("), begins(".data["))
    };
    let [debug, release] = texts.each_ref().map(|text| of(text));
    assert_eq!(debug, release, "{function}");
    release
}

const KERNEL: &str = "i: Index, n: usize, m: u32, x: &[f32], z: &[f32], at: &[u32], y: &mut Own<[f32]>";

/// Expects that these arrays are read with a check, and those without one.
#[track_caller]
fn assert_kernel(requires: &str, body: &str, checked: &[&str], unchecked: &[&str]) {
    let attribute = match requires {
        "" => String::new(),
        condition => format!("#[requires({condition})] "),
    };
    let function = format!("{attribute}fn k({KERNEL}) {{ {body} }}");
    let found = accesses(Role::Kernel, &function);
    assert_eq!(found.0, checked, "checked: {function}");
    assert_eq!(found.1, unchecked, "unchecked: {function}");
}

const OWN: &str = "let Some(y) = y.get_mut(i) else { return };";

#[test]
fn lengths_that_are_required_equal_and_a_guard_leave_no_check() {
    let body = format!("{OWN} *y += m as f32 * x[i] + z[i.get()];");
    assert_kernel("x.len() == y.len() && z.len() == x.len()", &body, &[], &["x", "z"]);
    assert_kernel("y.len() <= x.len()", &body, &["z"], &["x"]);
    assert_kernel("x.len() == n && n >= y.len()", &body, &["z"], &["x"]);
    assert_kernel("", &body, &["x", "z"], &[]);
    // The other way round it says nothing.
    assert_kernel("x.len() <= y.len()", &body, &["x", "z"], &[]);
    assert_kernel("x.len() != y.len() || z.len() == y.len()", &body, &["x", "z"], &[]);
    // Other sums of the host's are not computed as the kernel's are.
    assert_kernel("x.len() >= y.len() + n", &body, &["x", "z"], &[]);
    assert_kernel("x.len() + n >= y.len()", &body, &["x", "z"], &[]);
    let later = format!("{OWN} let j = i; let k = j.get(); *y = x[k] + z[k + 1];");
    assert_kernel("x.len() == y.len()", &later, &["z"], &["x"]);
}

#[test]
fn neighbours_of_what_is_in_a_shorter_slice_have_no_check() {
    let body = |more: &str| format!("{OWN} let i = i.get(); *y = x[i] + x[i + 1] + x[4 + i] + z[{more}];");
    let (none, all) = (["z"].as_slice(), ["x", "x", "x", "z"].as_slice());
    for condition in ["y.len() + 4 <= x.len()", "x.len() > 3 + y.len()", "x.len() == y.len() + 4_usize"] {
        let strict = if condition.contains('>') { "3" } else { "4" };
        let both = format!("{condition} && {}", condition.replace('x', "z"));
        assert_kernel(&both, &body(&format!("i + {strict}")), &[], all);
        assert_kernel(&both, &body("i + 5"), none, &all[..3]);
        assert_kernel(&both, &body("i * 2"), none, &all[..3]);
        assert_kernel(&both, &body("i + n"), none, &all[..3]);
    }
    for condition in ["y.len() < x.len()", "x.len() > y.len()"] {
        let body = format!("{OWN} let i = i.get(); *y = x[i] + x[i + 1] + x[i + 2];");
        assert_kernel(condition, &body, &["x"], &["x", "x"]);
    }
    // One of another's length, and one that is changed.
    let kernel = "{ let Some(y) = y.get_mut(i) else { return }; *y = x[n + 1]; }";
    assert_kernel("y.len() + 4 <= x.len()", kernel, &["x"], &[]);
    assert_kernel("y.len() + 4 <= x.len() && n <= y.len()", kernel, &[], &["x"]);
    assert_kernel(
        "y.len() + 4 <= x.len()",
        &format!("{OWN} let mut i = i.get(); i += 1; *y = x[i + 1];"),
        &["x"],
        &[],
    );
    // A length of elements that may have no size, and a sum that the host lets wrap.
    for (requires, element) in [
        ("y.len() + 4 <= x.len()", "[f32; 0]"),
        ("y.len() + 9223372036854775809 <= x.len()", "f32"),
        ("y.len() - 4 <= x.len()", "f32"),
    ] {
        let function = format!(
            "#[requires({requires})] fn k(block: Block, n: usize, x: &[f32], y: &[{element}], z: &mut Own<[f32]>) {{
                 if n < y.len() {{ let z = x[n + 1]; }}
             }}"
        );
        assert_eq!(accesses(Role::Kernel, &function).0, ["x"], "{requires}, {element}");
    }
}

#[test]
fn equal_lengths_are_one_number() {
    let function = "#[requires(x.len() == y.len())] #[requires(z.len() == y.len() && z.len() > 4)]
        fn k(i: Index, x: &[f32], w: &[f32], y: &mut Own<[f32]>, z: &mut Out<[f32]>) { y.get_mut(i); }";
    let text = translate(Role::Kernel, &syn::parse_str(function).expect("a function"), Build::Release);
    let text = text.unwrap_or_else(|errors| panic!("{}", errors[0]));
    for part in [
        "(const f32* __restrict__ x_data, usize x_len, const f32* __restrict__ w_data, usize w_len, \
         f32* __restrict__ y_data, usize /* x_len */, f32* __restrict__ z_data, usize /* x_len */)",
        "y{y_data, x_len};",
        "z{z_data, x_len};",
        "w{w_data, w_len};",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // Those of an `Own` with several axes are a shape.
    let function = "#[requires(x.len() == y.len())]
        fn k(at: Index<2>, x: &[f32], y: &mut Own<[f32]>) { y.get_mut(at); }";
    let text = translate(Role::Kernel, &syn::parse_str(function).expect("a function"), Build::Release);
    assert!(text.is_ok_and(|text| text.contains("y{y_data, y_shape}")));
}

#[test]
fn conditions_are_guards_where_they_hold() {
    for (body, checked, unchecked) in [
        ("if i.get() < x.len() { let v = x[i]; } let w = x[i];", &["x"][..], &["x"][..]),
        ("if n < x.len() && x[n] > 0.0 { let v = x[n]; }", &[], &["x", "x"]),
        ("if x.len() <= n || x[n] > 0.0 { return; } let v = x[n];", &[], &["x", "x"]),
        ("let b = n < x.len(); if b { let v = x[n]; }", &["x"], &[]),
        ("if !(n < x.len()) { return; } let v = x[n];", &[], &["x"]),
        ("if n >= x.len() { panic!(); } let v = x[n];", &[], &["x"]),
        ("if n >= x.len() { let v = 1.0; } let v = x[n];", &["x"], &[]),
        ("if n < x.len() { return; } let v = x[n];", &["x"], &[]),
        ("assert!(n < x.len() && n < z.len()); let v = x[n] + z[n];", &[], &["x", "z"]),
        ("assert!(n < x.len() || n < z.len()); let v = x[n] + z[n];", &["x", "z"], &[]),
        ("if let Some(v) = x.get(n) { let w = x[n]; } else { let w = x[n]; }", &["x"], &["x"]),
        ("if x.get(n).is_some() { let w = x[n]; }", &[], &["x"]),
        ("if x.is_empty() { return; } let v = x[0];", &[], &["x"]),
        ("if x.len() != 0 { let v = x[0] + x[1]; }", &["x"], &["x"]),
        ("if x.len() > 1 { let v = x[0] + x[1]; }", &[], &["x", "x"]),
        ("let v = if n < x.len() { x[n] } else { z[n] };", &["z"], &["x"]),
        ("let v = match n { k if k < x.len() => x[k] + x[n], _ => x[n] };", &["x"], &["x", "x"]),
        ("while n < x.len() { let v = x[n]; break; } let v = x[n];", &["x"], &["x"]),
        ("if n < x.len() { let n = m as usize; let v = x[n]; }", &["x"], &[]),
        ("if n < z.len() { let v = x[n]; }", &["x"], &[]),
        ("if n <= x.len() { let v = x[n]; }", &["x"], &[]),
        ("let mut k = n; if k < x.len() { k += 1; let v = x[k]; }", &["x"], &[]),
        ("let mut k = n; if k < x.len() { let v = x[k]; }", &["x"], &[]),
        ("if (m as usize) < x.len() { let v = x[m as usize]; }", &[], &["x"]),
        // A narrower number is another one.
        ("if (n as u32 as usize) < x.len() { let v = x[n]; }", &["x"], &[]),
        ("if (n < x.len()) & (x[n] > 0.0) { let v = 1.0; }", &["x"], &[]),
        ("let f = |n: usize| x[n]; if n < x.len() { let v = f(n); }", &["x"], &[]),
        ("if n < x.len() { let f = |k: usize| x[n] + x[k]; let v = f(7); }", &["x"], &["x"]),
    ] {
        assert_kernel("", body, checked, unchecked);
    }
}

#[test]
fn loops_give_their_ranges() {
    for (body, checked, unchecked) in [
        ("for j in 0..x.len() { let v = x[j] + z[j]; }", &["z"][..], &["x"][..]),
        ("let n = x.len(); for j in 0..n { let v = x[j]; }", &[], &["x"]),
        ("let n = x.len().min(z.len()); for j in (0..n).rev() { let v = x[j] + z[j]; }", &[], &["x", "z"]),
        ("for j in (0..x.len()).step_by(3) { let v = x[j]; }", &[], &["x"]),
        ("for j in n..x.len() { let v = x[j] + x[n]; }", &[], &["x", "x"]),
        ("for (j, v) in x.iter().enumerate() { let w = x[j] + z[j]; }", &["z"], &["all", "x"]),
        ("let w = &x[..n]; for j in 0..n { let v = w[j]; }", &[], &["w"]),
        ("let w = &x[n..n + 5]; for j in 0..5 { let v = w[j]; }", &[], &["w"]),
        ("let w = &x[n..5 + n]; let v = w[4] + w[5];", &["w"], &["w"]),
        ("let w = &x[n..n + 5]; let v = x[n + 5];", &["x"], &[]),
        ("let w = &x[..=n]; let v = w[n] + x[n];", &[], &["w", "x"]),
        ("let w = &x[2..=n]; let v = w[n];", &["w"], &[]),
        ("let w = &x[..n]; for j in 0..=n { let v = w[j]; }", &["w"], &[]),
        ("let w = &x[n..]; for j in 0..n { let v = w[j]; }", &["w"], &[]),
        ("let w = &x[m as usize..n]; for j in 0..n { let v = w[j]; }", &["w"], &[]),
        ("let mut w = &x[..n]; w = &x[..1]; for j in 0..n { let v = w[j]; }", &["w"], &[]),
        ("for j in 0..=x.len() { let v = x[j]; }", &["x"], &[]),
        ("for mut j in 0..x.len() { j += 1; let v = x[j]; }", &["x"], &[]),
        ("for j in 0..x.len() { let j = j + 1; let v = x[j]; }", &["x"], &[]),
        // The length less one may have wrapped, unless something says that it has not.
        ("for j in 0..x.len() - 1 { let v = x[j]; }", &["x"], &[]),
        ("if x.len() > 0 { for j in 0..x.len() - 1 { let v = x[j] + x[j + 1]; } }", &["x"], &["x"]),
        ("for j in 0..x.len() { if j > 0 { let v = x[j - 1]; } let w = x[j - 1]; }", &["x"], &["x"]),
        (
            "for j in 0..x.len() { if j + 1 < x.len() { let v = x[j + 1]; } let w = x[j + 1]; }",
            &["x"],
            &["x"],
        ),
        ("for j in 0..x.len() { if j < 4 { continue; } let v = z[j]; }", &["z"], &[]),
        ("for j in 0..n { if j >= z.len() { continue; } let v = z[j]; }", &[], &["z"]),
        ("for j in 0..n { if j >= z.len() { break; } } let v = z[n];", &["z"], &[]),
        ("let mut k = 0; while k < x.len() { let v = x[k]; k += 1; }", &["x"], &[]),
        ("let v = x[n % x.len()] + x[m as usize & 7];", &["x"], &["x"]),
        ("let t = [1.0_f32, 2.0, 3.0, 4.0]; let v = t[n & 3] + t[n % 5];", &["t"], &[]),
        ("const N: usize = 4; let t = [0.0_f32; N]; for j in 0..N { let v = t[j]; }", &[], &[]),
        ("let t = [0.0_f32; SIDE]; for j in 0..SIDE { let v = t[j]; }", &[], &[]),
    ] {
        assert_kernel("", body, checked, unchecked);
    }
}

#[test]
fn an_access_is_a_guard_of_the_next_statement() {
    for (body, checked, unchecked) in [
        ("let v = x[n]; let w = x[n];", &["x"][..], &["x"][..]),
        // C++ may read the second first.
        ("let v = x[n] + x[n];", &["x", "x"], &[]),
        ("let v = if m > 1 { x[n] } else { 0.0 }; let w = x[n];", &["x", "x"], &[]),
        ("let b = m > 1 && x[n] > 0.0; let w = x[n];", &["x", "x"], &[]),
        ("for j in 0..m { let v = x[n]; } let w = x[n];", &["x", "x"], &[]),
        ("let f = || x[n]; let w = x[n];", &["x", "x"], &[]),
    ] {
        assert_kernel("", body, checked, unchecked);
    }
    assert_kernel("x.len() == z.len()", "let v = x[n]; let w = z[n];", &["x"], &["z"]);
}

#[test]
fn threads_of_a_block_know_their_shares() {
    let kernel = |requires: &str, body: &str| {
        let function = format!(
            "#[requires({requires})] fn k(block: Block, x: &[f32], z: &[f32], y: &mut Own<[f32]>) {{ {body} }}"
        );
        accesses(Role::Kernel, &function)
    };
    let dot =
        "let s = block.reduce(|t| { let mut s = 0.0; for i in t.of_grid(x.len()) { s += x[i] * z[i]; } s },
        |a, b| a + b); y.put(block.index(), s);";
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(kernel("x.len() == z.len()", dot), (names(&[]), names(&["x", "z"])));
    assert_eq!(kernel("x.len() >= z.len()", dot), (names(&["z"]), names(&["x"])));
    let own = "block.each(|t| { let Some(y) = y.get_mut(t.index()) else { return }; *y = x[t.index()]; });";
    assert_eq!(kernel("x.len() == y.len()", own), (names(&[]), names(&["x"])));
    // What one phase has tested is no fact of another.
    let two = "block.each(|t| { assert!(t.rank() < x.len()); }); block.each(|t| { let v = x[t.rank()]; });";
    assert_eq!(kernel("x.len() == y.len()", two), (names(&["x"]), names(&[])));
    let fill = "let mut tile = block.shared::<[f32; 64]>(); let mut next = block.shared::<[f32; 64]>();
        block.fill(&mut tile, |i| x[i]); block.fill(&mut next, |i| tile[i] + tile[i + 1]);";
    assert_eq!(kernel("x.len() >= 64", fill), (names(&["tile"]), names(&["x"])));
    let slice = "let n = x.len(); let mut part = block.shared_slice::<f32>(n); let mut next = block.shared_slice::<f32>(8);
        block.fill(&mut part, |i| x[i] * z[i]); block.fill(&mut next, |i| part[i]);
        block.each(|t| { for i in t.of_block(n) { let v = part[i] + next[i % next.len()]; } });";
    assert_eq!(kernel("x.len() == z.len()", slice), (names(&["part"]), names(&["x", "z", "part", "next"])));
}

#[test]
fn functions_have_facts_of_their_own() {
    let found = accesses(
        Role::Device,
        "fn f(x: &[f32], t: [f32; 3], k: usize) -> f32 {
            let mut sum = 0.0;
            for j in 0..x.len() { sum += x[j] * t[j % 3] * t[k]; }
            sum
        }",
    );
    assert_eq!(found, (vec!["t".to_owned()], vec!["x".to_owned()]));
}

#[test]
fn a_divisor_is_tested_once() {
    for (body, tests, part) in [
        ("let (q, r) = (a / n, a % n);", 1, "const usize r = a % n;"),
        ("let q = a / n; let r = a % n;", 1, "const usize r = a % n;"),
        ("let r = a % n + a / n;", 2, ""),
        ("if n > 0 { let q = a / n; } let r = a % n;", 1, "q = a / n;"),
        ("if n != 0 && a / n > 1 { let r = a % n; }", 0, "if (n != 0ull && a / n > 1ull) {"),
        ("if n == 0 || a / n > 1 { let r = a % n; }", 1, "n == 0ull || a / n > 1ull"),
        ("let q = a / n; let n = n / 2; let r = a % n;", 2, ""),
        ("let mut n = n; let q = a / n; n -= 1; let r = a % n;", 2, ""),
        ("for j in 0..n { let q = a / n; }", 0, ""),
        ("let mut b = a; b /= n; b %= n;", 1, "b %= n;"),
        ("let q = m / 3; let r = 5 / m; let t = 5 % m;", 3, ""),
        ("let q = s / 3; let r = 200 / s; let t = 7 % s;", 1, "const u8 t = u8(u8(7) % s);"),
    ] {
        let function = format!("fn f(a: usize, n: usize, m: i32, s: u8) {{ {body} }}");
        let parsed: ItemFn = syn::parse_str(&function).expect("a function");
        for build in [Build::Debug, Build::Release] {
            let text = translate(Role::Device, &parsed, build).expect("its text");
            let found = text.matches("tw::div(").count() + text.matches("tw::rem(").count();
            assert!(found == tests && text.contains(part), "{text}");
        }
    }
}

#[test]
fn what_is_left_by_a_label_has_no_facts_of_it() {
    for (body, checked, unchecked) in [
        ("'a: { if n >= x.len() { break 'a; } let v = x[n]; } let w = x[n];", &["x"][..], &["x"][..]),
        (
            "'a: for j in 0..9 { for k in 0..9 { if n >= x.len() { continue 'a; } let v = x[n]; } let w = x[n]; }",
            &["x"],
            &["x"],
        ),
        ("let v = loop { if n < x.len() { break x[n]; } };", &[], &["x"]),
        ("if let Some(v) = z.get(n) && n < x.len() { let w = x[n] + z[n]; }", &[], &["x", "z"]),
        (
            "if let Some(v) = z.get(n) && n < x.len() { } else { return; } let w = x[n] + z[n];",
            &[],
            &["x", "z"],
        ),
        ("if let Some(v) = z.get(n) && n < x.len() { return; } let w = x[n] + z[n];", &["x", "z"], &[]),
        ("while let Some(v) = z.get(n) && *v > 0.0 { let w = z[n]; break; }", &[], &["z"]),
    ] {
        assert_kernel("", body, checked, unchecked);
    }
}

#[test]
fn arrays_that_are_slices_have_no_length_of_their_own() {
    for (value, checked, unchecked) in [
        ("if m > 1 { &t } else { &x[..1] }", &["s"][..], &[][..]),
        ("if m > 1 { &x[..1] } else { &t }", &["s"], &[]),
        ("if m > 1 { &t } else { &u }", &["s"], &[]),
        ("match m { 1 => &t, _ => &x[..1] }", &["s"], &[]),
        ("loop { if m > 1 { break &t; } break &x[..1]; }", &["s"], &[]),
        ("'a: { if m > 1 { break 'a &x[..1]; } &t }", &["s"], &[]),
        ("{ loop { if m > 1 { break &t; } break &x[..1]; } }", &["s"], &[]),
        ("[&t, &x[..1]][1]", &["s"], &[]),
        // All of these have four elements.
        ("&t", &[], &["s"]),
        ("{ &t }", &[], &["s"]),
        ("&t[..]", &[], &["s"]),
    ] {
        let arrays = "let t = [1.0_f32, 2.0, 3.0, 4.0]; let u = [1.0_f32];";
        assert_kernel("", &format!("{arrays} let s: &[f32] = {value}; let v = s[3];"), checked, unchecked);
    }
    let inferred = "let t = [1.0_f32, 2.0]; let s = if m > 1 { &t } else { &x[..1] }; let v = s[1];";
    assert_kernel("", inferred, &["s"], &[]);
}

#[test]
fn a_literal_that_its_type_does_not_hold_is_another_number() {
    assert_kernel("", "if x.len() > 300_u8 as usize { let v = x[299]; }", &["x"], &[]);
    assert_kernel("", "if x.len() > 200_u8 as usize { let v = x[199]; }", &[], &["x"]);
    assert_kernel("m > 4294967299 && x.len() > m as usize", "let v = x[4];", &["x"], &[]);
    assert_kernel("m > 300u8 as u32 && x.len() > m as usize", "let v = x[4];", &["x"], &[]);
    assert_kernel(
        "m > 3 && x.len() > m as usize && 5_usize < z.len()",
        "let v = x[3] + z[5];",
        &[],
        &["x", "z"],
    );
}

#[test]
fn a_step_of_threads_overflows_only_where_the_end_may_be_far() {
    for (end, fits) in [
        ("x.len()", true),
        ("m as usize", true),
        ("n.min(x.len())", true),
        ("1 << 20", false),
        ("1000", true),
        ("n", false),
        ("x.len() + n", false),
        ("(n as isize) as usize", false),
    ] {
        for share in ["of_grid", "of_block"] {
            let loops = format!("for i in t.{share}({end}) {{ let k = i; }}");
            let kernel = format!(
                "fn k(block: Block, n: usize, m: u32, x: &[f32], y: &mut Own<[f32]>) {{ block.each(|t| {{ {loops} }}); }}"
            );
            let kernel: ItemFn = syn::parse_str(&kernel).expect("a function");
            let text = translate(Role::Kernel, &kernel, Build::Release).expect("it is in the language");
            assert_eq!(text.contains(" += tw::threads"), fits, "{text}");
            assert_eq!(text.contains("tw::stepped("), !fits, "{text}");
        }
    }
}

#[test]
fn a_step_of_threads_overflows_where_the_counter_is_narrow() {
    let of = |loops: &str| {
        let kernel = format!(
            "fn k(block: Block, n: u32, y: &mut Own<[f32]>) {{ block.each(|t| {{ for k in {loops} {{ let v = k; }} }}); }}"
        );
        let kernel: ItemFn = syn::parse_str(&kernel).expect("a function");
        translate(Role::Kernel, &kernel, Build::Release).expect("it is in the language")
    };
    for loops in ["(0_u8..200).step_by(block.threads())", "(0..n).step_by(block.threads())"] {
        assert!(of(loops).contains("tw::stepped("), "{loops}");
    }
    assert!(of("(0..n as usize).step_by(block.threads())").contains(" += tw::threads()"));
    // A thread's rank may be 0, and threads may not.
    assert!(of("(0..9_usize).step_by(t.rank())").contains("tw::fault("));
    assert!(!of("(0..9_usize).step_by(block.threads())").contains("tw::fault("));
}
