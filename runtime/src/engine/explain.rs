//! [`explain`]: turns a driver's error into one in the user's terms.

use crate::base::error::{Apart, Detail, DriverDetail, DriverError, Error, Place, RanksDetail, Touch};
use crate::base::plan::{OperationKind, Plan};
use crate::driver::Tag;
use crate::engine::place::{place_of, place_of_pipeline};

/// A driver's error as the user's, with its place if the device can tell.
pub(crate) fn explain(plan: &'static Plan, error: Box<DriverError>) -> Error {
    let tag = error.tag.map(|(operation, chunk)| Tag { pipeline: error.pipeline, operation, chunk });
    let place = tag.map_or_else(|| place_of_pipeline(plan), |tag| place_of_tag(plan, tag));
    let at = tag.filter(|tag| is_of(plan, *tag)).map(|tag| plan.operations[tag.operation as usize].kind);
    let kind = match (error.detail.as_deref(), at) {
        (Some(DriverDetail::HostBody(message)), Some(OperationKind::Launch { kernel })) => {
            Detail::HostBody { kernel, message: message.clone() }
        }
        (Some(DriverDetail::KernelFault(fault)), Some(OperationKind::Launch { kernel })) => {
            Detail::KernelFault { kernel, fault: Box::new(fault.clone()) }
        }
        (Some(DriverDetail::Unwritten(unwritten)), Some(OperationKind::Launch { kernel })) => {
            unwritten.by(kernel)
        }
        (Some(DriverDetail::HostBody(message)), Some(OperationKind::Call { routine })) => {
            Detail::RoutineBody { routine, message: message.clone() }
        }
        (Some(&DriverDetail::Race { writes, earlier, earlier_writes }), _) => Detail::Race {
            earlier: Box::new(Touch { place: place_of_tag(plan, earlier), writes: earlier_writes }),
            later: Box::new(Touch { place, writes }),
            help: "",
        },
        (Some(DriverDetail::Users(users)), _) => {
            let operations = users.iter().map(|&tag| place_of_tag(plan, tag)).collect();
            Detail::MemoryInUse { operations }
        }
        (Some(DriverDetail::Forked), _) => Detail::Forked,
        (Some(DriverDetail::Ranks(Apart { why, ranks })), _) => {
            Detail::Ranks(RanksDetail::Apart { why: why.clone(), ranks: ranks.clone() })
        }
        _ => Detail::Driver(error),
    };
    Error::new(kind).at(place)
}

fn place_of_tag(plan: &'static Plan, tag: Tag) -> Place {
    if is_of(plan, tag) {
        place_of(plan, tag.operation as usize, Some(tag.chunk))
    } else {
        place_of_pipeline(plan)
    }
}

/// Whether the tag names one of the plan's operations, as far as that is known: several pipelines use one
/// device.
fn is_of(plan: &Plan, tag: Tag) -> bool {
    (tag.pipeline == 0 || tag.pipeline == plan.id()) && (tag.operation as usize) < plan.operations.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::plan::{OperationPlan, Plan};

    const OPERATION: OperationPlan = OperationPlan {
        stage: 0,
        stream: 0,
        text: "copy x -> dx",
        kind: OperationKind::Upload { host: 0, buffer: 0 },
        conditional: false,
        repeat: None,
        accesses: &[],
        line: 19,
        column: 29,
    };
    static PLAN: Plan = Plan {
        pipeline: "Saxpy",
        file: "src/main.rs",
        line: 8,
        column: 14,
        streams: &[],
        stages: &["load", "store"],
        hosts: &[],
        buffers: &[],
        operations: &[OPERATION, OperationPlan { stage: 1, text: "copy dx -> y", line: 21, ..OPERATION }],
        events: &[],
        waits: &[],
    };

    fn tag(operation: u32, chunk: u64) -> Tag {
        Tag { pipeline: PLAN.id(), operation, chunk }
    }

    fn error() -> Box<DriverError> {
        DriverError::new("cuMemFree", 1, "CUDA_ERROR_INVALID_VALUE", "in use")
    }

    #[test]
    fn memory_in_use_names_every_user() {
        let users = vec![tag(0, 4), tag(1, 3), tag(u32::MAX, 0)];
        let error = explain(&PLAN, error().about(users[0]).with(DriverDetail::Users(users)));
        assert_eq!(
            error.to_string(),
            "memory is freed while it is in use\n  \
             by `copy x -> dx` of chunk 4, in stage `load`, at src/main.rs:19:29\n  \
             by `copy dx -> y` of chunk 3, in stage `store`, at src/main.rs:21:29\n  \
             by what a run does besides its operations, at src/main.rs:8:14\n  \
             in pipeline `Saxpy`, stage `load`, operation `copy x -> dx`, chunk 4\n  \
             at src/main.rs:19:29"
        );
    }

    #[test]
    fn a_race_names_both() {
        let race = DriverDetail::Race { writes: true, earlier: tag(1, 2), earlier_writes: false };
        let error = explain(&PLAN, error().about(tag(0, 4)).with(race));
        let shown = include_str!("../../../book/src/checking-race.txt");
        assert_eq!(error.to_string(), shown.trim_end(), "as the book shows it");
    }

    /// The same number of another pipeline names another operation.
    #[test]
    fn an_operation_of_another_pipeline_is_not_named() {
        let other = Plan { pipeline: "Q", ..PLAN };
        let elsewhere = Tag { pipeline: other.id(), ..tag(1, 2) };
        let place = *explain(&PLAN, error().about(elsewhere)).place();
        assert_eq!((place.pipeline, place.operation, place.chunk), (Some("Saxpy"), None, None));
        let place = *explain(&PLAN, error().about(tag(1, 2))).place();
        assert_eq!((place.operation, place.chunk), (Some("copy dx -> y"), Some(2)));
    }
}
