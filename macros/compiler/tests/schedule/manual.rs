//! Mistakes that the random programs of `manual_oracle` have found, one small program each.

use crate::emitted;

use std::str::FromStr;

use proc_macro2::TokenStream;
use thalweg_compiler::stream_pipeline;

/// The texts of the errors, and the whole expansion.
fn expand(body: &str) -> (Vec<String>, String) {
    let source = format!("pipeline P {{ sync = manual; {body} }}");
    let tokens = stream_pipeline(TokenStream::from_str(&source).expect("it lexes"));
    let errors = emitted::errors(tokens.clone());
    errors.iter().for_each(|error| emitted::in_style(&error.text));
    let texts = errors.into_iter().map(|error| format!("{} {}", emitted::code(&error.text), error.text));
    (texts.collect(), tokens.to_string())
}

/// ```text
/// s: wait e @ reuse, copy x -> dx, record e
/// ```
#[test]
fn an_operation_may_wait_for_its_own_event_of_an_earlier_chunk() {
    for of in ["previous", "reuse"] {
        let (errors, code) = expand(&format!(
            "inout y: [f32]; stream s; stage all on s {{ wait e @ {of}; copy y -> dy; record e; copy dy -> y; }}"
        ));
        assert_eq!(errors, <[String; 0]>::default());
        assert!(code.contains("const TW0806"), "stream order implies it");
    }
}

/// ```text
/// s: copy y -> dy, record e | t: wait e | s: kernel on t
/// ```
#[test]
fn a_stage_of_marks_does_something() {
    let (errors, code) = expand(
        "inout y: [f32]; stream s; stream t;
         stage load on s { copy y -> dy; record e; }
         stage hold on t { wait e; }
         stage work on s { kernel<<<1, 1, 0, t>>>(&mut dy); }
         stage told on t { record f; }
         stage store on s { wait f; copy dy -> y; }",
    );
    assert_eq!(errors, <[String; 0]>::default());
    assert!(!code.contains("const TW0208"));
    let (errors, code) = expand("inout y: [f32]; stage all { copy y -> dy; copy dy -> y; } stage none {}");
    assert_eq!(errors, <[String; 0]>::default());
    assert!(code.contains("const TW0208"));
}

/// The stage's marks would be those of its own stream.
#[test]
fn a_launch_on_another_stream_is_moved_to_a_stage_of_it() {
    let (errors, _) = expand(
        "inout y: [f32]; stream s; stream t;
         stage load on s { copy y -> dy; record e; }
         stage work on s { kernel<<<1, 1, 0, t>>>(&mut dy); }
         stage store on s { copy dy -> y; }",
    );
    let help = "help: move `kernel<<<..>>>` of `work` to a stage on `t`, where events can be placed for it";
    assert!(!errors.is_empty() && errors.iter().all(|error| error.ends_with(help)), "{errors:?}");
}

#[test]
fn advice_does_not_use_a_name_again() {
    let (errors, _) = expand(
        "inout y: [f32]; stream s; stream t;
         stage load on s { copy y -> dy; record work_done; }
         stage work on t { wait work_done; kernel<<<1, 1>>>(&mut dy); }
         stage store on s { copy dy -> y; }",
    );
    assert!(errors[0].contains("add `record work_done_2;` to `work`"), "{errors:?}");
}
