//! How long gathers and exchanges take. It asserts nothing.

use std::time::Instant;

use super::*;

#[test]
#[ignore = "it measures"]
fn gathers_and_exchanges() {
    for kind in KINDS {
        for n in [2, 4] {
            let times = run(kind, n, limits(), |members| {
                let mut times: Vec<_> = (0..5000)
                    .map(|_| {
                        let start = Instant::now();
                        members.gather("a run", &[7; 64]).wait().expect("all come");
                        start.elapsed()
                    })
                    .collect();
                times.sort_unstable();
                (times[times.len() / 2], times[times.len() * 99 / 100])
            });
            println!("{kind:?}, {n} ranks: median and 99 % of a gather of 64 bytes: {times:?}");
        }
        let times = run(kind, 2, limits(), |members| {
            let other = 1 - members.rank();
            let (sent, mut received) = (vec![1; 64 << 20], vec![0; 64 << 20]);
            let start = Instant::now();
            for _ in 0..4 {
                members.exchange(&[(other, &sent)], &mut [(other, &mut received)]).expect("both");
            }
            256.0 / 1024.0 / start.elapsed().as_secs_f64()
        });
        println!("{kind:?}: GiB/s in each direction: {times:?}");
    }
}
