//! Which phases of kernels in blocks the host runs in rounds.

use thalweg_compiler::rust_kernels::{Role, expand};

use crate::declared::tokens;
use crate::emitted;

/// How many phases of a kernel with these statements are in rounds.
#[track_caller]
fn phases_in_rounds(body: &str) -> usize {
    let parameters = "block: Block, n: usize, x: &[f32], y: &mut Own<[f32]>";
    of_kernel(&format!("fn k({parameters}) {{ {body} }}"))
}

#[track_caller]
fn of_kernel(kernel: &str) -> usize {
    let expanded = expand(Role::Kernel, tokens(""), tokens(kernel));
    let errors: Vec<_> = emitted::errors(expanded.clone()).into_iter().map(|said| said.text).collect();
    assert!(errors.is_empty(), "{kernel}: {errors:?}");
    let text = expanded.to_string();
    let phases = text.matches("each_in_rounds").count() + text.matches("reduce_in_rounds").count();
    assert_eq!(text.contains("fn in_rounds"), phases > 0, "{kernel}");
    phases
}

#[test]
fn a_phase_with_a_loop_over_shares_is_in_rounds() {
    for body in [
        "block.each(|t| { for i in t.of_grid(y.len()) { if let Some(y) = y.get_mut(i) { *y = 1.0; } } });",
        "block.each(|t| { let n = y.len() / 2; for i in t.of_grid(n) { assert!(i.get() < 9); } });",
        "let s = block.reduce(
            |t| { let mut s = 0.0; for i in t.of_grid(x.len()) { s += x[i]; } s },
            |a, b| a + b,
        );",
        "let s = block.reduce(|t| { let mut k = 0; for _ in t.of_block(n) { k += 1; } k }, |a, b| a + b);",
        "let z = &x[1..];
         block.each(|t| {
             let k = n;
             let z = z;
             for i in t.of_block(z.len()) { assert!(z[i] > 0.5 && k > 1); }
         });",
        "if n > 3 {
             block.each(|t| {
                 let a = t.rank();
                 for i in t.of_block(n) { assert!(i < a); }
                 assert!(a > 0);
             });
         }",
    ] {
        assert_eq!(phases_in_rounds(body), 1, "{body}");
    }
}

/// Of which slices the processor is asked for elements of later rounds.
#[test]
fn slices_are_asked_for_ahead() {
    let asked = |parameters: &str, body: &str| {
        let expanded = expand(
            Role::Kernel,
            tokens(""),
            tokens(&format!("fn k(block: Block, {parameters}) {{ {body} }}")),
        );
        let text = expanded.to_string().replace(' ', "");
        let calls =
            text.split("ask_ahead(").skip(1).filter_map(|call| call.split(',').next().map(str::to_owned));
        calls.collect::<Vec<_>>()
    };
    let (slices, sum) = (
        "x: &[f32], y: &[f32]",
        "block.each(|t| { let mut s = 0.0; for i in t.of_block(x.len()) { s += x[i] * y[i]; } assert!(s > 0.0); });",
    );
    for (before, expected) in [
        ("", vec!["x", "y"]),
        ("let (x, y) = (&x[1..9], &y[2..]);", vec!["x", "y"]),
        ("let x = &x[1..9]; let x = &x[1..];", vec!["x", "y"]),
        // What is no part of a slice, or may be none.
        ("let z = [0.0; 9]; let x = &z[1..];", vec!["y"]),
        ("let y = [0.0; 9];", vec!["x"]),
        ("let mut y = &y[1..];", vec!["x"]),
        ("let x = if x.is_empty() { y } else { x };", vec!["y"]),
        ("let y = &y[0];", vec!["x"]),
        ("for x in [x, y] { assert!(x.len() > 3); }", vec!["y"]),
        ("const A: usize = 3;", vec![]),
    ] {
        assert_eq!(asked(slices, &format!("{before} {sum}")), expected, "{before}");
    }
    // Those that each block reads in pieces, and those whose elements are others.
    assert_eq!(asked(slices, &sum.replace("of_block", "of_grid")), [""; 0]);
    assert_eq!(asked(slices, &sum.replace("y[i]", "y[i + 1]")), ["x"]);
    // What is read and written, and atomics.
    let changed = "block.each(|t| { for i in t.of_block(x.len()) { y[i].fetch_add(x[i], Relaxed); } });";
    assert_eq!(asked("x: &[u32], y: &[AtomicU32]", changed), ["x"]);
}

