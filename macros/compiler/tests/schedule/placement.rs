//! The streams of stages that name none.

use quote::quote;
use thalweg_compiler::diagnostics::Diagnostics;
use thalweg_compiler::{check, placement, resolve, syntax};

/// Each stream of a pipeline with these items, and whether there is one for each ring slot.
#[track_caller]
fn streams(items: proc_macro2::TokenStream) -> Vec<(String, bool)> {
    let mut diagnostics = Diagnostics::default();
    let pipeline = syntax::parse(quote!(pipeline P { #items }), &mut diagnostics).expect("it parses");
    let mut program = resolve::resolve(pipeline, &mut diagnostics).expect("it resolves");
    check::check(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors());
    placement::place(&mut program);
    program.streams.iter().map(|stream| (stream.name.to_string(), stream.per_slot)).collect()
}

fn expected(streams: &[(&str, bool)]) -> Vec<(String, bool)> {
    streams.iter().map(|&(name, per_slot)| (name.to_owned(), per_slot)).collect()
}

#[test]
fn kernels_get_a_stream_for_each_slot_and_copies_one() {
    let placed = streams(quote! {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage load { copy x -> dx; }
        stage work { k<<<1, 32>>>(&dx, out dy); }
        stage store { copy dy -> y; }
    });
    assert_eq!(placed, expected(&[("load", false), ("work", true), ("store", false)]));
}

#[test]
fn a_stage_that_also_copies_keeps_its_order() {
    let placed = streams(quote! {
        inout y: [f32];
        stage all { copy y -> d; k<<<1, 32>>>(&mut d); copy d -> y; }
    });
    assert_eq!(placed, expected(&[("all", false)]));
}

#[test]
fn what_is_carried_comes_one_after_another() {
    let placed = streams(quote! {
        input x: [f32];
        carry sum: [f32; 4];
        stage load { copy x -> dx; }
        stage add { k<<<1, 32>>>(&dx, &mut sum); }
    });
    assert_eq!(placed, expected(&[("load", false), ("add", false)]));
}

#[test]
fn what_was_written_stays() {
    let work = |on: proc_macro2::TokenStream| {
        quote! {
            input x: [f32];
            output y: [f32];
            device dy: [f32];
            stage load { copy x -> dx; }
            stage work #on { k<<<1, 32>>>(&dx, out dy); }
            stage store { copy dy -> y; }
        }
    };
    let named = work(quote!(on s));
    let named = streams(quote! { stream s; #named });
    assert_eq!(named, expected(&[("s", false), ("load", false), ("store", false)]));
    let work = work(quote!());
    let single = expected(&[("load", false), ("work", false), ("store", false)]);
    assert_eq!(streams(quote! { #work mode = graph; }), single);
    assert_eq!(streams(quote! { #work depth = 1; }), single);
    assert_eq!(streams(quote! { depth = SLOTS; #work }), single);
}

#[test]
fn there_are_no_more_streams_than_hardware_queues() {
    // Two copies and three for each stage of kernels, as far as eight go.
    let placed = streams(quote! {
        input x: [f32];
        output y: [f32];
        device a: [f32];
        device b: [f32];
        device c: [f32];
        stage load { copy x -> dx; }
        stage one { k<<<1, 32>>>(&dx, out a); }
        stage two { k<<<1, 32>>>(&a, out b); }
        stage three { k<<<1, 32>>>(&b, out c); }
        stage store { copy c -> y; }
    });
    let expected =
        expected(&[("load", false), ("one", true), ("two", false), ("three", false), ("store", false)]);
    assert_eq!(placed, expected);
}
