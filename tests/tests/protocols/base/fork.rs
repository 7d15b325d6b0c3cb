//! No model forks.

use super::error::DriverError;

pub(crate) fn is_child() -> bool {
    false
}

pub(crate) fn refused(call: &'static str) -> Box<DriverError> {
    DriverError::new(call, 3, "", "")
}
