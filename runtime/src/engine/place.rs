//! The places of a pipeline, its buffers and its operations in the user's program.

use crate::base::error::{Place, Site};
use crate::base::plan::{BufferPlan, Plan};

/// The place of a pipeline as a whole.
pub(crate) fn place_of_pipeline(plan: &'static Plan) -> Place {
    let Plan { pipeline, file, line, column, .. } = *plan;
    Place { pipeline: Some(pipeline), site: Some(Site { file, line, column }), ..Place::default() }
}

/// The place of a buffer's declaration.
pub(crate) fn place_of_buffer(plan: &'static Plan, buffer: usize) -> Place {
    let BufferPlan { line, column, .. } = plan.buffers[buffer];
    Place { site: Some(Site { file: plan.file, line, column }), ..place_of_pipeline(plan) }
}

/// The place of one operation, with its chunk if that is known.
pub(crate) fn place_of(plan: &'static Plan, operation: usize, chunk: Option<u64>) -> Place {
    let at = &plan.operations[operation];
    Place {
        pipeline: Some(plan.pipeline),
        stage: Some(plan.stages[at.stage]),
        operation: Some(at.text),
        chunk,
        site: Some(Site { file: plan.file, line: at.line, column: at.column }),
        run: None,
    }
}
