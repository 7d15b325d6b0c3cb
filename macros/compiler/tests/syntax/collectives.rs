//! Operations of all ranks: how they are written, what may stand in them, and the errors about them.

use crate::emitted;

use std::str::FromStr;

use emitted::{errors, in_style};
use proc_macro2::TokenStream;
use thalweg_compiler::stream_pipeline;

/// The declarations that the cases share; what they do not use begins with `_`.
const DECLARED: &str = "
    param p: usize;
    param on: bool;
    uniform param u: usize;
    uniform param share: bool;
    inout y: [f32; 4];
    input wide: [f32] halo 2 = clamp;
    input there: mapped [f32];
    input whole: device [f32];
    output z: [f32];
    resident w: [f32];
    carry k: [f32; 16];
    carry total: [f32; 16] = 0.0 combine add;
    host h: [f32];
    device one: [f32];
    device two: [f32; 2];
    device four: [f32; 4];
    device six: [f32; 6];
    device all: [f32; 4 * world.size];
    device sums: [f32; 4] per chunk;
    device bytes: [u8];
    device ints: [i32; 4];
    device short: [i16; 4];
    device sizes: [usize; 4];
    device pairs: [[f32; 2]];
    device doubles: [f64; 4];
    chunk c = auto;";

/// The source of a pipeline with this operation, behind operations that write all that is declared.
fn source(operation: &str) -> String {
    let filled =
        ["one", "two", "four", "six", "all", "sums", "bytes", "ints", "short", "sizes", "pairs", "doubles"];
    let fills: String = filled.iter().map(|name| format!("fill {name} = 0;")).collect();
    format!(
        "#[allow(deprecated)] pipeline P {{ {DECLARED}
            stage load {{ copy y -> dy; copy wide -> dwide; {fills} host make(&there, out h); }}
            stage share {{ {operation} }}
            stage store {{
                work<<<1, 1>>>(&mut dy, &dwide, &whole, &w, &mut k, &mut total, out zs); copy dy -> y; copy zs -> z;
            }}
            device zs: [f32];
        }}"
    )
}

/// The texts of the errors of an operation, and the tokens at which they begin.
fn said(operation: &str) -> Vec<(String, String)> {
    let source = source(operation);
    let expanded = stream_pipeline(TokenStream::from_str(&source).expect("it lexes"));
    let of = |error: emitted::Said| {
        in_style(&error.text);
        let place = error.bytes.map(|bytes| source[bytes].to_owned()).unwrap_or_default();
        (error.text, place)
    };
    errors(expanded).into_iter().map(of).collect()
}

/// Expects one error of an operation: its first line, at these tokens, and one of its other lines.
#[track_caller]
fn assert_said(operation: &str, at: &str, fact: &str, line: &str) {
    let said = said(operation);
    let [(text, place)] = &said[..] else { panic!("{operation}: {said:#?}") };
    assert_eq!((text.lines().next(), place.as_str()), (Some(fact), at), "{operation}: {text}");
    assert!(text.lines().any(|said| said == line), "{operation} does not say `{line}`: {text}");
}

/// The generated calls of an operation, without white space.
fn calls(operation: &str) -> String {
    let expanded = stream_pipeline(TokenStream::from_str(&source(operation)).expect("it lexes"));
    let said: Vec<_> = errors(expanded.clone()).into_iter().map(|error| error.text).collect();
    assert_eq!(said, [""; 0], "{operation}");
    expanded.to_string().split_whitespace().collect::<String>().replace("::thalweg::__private::", "")
}

