//! The exchange of slots, and how its threads wake each other.

#[allow(dead_code, reason = "the models use a part of it")]
#[path = "../../../../runtime/src/exchange/slot_exchange/mod.rs"]
mod slot_exchange;
mod slots;
#[path = "../../../../runtime/src/exchange/wakeup.rs"]
mod wakeup;

mod callers;
mod run;
mod threads;
mod wakeups;