#[test]
fn a_phase_in_which_the_order_could_be_seen_stays_whole() {
    for body in [
        // No loop over shares, or something else before it.
        "block.each(|t| { if let Some(y) = y.get_mut(t.index()) { *y = 1.0; } });",
        "block.each(|t| { assert!(n > 1); for i in t.of_grid(n) { assert!(i.get() > 1); } });",
        // Jumps.
        "block.each(|t| { for i in t.of_grid(n) { if x[i] > 0.5 { break; } } });",
        "block.each(|t| { for i in t.of_grid(n) { if x[i] > 0.5 { continue; } assert!(x[i] > 0.1); } });",
        "block.each(|t| { for i in t.of_grid(n) { if x[i] > 0.5 { return; } } });",
        // References, and variables that hide others.
        "block.each(|t| { let z = &x[1..]; for i in t.of_block(n) { assert!(z[i] > 0.5); } });",
        "block.each(|t| {
            let w = [1.0, 2.0];
            let v = if let Some(v) = x.get(t.rank()) { *v } else { w[0] };
            for i in t.of_grid(n) { assert!(x[i] > v); }
        });",
        "block.each(|t| { let a = 1; let a = a + 1; for i in t.of_block(n) { assert!(i > a); } });",
        // What two parts change.
        "let mut own = block.private(0_u32);
         block.each(|t| { let a = own[t]; for _ in t.of_block(n) { own[t] += a; } });",
        "block.each(|t| {
            for i in t.of_grid(n) { if let Some(y) = y.get_mut(i) { *y = 1.0; } }
            if let Some(y) = y.get_mut(t.index()) { *y = 2.0; }
        });",
    ] {
        assert_eq!(phases_in_rounds(body), 0, "{body}");
    }
}

/// How many phases are in rounds where a turn does this with atomics.
#[track_caller]
fn with_atomics(turn: &str) -> usize {
    let parameters = "block: Block, x: &[f32], counts: &[AtomicU32]";
    let held = "let mut held = block.shared::<[AtomicU32; 4]>(); block.fill(&mut held, |_| 0);";
    let phase = format!("block.each(|t| {{ for i in t.of_grid(x.len()) {{ {turn} }} }});");
    of_kernel(&format!("fn k({parameters}) {{ {held} {phase} }}"))
}

#[test]
fn a_phase_that_adds_to_atomics_is_in_rounds() {
    for turn in [
        "counts[0].fetch_add(1, Relaxed);",
        "if x[i] > 0.5 { held[i.get() % 4].fetch_max(counts[1].fetch_sub(1, Relaxed), Relaxed); }",
        "let before = counts[0].fetch_add(1, Relaxed); assert!(before < 7);",
        "assert!(x[i] > 0.5);",
    ] {
        assert_eq!(with_atomics(turn), 1, "{turn}");
    }
}

