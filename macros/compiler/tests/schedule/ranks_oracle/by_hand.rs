//! The same programs with `sync = manual`, and the events that the compiler places: they are accepted, and
//! without one of the waits for the order of collectives they are refused.

use std::collections::BTreeMap;

use super::accepted::{self, Tried};
use super::emitted;
use super::expansion::{Code, expand};
use super::host::Of;
use super::pipeline::{Mark, Pipeline};
use super::random::Random;
use super::rules;
use super::tally::Case;

pub fn judge(case: &mut Case<'_>, code: &Code, random: &mut Random) {
    if !random.chance(15) {
        return;
    }
    let marks = marks(case.pipeline, code);
    let expansion = expand(case.pipeline, Some(&marks));
    if !expansion.errors.is_empty() {
        case.fail_in("refused with the compiler's own events", &expansion, "");
        return;
    }
    case.count("by hand: accepted");
    let written = expansion.code();
    if let Some(still) = accepted::runs(case, &written.steps, &written.streams, random) {
        case.fail_in("a program by hand stands still", &expansion, &still);
        return;
    }
    let orders = rules::order_only(case.pipeline, &written.steps);
    if orders.is_empty() {
        return;
    }
    let order = random.pick(&orders);
    let ops = case.pipeline.ops();
    let (from, to) = (ops[order.ends.0].at, ops[order.ends.1].at);
    let kept: Vec<_> = marks.into_iter().filter(|mark| *mark != wait(from, to, order.of)).collect();
    let expansion = expand(case.pipeline, Some(&kept));
    expansion.errors.iter().for_each(|error| emitted::in_style(&error.text));
    let rest = rules::without(&written.steps, order.wait);
    let tried = accepted::stands_still(case.pipeline, &rest, &written.streams, order, random);
    let is_of_order =
        |error: &emitted::Said| error.text.contains("begin their collectives in different orders");
    match (expansion.errors.is_empty(), tried) {
        (true, Tried::StandsStill(_)) => {
            case.fail_in("accepted without an order that is needed", &expansion, &format!("{to:?}"));
        }
        (true, _) => case.count("by hand: accepted without a wait"),
        (false, Tried::StandsStill(_)) => {
            if expansion.errors.iter().any(|error| emitted::code(&error.text) != "TW0201") {
                case.fail_in("refused by another rule than the order's", &expansion, "");
            }
            case.count("by hand: refused without a wait, and they stand still");
        }
        (false, Tried::NeverTogether) => {
            case.count("by hand: refused without a wait of what is never carried out")
        }
        (false, Tried::Ends) if expansion.errors.iter().any(is_of_order) => {
            case.fail_in("refused for an order that nothing needs", &expansion, &format!("{to:?}"));
        }
        (false, Tried::Ends) => case.count("by hand: refused without a wait, as a race"),
    }
}

/// The events as the user would write them, each beside the items of its operations.
fn marks(pipeline: &Pipeline, code: &Code) -> Vec<Mark> {
    let (mut records, mut waits) = (BTreeMap::new(), Vec::new());
    rules::marks(&code.steps, &mut records, &mut waits);
    let ops = pipeline.ops();
    let mut marks: Vec<Mark> = Vec::new();
    let mut add = |mark: Mark| {
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    };
    for &op in records.values() {
        let at = ops[op].at;
        add(Mark { at, text: format!("record {};", event(at)), before: false });
    }
    for (to, name, of) in waits {
        let from = records.get(&name).expect("an event that is waited for is recorded");
        add(wait(ops[*from].at, ops[to].at, of));
    }
    marks
}

fn event((stage, item): (usize, usize)) -> String {
    format!("e{stage}_{item}")
}

fn wait(from: (usize, usize), at: (usize, usize), of: Of) -> Mark {
    let of = match of {
        Of::This => "",
        Of::Previous => " @ previous",
        Of::Reuse => " @ reuse",
    };
    Mark { at, text: format!("wait {}{of};", event(from)), before: true }
}
