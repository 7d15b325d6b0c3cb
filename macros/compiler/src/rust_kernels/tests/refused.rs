//! What is refused, and what is said of it.

use super::{Role, body, cpp};

#[test]
fn a_literal_whose_type_rustc_alone_knows_must_be_written_with_it() {
    for function in ["fn f(w: u32) { let v = h(w).min(5); }", "fn f(w: u32) { let v = h(w) + 5; }"] {
        assert!(cpp(Role::Device, function).contains("[TW0903]"), "{function}");
    }
    let text = body("fn f() -> bool { let taps: usize = TAPS; taps % 2 == 0 }");
    assert!(text.contains("taps % 2ull == 0ull"), "{text}");
}

#[test]
fn parts_of_what_rustc_alone_knows_are_as_unknown_as_the_whole() {
    for function in [
        "fn f(w: u32) -> i32 { let (a, b) = h(w); (a * 8.0) as i32 }",
        "fn f(w: u32) { let (mut a, b) = h(w); a *= 2.0; }",
        "fn f(w: u32) { let (a, b) = h(w); let c = a.max(0.5) as i32; }",
        "fn f(w: u32) { let (a, b) = h(w); if b > 3 {} }",
        "fn f(w: u32) { let (a, mut b) = h(w); while b > 0 { b = g(b); } }",
        "fn f(w: u32) { let (a, b) = h(w); let c = match b { 0 => 1_u32, _ => 2 }; }",
        "fn f(w: u32) { let (a, b) = h(w); let c = b & 31; }",
        "fn f(w: u32) { let (a, b) = h(w); let mut s = 0; s += b; }",
        "fn f(w: u32) { let [a, _] = h(w); let c = a + 1.0; }",
        "fn f(w: u32) { let v = h(w); let (a, b) = v; let c = b % 4; }",
        "fn f(w: u32) { let a; let b; (a, b) = h(w); let c = b % 4; }",
        "fn f(w: u32) { let [a, _, _] = TABLE; let c = a + 1; }",
        "fn f(w: u32) { let (_, (a, b)) = h(w); let c = b % 4; }",
        "fn f(w: u32) { let split = |x: u32| (g(x), x); let (a, b) = split(w); let c = a % 4; }",
    ] {
        assert!(cpp(Role::Device, function).contains("[TW0903]"), "{function}");
    }
    for function in [
        "fn f(w: u32) { let (a, b): (f32, u32) = h(w); let c = b % 4; }",
        "fn f(w: u32) { let split = |x: u32| (g(x), x); let (a, b) = split(w); let c = b % 4; }",
        "fn f(w: u32) { let (a, b) = h(w); let c: u32 = b; let d = b % 4; }",
    ] {
        assert!(!cpp(Role::Device, function).contains("TW0"), "{function}");
    }
}

#[test]
fn a_loop_whose_turns_are_all_the_same_would_wait() {
    for waits in [
        "while a[0].load(Acquire) == 0 {}",
        "while a[0].compare_exchange(0, 1, Acquire, Relaxed).is_err() {}",
        "loop { let now = a[n].load(Acquire); if now == 3 { break; } }",
        "while a[0].swap(1, Relaxed) == 1 { for i in 0..n { let other = a[i].load(Relaxed); } }",
        "while let Err(now) = a[0].compare_exchange(0, 1, Acquire, Relaxed) {}",
    ] {
        let said = cpp(Role::Device, &format!("fn f(a: &[AtomicU32], n: usize) {{ {waits} }}"));
        assert!(said.contains("[TW0912]: this loop waits for another thread"), "{waits}: {said}");
    }
    for goes_on in [
        "let mut at = n; while a[at].load(Relaxed) as usize != at { at = a[at].load(Relaxed) as usize; }",
        "let mut old = 0; while let Err(now) = a[0].compare_exchange(old, old + 1, Relaxed, Relaxed) { old = now; }",
        "loop { if a[0].fetch_add(1, Relaxed) >= 9 { break; } }",
        "while a[0].load(Relaxed) > 3 { a[0].fetch_sub(1, Relaxed); }",
        "while a[0].load(Relaxed) > 3 { advance(a); }",
        "for i in 0..n { let now = a[i].load(Relaxed); }",
        "while n > 9 {} loop { break; }",
    ] {
        let said = cpp(Role::Device, &format!("fn f(a: &[AtomicU32], n: usize) {{ {goes_on} }}"));
        assert!(!said.contains("[TW"), "{goes_on}: {said}");
    }
}