#[test]
fn a_phase_whose_threads_may_wait_for_each_other_stays_whole() {
    for turn in [
        "while counts[0].fetch_add(0, Relaxed) < 3 {}",
        "assert!(counts[0].load(Relaxed) < 9);",
        "held[0].store(1, Relaxed);",
        "let first = &held[0]; first.fetch_add(1, Relaxed);",
        "assert!(counts[0].compare_exchange(0, 1, Relaxed, Relaxed).is_ok());",
        "waits(counts);",
    ] {
        assert_eq!(with_atomics(turn), 0, "{turn}");
    }
    // Other names of atomics.
    let waits = |of: &str| format!("block.each(|t| {{ for _ in t.of_grid(x.len()) {{ waits({of}); }} }});");
    for phase in [
        format!("let mine = &counts[..4]; {}", waits("mine")),
        format!("for count in counts {{ {} }}", waits("count")),
        format!("if let Some(count) = counts.get(0) {{ {} }}", waits("count")),
        format!("if x.len() > 3 && let Some(count) = counts.get(0) {{ {} }}", waits("count")),
        format!("let Some(count) = counts.get(0) else {{ return }}; {}", waits("count")),
    ] {
        assert_eq!(
            of_kernel(&format!("fn k(block: Block, x: &[f32], counts: &[AtomicU32]) {{ {phase} }}")),
            0
        );
    }
}

/// Whether the host takes several blocks of a kernel through a phase together.
#[track_caller]
fn goes_together(parameters: &str, body: &str) -> bool {
    let kernel = format!("fn k(block: Block, n: usize, {parameters}) {{ {body} }}");
    assert!(of_kernel(&kernel) > 0, "{kernel}");
    expand(Role::Kernel, tokens(""), tokens(&kernel)).to_string().contains("blocks_together")
}

#[test]
fn blocks_that_do_not_wait_for_each_other_go_together_through_all_of_the_data() {
    let all = "block.each(|t| { for i in t.of_grid(x.len()) { assert!(x[i] > 0.5); } });";
    let (x, counts) = ("x: &[f32]", "x: &[f32], counts: &[AtomicU32]");
    for (parameters, before, together) in [
        (x, "", true),
        (x, "let mut k = n; while k > 1 { k /= 2; }", true),
        (counts, "block.each(|t| { counts[t.rank()].fetch_add(1, Relaxed); });", true),
        // What a block may wait with.
        (counts, "block.each(|t| { while counts[0].fetch_add(0, Relaxed) < 3 {} });", false),
        (counts, "block.each(|t| { loop { if counts[0].fetch_add(0, Relaxed) > 3 { break; } } });", false),
        (counts, "block.each(|t| { assert!(counts[0].load(Relaxed) > 1); });", false),
        (
            counts,
            "block.each(|t| { for _ in 0..n { if counts[0].fetch_add(0, Relaxed) > 3 { break; } } });",
            false,
        ),
        (
            counts,
            "block.each(|t| { let mut k = 0; for _ in 0..n { k += counts[0].fetch_or(0, Relaxed); } });",
            false,
        ),
        (counts, "block.each(|t| { if n > 3 { r#counts[0].fetch_sub(1, Relaxed); } });", true),
        (counts, "block.each(|t| { assert!(r#counts[0].load(Relaxed) < 3); });", false),
        (counts, "let mine = &counts[..4]; block.each(|t| { waits(mine); });", false),
    ] {
        assert_eq!(goes_together(parameters, &format!("{before} {all}")), together, "{before}");
    }
    // Each block goes over all of it.
    assert!(!goes_together(x, &all.replace("of_grid", "of_block")));
}

#[test]
fn a_kernel_with_unsafe_stays_whole() {
    let phase = "block.each(|t| { for i in t.of_grid(x.len()) { unsafe { *y.any_mut(x[i]) = 1.0 }; } });";
    assert_eq!(of_kernel(&format!("fn k(block: Block, x: &[usize], y: &mut Out<[f32]>) {{ {phase} }}")), 0);
}

#[test]
fn a_parameter_that_is_changed_is_not_known_to_have_elements() {
    let kernel = "fn k(block: Block, n: usize, mut x: &[f32]) {
        x = &x[..n];
        block.each(|t| { for i in t.of_grid(n) { assert!(x[i] > 0.5); } });
    }";
    assert_eq!(of_kernel(kernel), 1);
    assert!(!expand(Role::Kernel, tokens(""), tokens(kernel)).to_string().contains("assume_within"));
}

