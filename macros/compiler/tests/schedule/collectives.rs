//! Collectives have one order on each device, whatever streams they are on and whatever data they share.
//!
//! In the drawings a row is a stream, and `│` with an arrowhead is a wait within a chunk.

use crate::emitted;

use std::str::FromStr;

use proc_macro2::TokenStream;
use thalweg_compiler::diagnostics::Diagnostics;
use thalweg_compiler::schedule::{Distance, Hazard, StorageKind};
use thalweg_compiler::{lower, placement, resolve, schedule, syntax};

/// The waits of a pipeline with these items: `from -> to`, the distance, and why.
#[track_caller]
fn waits(items: &str) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    let tokens = TokenStream::from_str(&format!("pipeline P {{ {items} }}")).expect("it lexes");
    let pipeline = syntax::parse(tokens, &mut diagnostics).expect("it parses");
    let mut program = resolve::resolve(pipeline, &mut diagnostics).expect("it resolves");
    thalweg_compiler::check::check(&program, &mut diagnostics);
    let said: Vec<_> = diagnostics.iter().map(|said| said.message()).collect();
    assert!(!diagnostics.has_errors(), "{said:?}");
    placement::place(&mut program);
    let lowered = lower::lower(&program);
    let schedule = lowered.raise(schedule::schedule(&lowered.hazards));
    let text = |op: schedule::OpId| program.operations[op.0 as usize].text.as_str();
    let waits = schedule.waits.iter().map(|wait| {
        let of = match wait.distance {
            Distance::Same => "",
            Distance::Previous => " @ previous",
            Distance::Reuse => " @ reuse",
        };
        let cause = |cause: &schedule::Cause| {
            let hazard = match cause.hazard {
                Hazard::ReadAfterWrite => "raw",
                Hazard::WriteAfterRead => "war",
                Hazard::WriteAfterWrite => "waw",
            };
            format!("{hazard} {}", lower::storage_name(&program, cause.storage))
        };
        let causes: Vec<_> = wait.causes.iter().map(cause).collect();
        format!("{} -> {}{of}: {}", text(wait.from), text(wait.to), causes.join(", "))
    });
    waits.collect()
}

//   one   all_reduce a ────────┐
//                              │ no data in common
//   two   all_reduce b <───────┘
#[test]
fn on_two_streams_the_second_waits_for_the_first() {
    let found = waits(
        "inout y: [f32]; carry a: [f32; 4]; carry b: [f32; 4]; stream one; stream two; stream data;
         stage all on data { copy y -> dy; copy dy -> y; }
         stage first on one { all_reduce sum a; }
         stage second on two { all_reduce sum b; }",
    );
    assert_eq!(
        found,
        [
            "all_reduce sum a -> all_reduce sum b: waw the order of collectives",
            "all_reduce sum b -> all_reduce sum a @ previous: waw the order of collectives",
        ]
    );
}

//   one   all_reduce a ──> barrier ──> all_reduce b
#[test]
fn on_one_stream_none_waits() {
    let found = waits(
        "inout y: [f32]; carry a: [f32; 4]; carry b: [f32; 4]; stream one; stream data;
         stage all on data { copy y -> dy; copy dy -> y; }
         stage first on one { all_reduce sum a; barrier; }
         stage second on one { all_reduce sum b; }",
    );
    assert_eq!(found, [""; 0]);
}

//   data      copy y -> dy ──> copy dy -> y
//   comm 0,1  barrier of chunk 0, of chunk 1, …: each waits for that of the chunk before
#[test]
fn on_a_stream_for_each_slot_each_chunk_waits_for_the_one_before() {
    let found = waits(
        "inout y: [f32]; stream data; stream comm per slot;
         stage all on data { copy y -> dy; copy dy -> y; }
         stage together on comm { barrier; }",
    );
    assert_eq!(found, ["barrier -> barrier @ previous: waw the order of collectives"]);
    let found = waits(
        "inout y: [f32]; stream data; stream comm per slot; stream more;
         stage all on data { copy y -> dy; copy dy -> y; }
         stage together on comm { barrier; }
         stage again on more { barrier; }",
    );
    assert_eq!(
        found,
        [
            "barrier -> barrier: waw the order of collectives",
            "barrier -> barrier @ previous: waw the order of collectives",
        ]
    );
}

