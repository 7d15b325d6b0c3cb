//! The threads of host functions, as their users see them. Their interleavings are in the tests' `protocols`.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::pool::Pool;
use crate::driver::HostJob;

const SOON: Duration = Duration::from_secs(20);

fn eventually(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < SOON, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_job_may_wait_for_those_after_it() {
    let pool = Pool::new();
    pool.start().expect("a thread");
    let (done, all_done) = mpsc::channel();
    let mut before: Option<mpsc::Receiver<()>> = None;
    let mut jobs: Vec<HostJob> = Vec::new();
    // Each job waits for the one that is pushed after it. The last waits for nothing.
    for index in (0..20).rev() {
        let (ready, wait) = mpsc::channel();
        let (after, done) = (before.replace(wait), done.clone());
        jobs.push(Box::new(move || {
            if let Some(after) = after {
                after.recv().expect("the one after it runs");
            }
            // Nobody waits for the first job.
            let _ = ready.send(());
            done.send(index).expect("the test waits");
        }));
    }
    jobs.into_iter().rev().for_each(|job| pool.push(job));
    let mut order: Vec<i32> = (0..20).map(|_| all_done.recv_timeout(SOON).expect("no deadlock")).collect();
    order.sort_unstable();
    assert_eq!(order, (0..20).collect::<Vec<_>>());
    pool.close();
    eventually("the threads end", || pool.threads().0 == 0);
}

#[test]
fn threads_that_are_not_needed_end_and_one_stays() {
    let pool = Pool::with_idle(Duration::from_millis(1));
    pool.start().expect("a thread");
    pool.start().expect("it is there already");
    let (go, gates): (Vec<_>, Vec<_>) = (0..4).map(|_| mpsc::channel::<()>()).unzip();
    for gate in gates {
        pool.push(Box::new(move || {
            gate.recv().expect_err("nothing is sent");
        }));
    }
    eventually("four jobs at a time and one to come", || pool.threads().0 == 5);
    drop(go);
    eventually("all but one end", || pool.threads() == (1, 1));
    let (done, is_done) = mpsc::channel();
    pool.push(Box::new(move || done.send(()).expect("the test waits")));
    is_done.recv_timeout(SOON).expect("the pool goes on");
    pool.close();
    eventually("the last ends", || pool.threads().0 == 0);
}

#[test]
fn a_panic_costs_no_thread() {
    let pool = Pool::new();
    pool.start().expect("a thread");
    pool.push(Box::new(|| panic!("contained")));
    let (done, is_done) = mpsc::channel();
    pool.push(Box::new(move || done.send(()).expect("the test waits")));
    is_done.recv_timeout(SOON).expect("the pool goes on");
    pool.close();
    eventually("the threads end", || pool.threads().0 == 0);
}

#[test]
fn a_closed_pool_drops_what_it_gets() {
    struct Dropped(mpsc::Sender<()>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.send(()).ok();
        }
    }
    let pool = Pool::new();
    let (sender, dropped) = mpsc::channel();
    let job = |sender: &mpsc::Sender<()>| -> HostJob {
        let captured = Dropped(sender.clone());
        Box::new(move || {
            let _captured = captured;
            unreachable!("it is not run")
        })
    };
    pool.push(job(&sender));
    assert!(dropped.try_recv().is_err());
    pool.close();
    dropped.try_recv().expect("dropped with the pool");
    pool.push(job(&sender));
    dropped.try_recv().expect("dropped at once");
}

#[test]
fn the_last_user_may_be_a_job() {
    let pool = Pool::new();
    pool.start().expect("a thread");
    let (inner, (done, is_done)) = (Arc::clone(&pool), mpsc::channel());
    pool.push(Box::new(move || {
        inner.close();
        done.send(()).expect("the test waits");
    }));
    is_done.recv_timeout(SOON).expect("closing waits for no thread");
}
