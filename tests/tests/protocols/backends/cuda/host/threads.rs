//! The pool alone: each job is run once or dropped once, a job may wait for one that comes later, and closing
//! ends every thread.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;

use super::gate::{Counted, Gate};
use super::pool::Pool;
use crate::base::sync::{be_late, expire, give_threads};
use crate::check;

/// A job that reports its end, run or not.
fn job(gone: &Arc<Gate>, work: impl FnOnce() + Send + 'static) -> Box<dyn FnOnce() + Send> {
    let counted = Counted::by(gone);
    Box::new(move || {
        work();
        drop(counted);
    })
}

fn started() -> (Arc<Pool>, Arc<Gate>) {
    let pool = Pool::with_idle(Duration::ZERO);
    pool.start().expect("a thread");
    (pool, Arc::default())
}

#[test]
fn a_job_may_wait_for_one_after_it() {
    check(2, || {
        let ((pool, gone), ready) = (started(), Arc::<Gate>::default());
        let waited = Arc::clone(&ready);
        pool.push(job(&gone, move || waited.wait_for(1)));
        pool.push(job(&gone, move || ready.count()));
        gone.wait_for(2);
        pool.close();
    });
}

/// Threads that have waited long enough may end: there is still one for a job that another job waits for.
#[test]
fn a_thread_stays_for_the_next_job() {
    for timeouts in 0..3 {
        check(1, move || {
            let ((pool, gone), ready, begun) = (started(), Arc::<Gate>::default(), Arc::<Gate>::default());
            expire(timeouts);
            pool.push(job(&gone, || {}));
            gone.wait_for(1);
            let (waited, has_begun) = (Arc::clone(&ready), Arc::clone(&begun));
            pool.push(job(&gone, move || {
                has_begun.count();
                waited.wait_for(1);
            }));
            begun.wait_for(1);
            pool.push(job(&gone, move || ready.count()));
            gone.wait_for(3);
            pool.close();
        });
    }
}

/// A thread whose time is over at the moment of the notification does the job.
#[test]
fn a_thread_that_is_late_does_its_job() {
    check(1, || {
        let (pool, gone) = started();
        be_late();
        for done in 0..3 {
            gone.wait_for(done);
            pool.push(job(&gone, || {}));
        }
        gone.wait_for(3);
        pool.close();
    });
}

/// A job that is pushed while another thread closes the pool is run or dropped, and every thread ends.
#[test]
fn a_pool_is_closed_at_any_time() {
    check(2, || {
        let (pool, gone) = started();
        let closed = Arc::clone(&pool);
        thread::spawn(move || closed.close());
        pool.push(job(&gone, || {}));
        pool.push(job(&gone, || {}));
        gone.wait_for(2);
    });
}

/// If the system gives no further thread, jobs run one after another.
#[test]
fn one_thread_runs_all_jobs() {
    check(2, || {
        give_threads(1);
        let (pool, gone) = started();
        pool.push(job(&gone, || {}));
        pool.push(job(&gone, || {}));
        gone.wait_for(2);
        pool.close();
    });
}

/// Threads that start the pool at once start one thread.
#[test]
fn a_pool_is_started_by_several() {
    check(2, || {
        let (pool, gone) = (Pool::with_idle(Duration::ZERO), Arc::<Gate>::default());
        let started = Arc::clone(&pool);
        let other = thread::spawn(move || started.start().expect("a thread"));
        pool.start().expect("a thread");
        pool.push(job(&gone, || {}));
        gone.wait_for(1);
        other.join().expect("no panic");
        pool.close();
    });
}

/// If the system gives no thread, no call claims that there is one.
#[test]
fn a_start_that_fails_is_nobodys_thread() {
    check(2, || {
        give_threads(0);
        let pool = Pool::with_idle(Duration::ZERO);
        let started = Arc::clone(&pool);
        let other = thread::spawn(move || started.start().is_ok());
        assert_eq!((pool.start().is_ok(), other.join().expect("no panic")), (false, false));
    });
}
