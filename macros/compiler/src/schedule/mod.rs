//! Which operations wait for which: the smallest set of events that orders every conflict.
//!
//! [`required`] finds the edges that the hazards demand, [`schedule`] drops those that the others imply,
//! [`implied`] says what implies each of them, and [`Order`] answers what a given set of waits orders, so
//! that waits written by hand can be checked against [`required`]. Everything here is ids: no tokens, no
//! spans, no English.
//!
//! # The model
//!
//! Chunks `c = 0, 1, 2, …` are enqueued one after another, each chunk's operations in program order; chunk
//! `c` uses ring slot `c mod D`. Two instances `(o, c)` and `(p, c + n)` conflict when they touch the same
//! instance of a storage and one of them writes. An edge `o -> p` at distance `d` orders `(o, c)` before
//! `(p, c + d)` for every `c`. Stream order consists of such edges, and it is free:
//!
//! | stream | at 0 | at 1 | at `D` |
//! | --- | --- | --- | --- |
//! | fixed | program order | all pairs | all pairs |
//! | per slot | program order | none | all pairs |
//!
//! # Which edges are implied
//!
//! An edge is dropped when, for every `D >= 1`, a path of other edges has exactly its distance. With `R0` the
//! reflexive-transitive closure of the edges at 0, `E1` those at 1, `ED` those at `D`, and `R1 = R0·E1·R0`:
//!
//! - at 0: a path in `R0`;
//! - at 1: a path in `R1`. For `D >= 2` an edge at `D` is too long to help, and an order must hold for these
//!   too;
//! - at `D`: a path in `R0·ED·R0`, which needs no particular `D`; or one in `R1^D`, for every `D`. For a
//!   given `D >= 2` a path of distance `D` has either one edge of `ED` or `D` edges of `E1` (a fixed stream's
//!   edge at `n` is `n` of its edges at 1), and whether the first kind exists does not depend on `D`.
//!
//! **`R1^n` only grows with `n`** when the edges are those of [`required`], so "for every `D`" is "for
//! `D = 1`". Each edge of `E1` has an end that is in `E1` with itself: any operation of a fixed stream; for
//! an edge that a shared storage demands, the end that writes. Hence `E1 ⊆ E1·E1`, so fixed streams are not
//! the only ones that absorb slack. Waits written by hand need not have this property, so [`Order`] takes the
//! powers.
//!
//! # Why they may be dropped all at once
//!
//! Fix a `D`. Every edge leads from one instance to one enqueued later, so the instances form a directed
//! acyclic graph in which only finitely many lie between any two, and its transitive reduction is unique. It
//! has the same reachability as the whole, so it is enough that what is kept contains the reduction. An edge
//! that is dropped either has a path of two or more edges beside it, or is parallel to stream order: neither
//! is in the reduction, or it is there as stream order. One case is left: for `D = 1` a `Reuse` edge may be
//! dropped for a `Previous` edge between the same two. That one is never dropped for a `Reuse` edge, so one
//! of the two is kept.
//!
//! Conversely no wait can be spared. Without a wait at 0 its ends are unordered for any `D`; without one at
//! 1, for any `D >= 2`; without one at `D`, for `D = 1`, by the growth of `R1^n`.
//!
//! # Why one event for an operation and a slot is enough
//!
//! A wait means the latest record that was enqueued before it. An operation records its slot's event right
//! after itself, so a wait for an earlier chunk that used the slot must precede, in program order, the
//! operation it waits for. It does:
//!
//! - a `Reuse` edge `o -> o` is stream order, and one with `o < p` follows from the edge `o -> p` at 0 that
//!   the same conflict demands and the stream order `p -> p` at `D`. The edges that are kept have `o > p`;
//! - a `Previous` edge with `o < p` follows from the same conflict's edge at 0, before or after the edge at 1
//!   that orders the writer of the two with itself. The edges that are kept have `o >= p`, and a wait comes
//!   before its operation.
//!
//! Before the first record of an event CUDA takes a wait for it as complete, so the first chunks need no
//! special case.

mod order;
mod path;
mod plan;
mod program;
mod relation;
mod required;
mod streams;

pub use order::Order;
pub use path::{Link, Step};
pub use plan::{Implied, Schedule, Why, implied, schedule};
pub use program::{Access, Op, OpId, Program, StorageId, StorageKind, StreamId, StreamKind};
pub use required::{Cause, Distance, Edge, Hazard, required};
