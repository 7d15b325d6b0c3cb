//! The picture of the schedule in the documentation of the generated type.

use syn::{Expr, ExprLit, Item, Lit, Meta};

/// The lines of the picture, from its sentence to its legend, as rustdoc gets them.
fn picture(pipeline: &str) -> Vec<String> {
    let expanded = thalweg_compiler::stream_pipeline(pipeline.parse().expect("the pipeline lexes"));
    let file: syn::File = syn::parse2(expanded).expect("the expansion is Rust");
    let attrs = file.items.into_iter().find_map(|item| match item {
        Item::Struct(item) => Some(item.attrs),
        _ => None,
    });
    let mut lines = Vec::new();
    for attr in attrs.expect("the pipeline compiles") {
        let Meta::NameValue(pair) = attr.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = pair.value else { continue };
        lines.push(text.value());
    }
    let first = lines.iter().position(|line| line.starts_with(" Its first"));
    first.map(|first| lines.split_off(first)).unwrap_or_default()
}

/// Compares the picture of a pipeline with these lines.
#[track_caller]
fn check(pipeline: &str, expected: &str) {
    let lines = picture(pipeline);
    let drawn = lines.iter().skip(3).take_while(|line| *line != " ```");
    assert!(drawn.clone().count() > 0 && drawn.clone().all(|line| line.chars().count() <= 73), "{lines:#?}");
    let found: Vec<_> = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    assert_eq!(found.join("\n"), expected.trim_matches('\n'), "\n{}", found.join("\n"));
}

/// Slots are free again when the copy down is complete, so the ring of three does not hold up the copies.
#[test]
fn three_streams() {
    check(
        "pipeline Saxpy {
            param a: f32;
            input x: [f32];
            inout y: [f32];
            depth = 3;
            stream up; stream math; stream down;
            stage load on up { copy x -> dx; copy y -> dy; }
            stage axpy on math { saxpy<<<1, 256>>>(a, &dx, &mut dy); }
            stage store on down { copy dy -> y; }
        }",
        "
Its first 5 chunks in a ring of 3, if each stage took as long:

```text
up   L0 L1 L2 L3 L4
math    A0 A1 A2 A3 A4
down       S0 S1 S2 S3 S4
```

L `load`, A `axpy`, S `store`; then the number of the chunk.",
    );
}

/// With one slot each chunk waits for the one before to leave it.
#[test]
fn depth_one() {
    check(
        "pipeline Shift {
            input x: [f32];
            output y: [f32];
            depth = 1;
            stream up; stream down;
            stage load on up { copy x -> d; }
            stage store on down { copy d -> y; }
        }",
        "
Its first 3 chunks in a ring of 1, if each stage took as long:

```text
up   L0    L1    L2
down    S0    S1    S2
```

L `load`, S `store`; then the number of the chunk.",
    );
}

/// Nothing overlaps on one stream; chunks that do not fit are not shown.
#[test]
fn one_stream() {
    check(
        "pipeline Shift {
            input x: [f32];
            output y: [f32];
            depth = 2 + 4;
            stream s;
            stage load on s { copy x -> d; }
            stage twice on s { twice<<<1, 256>>>(&mut d); }
            stage thrice on s { thrice<<<1, 256>>>(&mut d); }
            stage store on s { copy d -> y; }
        }",
        "
Its first 8 chunks in a ring of 6, if each stage took as long:

```text
s L0 T0 H0 S0 L1 T1 H1 S1 L2 T2 H2 S2 L3 T3 H3 S3 L4 T4 H4 S4 L5 T5 H5
```

L `load`, T `twice`, H `thrice`, S `store`; then the number of the chunk.",
    );
}

/// Each slot has a row: a chunk begins when its slot's stream has completed the chunk before.
#[test]
fn a_stream_per_slot() {
    check(
        "pipeline Shift {
            input x: [f32];
            output y: [f32];
            depth = 2;
            stream s per slot;
            stage load on s { copy x -> d; }
            stage store on s { copy d -> y; }
        }",
        "
Its first 4 chunks in a ring of 2, if each stage took as long:

```text
s 0 L0 S0 L2 S2
s 1 L1 S1 L3 S3
```

L `load`, S `store`; then the number of the chunk.",
    );
}

