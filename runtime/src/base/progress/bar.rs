//! [`Bar`]: progress as a bar on a terminal.

use std::fmt::{self, Write};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{Listen, Progress};

/// The bar is drawn at most this often.
const DRAWS_A_SECOND: u8 = 10;

/// Characters of a pipeline's name. A longer name is cut, so that a line of 80 columns has room for the rest.
const NAME: usize = 20;

const TEMPLATE: &str = "{prefix} [{wide_bar}] {share} of {all} items, {rate}/s, {left} left";
/// The template for a run whose length its sources decide.
const TEMPLATE_WITHOUT_END: &str = "{prefix} [{wide_bar}] {done} items, {rate}/s, {took}";
const TEMPLATE_WHEN_OVER: &str = "{prefix} [{wide_bar}] {share} of {all} items, {rate}/s, took {took}";

/// The bar that shows a pipeline's runs, one after another.
pub(super) struct Bar {
    target: Box<dyn Fn() -> ProgressDrawTarget + Send + Sync>,
    /// The bar of the run that is under way.
    bar: Mutex<Option<ProgressBar>>,
}

impl Bar {
    /// Draws nothing if standard error is no terminal.
    pub(super) fn on_standard_error() -> Self {
        Self::on(|| ProgressDrawTarget::stderr_with_hz(DRAWS_A_SECOND))
    }

    fn on(target: impl Fn() -> ProgressDrawTarget + Send + Sync + 'static) -> Self {
        Self { target: Box::new(target), bar: Mutex::default() }
    }
}

impl Listen for Bar {
    fn at(&self, Progress { pipeline, done, total }: Progress) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if done == 0 {
            let new = ProgressBar::with_draw_target(Some(total as u64), (self.target)());
            let name: String = pipeline.chars().take(NAME).collect();
            let template = if total == usize::MAX { TEMPLATE_WITHOUT_END } else { TEMPLATE };
            *bar = Some(new.with_style(style(template)).with_prefix(name));
        }
        let Some(shown) = &*bar else { return };
        shown.set_position(done as u64);
        if done == total {
            // The length may not have been known before.
            shown.set_length(total as u64);
            shown.set_style(style(TEMPLATE_WHEN_OVER));
            shown.finish();
            *bar = None;
        }
    }

    fn failed(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Leaves the bar as it is, with the cursor on the line after it.
            bar.abandon();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are those above, which the tests draw.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    // The text is written to a line in memory, where writing does not fail.
    style
        .progress_chars("=> ")
        .with_key("share", |state: &ProgressState, to: &mut dyn Write| {
            let _ = write!(to, "{:>3.0}%", (100.0 * state.fraction()).floor());
        })
        .with_key("all", |state: &ProgressState, to: &mut dyn Write| {
            let _ = write!(to, "{}", Count(state.len().unwrap_or(0) as f64));
        })
        .with_key("done", |state: &ProgressState, to: &mut dyn Write| {
            let _ = write!(to, "{}", Count(state.pos() as f64));
        })
        .with_key("rate", |state: &ProgressState, to: &mut dyn Write| {
            let _ = write!(to, "{}", Count(state.per_sec()));
        })
        .with_key("left", |state: &ProgressState, to: &mut dyn Write| {
            // The remaining time is known only if there is a rate.
            let known = state.pos() > 0 && state.per_sec() > 0.0;
            let _ = write!(to, "{}", Clock(known.then(|| state.eta().as_secs())));
        })
        .with_key("took", |state: &ProgressState, to: &mut dyn Write| {
            let _ = write!(to, "{}", Clock(Some(state.elapsed().as_secs())));
        })
}

/// A number with three digits.
struct Count(f64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_finite() {
            return f.write_char('?');
        }
        let (mut number, mut units) = (self.0, ["", " k", " M", " G", " T", " P", " E"].iter());
        let mut unit = units.next();
        // Three digits of a larger number would be rounded to the next unit.
        while number >= 999.5
            && let Some(larger) = units.next()
        {
            (number, unit) = (number / 1e3, Some(larger));
        }
        let unit = unit.copied().unwrap_or_default();
        let digits = match number {
            _ if unit.is_empty() => 0,
            0.0..9.995 => 2,
            0.0..99.95 => 1,
            _ => 0,
        };
        write!(f, "{number:.digits$}{unit}")
    }
}