#[test]
fn each_operation_is_a_call() {
    for (operation, call) in [
        ("all_reduce sum four;", "all_reduce_four.all_reduce(Sum,all_reduce_four.whole(four))?;"),
        ("all_reduce mean k[..u];", ".all_reduce(Mean,all_reduce_k.part(k,..u))?;"),
        ("reduce max four to 0;", ".reduce(Max,reduce_four.whole(four),0)?;"),
        ("reduce min four to world.size - 1;", ".reduce(Min,reduce_four.whole(four),world.size-1)?;"),
        ("broadcast k from 0;", ".broadcast(broadcast_k.whole(k),0)?;"),
        ("all_gather w[..4] -> four;", ".all_gather(all_gather_w.part(w,..4),all_gather_w.whole(four))?;"),
        ("gather four -> all to u;", ".gather(gather_four.whole(four),gather_four.whole(all),u)?;"),
        ("scatter all -> four from 0;", ".scatter(scatter_all.whole(all),scatter_all.whole(four),0)?;"),
        (
            "reduce_scatter product all -> four;",
            ".reduce_scatter(Product,reduce_scatter_all.whole(all),reduce_scatter_all.whole(four))?;",
        ),
        ("all_to_all dy -> four;", ".all_to_all(all_to_all_dy.whole(dy),all_to_all_dy.whole(four))?;"),
        ("barrier;", "barrier.barrier()?;"),
        (
            "pass four -> dy to (rank + 1) % world.size;",
            ".pass(pass_four.whole(four),pass_four.whole(dy),nobody(),everyone(|rank:usize|(rank+1)%world.size))?;",
        ),
        ("pass four -> dy from 1 to rank;", "everyone(|_:usize|1),everyone(|rank:usize|rank))?;"),
        ("exchange four: halo 2;", ".exchange(exchange_four.whole(four),2,false)?;"),
        ("exchange four[..]: halo u periodic;", ".exchange(exchange_four.part(four,..),u,true)?;"),
    ] {
        let code = calls(operation);
        assert!(code.contains(call), "{operation}: no `{call}`");
        assert!(code.contains("fill_two.is_due(){fill_two.fill(two,0)?;}"), "{operation}");
    }
}

#[test]
fn without_collectives_nothing_asks_whether_it_is_due() {
    assert!(!calls("fill one = 1.0;").contains("is_due"));
}

#[test]
fn kernels_may_have_the_names_of_collectives() {
    for name in ["all_reduce", "reduce", "broadcast", "gather", "scatter", "barrier", "pass", "exchange"] {
        assert!(calls(&format!("{name}<<<1, 1>>>(&four);")).contains(&format!("{name}.launch(")));
        assert!(calls(&format!("{name}::of<<<1, 1>>>(&four);")).contains("of.launch("), "{name}");
    }
}

#[test]
fn the_plan_names_the_collective() {
    let code = calls("all_reduce sum four[..2];");
    let kind = "OperationKind::Collective{collective:CollectiveKind::AllReduce}";
    assert!(code.contains(&format!("\"all_reducesumfour[..2]\",{kind}")));
}

#[test]
fn uniform_parameters_are_agreed_and_the_world_is_bound() {
    let code = calls("all_reduce sum four;");
    assert!(code.contains(
        "Its::of_mut(pipeline).call(purpose);(&mutcall).uniform(\"u\",&u);(&mutcall).uniform(\"share\",&share);letworld=call.world();"
    ));
}

#[test]
fn destinations_are_declared() {
    for (operation, declared) in [
        ("all_gather four -> new;", "letnew=call.device::<f32>(4*world.size)?;"),
        ("all_gather one -> new;", "letnew=call.device::<f32>(world.size)?;"),
        ("gather all -> new to 0;", "letnew=call.device::<f32>((4*world.size)*world.size)?;"),
        ("all_gather k -> new;", "letnew=call.per_chunk().device::<f32>(16*world.size)?;"),
        ("all_gather sums -> new;", "letnew=call.per_chunk().device::<f32>(4*world.size)?;"),
        ("pass two -> new to 0;", "letnew=call.device::<f32>(2)?;"),
        ("pass k -> new to 0;", "letnew=call.per_chunk().device::<f32>(16)?;"),
        ("all_to_all all -> new;", "letnew=call.device::<f32>(4*world.size)?;"),
    ] {
        assert!(calls(operation).contains(declared), "{operation}: no `{declared}`");
    }
    const UNDECLARED: &str = "[TW1005]: buffer `new` is not declared";
    for (operation, help) in [
        ("scatter all -> new from 0;", "declare it: `device new: [f32; 4];`"),
        ("scatter four -> new from 0;", "declare it: `device new: [f32; 4 / world.size];`"),
        ("reduce_scatter sum sums -> new;", "declare it: `device new: [f32; 4 / world.size] per chunk;`"),
        ("scatter one -> new from 0;", "declare it, `device new: [f32];`, and `one` as `[f32; world.size]`"),
        ("all_gather four[..2] -> new;", "declare it: `device new: [f32; n];`, with its number of elements"),
        ("pass w -> new to 0;", "declare it: `device new: [f32; n] per chunk;`, with its number of elements"),
    ] {
        assert_said(&format!("{operation} fill new = 0.0;"), "new", UNDECLARED, &format!("help: {help}"));
    }
    assert_said(
        "fill new = 0.0; all_gather four -> new;",
        "new",
        "[TW0301]: buffer `new` is used before the operation that declares it",
        "help: move `all_gather four -> new` above this use",
    );
}

