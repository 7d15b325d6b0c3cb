//! What a test says of itself although it passes.

/// Says what was tried, past the harness, which keeps what a test that passes prints.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).expect("a line on the terminal");
    }};
}
