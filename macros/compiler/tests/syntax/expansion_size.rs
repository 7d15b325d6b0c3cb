//! A pipeline's expansion grows with its stages, and no faster.

use crate::chain;

use std::str::FromStr;

use chain::{Form, count, pipeline};
use proc_macro2::TokenStream;

#[test]
fn each_stage_more_is_as_many_tokens_more() {
    for form in [Form::Auto, Form::Manual, Form::Shared] {
        let sizes = [20, 40, 60].map(|stages| {
            let tokens = TokenStream::from_str(&pipeline(form, stages)).expect("the pipeline lexes");
            let expanded = thalweg_compiler::stream_pipeline(tokens);
            assert!(!expanded.to_string().contains("compile_error"));
            count(expanded)
        });
        println!("20, 40 and 60 stages: {sizes:?} tokens");
        assert_eq!(sizes[1] - sizes[0], sizes[2] - sizes[1]);
    }
}