#[test]
fn tuples_have_as_many_parts_as_the_header_has() {
    let tuple = |parts: usize| format!("fn f(a: u8) {{ let t = ({}); }}", "a, ".repeat(parts));
    assert!(body(&tuple(12)).starts_with("const tw::Tuple<u8, "), "{}", body(&tuple(12)));
    let said = cpp(Role::Device, &tuple(13));
    assert!(said.contains("a tuple of more than 12 parts is not in the language of kernels"), "{said}");
}

#[test]
fn tuples_and_arrays_are_not_compared() {
    for function in
        ["fn f(a: (u32, u32)) -> bool { a == (1, 2) }", "fn f(a: [u32; 2]) -> bool { a < [1, 2] }"]
    {
        let said = cpp(Role::Device, function);
        assert!(said.contains("a comparison of tuples or arrays is not in the language"), "{said}");
    }
}

/// What is said of a kernel in blocks with such a body.
fn said_in_blocks(statements: &str) -> String {
    cpp(Role::Kernel, &format!("fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {{ {statements} }}"))
}

#[test]
fn what_is_between_a_phase_and_its_block_is_said_with_what_works() {
    for (statements, what, help) in [
        (
            "let mut a = block.shared::<[f32; 32]>(); y.put(block.index(), a[0]);",
            "`a` is read outside of a phase",
            "read it in a phase; by this one all threads get the same value: \
             `let first = block.reduce(|_| a[0], |first, _| first);`",
        ),
        (
            "let mut a = block.shared::<[[f32; 4]; 8]>(); y.put(block.index(), a[1][2]);",
            "`a` is read outside of a phase",
            "read it in a phase; by this one all threads get the same value: \
             `let first = block.reduce(|_| a[0][0], |first, _| first);`",
        ),
        (
            "let mut a = block.shared::<[AtomicU32; 32]>(); let n = a[0].load(Relaxed);",
            "`a` is read outside of a phase",
            "read it in a phase; by this one all threads get the same value: \
             `let first = block.reduce(|_| a[0].load(Relaxed), |first, _| first);`",
        ),
        (
            "block.each(|t| y.put(block.index(), x[0]));",
            "is in a phase, where each thread would write it",
            "write it after the phase; what threads have computed comes there by a `reduce`: \
             `let sum = block.reduce(|t| …, |a, b| a + b);`",
        ),
        (
            "let mut s = block.private(0.0); block.each(|t| s += x[0]);",
            "`s` is changed in a phase, but belongs to the block",
            "write the thread's own: `s[t]`",
        ),
        (
            "let mut a = [0.0; 32]; block.each(|u| a[u.rank()] = x[0]);",
            "`a[u.rank()]` is changed in a phase, but belongs to the block",
            "declare it in the phase, with `block.private(…)`, of which each thread has its own, or with \
             `block.shared::<[f32; 32]>()`, which `block.fill` writes for all threads",
        ),
        (
            "let mut s = 0.0; block.each(|t| s += x[0]);",
            "`s` is changed in a phase, but belongs to the block",
            "declare it in the phase, or with `block.private(…)`, of which each thread has its own",
        ),
    ] {
        let said = said_in_blocks(statements);
        assert!(
            said.starts_with("[TW0911]: ") && said.contains(&format!("{what}\n")),
            "{statements}: {said}"
        );
        assert!(said.contains(&format!("\nhelp: {help}\n")), "{statements}: {said}");
    }
}

#[test]
fn all_threads_get_an_element_of_shared_memory() {
    let text = said_in_blocks(
        "let mut a = block.shared::<[f32; 32]>(); block.fill(&mut a, |i| x[i]); \
         let first = block.reduce(|_| a[0], |first, _| first); y.put(block.index(), first);",
    );
    assert!(!text.contains("[TW"), "{text}");
}