#[test]
fn half_written_operations_say_what_is_missing() {
    const REDUCTIONS: &str = "`sum`, `mean`, `min`, `max` or `product`";
    for (operation, at, expected, found, help) in [
        ("all_reduce four;", "four", REDUCTIONS, "four", "write `all_reduce sum four`"),
        ("all_reduce avg four;", "avg", REDUCTIONS, "avg", "write `all_reduce mean four`"),
        ("reduce(max, four);", "(", REDUCTIONS, "(", "write `reduce max four to 0`"),
        ("all_reduce sum;", ";", "the name of a device buffer", ";", "write `all_reduce sum b`"),
        ("all_reduce sum &mut four;", "&", "the name of a device buffer", "&", "remove `&mut`"),
        ("reduce sum four;", ";", "`to` and a rank", ";", "write `reduce sum four to 0`"),
        ("reduce sum four from 0;", "from", "`to` and a rank", "from", "write `reduce sum four to 0`"),
        ("broadcast 0 four;", "0", "the name of a device buffer", "0", "write `broadcast four from 0`"),
        ("broadcast four to 0;", "to", "`from` and a rank", "to", "write `broadcast four from 0`"),
        ("broadcast four from;", ";", "a rank", ";", "write `broadcast four from 0`"),
        ("all_gather four;", ";", "`->`", ";", "write `all_gather four -> b`"),
        ("all_gather four, all;", ",", "`->`", ",", "write `all_gather four -> all`"),
        ("gather four -> all;", ";", "`to` and a rank", ";", "write `gather four -> all to 0`"),
        (
            "pass four -> dy;",
            ";",
            "`from` or `to`, and a rank",
            ";",
            "write `pass four -> dy to (rank + 1) % world.size`",
        ),
        ("pass four -> dy to 1 from 0;", "from", "`;`", "from", "write `from` and its rank before `to`"),
        ("exchange four;", ";", "`:` and `halo`", ";", "write `exchange four: halo 1`"),
        ("exchange four: 2;", "2", "`halo` and the items on each side", "2", "write `exchange four: halo 1`"),
        ("exchange four: halo;", ";", "the items on each side", ";", "write `exchange four: halo 1`"),
        ("barrier 1;", "1", "`;`", "1", "write `barrier`"),
        (
            "all_reduce sum four[];",
            "]",
            "a range of elements",
            "the end of the brackets",
            "write `all_reduce sum four`",
        ),
    ] {
        let found = if found.starts_with("the end") { found.to_owned() } else { format!("`{found}`") };
        let said = said(operation);
        let [(text, place)] = &said[..] else { panic!("{operation}: {said:#?}") };
        let expected = format!("[TW0101]: expected {expected}, found {found}\nhelp: {help}");
        assert_eq!(text, &expected, "{operation}");
        assert!(place.starts_with(at) || at == "]", "{operation}: at {place}");
    }
}

