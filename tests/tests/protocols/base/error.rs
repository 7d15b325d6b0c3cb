//! Errors, as far as the protocols make or carry them.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) Detail);

#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(dead_code, reason = "what they say is read where they are printed")]
pub(crate) enum Detail {
    PartOfItem { host: &'static str, elements: usize, per_item: usize },
    SessionOver,
    Forked,
}

impl From<Detail> for Error {
    fn from(detail: Detail) -> Self {
        Self(detail)
    }
}

pub(crate) fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}")
}

/// An error of the driver's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(dead_code, reason = "what it says is read where it is printed")]
pub(crate) struct DriverError {
    call: &'static str,
    pub(crate) code: u32,
}

impl DriverError {
    pub(crate) fn new<N, D>(call: &'static str, code: u32, _: N, _: D) -> Box<Self> {
        Box::new(Self { call, code })
    }

    pub(crate) fn is_asynchronous(&self) -> bool {
        self.code == 700
    }
}