#[test]
fn statics_are_the_hosts() {
    for (statements, what) in [
        ("COUNT.fetch_add(1, Relaxed);", "the atomic `COUNT` outside of the kernel"),
        (
            "let n = COUNTS[2].load(std::sync::atomic::Ordering::Acquire);",
            "the atomic `COUNTS[2]` outside of the kernel",
        ),
        ("unsafe { COUNT += 1; }", "a change of `COUNT`, which is outside of the kernel,"),
        ("unsafe { COUNT = 1; }", "a change of `COUNT`, which is outside of the kernel,"),
        ("unsafe { POINTS[1].x = 2.0; }", "a change of `POINTS[1].x`, which is outside of the kernel,"),
    ] {
        let said = cpp(Role::Device, &format!("fn f() {{ {statements} }}"));
        assert!(said.starts_with(&format!("[TW0901]: {what} is not in the language of kernels\n")), "{said}");
        assert!(
            said.contains("a `static` is in the host's memory") && said.contains("&[AtomicU32]`"),
            "{said}"
        );
    }
    // A constant may have a method of such a name.
    assert_eq!(body("fn f() -> u32 { N.max(3_u32) }"), "return tw::max(N, 3u);");
}

#[test]
fn a_loop_over_a_constant_is_one_over_its_indices() {
    let said = cpp(Role::Device, "fn f() { for v in TABLE {} }");
    assert!(
        said.starts_with("[TW0901]: a loop over a constant is not in the language of kernels\n"),
        "{said}"
    );
    assert!(
        said.contains("\nhelp: go over its indices: `for j in 0..TABLE.len() { … TABLE[j] … }`\n"),
        "{said}"
    );
    let text =
        body("fn f() -> f32 { let mut sum = 0.0_f32; for j in 0..TABLE.len() { sum += TABLE[j]; } sum }");
    assert!(text.contains("TABLE.len()") && !text.contains("[TW"), "{text}");
}

#[test]
fn parts_that_a_pattern_leaves_out_are_named_one_by_one() {
    for (function, help) in [
        ("fn f(x: [u32; 5]) { let [a, _, c, ..] = x; }", "write `_` for each: `[a, _, c, _, _]`"),
        ("fn f(x: [u32; 5]) { let [.., last] = x; }", "write `_` for each: `[_, _, _, _, last]`"),
        ("fn f(x: [u32; 2]) { let [a, .., b] = x; }", "write `_` for each: `[a, b]`"),
        ("fn f(x: [u32; 99]) { let [a, ..] = x; }", "take the elements by their indices: `let a = x[0];`"),
        ("fn f() { let [a, ..] = g(); }", "take the elements by their indices: `let a = x[0];`"),
        ("fn f(x: (u32, u32, u32)) { let (a, ..) = x; }", "write `_` for each: `(a, _, _)`"),
        ("fn f() { let (a, ..) = g(); }", "write `_` for each part that is left out"),
    ] {
        let said = cpp(Role::Device, function);
        assert!(said.starts_with("[TW0901]: `..` in a pattern of parts is not in the language"), "{said}");
        assert!(said.contains(&format!("\nhelp: {help}\n")), "{function}: {said}");
    }
}

#[test]
fn a_method_of_a_struct_is_a_function() {
    let said = cpp(Role::Device, "fn f(p: Pair) -> f32 { p.sum() }");
    assert!(
        said.contains("\nhelp: if it is the struct's own, write it as a function with `#[device]`"),
        "{said}"
    );
    let said = cpp(Role::Device, "fn f(p: Pair) -> f32 { p.total() }");
    assert!(
        said.contains("\nhelp: write it as a function with `#[device]`, outside of any `impl`\n"),
        "{said}"
    );
}

#[test]
fn what_a_block_does_is_written_in_the_kernel() {
    let said = cpp(Role::Device, "fn f(block: Block, x: &[f32]) -> f32 { x[0] }");
    assert!(
        said.contains("\nhelp: write the phases in the kernel, and pass the function what it needs"),
        "{said}"
    );
    let said = cpp(Role::Kernel, "fn k(block: Block<4>, y: &mut Out<[f32]>) {}");
    assert!(
        said.contains("\nhelp: write `Block`, `Block<2>` or `Block<3>`: a grid has up to three axes\n"),
        "{said}"
    );
    let alone = "let mut tile = shared::<[f32; 32]>();";
    let said = cpp(Role::Kernel, &format!("fn k(i: Index, y: &mut Own<[f32]>) {{ {alone} }}"));
    assert!(said.starts_with("[TW0908]: `shared` is a method of a `Block`\n"), "{said}");
    assert!(said.contains("in place of `i`, and write `block.shared::<[f32; 32]>()`\n"), "{said}");
    assert!(said_in_blocks(alone).contains("\nhelp: write `block.shared::<[f32; 32]>()`\n"));
    let said = cpp(Role::Device, &format!("fn f() {{ {alone} }}"));
    assert!(said.contains("\nhelp: write it in the kernel, and pass the function what it needs\n"), "{said}");
}
