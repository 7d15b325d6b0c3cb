use super::*;
use crate::driver::occupancy::resident_blocks;

#[test]
fn blocks_are_limited_by_threads_shared_memory_and_their_number() {
    let resident = |spec: Simulation, threads, shared| {
        let sim = Sim::new(spec);
        resident_blocks(sim.info(), [threads, 1, 1], shared) / u64::from(sim.info().multiprocessors)
    };
    assert_eq!(resident(Simulation::h200(), 1024, 0), 2);
    assert_eq!(resident(Simulation::h200(), 33, 0), 32);
    assert_eq!(resident(Simulation::h200(), 65, 0), 21);
    assert_eq!(resident(Simulation::h200(), 256, 227 << 10), 1);
    assert_eq!(resident(Simulation::h200(), 256, 113 << 10), 2);
    assert_eq!(resident(Simulation::t4(), 256, 32 << 10), 2);
    assert_eq!(resident(Simulation::t4(), 32, 0), 16);
    assert_eq!(resident(Simulation::rtx4090(), 1024, 0), 1);
}
