//! Data that come and go while a run goes on: sources, sinks, files of other programs, sessions.

mod formats;
mod session;
mod sources;
