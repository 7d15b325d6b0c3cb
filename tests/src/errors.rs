//! Checks of what errors say.

use thalweg::Error;

/// The source of a test, in which errors have their places. A line is identified by its end, `// at: mark`.
#[derive(Debug)]
pub struct Source {
    /// As `file!()` gives it.
    pub file: &'static str,
    /// The file's text.
    pub text: &'static str,
}

impl Source {
    /// Checks that an error belongs to a pipeline as a whole or, by its mark, to one of its declarations.
    #[track_caller]
    pub fn is_of_pipeline(&self, error: &Error, pipeline: &str, mark: &str) {
        let place = error.place();
        assert_eq!((place.pipeline, place.stage, place.operation), (Some(pipeline), None, None));
        assert_eq!(place.chunk, None);
        self.is_at(error, mark);
    }

    /// Checks that an error belongs to an operation, `stage: operation`, of one chunk.
    #[track_caller]
    pub fn is_of_operation(
        &self,
        error: &Error,
        pipeline: &str,
        operation: &str,
        chunk: Option<u64>,
        mark: &str,
    ) {
        let place = error.place();
        let known = format!("{}: {}", place.stage.unwrap(), place.operation.unwrap());
        assert_eq!((place.pipeline, &known[..], place.chunk), (Some(pipeline), operation, chunk));
        self.is_at(error, mark);
    }

    #[track_caller]
    fn is_at(&self, error: &Error, mark: &str) {
        let site = error.place().site.unwrap();
        assert_eq!((site.file, site.line), (self.file, self.line(mark)), "{error}");
        assert!(error.to_string().contains(&format!("\n  at {site}")), "{error}");
    }

    fn line(&self, mark: &str) -> u32 {
        let mark = format!("// at: {mark}");
        let mut lines = self.text.lines().zip(1..).filter(|(text, _)| text.ends_with(&mark));
        let (_, line) = lines.next().expect("the mark exists");
        assert_eq!(lines.next(), None, "the mark is unique");
        line
    }
}

/// What an error says, without its place.
pub fn says(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Checks the kind of an error: its variant and fields.
#[macro_export]
macro_rules! is {
    ($error:expr, $($kind:tt)+) => {
        assert!(matches!($error.detail(), ::thalweg::__private::Detail::$($kind)+), "{:?}", $error)
    };
}
