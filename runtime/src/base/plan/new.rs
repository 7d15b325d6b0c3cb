//! How the macro makes a plan: the structs are open to more fields, so nothing outside of this crate can
//! write them out. Note 58.

use super::{
    AccessPlan, BufferKind, BufferPlan, Distance, EventPlan, Hazard, HazardPlan, HostPlan, Memory,
    OperationKind, OperationPlan, Plan, Priority, StreamPlan, WaitPlan,
};

macro_rules! constructors {
    ($($plan:ident($($field:ident: $type:ty),* $(,)?);)+) => {$(
        impl $plan {
            /// What the macro has decided, in the order of the fields. This is no part of the interface, and
            /// changes with any release.
            #[doc(hidden)]
            #[allow(clippy::too_many_arguments, reason = "it is generated code that calls it")]
            pub const fn new($($field: $type),*) -> Self {
                Self { $($field),* }
            }
        }
    )+};
}

constructors! {
    Plan(
        pipeline: &'static str, file: &'static str, line: u32, column: u32,
        streams: &'static [StreamPlan],
        stages: &'static [&'static str],
        hosts: &'static [HostPlan],
        buffers: &'static [BufferPlan],
        operations: &'static [OperationPlan],
        events: &'static [EventPlan],
        waits: &'static [WaitPlan],
    );
    StreamPlan(name: &'static str, priority: Priority, per_slot: bool, null: bool, placed: bool);
    HostPlan(name: &'static str, reads: bool, writes: bool, halo: bool, line: u32, column: u32);
    BufferPlan(name: &'static str, kind: BufferKind, line: u32, column: u32);
    OperationPlan(
        stage: usize, stream: usize, text: &'static str, kind: OperationKind,
        conditional: bool, repeat: Option<usize>, accesses: &'static [AccessPlan], line: u32, column: u32,
    );
    AccessPlan(memory: Memory, reads: bool, writes: bool);
    EventPlan(name: &'static str, operation: usize);
    WaitPlan(operation: usize, event: usize, distance: Distance, hazards: &'static [HazardPlan]);
    HazardPlan(buffer: &'static str, hazard: Hazard);
}