//   math  fill g1 ──> fill g2
//             │           │
//   comm      └> reduce g1 └> reduce g2
#[test]
fn what_they_share_orders_them_beside_others() {
    let found = waits(
        "inout y: [f32]; device g1: [f32]; device g2: [f32]; depth = 2; stream math; stream comm;
         stage one on math { fill g1 = 1.0; }
         stage share1 on comm { all_reduce mean g1; }
         stage two on math { fill g2 = 1.0; }
         stage share2 on comm { all_reduce mean g2; }
         stage step on math { copy y -> dy; work<<<1, 1>>>(&g1, &g2, &mut dy); copy dy -> y; }",
    );
    assert_eq!(
        found,
        [
            "fill g1 -> all_reduce mean g1: raw g1, waw g1",
            "fill g2 -> all_reduce mean g2: raw g2, waw g2",
            "all_reduce mean g2 -> work<<<..>>>: raw g2",
        ]
    );
}

/// Only pipelines with collectives have the storage, and only collectives use it.
#[test]
fn only_collectives_are_ordered() {
    let lowered = |operation: &str| {
        let mut diagnostics = Diagnostics::default();
        let items = format!(
            "pipeline P {{ inout y: [f32]; stage all {{ copy y -> dy; {operation} copy dy -> y; }} }}"
        );
        let tokens = TokenStream::from_str(&items).expect("it lexes");
        let pipeline = syntax::parse(tokens, &mut diagnostics).expect("it parses");
        lower::lower(&resolve::resolve(pipeline, &mut diagnostics).expect("it resolves")).hazards
    };
    assert_eq!(lowered("").storages, [StorageKind::Host, StorageKind::Ring]);
    let hazards = lowered("repeat 2 { barrier; }");
    assert_eq!(hazards.storages, [StorageKind::Host, StorageKind::Ring, StorageKind::Shared]);
    let users = hazards.ops.iter().map(|op| op.accesses.iter().any(|access| access.storage.0 == 2));
    assert_eq!(users.collect::<Vec<_>>(), [false, true, false]);
}

/// The errors of a pipeline whose events are placed by hand.
fn by_hand(stages: &str) -> Vec<String> {
    let source = format!(
        "pipeline P {{ sync = manual; inout y: [f32]; carry a: [f32; 4]; carry b: [f32; 4];
            stream data; stream one; stream two;
            stage all on data {{ copy y -> dy; copy dy -> y; }} {stages} }}"
    );
    let tokens = TokenStream::from_str(&source).expect("it lexes");
    let errors = emitted::errors(thalweg_compiler::stream_pipeline(tokens));
    errors.iter().for_each(|error| emitted::in_style(&error.text));
    errors.into_iter().map(|error| error.text).collect()
}

#[test]
fn by_hand_the_order_is_asked_for() {
    let found = by_hand(
        "stage first on one { all_reduce sum a; }
         stage second on two { all_reduce sum b; }",
    );
    let note = "note: ranks that begin their collectives in different orders wait for each other for ever";
    assert_eq!(
        found,
        [
            format!(
                "[TW0201]: `all_reduce sum a` of `first` does not wait for a collective of `second`\n\
                 note: `second` of the chunk before begins `all_reduce sum b`, at line 4\n{note}\n\
                 help: add `record second_done;` to `second`, after `all_reduce sum b`, \
                 and `wait second_done @ previous;` to `first`"
            ),
            format!(
                "[TW0201]: `all_reduce sum b` of `second` does not wait for a collective of `first`\n\
                 note: `first` begins `all_reduce sum a`, at line 3\n{note}\n\
                 help: add `record first_done;` to `first`, after `all_reduce sum a`, \
                 and `wait first_done;` to `second`"
            ),
        ]
    );
    let found = by_hand(
        "stage first on one { wait second_done @ previous; all_reduce sum a; record first_done; }
         stage second on two { wait first_done; all_reduce sum b; record second_done; }",
    );
    assert_eq!(found, [""; 0]);
    assert_eq!(by_hand("stage first on one { all_reduce sum a; barrier; }"), [""; 0]);
}
