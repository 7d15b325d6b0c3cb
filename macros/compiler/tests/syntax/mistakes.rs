//! Mistakes of beginners in pipelines: each is one error, at the token that is wrong, which says what to
//! write.

use crate::emitted;
use std::str::FromStr;

use emitted::{errors, in_style};
use proc_macro2::TokenStream;
use thalweg_compiler::stream_pipeline;

const PROGRAM: &str = "pipeline P {
    param a: f32;
    inout y: [f32];
    device scratch: [f32];
    chunk c = 1000;
    stream up;
    stage load { copy y -> dy; }
    stage work { scale<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy, out scratch); }
    stage store on up { copy dy -> y; }
}";

/// Expects one error where `wrong` stands in place of `right`: at `at`, with this fact and this help.
#[track_caller]
fn assert_said(right: &str, wrong: &str, at: &str, fact: &str, help: &str) {
    assert_eq!(PROGRAM.matches(right).count(), 1, "{right}");
    let source = PROGRAM.replace(right, wrong);
    let expanded = stream_pipeline(TokenStream::from_str(&source).expect("it lexes"));
    let errors = errors(expanded);
    let texts: Vec<_> = errors.iter().map(|error| error.text.as_str()).collect();
    let help = if help.is_empty() { String::new() } else { format!("\nhelp: {help}") };
    assert_eq!(texts, [format!("[TW0101]: {fact}{help}")], "{wrong}");
    let error = &errors[0];
    in_style(&error.text);
    assert!(source[error.span.byte_range()].starts_with(at), "{wrong}: at {:?}", error.span.source_text());
}

#[test]
fn declarations() {
    const FACT: &str = "expected a declaration or a `stage`, found";
    for (right, wrong, at, found, help) in [
        ("inout y: [f32]", "y: inout [f32]", "y", "y", "write `inout y: …`"),
        (
            "inout y: [f32]",
            "y: [f32]",
            "y",
            "y",
            "say what it is: `param y: T`, `input y: [T]`, `output y: [T]`, `inout y: [T]` or `device y: [T]`",
        ),
        (
            "param a: f32;",
            "let a = 1.0;",
            "let",
            "let",
            "write the value where it is used, or declare a `param`, which `run` takes as an argument",
        ),
        (
            "param a: f32;",
            "param a: f32; const N: usize = 4;",
            "const",
            "const",
            "declare constants outside of the pipeline, which can name them",
        ),
        (
            "param a: f32;",
            "param a: f32; static N: usize = 4;",
            "static",
            "static",
            "declare constants outside of the pipeline, which can name them",
        ),
        ("stage load", "fn load()", "fn", "fn", "copies and launches stand in stages: `stage name { … }`"),
        (
            "stage load",
            "kernel load",
            "kernel",
            "kernel",
            "copies and launches stand in stages: `stage name { … }`",
        ),
        (
            "stage load {",
            "for i in 0..2 {",
            "for",
            "for",
            "copies and launches stand in stages: `stage name { … }`",
        ),
        (
            "stage load",
            "async stage load",
            "async",
            "async",
            "stages run at the same time where they can: remove `async`",
        ),
    ] {
        assert_said(right, wrong, at, &format!("{FACT} `{found}`"), help);
    }
    assert_said(
        "stage load { copy y -> dy; }",
        "stage load { copy y -> dy; };",
        ";",
        "expected a declaration or a `stage`, found `;`",
        "remove it: no `;` follows a stage's `}`",
    );
    assert_said(
        "param a: f32",
        "param mut a: f32",
        "mut",
        "expected a parameter's name, found the keyword `mut`",
        "remove `mut`",
    );
    for wrong in ["param a: f32 = 1.0", "param a = 1.0"] {
        let expected = if wrong.contains(':') { "`;`" } else { "`:` and the parameter's type" };
        assert_said(
            "param a: f32",
            wrong,
            "=",
            &format!("expected {expected}, found `=`"),
            "a parameter has no value here: it is an argument of `run`",
        );
    }
    assert_said(
        "device scratch: [f32]",
        "device scratch: f32",
        "f32",
        "expected `[T]` or `[T; k]`, found `f32`",
        "write `[f32]`",
    );
    assert_said(
        "inout y: [f32]",
        "inout y: Vec<f32>",
        "Vec",
        "expected `[T]` or `[T; k]`, found `Vec`",
        "write `[f32]`; `run` takes slices, `Vec`s and `PinnedBuf`s of it",
    );
}

