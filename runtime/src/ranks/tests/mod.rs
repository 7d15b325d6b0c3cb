//! Worlds of ranks that are threads, over loopback and without connections.

mod deaths;
mod exchanges;
mod fork;
mod gathers;
mod meetings;
mod processes;
mod speed;

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::environment::Seat;
use super::members::{Limits, Members};
use crate::base::error::Result;

/// Longer than any test that succeeds.
const LONG: Duration = Duration::from_secs(60);
/// Short enough to be waited for, and longer than a busy machine stands still.
const SHORT: Duration = Duration::from_millis(400);

/// Long enough for a rank to come, and short enough to be waited for.
const LONGER: Duration = Duration::from_millis(1500);

/// How the ranks of a world are connected.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Sockets,
    Together,
}

const KINDS: [Kind; 2] = [Kind::Sockets, Kind::Together];

fn limits() -> Limits {
    Limits { rendezvous: LONG, gather: LONG, ..Limits::default() }
}

/// A port that nobody listens at, and that the system gives to no connection.
fn port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(61);
    loop {
        let port = 10_240 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 22_000;
        let port = u16::try_from(port).expect("a port");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn seat(rank: usize, size: usize, port: u16, token: &str) -> Seat {
    Seat::by_hand(rank, size, &format!("127.0.0.1:{port}"), Some(token.to_owned())).expect("a seat")
}

/// What the ranks do, each on a thread of its own.
fn each<T: Send>(n: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..n).map(|rank| scope.spawn(move || work(rank))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank")).collect()
    })
}

/// The ranks of a world that meet.
fn meet(n: usize, limits: Limits) -> Vec<Result<Arc<Members>>> {
    let port = port();
    each(n, |rank| Members::meet(&seat(rank, n, port, "token"), limits))
}

/// The ranks of a world.
fn world(kind: Kind, n: usize, limits: Limits) -> Vec<Arc<Members>> {
    match kind {
        Kind::Sockets => meet(n, limits).into_iter().map(|rank| rank.expect("a rank")).collect(),
        Kind::Together => Members::together(n, limits),
    }
}

/// What the ranks of a world do. Each of them leaves when its work ends.
fn run<T: Send>(kind: Kind, n: usize, limits: Limits, work: impl Fn(Arc<Members>) -> T + Sync) -> Vec<T> {
    let world = world(kind, n, limits).into_iter().map(|rank| std::sync::Mutex::new(Some(rank)));
    let world: Vec<_> = world.collect();
    each(n, |rank| work(world[rank].lock().expect("a rank").take().expect("a rank")))
}

/// The first line of an error.
fn text<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.expect_err("an error");
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// `rank 2 (host …, process …)`, of a rank that is a thread of this process.
fn named(rank: usize) -> String {
    format!("rank {rank} (host {}, process {})", super::environment::host_name(), std::process::id())
}
