//! Pipelines of any length, to see how the work of expanding them grows.

use std::fmt::Write;

use proc_macro2::{TokenStream, TokenTree};

const STREAMS: usize = 5;

/// The form of the pipelines.
#[derive(Clone, Copy)]
pub enum Form {
    /// Each stage reads what the one before has written.
    Auto,
    /// The same, with the events placed by hand.
    Manual,
    /// Each stage also updates a buffer that all others update, so that every two stages conflict.
    Shared,
}

/// A pipeline of so many stages, on several streams in turn.
pub fn pipeline(form: Form, stages: usize) -> String {
    let mut text = String::from(
        "pub pipeline P { param a: f32; input x: [f32]; input w: [f32]; output y: [f32]; chunk c = auto; depth = 3;",
    );
    let mut add = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a string takes all");
    match form {
        Form::Auto => {}
        Form::Manual => add(format_args!("sync = manual;")),
        Form::Shared => add(format_args!("carry sum: [f32; 16] = 0.0;")),
    }
    for stream in 0..STREAMS {
        let slot = if stream == 1 { " per slot" } else { "" };
        add(format_args!("stream s{stream}{slot};"));
    }
    for stage in 0..=stages {
        add(format_args!("device d{stage}: [f32];"));
    }
    for stage in 0..stages {
        let (next, stream) = (stage + 1, stage % STREAMS);
        add(format_args!("stage stage{stage} on s{stream} {{"));
        if matches!(form, Form::Manual) {
            // The stage's input is there, and its output was read by the chunk that used the slot before.
            if stage > 0 {
                add(format_args!("wait e{};", stage - 1));
            }
            if next < stages {
                add(format_args!("wait e{next} @ reuse;"));
            }
        }
        if stage == 0 {
            add(format_args!("copy x -> d0;"));
        }
        let sum = if matches!(form, Form::Shared) { ", &mut sum" } else { "" };
        add(format_args!("copy w -> t{stage}; copy d{stage} -> u{stage};"));
        add(format_args!(
            "combine<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &t{stage}, &u{stage}, out d{next}{sum});"
        ));
        if next == stages {
            add(format_args!("copy d{next} -> y;"));
        }
        if matches!(form, Form::Manual) {
            add(format_args!("record e{stage};"));
        }
        add(format_args!("}}"));
    }
    add(format_args!("}}"));
    text
}

/// The tokens, both ends of a group included.
pub fn count(tokens: TokenStream) -> usize {
    let of = |token| match token {
        TokenTree::Group(group) => 2 + count(group.stream()),
        _ => 1,
    };
    tokens.into_iter().map(of).sum()
}
