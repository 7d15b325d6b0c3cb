//! The scheduler and the check of events by hand, against other ways to find the same.

// Before those that use its macro.
#[macro_use]
#[path = "../common/say.rs"]
mod say;

mod collectives;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/emitted.rs"]
mod emitted;
mod manual;
mod manual_oracle;
#[path = "../common/model.rs"]
mod model;
mod oracle;
mod order;
#[path = "../common/page.rs"]
mod page;
mod placement;
mod plans;
#[path = "../common/random.rs"]
mod random;
mod ranks_oracle;
mod speed;