/// The kernel of a chunk waits for that of the chunk before, which is on another stream: the `carry` goes
/// from one to the other.
#[test]
fn a_carry() {
    check(
        "pipeline Sum {
            input x: [f32];
            carry total: [f32; 1] = 0.0;
            depth = 2;
            stream up; stream s per slot;
            stage load on up { copy x -> d; }
            stage add on s { add<<<1, 256>>>(&d, &mut total); }
        }",
        "
Its first 4 chunks in a ring of 2, if each stage took as long:

```text
up  L0 L1 L2 L3
s 0    A0    A2
s 1       A1    A3
```

L `load`, A `add`; then the number of the chunk.",
    );
}

/// Two copies run at once if the stages name no streams.
#[test]
fn copies_on_two_streams() {
    check(
        "pipeline Add {
            input x: [f32];
            input y: [f32];
            output z: [f32];
            device dz: [f32];
            chunk c = auto;
            stage load { copy x -> dx; }
            stage r#loop { copy y -> dy; }
            stage add { add<<<1, 256>>>(&dx, &dy, out dz); }
            stage store { copy dz -> z; }
        }",
        "
Its first 5 chunks in a ring of 3, if each stage took as long:

```text
load  L0 L1 L2 L3 L4
loop  O0 O1 O2 O3 O4
add      A0 A1 A2 A3 A4
store       S0 S1 S2 S3 S4
```

L `load`, O `loop`, A `add`, S `store`; then the number of the chunk.",
    );
}

/// A ring that is too small holds up the copies: chunk 2 is loaded when chunk 0 has left its slot.
#[test]
fn a_ring_that_is_too_small() {
    check(
        "pipeline Shift {
            inout y: [f32];
            depth = 2;
            stream up; stream first; stream second; stream down;
            stage load on up { copy y -> d; }
            stage twice on first { twice<<<1, 256>>>(&mut d); }
            stage thrice on second { thrice<<<1, 256>>>(&mut d); }
            stage store on down { copy d -> y; }
        }",
        "
Its first 4 chunks in a ring of 2, if each stage took as long:

```text
up     L0 L1       L2 L3
first     T0 T1       T2 T3
second       H0 H1       H2 H3
down            S0 S1       S2 S3
```

L `load`, T `twice`, H `thrice`, S `store`; then the number of the chunk.",
    );
}

/// A launch on another stream than its stage's is a step of its own, and so are the operations after it.
#[test]
fn a_stage_on_two_streams() {
    check(
        "pipeline All {
            inout m: [f32];
            device d_out: [f32];
            depth = 1;
            stream copies; stream math;
            stage all on copies {
                copy m -> d_in;
                transpose<<<1, 32, 0, math>>>(&d_in, out d_out);
                copy d_out -> m;
            }
        }",
        "
Its first 3 chunks in a ring of 1, if each stage took as long:

```text
copies A0    A0 A1    A1 A2    A2
math      A0       A1       A2
```

A `all`; then the number of the chunk.",
    );
}

#[test]
fn a_deep_ring_and_many_stages() {
    let deep = "pipeline Shift {
        input x: [f32];
        output y: [f32];
        depth = 32;
        stream s per slot;
        stage load on s { copy x -> d; }
        stage store on s { copy d -> y; }
    }";
    let lines = picture(deep);
    assert_eq!(lines[0], " Its first 8 chunks in a ring of 32, if each stage took as long:");
    assert_eq!(lines.iter().filter(|line| line.starts_with(" s ")).count(), 8);
    let stages: String = (0..17).map(|n| format!("stage s{n} {{ f<<<1, 1>>>(&mut y); }}")).collect();
    let many = format!("pipeline Many {{ inout y: device [f32]; {stages} }}");
    assert_eq!(picture(&many), Vec::<String>::new());
}
