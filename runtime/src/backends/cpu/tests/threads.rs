use std::sync::Barrier;
use std::thread;

use super::*;

/// Each of the two threads carries out a command at the same time as the other.
#[test]
fn two_threads_carry_out_two_streams_at_once() {
    let rig = Rig::new();
    let barrier = Arc::new(Barrier::new(2));
    let streams = [(); 2].map(|()| rig.stream());
    for stream in streams {
        let barrier = Arc::clone(&barrier);
        let meets = move || {
            barrier.wait();
        };
        rig.host(stream, tag(0, 0), &[], meets).unwrap();
    }
    thread::scope(|scope| {
        for stream in streams {
            let rig = &rig;
            scope.spawn(move || rig.sync(stream).unwrap());
        }
    });
}

/// Threads that wait for the same stream all see it through, and commands of one stream do not overlap.
#[test]
fn many_threads_wait_for_each_others_work() {
    let rig = Rig::new();
    let streams = [(); 4].map(|()| rig.stream());
    let events = [(); 4].map(|()| rig.event());
    let (log, rounds) = (Log::default(), 60);
    for round in 0..rounds {
        for (index, stream) in streams.into_iter().enumerate() {
            // Each comes after what was enqueued before it, so there is one order.
            let before = events[(index + 3) % 4];
            rig.wait(stream, before);
            rig.launch(stream, tag(0, 0), &[], log.note(round * 4 + index as u32)).unwrap();
            rig.record(events[index], stream);
        }
    }
    thread::scope(|scope| {
        for thread in 0..8 {
            let rig = &rig;
            scope.spawn(move || rig.sync(streams[thread % 4]).unwrap());
        }
    });
    assert_eq!(log.taken(), (0..rounds * 4).collect::<Vec<_>>());
}

/// Callers of one pool wait for the device with all of its threads. Bodies have other threads.
#[test]
fn bodies_need_no_thread_of_the_callers_pool() {
    let rig = Rig::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let sum = Arc::new(Mutex::new(0));
    pool.scope(|scope| {
        for _ in 0..20 {
            let (rig, sum) = (rig.clone(), Arc::clone(&sum));
            scope.spawn(move |_| {
                let stream = rig.stream();
                let body = move || {
                    let (one, other) = rayon::join(|| 1, || 2);
                    *sum.lock().unwrap() += one + other;
                };
                rig.launch(stream, tag(0, 0), &[], body).unwrap();
                rig.sync(stream).unwrap();
                rig.destroy(stream);
            });
        }
    });
    assert_eq!(*sum.lock().unwrap(), 60);
}

#[test]
fn devices_go_on_without_each_other() {
    let [one, other] = [(); 2].map(|()| Rig::with(CpuOptions::default().threads(1).memory(1 << 20)));
    let barrier = Arc::new(Barrier::new(2));
    thread::scope(|scope| {
        for rig in [&one, &other] {
            let barrier = Arc::clone(&barrier);
            let stream = rig.stream();
            // The two share a pool of one thread, and would wait for each other for good.
            let meets = move || {
                barrier.wait();
            };
            rig.launch(stream, tag(0, 0), &[], meets).unwrap();
            scope.spawn(move || rig.sync(stream).unwrap());
        }
    });
}