#[test]
fn operations() {
    const CHEVRONS: &str = "expected `<<<grid, block[, shared[, stream]]>>>`, found";
    const COPY: &str = "write `copy y -> dy`";
    for (right, wrong, at, fact, help) in [
        ("copy y -> dy", "copy dy <- y", "<", "expected `->`, found `<-`", COPY),
        ("copy y -> dy", "copy y to dy", "to", "expected `->`, found `to`", COPY),
        ("copy y -> dy", "copy y => dy", "=", "expected `->`, found `=>`", COPY),
        ("copy y -> dy", "copy y, dy", ",", "expected `->`, found `,`", COPY),
        ("copy y -> dy", "copy(y, dy)", "(", "expected the name of the copy's source, found `(`", COPY),
        ("copy y -> dy", "copy(y -> dy)", "(", "expected the name of the copy's source, found `(`", COPY),
        ("copy y -> dy", "memcpy y -> dy", "memcpy", "expected an operation, found `memcpy`", COPY),
        ("copy y -> dy", "dy = y", "dy", "expected an operation, found `dy`", COPY),
    ] {
        assert_said(right, wrong, at, fact, help);
    }
    for (wrong, at, fact, help) in [
        ("copy &y -> dy", "&", "expected the name of the copy's source, found `&`", "remove `&`"),
        ("copy y -> &mut dy", "&", "expected the name of the copy's destination, found `&`", "remove `&mut`"),
        (
            "copy y -> dy; fill(dy, 0.0)",
            "(",
            "expected the name of a device buffer, found `(`",
            "write `fill dy = 0.0`",
        ),
        ("copy y -> dy; fill dy, 0.0", ",", "expected `=`, found `,`", "write `fill dy = 0.0`"),
        (
            "copy y -> dy; unsafe f<<<1, 1>>>()",
            "unsafe",
            "expected an operation, found `unsafe`",
            "write `unsafe { kernel<<<…>>>(…); }`, if the kernel is an `unsafe fn`; else remove it",
        ),
    ] {
        assert_said("copy y -> dy", wrong, at, fact, help);
    }
    assert_said(
        "copy y -> dy;",
        "unsafe { copy y -> dy; }",
        "unsafe",
        "expected launches alone in this block",
        "write the other operations outside of it",
    );
    for (wrong, at, found) in [("out scratch)?;", "?", "?"), ("out scratch).await;", ".", ".")] {
        let help = "a launch returns nothing: `run` returns its errors";
        assert_said("out scratch);", wrong, at, &format!("expected `;`, found `{found}`"), help);
    }
    assert_said("&mut dy, out", "mut dy, out", "mut", "expected an argument, found `mut`", "write `&mut dy`");
    for word in ["launch", "run"] {
        assert_said(
            "scale<<<",
            &format!("{word} scale<<<"),
            word,
            &format!("expected an operation, found `{word}`"),
            &format!("remove `{word}`: a launch begins with the kernel's name"),
        );
    }
    assert_said(
        "<<<blocks(c.len, 256), 256>>>",
        "<<blocks(c.len, 256), 256>>",
        "<",
        &format!("{CHEVRONS} `<<`"),
        "",
    );
}

#[test]
fn launches() {
    let said = |right: &str, wrong: &str| -> Vec<String> {
        assert_eq!(PROGRAM.matches(right).count(), 1, "{right}");
        let source = PROGRAM.replace(right, wrong);
        let expanded = stream_pipeline(TokenStream::from_str(&source).expect("it lexes"));
        errors(expanded).into_iter().map(|error| error.text).collect()
    };
    // It was copied before this.
    assert_eq!(
        said("&mut dy, out", "&mut y, out"),
        ["[TW0507]: `y` is host data, but a kernel works on device buffers\n\
          note: a kernel cannot reach ordinary host memory\n\
          help: pass `&mut dy`, to which `copy y -> dy` copies it"]
    );
    assert_eq!(
        said("out scratch", "out y"),
        ["[TW0507]: `y` is host data, but a kernel works on device buffers\n\
          note: a kernel cannot reach ordinary host memory\n\
          help: write `out d_y`, and copy that: `copy d_y -> y;`"]
    );
    assert_eq!(
        said(", 256>>>", ", 256, up>>>").iter().map(|text| text.as_str()).collect::<Vec<_>>(),
        ["[TW0304]: the third value of a launch is its shared memory, and `up` is a stream\n\
          note: the order is `<<<grid, block, shared, stream>>>`\n\
          help: write `0` before it"]
    );
    for wrong in ["*dy", "&mut dy as &mut [f32]", "dy as f32", "-dy", "dy + 1.0"] {
        assert_eq!(
            said("&mut dy, out", &format!("{wrong}, out")),
            ["[TW0306]: the expression names `dy`, which is not a value\n\
              note: it is evaluated on the CPU when the stage is enqueued, and can name parameters and the chunk\n\
              help: write `&dy`, `&mut dy` or `out dy` alone to pass the buffer"],
            "{wrong}"
        );
    }
    // Names that a condition binds are its own.
    assert_eq!(said(", a,", ", if let Some(dy) = Some(1.0) && dy > 2.0 { a } else { 1.0 },"), [""; 0]);
    for (right, wrong, what) in [
        (" 256>>>", " -1>>>", "block has -1 threads along x"),
        (" 256>>>", " (32, -(2))>>>", "block has -2 threads along y"),
        ("<<<blocks(c.len, 256)", "<<<-8 as i32", "grid has -8 blocks along x"),
    ] {
        assert_eq!(said(right, wrong), [format!("[TW0503]: {what}\nhelp: write at least 1")], "{wrong}");
    }
}