/// A duration in seconds, as `1:02:03` or `2:03`; `?` if it is not known.
struct Clock(Option<u64>);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(seconds) = self.0 else { return f.write_char('?') };
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match hours {
            0 => write!(f, "{minutes}:{seconds:02}"),
            _ => write!(f, "{hours}:{minutes:02}:{seconds:02}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    /// A terminal of 80 columns, and a bar that is drawn at each call.
    fn bar() -> (InMemoryTerm, Bar) {
        let terminal = InMemoryTerm::new(10, 80);
        let shown = terminal.clone();
        let draw = move || ProgressDrawTarget::term_like_with_hz(Box::new(shown.clone()), u8::MAX);
        (terminal, Bar::on(draw))
    }

    fn at(done: usize) -> Progress {
        Progress { pipeline: "Saxpy", done, total: 1_000_000 }
    }

    #[test]
    fn a_run_fills_the_line_and_stays_on_it() {
        let (terminal, bar) = bar();
        bar.at(at(0));
        assert_eq!(
            terminal.contents(),
            "Saxpy [                                      ]   0% of 1.00 M items, 0/s, ? left"
        );
        bar.at(at(500_000));
        bar.at(at(1_000_000));
        let line = terminal.contents();
        assert_eq!(line.lines().count(), 1, "{line}");
        assert_eq!(line.chars().count(), 80, "{line}");
        assert!(line.starts_with("Saxpy [===") && line.contains("=] 100% of 1.00 M items, "), "{line}");
        assert!(line.ends_with("/s, took 0:00"), "{line}");
    }

    /// Text that is printed after the bar has a line of its own.
    #[test]
    fn a_run_that_fails_leaves_the_bar_as_it_was() {
        use indicatif::TermLike;

        let (terminal, bar) = bar();
        bar.at(at(0));
        bar.at(at(250_000));
        bar.failed();
        terminal.write_line("error").expect("memory");
        let text = terminal.contents();
        let (line, rest) = text.split_once('\n').expect("two lines");
        assert!(line.contains("]  25% of 1.00 M items, "), "{text}");
        assert_eq!(rest, "error");
        // The next run has a bar of its own.
        bar.at(at(0));
        assert!(
            terminal.contents().ends_with("]   0% of 1.00 M items, 0/s, ? left"),
            "{}",
            terminal.contents()
        );
    }

    #[test]
    fn a_run_of_nothing_is_over_at_once() {
        let (terminal, bar) = bar();
        bar.at(Progress { pipeline: "Saxpy", done: 0, total: 0 });
        let line = terminal.contents();
        assert!(line.contains("=] 100% of 0 items, ") && line.ends_with("took 0:00"), "{line}");
        assert!(bar.bar.lock().expect("the bar").is_none());
    }

    #[test]
    fn long_names_and_large_numbers_fit_80_columns() {
        let (terminal, bar) = bar();
        let name = "AnOutOfCoreMatrixProductOfSomeKind";
        let total = usize::MAX - 1;
        bar.at(Progress { pipeline: name, done: 0, total });
        bar.at(Progress { pipeline: name, done: total / 3, total });
        let line = terminal.contents();
        assert!(line.starts_with("AnOutOfCoreMatrixPro [=") && line.lines().count() == 1, "{line}");
        assert!(line.contains("]  33% of 18.4 E items, ") && line.ends_with(" left"), "{line}");
    }

    #[test]
    fn a_run_without_an_end_says_how_far_it_is() {
        let (terminal, bar) = bar();
        let at = |done, total| bar.at(Progress { pipeline: "Saxpy", done, total });
        at(0, usize::MAX);
        at(5000, usize::MAX);
        let line = terminal.contents();
        assert!(line.contains("] 5.00 k items, ") && line.ends_with("/s, 0:00"), "{line}");
        at(7000, 7000);
        let line = terminal.contents();
        assert!(line.contains("=] 100% of 7.00 k items, ") && line.ends_with("took 0:00"), "{line}");
    }

    #[test]
    fn numbers_have_three_digits() {
        for (number, text) in [
            (0.0, "0"),
            (7.0, "7"),
            (999.0, "999"),
            (999.9, "1.00 k"),
            (1234.0, "1.23 k"),
            (56_780.0, "56.8 k"),
            (99_960.0, "100 k"),
            (999_600.0, "1.00 M"),
            (1.8e19, "18.0 E"),
            (f64::INFINITY, "?"),
            (f64::NAN, "?"),
        ] {
            assert_eq!(Count(number).to_string(), text);
        }
        for (seconds, text) in [(0, "0:00"), (61, "1:01"), (3599, "59:59"), (3723, "1:02:03")] {
            assert_eq!(Clock(Some(seconds)).to_string(), text);
        }
    }
}