#[test]
fn words_of_other_libraries_are_known() {
    let ring = "every rank sends and receives in one operation: write `pass four -> dy to (rank + 1) % world.size`, \
                with the rank that `rank` sends to";
    for (operation, help) in [
        ("allreduce four;", "write `all_reduce sum four`"),
        ("ncclAllReduce(four, ncclMax);", "write `all_reduce max four`"),
        ("MPI_Allreduce(four, MPI_MIN);", "write `all_reduce min four`"),
        ("bcast four;", "write `broadcast four from 0`"),
        ("MPI_Ibcast(four);", "write `broadcast four from 0`"),
        ("ncclReduceScatter(all, four);", "write `reduce_scatter sum all -> four`"),
        ("all_gather_into_tensor(all, four);", "write `all_gather all -> four`"),
        ("alltoall four -> dy;", "write `all_to_all four -> dy`"),
        ("sendrecv four -> dy;", ring),
        ("send four -> dy;", ring),
        ("ncclRecv(four, dy);", ring),
        ("MPI_Barrier();", "write `barrier`"),
        ("halo_exchange four;", "write `exchange four: halo 1`"),
        ("all_gater four -> dy;", "a similar keyword exists: `all_gather`"),
        ("broadcst four from 0;", "a similar keyword exists: `broadcast`"),
    ] {
        let word = operation.split([' ', '(']).next().expect("a word");
        let fact = format!("[TW0101]: expected an operation, found `{word}`");
        assert_said(operation, word, &fact, &format!("help: {help}"));
    }
}

#[test]
fn only_parameters_are_uniform() {
    let said = |declaration: &str| {
        let source = format!(
            "pipeline P {{ {declaration} inout y: [f32]; stage all {{ copy y -> dy; copy dy -> y; }} }}"
        );
        let tokens = stream_pipeline(TokenStream::from_str(&source).expect("it lexes"));
        errors(tokens).into_iter().map(|error| error.text).collect::<Vec<_>>()
    };
    for (declaration, text) in [
        ("uniform n: usize;", "expected `param`, found `n`\nhelp: write `uniform param n: …`"),
        (
            "uniform input x: [f32];",
            "expected `param`, found `input`\nhelp: only a parameter is the same on all ranks: remove `uniform`",
        ),
        (
            "param uniform n: usize;",
            "expected a parameter's name, found `uniform`\nhelp: write `uniform param`",
        ),
        (
            "n: uniform usize;",
            "expected a declaration or a `stage`, found `n`\nhelp: write `uniform param n: …`",
        ),
    ] {
        assert_eq!(said(declaration), [format!("[TW0101]: {text}")]);
    }
    assert_eq!(said("param uniform: usize;"), [""; 0]);
}

#[test]
fn what_all_ranks_decide_alike_may_stand_around_collectives() {
    for condition in [
        "true",
        "share",
        "share && u > 2",
        "!share || world.size > 1",
        "c.index.is_multiple_of(u)",
        "(c.index + 1) % 4 == 0",
        "LIMITS[c.index % 2] as usize == u.max(3)",
        "(1..4).contains(&c.index)",
        "u32::MAX as usize == -(1 as isize) as usize",
        // rustc says what is wrong with these.
        "world.sise > 1",
        "world.size() > 1",
    ] {
        calls(&format!("if {condition} {{ all_reduce sum four; }} else {{ barrier; }}"));
    }
    calls("repeat u + 2 { all_reduce sum four; }");
    // What no collective stands in is each rank's own.
    calls("all_reduce sum four; if on { fill one = world.rank as f32; } repeat p { fill one = 1.0; }");
}

