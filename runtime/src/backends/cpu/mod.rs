//! The CPU as a device: streams, events, copies and launches in real time, on the machine's own memory.
//!
//! Enqueuing only puts commands into streams. They are carried out by the threads that wait for a stream or an
//! event ([`wait`]), so that nothing is handed to another thread but what is worth it: bodies that may use
//! several threads, which run on a pool for the whole process ([`carry`]). Among the streams that could go on,
//! the most urgent comes first, and then the command that was enqueued first: the operations on one chunk follow
//! each other while its data are in the caches. Threads that wait at the same time carry out commands of
//! different streams at the same time.
//!
//! Nothing is judged here. Conflicting commands do not overlap, because the plan or the check of streams by hand
//! has ordered them; a program without that order is wrong, and the simulated device says so.
//!
//! # Failures
//! A failure belongs to the streams that it reaches. After the command that failed, its stream carries out no
//! more work. A stream that waits for an event that was recorded after the failure carries out no work after
//! that wait. Events are still recorded and waited for, so nothing hangs, and everything that the failure does
//! not reach goes on. Each stream that was reached reports the error from its next `synchronize_stream`, once, and
//! works again after that. An event recorded after the failure reports it until its stream has. So after an
//! error, synchronising with every stream of a run makes the device as good as new. The device itself is never
//! lost.

mod carry;
mod device;
mod driver;
mod graph;
mod machine;
mod memory;
mod options;
mod queue;
mod state;
#[cfg(test)]
mod tests;
mod wait;
mod work;

pub(crate) use device::Cpu;
pub use options::CpuOptions;