/// Whether the turns of a kernel's only phase in rounds have copies of what they take.
#[track_caller]
fn is_copied(body: &str) -> bool {
    let parameters =
        "block: Block, n: usize, scale: f32, x: &[f32], y: &mut Own<[f32]>, counts: &[AtomicU32]";
    let kernel = format!("fn k({parameters}) {{ {body} }}");
    assert_eq!(of_kernel(&kernel), 1, "{kernel}");
    let text = expand(Role::Kernel, tokens(""), tokens(&kernel)).to_string();
    let (copied, lent) = (text.contains("ByCopy"), text.contains("ByReference"));
    assert!(copied != lent, "{kernel}");
    copied
}

#[test]
fn turns_have_copies_of_numbers_and_slices() {
    let held = "let mut held = block.shared_slice::<AtomicU32>(n); block.fill(&mut held, |_| 0);";
    let array = "let held = block.shared::<[AtomicU32; 8]>();";
    for (before, turn, copied) in [
        ("", "assert!(x[i] * scale > 0.5);", true),
        ("let half = scale / 2.0;", "assert!(x[i] * half > 0.5);", true),
        (held, "held[i.get() % n].fetch_add(1, Relaxed);", true),
        (array, "held[i.get() % 8].fetch_add(1, Relaxed);", true),
        ("", "counts[i.get() % n].fetch_add(1, Relaxed);", true),
        // What is written, and what may be changed or hold a reference.
        ("", "if let Some(y) = y.get_mut(i) { *y = x[i]; }", false),
        ("let mut half = scale; half /= 2.0;", "assert!(x[i] * half > 0.5);", false),
        ("let part = &x[1..];", "assert!(part[i.get()] > 0.5);", false),
        ("let part = block.private::<f32>(1.0);", "assert!(part[t] > x[i]);", false),
        ("let held = block.shared_padded::<[[f32; 8]; 4], 1>();", "assert!(held[0][0] > x[i]);", false),
        // Two of one name, and an item that hides any.
        ("{ const x: [f32; 4] = [0.0; 4]; }", "assert!(x[i] > 0.5);", false),
        ("let half = scale / 2.0; let half = half + 1.0;", "assert!(x[i] * half > 0.5);", false),
        ("let x = &x[1..];", "assert!(x[i] > 0.5);", false),
    ] {
        let body = format!("{before} block.each(|t| {{ for i in t.of_grid(x.len()) {{ {turn} }} }});");
        assert_eq!(is_copied(&body), copied, "{before} {turn}");
    }
}

#[test]
fn turns_know_that_elements_exist_by_the_names_of_parameters_alone() {
    let known = |body: &str| {
        let kernel = format!("fn k(block: Block, x: &[f32], z: &[f32]) {{ {body} }}");
        assert_eq!(of_kernel(&kernel), 1, "{kernel}");
        let text: String = expand(Role::Kernel, tokens(""), tokens(&kernel)).to_string();
        let text: String = text.split_whitespace().collect();
        ["x", "z"].map(|name| text.contains(&format!("turn_of_thread.assume_within({name}.len())")))
    };
    let phase = |turn: &str| format!("block.each(|t| {{ for i in t.of_grid(x.len()) {{ {turn} }} }});");
    assert_eq!(known(&phase("assert!(x[i] > z[i]);")), [true, true]);
    assert_eq!(known(&phase("assert!(x[i] > z[0]);")), [true, false]);
    // The name may stand for something shorter.
    assert_eq!(known(&format!("{{ use tables::x; }} {}", phase("assert!(x[i] > z[i]);"))), [false, false]);
    assert_eq!(known(&format!("let z = &z[..3]; {}", phase("assert!(x[i] > z[i]);"))), [true, false]);
    assert_eq!(known(&phase("let z = &z[..3]; assert!(x[i] > z[i]);")), [true, false]);
    assert_eq!(
        known(&phase("assert!({ let z = &z[1..]; z.len() > 1 }); assert!(x[i] > z[i]);")),
        [true, false]
    );
}