#[test]
fn what_ranks_may_decide_differently_may_not() {
    const WAITS: &str = "note: a rank that leaves a collective out lets the others wait for ever";
    const UNKNOWN: &str = "help: name it in a `const` if the program fixes it; else compute it before `run`, and pass it as a \
                           `uniform param`";
    for (condition, at, line) in [
        ("on", "on", "help: declare it `uniform param on: bool;`: ranks then agree on it in each run"),
        ("share && p > 1", "p", "note: each rank calls `run` with a `p` of its own"),
        ("c.len > 10", "c.len", "help: count chunks, `c.index`, or pass the value as a `uniform param`"),
        ("c.start == 0", "c.start", WAITS),
        ("ready()", "ready()", "note: it is not known what a function depends on"),
        ("u.is_lucky()", "is_lucky", UNKNOWN),
        ("u.max::<u8>(1) > 2", "max", UNKNOWN),
        ("share && decided!(1)", "decided!(1)", "note: it is not known what a macro depends on"),
        ("(|| true)()", "(|| true)()", UNKNOWN),
        ("{ let a = 1; a > u }", "{ let a = 1; a > u }", "note: it is not known what a block depends on"),
        ("*FLAG", "*FLAG", UNKNOWN),
        ("CONFIG.on", "CONFIG.on", "note: it is not known what a field depends on"),
    ] {
        let fact = "[TW1001]: `all_reduce sum four` stands in an `if` that ranks may decide differently";
        assert_said(&format!("if {condition} {{ all_reduce sum four; }}"), at, fact, line);
        // The blocks around it count too, and each is reported once.
        let inside = format!("if {condition} {{ if share {{ all_reduce sum four; barrier; }} barrier; }}");
        assert_said(&inside, at, fact, WAITS);
    }
    assert_said(
        "repeat p { barrier; }",
        "p",
        "[TW1001]: `barrier` stands in a `repeat` that ranks may count differently",
        WAITS,
    );
    assert_said(
        "if on { fill one = 1.0; } else { barrier; }",
        "on",
        "[TW1001]: `barrier` stands in an `else` that ranks may decide differently",
        WAITS,
    );
}

#[test]
fn ranks_are_told_who_gives_and_who_gets() {
    const HELP: &str = "help: write it for all ranks, and say who gives or gets: `broadcast … from`, `reduce … to`, \
                        `gather … to`, `scatter … from` or `pass … from … to`";
    for (condition, at) in [
        ("rank == 0", "rank"),
        ("world.rank == 0", "world.rank"),
        ("on && world.rank < world.size / 2", "world.rank"),
        ("mine(rank)", "rank"),
        ("mine!(world.rank)", "world.rank"),
    ] {
        let fact = "[TW1002]: `broadcast four` stands in an `if` that depends on the rank";
        assert_said(&format!("if {condition} {{ broadcast four from 0; }}"), at, fact, HELP);
    }
}

#[test]
fn collectives_work_on_memory_of_the_device() {
    let on_device = |name: &str| {
        format!("[TW1003]: `{name}` is host data, but `all_reduce` works on memory of the device")
    };
    for (name, fact, line) in [
        ("y", on_device("y"), "help: name `dy`, to which `copy y -> dy` copies it"),
        ("z", on_device("z"), "help: name a device buffer, and copy that: `copy d_z -> z;`"),
        (
            "h",
            "[TW1003]: `h` is in host memory, but `all_reduce` works on memory of the device".to_owned(),
            "help: copy it to the device: `copy h -> d_h;`, and name `d_h`",
        ),
        (
            "there",
            "[TW1003]: `there` is `mapped`, but `all_reduce` works on memory of the device".to_owned(),
            "help: leave `mapped` out, and copy it to the device: `copy there -> d_there;`",
        ),
        (
            "p",
            "[TW1003]: `p` is a parameter, but `all_reduce` works on memory".to_owned(),
            "help: if all ranks have the same value, declare it `uniform param p`",
        ),
        (
            "c",
            "[TW1003]: `c` is the chunk, but `all_reduce` works on memory".to_owned(),
            "help: name a device buffer: its part of this chunk is meant",
        ),
        (
            "total",
            "[TW1003]: `total` is combined at the end of a run, and has no value before".to_owned(),
            "help: name a buffer of the chunk, before it is added to what is carried, or leave out `combine`",
        ),
    ] {
        assert_said(&format!("all_reduce sum {name};"), name, &fact, line);
    }
    assert_said(
        "all_reduce sum fuor;",
        "fuor",
        "[TW0301]: cannot find buffer `fuor` in this pipeline",
        "help: a buffer with a similar name exists: `four`",
    );
    assert_said(
        "all_reduce sum dwide;",
        "dwide",
        "[TW1004]: `dwide` has a halo, but `all_reduce` moves a chunk's items alone",
        "help: let a kernel write the chunk's own items to a buffer without a halo, and name that",
    );
    assert_said(
        "broadcast w from 0;",
        "w",
        "[TW0210]: `w` is `resident`, but this writes it",
        "help: declare it `carry w`, which `run` gives back",
    );
    assert_said(
        "broadcast whole from 0;",
        "whole",
        "[TW0204]: `whole` is an `input`, but this writes it",
        "help: declare it `inout whole`, or write to an `output`",
    );
}

#[test]
fn both_sides_fit() {
    for (operation, at, fact, help) in [
        (
            "all_gather four -> doubles;",
            "doubles",
            "`four` holds `f32`, but `doubles` holds `f64`",
            "declare `doubles` as `[f32]`, or convert in a kernel",
        ),
        (
            "pass four -> sums to 0;",
            "sums",
            "`four` is counted by item, but `sums` by chunk",
            "declare both `per chunk`, or none; a kernel can make one of the other",
        ),
        (
            "pass four -> k to 0;",
            "k",
            "`four` is counted by item, but `k` by run",
            "declare both `per chunk`, or none; a kernel can make one of the other",
        ),
        (
            "all_gather four -> six;",
            "six",
            "`four` has 4 elements an item, and `six` has 6, which is not as many of each rank",
            "declare `six` as `[f32; 4 * world.size]`",
        ),
        (
            "scatter six -> four from 0;",
            "four",
            "`six` has 6 elements an item, and `four` has 4, which is not as many for each rank",
            "declare `six` as `[f32; 4 * world.size]`",
        ),
        (
            "pass four -> six to 0;",
            "six",
            "`four` has 4 elements an item, but `six` has 6",
            "declare `six` as `[f32; 4]`",
        ),
    ] {
        assert_said(operation, at, &format!("[TW1005]: {fact}"), &format!("help: {help}"));
    }
    for fits in [
        "all_gather two -> six;",
        "scatter six -> two from 0;",
        "pass four[..2] -> six[1..3] to 0;",
        "pass sums -> k[..4] to 0;",
    ] {
        calls(fits);
    }
    assert_said(
        "pass four[..1] -> four[1..] to 0;",
        "four",
        "[TW1008]: `pass` reads and writes `four`",
        "help: give it another buffer; neighbours' items come by `exchange b: halo 1`",
    );
}

#[test]
fn only_numbers_are_reduced() {
    for (operation, word, fact, help) in [
        (
            "all_reduce mean ints;",
            "mean",
            "`ints` holds `i32`, of which there is no mean",
            "write `sum`, and divide in a kernel, or let the buffer hold `f32`",
        ),
        (
            "all_reduce sum short;",
            "sum",
            "`short` holds `i16`, which no collective reduces",
            "let the buffer hold `i32`",
        ),
        (
            "reduce max sizes to 0;",
            "max",
            "`sizes` holds `usize`, which no collective reduces",
            "let the buffer hold `u64`",
        ),
        (
            "all_reduce min pairs;",
            "min",
            "`pairs` holds `[f32; 2]`, but a min is one of numbers",
            "write `[f32; 2]`, which has them one by one",
        ),
    ] {
        assert_said(operation, word, &format!("[TW1006]: {fact}"), &format!("help: {help}"));
    }
    calls("all_reduce sum ints; all_reduce max bytes; all_reduce mean doubles; broadcast short from 0;");
}

#[test]
fn roots_parts_and_partners_are_the_same_on_all_ranks() {
    const RANK: &str = "note: it depends on the rank that evaluates it";
    for (operation, at, fact, line) in [
        (
            "broadcast four from p;",
            "p",
            "ranks may disagree on the root of `broadcast four`",
            "help: declare it `uniform param p: usize;`: ranks then agree on it in each run",
        ),
        (
            "broadcast four from world.rank;",
            "world.rank",
            "ranks may disagree on the root of `broadcast four`",
            RANK,
        ),
        (
            "gather four -> all to rank;",
            "rank",
            "ranks may disagree on the root of `gather four -> all`",
            RANK,
        ),
        (
            "all_reduce sum four[..c.len];",
            "c.len",
            "ranks may disagree on the part of `four` in this `all_reduce`",
            "note: the chunks of two ranks have the same number, but may have other items",
        ),
        (
            "all_reduce sum four[world.rank..];",
            "world.rank",
            "ranks may disagree on the part of `four` in this `all_reduce`",
            RANK,
        ),
        (
            "exchange four: halo p;",
            "p",
            "ranks may disagree on the items of `exchange four`",
            "note: each rank calls `run` with a `p` of its own",
        ),
        (
            "pass four -> dy to (world.rank + 1) % world.size;",
            "world.rank",
            "ranks may disagree on who takes part in `pass four -> dy`",
            "help: write `rank`: the expression is evaluated for every rank, on each of them",
        ),
        (
            "pass four -> dy from next(rank);",
            "next(rank)",
            "ranks may disagree on who takes part in `pass four -> dy`",
            "note: it is not known what a function depends on",
        ),
    ] {
        assert_said(operation, at, &format!("[TW1007]: {fact}"), line);
    }
}

#[test]
fn the_ring_is_built_before_the_world_is_known() {
    let source =
        "pipeline P { inout y: [f32]; depth = world.size; stage all { copy y -> dy; copy dy -> y; } }";
    let said = errors(stream_pipeline(TokenStream::from_str(source).expect("it lexes")));
    assert!(said.len() == 1 && said[0].text.starts_with("[TW0706]: the depth depends on the world\n"));
}

/// A parameter, and the chunk, may be called `world`.
#[test]
fn a_name_of_the_users_hides_the_world() {
    for declared in ["param world: Sizes; chunk c = 1;", "chunk world = 1;"] {
        let source = format!(
            "pipeline P {{ {declared} inout y: [f32]; stage all {{ copy y -> dy; f<<<1, 1>>>(world.size, &mut dy); copy dy -> y; }} }}"
        );
        let code = stream_pipeline(TokenStream::from_str(&source).expect("it lexes")).to_string();
        assert!(!code.contains("compile_error") && !code.contains("let world"), "{declared}");
    }
}

/// A shape that `all_gather` makes asks for the size of the world, whatever the user calls `world`.
#[test]
fn what_gathers_finds_the_world_under_another_name() {
    for declared in ["param world: usize;", "chunk world = 1;"] {
        let source = format!(
            "pipeline P {{ {declared} inout y: [f32]; stage all {{ copy y -> dy; all_gather dy -> _all; copy dy -> y; }} }}"
        );
        let said = errors(stream_pipeline(TokenStream::from_str(&source).expect("it lexes")));
        assert_eq!(said.into_iter().map(|error| error.text).collect::<Vec<_>>(), [""; 0], "{declared}");
    }
}

/// What a collective writes in part keeps the rest, so that something else has to be there before.
#[test]
fn a_part_that_is_written_is_not_the_whole() {
    let said = |operation: &str| {
        let source = format!(
            "pipeline P {{ inout y: [f32; 4]; device new: [f32; 4];
                stage all {{ copy y -> dy; {operation} copy new -> y; }} }}"
        );
        let said = errors(stream_pipeline(TokenStream::from_str(&source).expect("it lexes")));
        said.into_iter().map(|error| error.text).collect::<Vec<_>>()
    };
    assert_eq!(said("pass dy -> new to 0;"), [""; 0]);
    assert_eq!(said("fill new = 0.0; pass dy[..2] -> new[2..] to 0;"), [""; 0]);
    let text = "[TW0202]: buffer `new` is read before any stage writes it\nnote: `all` is its first use\n\
                note: a part of `new` is written here, and the rest keeps what it held\n\
                help: copy data in first, or `fill` it";
    assert_eq!(said("pass dy[..2] -> new[2..] to 0;"), [text]);
    let whole = text.replace("note: a part of `new` is written here, and the rest keeps what it held\n", "");
    assert_eq!(said("all_reduce sum new;"), [whole]);
}
