//! Graphs on the simulated device: they have exactly their own order, and that of their stream around them.

use std::ops::Range;

use super::*;
use crate::backends::sim::random::Random;
use crate::driver::command::recording::Recording;

/// A graph that is being described. Its launches only matter to the race checker, or note a number.
#[derive(Default)]
pub(super) struct Drawn {
    nodes: Recording,
    bodies: Vec<HostBody>,
}

impl Drawn {
    pub(super) fn node(
        &mut self,
        operation: u32,
        after: &[u32],
        accesses: &[Access],
        body: impl FnOnce() + Send + 'static,
    ) -> u32 {
        let launch = RawLaunch {
            function: RawFunction::plain(0, 1024, 0),
            grid: [1, 1, 1],
            block: [1, 1, 1],
            shared: 0,
            params: &[],
            sizes: &[],
            accesses,
            bodies: HostBodies::OfGraph,
        };
        self.bodies.push(Box::new(body));
        // SAFETY: there are no parameters.
        unsafe { self.nodes.push(tag(operation, 0), after, &Command::Launch(&launch)) }.unwrap()
    }

    pub(super) fn launch(self, rig: &Rig, stream: RawStream) -> DriverResult<()> {
        let Self { nodes, bodies } = self;
        // SAFETY: see `Rig`.
        unsafe {
            let graph = rig.sim.build_graph(&nodes, false)?;
            let result =
                rig.sim.enqueue(Command::Graph { graph: &graph, nodes: &nodes, bodies }, stream, tag(99, 0));
            rig.sim.destroy_graph(&graph)?;
            result
        }
    }
}

/// ```text
///     0 [ writes x ]
///     |  \
///     1   2         both read x, each writes its own
///      \ /
///       3 [ writes x ]
/// ```
#[test]
fn a_diamond_is_ordered_by_its_edges() {
    for seed in 0..50 {
        let rig = Rig::with(Simulation::h200().adversarial(seed));
        let (stream, x, log) = (rig.stream(), rig.device(100), Log::default());
        let mut graph = Drawn::default();
        let first = graph.node(0, &[], &[write(x, 100)], log.note(0));
        let left = graph.node(1, &[first], &[read(x, 100)], log.note(1));
        let right = graph.node(2, &[first], &[read(x, 100)], log.note(2));
        graph.node(3, &[left, right], &[write(x, 100)], log.note(3));
        graph.launch(&rig, stream).unwrap();
        rig.sync(stream).unwrap();
        let order = log.taken();
        assert!(order == [0, 1, 2, 3] || order == [0, 2, 1, 3], "{order:?}");
    }
}

/// The same without the edge from 2 to 3.
#[test]
fn a_missing_edge_is_a_race() {
    let rig = Rig::new();
    let (stream, x) = (rig.stream(), rig.device(100));
    let mut graph = Drawn::default();
    let first = graph.node(0, &[], &[write(x, 100)], || {});
    let left = graph.node(1, &[first], &[read(x, 100)], || {});
    graph.node(2, &[first], &[read(x, 100)], || {});
    graph.node(3, &[left], &[write(x, 100)], || {});
    graph.launch(&rig, stream).unwrap();
    let error = rig.sync(stream).unwrap_err();
    assert_eq!((&*error.name, error.tag), ("RACE", Some((3, 0))));
    assert!(error.description.contains("operation 2 of chunk 0 reads"), "{error}");
    // The stream works again.
    rig.kernel(stream, tag(0, 1), &[write(x, 100)]);
    rig.sync(stream).unwrap();
}

/// All of a graph comes after the earlier commands of its stream and before the later ones, and orders
/// nothing on other streams.
#[test]
fn a_graph_has_its_streams_order_around_it() {
    for seed in 0..50 {
        let rig = Rig::with(Simulation::h200().adversarial(seed));
        let (stream, log) = (rig.stream(), Log::default());
        let [x, y] = [rig.device(100), rig.device(100)];
        let accesses = [write(x, 100), write(y, 100)];
        for round in 0..3 {
            rig.launch(stream, tag(9, 0), &accesses, log.note(2 * round)).unwrap();
            let mut graph = Drawn::default();
            graph.node(0, &[], &[write(x, 100)], log.note(2 * round + 1));
            graph.node(1, &[], &[write(y, 100)], log.note(2 * round + 1));
            graph.launch(&rig, stream).unwrap();
        }
        rig.sync(stream).unwrap();
        assert_eq!(log.taken(), [0, 1, 1, 2, 3, 3, 4, 5, 5]);
    }
    let rig = Rig::new();
    let (one, two, x) = (rig.stream(), rig.stream(), rig.device(100));
    rig.kernel(two, tag(9, 0), &[write(x, 100)]);
    let mut graph = Drawn::default();
    graph.node(0, &[], &[read(x, 100)], || {});
    graph.launch(&rig, one).unwrap();
    assert_eq!(rig.sync(one).unwrap_err().name, "RACE");
}

#[test]
fn a_failure_in_a_graph_reaches_what_comes_after_it() {
    let rig = Rig::new();
    let (stream, log) = (rig.stream(), Log::default());
    let mut graph = Drawn::default();
    graph.node(0, &[], &[], log.note(0));
    let fails = graph.node(1, &[], &[], || panic!("as the test wants"));
    graph.node(2, &[fails], &[], log.note(2));
    graph.launch(&rig, stream).unwrap();
    rig.launch(stream, tag(3, 0), &[], log.note(3)).unwrap();
    let error = rig.sync(stream).unwrap_err();
    assert_eq!((host_body(&error), error.tag), (Some("as the test wants"), Some((1, 0))));
    assert_eq!(log.taken(), [0]);
    rig.launch(stream, tag(4, 0), &[], log.note(4)).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), [4]);
}

#[test]
fn what_is_refused_launches_nothing() {
    let rig = Rig::new();
    let (stream, log, x) = (rig.stream(), Log::default(), rig.device(100));
    let mut graph = Drawn::default();
    graph.node(0, &[], &[], log.note(0));
    graph.node(1, &[0], &[write(x, 101)], log.note(1));
    let error = graph.launch(&rig, stream).unwrap_err();
    assert_eq!((error.call, error.tag), ("cuLaunchKernel", Some((1, 0))));
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), []);
}

/// A graph is one call, however many nodes it has; a changed node costs a little.
#[test]
fn a_launch_is_one_call() {
    let spec = Simulation::h200();
    let (call, launch, update) = (spec.model.host_call, spec.model.graph_launch, spec.model.graph_update);
    let rig = Rig::with(spec);
    let stream = rig.stream();
    let mut graph = Drawn::default();
    for _ in 0..100 {
        graph.node(0, &[], &[], || {});
    }
    let Drawn { nodes, bodies } = graph;
    // SAFETY: see `Rig`.
    unsafe {
        let graph = rig.sim.build_graph(&nodes, false).unwrap();
        assert_eq!(rig.clock(), 101 * call);
        rig.sim.enqueue(Command::Graph { graph: &graph, nodes: &nodes, bodies }, stream, tag(0, 0)).unwrap();
        assert_eq!(rig.clock(), 101 * call + launch);
        assert!(rig.sim.update_graph(&graph, &nodes, &[3, 4]).unwrap());
        assert_eq!(rig.clock(), 101 * call + launch + 2 * update);
        rig.sim.destroy_graph(&graph).unwrap();
        let refused = rig
            .sim
            .enqueue(Command::Graph { graph: &graph, nodes: &nodes, bodies: Vec::new() }, stream, tag(0, 0))
            .unwrap_err();
        assert_eq!(refused.name, "CUDA_ERROR_INVALID_HANDLE");
    }
    rig.sync(stream).unwrap();
}

#[test]
fn a_node_that_does_nothing_keeps_the_order() {
    let rig = Rig::new();
    let (stream, x) = (rig.stream(), rig.device(100));
    let mut graph = Drawn::default();
    let first = graph.node(0, &[], &[write(x, 100)], || {});
    let copy = Command::CopyOnDevice { to: x, from: x, bytes: 0 };
    // SAFETY: it is no launch.
    let [nothing, other] = [(1, &[first][..]), (2, &[])]
        .map(|(operation, after)| unsafe { graph.nodes.push(tag(operation, 0), after, &copy) }.unwrap());
    graph.node(3, &[nothing, other], &[write(x, 100)], || {});
    graph.launch(&rig, stream).unwrap();
    rig.sync(stream).unwrap();
}

/// Three nodes after one, and one after them: three chains.
fn fan(accesses: [&[Access]; 3]) -> Drawn {
    let mut graph = Drawn::default();
    let first = graph.node(0, &[], &[], || {});
    let [a, b, c] = accesses.map(|accesses| graph.node(1, &[first], accesses, || {}));
    graph.node(2, &[a, b, c], &[], || {});
    graph
}

/// The bookkeeping for each launch is as large as for the first, however many launches the host has not
/// waited for.
#[test]
fn launches_one_after_another_share_their_chains() {
    let rig = Rig::new();
    let memory = [rig.device(8), rig.device(8), rig.device(8)];
    let accesses = memory.map(|memory| [write(memory, 8)]);
    let streams = [rig.stream(), rig.stream()];
    let known = || {
        let machine = rig.sim.machine();
        (machine.order.lanes(), machine.streams.iter().count())
    };
    for launch in 0..100 {
        for (index, &stream) in streams.iter().enumerate() {
            let none: [&[Access]; 3] = [&[]; 3];
            let graph = fan(if index == 0 { accesses.each_ref().map(|one| &one[..]) } else { none });
            graph.launch(&rig, stream).unwrap();
        }
        // These are the streams, and two chains besides each stream's own.
        assert_eq!(known(), (6, 6), "launch {launch}");
    }
    streams.iter().for_each(|&stream| rig.sync(stream).unwrap());
    for stream in streams {
        // SAFETY: see `Rig`.
        unsafe { rig.sim.destroy_stream(stream).unwrap() };
    }
    assert_eq!(rig.sim.machine().streams.iter().count(), 0);
}

/// A chain that is used again begins anew: a stream that has waited for the launch before is not ordered with
/// this one. The chains of two streams are independent.
#[test]
fn shared_chains_hide_no_race() {
    for node in 0..3 {
        let rig = Rig::new();
        let (one, two, event, x) = (rig.stream(), rig.stream(), rig.event(), rig.device(8));
        let access = [write(x, 8)];
        let mut accesses: [&[Access]; 3] = [&[]; 3];
        accesses[node] = &access;
        fan(accesses).launch(&rig, one).unwrap();
        rig.record(event, one);
        fan(accesses).launch(&rig, one).unwrap();
        rig.wait(two, event);
        rig.kernel(two, tag(7, 0), &[read(x, 8)]);
        let error = rig.sync(two).unwrap_err();
        assert_eq!((&*error.name, error.tag), ("RACE", Some((7, 0))), "{node}");
        rig.sync(one).unwrap();
        rig.record(event, one);
        rig.wait(two, event);
        rig.kernel(two, tag(8, 0), &[write(x, 8)]);
        rig.sync(two).unwrap();
        fan(accesses).launch(&rig, two).unwrap();
        fan(accesses).launch(&rig, one).unwrap();
        rig.sync(two).unwrap();
        assert_eq!(rig.sync(one).unwrap_err().name, "RACE", "{node}");
    }
}

/// A failure in a chain belongs to its launch, and is over once the stream has reported it.
#[test]
fn a_chain_that_has_failed_works_again() {
    for seed in 0..20 {
        let rig = Rig::with(Simulation::h200().adversarial(seed));
        let (stream, log) = (rig.stream(), Log::default());
        let forked = |failing: Option<usize>| {
            let mut graph = Drawn::default();
            for index in 0..3 {
                let note = log.note(index as u32);
                let fails = failing == Some(index);
                graph.node(index as u32, &[], &[], move || {
                    assert!(!fails, "as the test wants");
                    note();
                });
            }
            graph
        };
        for failing in 0..3 {
            forked(None).launch(&rig, stream).unwrap();
            forked(Some(failing)).launch(&rig, stream).unwrap();
            // The next launch comes after the failure on every chain.
            forked(None).launch(&rig, stream).unwrap();
            let error = rig.sync(stream).unwrap_err();
            assert_eq!(error.tag, Some((failing as u32, 0)));
            let mut noted = log.taken();
            assert!(noted.len() >= 3 && noted.len() <= 5, "{noted:?}");
            noted.truncate(3);
            noted.sort_unstable();
            assert_eq!(noted, [0, 1, 2]);
            forked(None).launch(&rig, stream).unwrap();
            rig.sync(stream).unwrap();
            let mut noted = log.taken();
            noted.sort_unstable();
            assert_eq!(noted, [0, 1, 2]);
        }
    }
}

/// Checks random graphs against reachability by their edges: a race is reported exactly if two nodes that
/// access the same bytes, one of them writing, are not connected.
#[test]
fn races_are_those_that_the_edges_leave() {
    let graphs = 1000;
    let races = (0..graphs).filter(|&seed| random_graph(seed)).count();
    assert!(
        (graphs as usize / 4..graphs as usize * 3 / 4).contains(&races),
        "{races}: the test says too little"
    );
}

fn random_graph(seed: u64) -> bool {
    let mut random = Random::new(seed);
    let rig = Rig::with(Simulation::h200().adversarial(seed));
    let (stream, memory) = (rig.stream(), rig.device(64));
    let mut graph = Drawn::default();
    let mut ancestors: Vec<Vec<bool>> = Vec::new();
    let mut accesses: Vec<(Range<usize>, bool)> = Vec::new();
    let mut races = false;
    for node in 0..6_usize {
        let mut after: Vec<u32> = (0..node as u32).filter(|_| random.below(2) == 0).collect();
        after.truncate(3);
        let mut past = vec![false; node];
        for &before in &after {
            past[before as usize] = true;
            let further = &ancestors[before as usize];
            further.iter().enumerate().filter(|(_, is)| **is).for_each(|(index, _)| past[index] = true);
        }
        let (start, write) = (random.below(48), random.below(3) == 0);
        let bytes = start..start + 1 + random.below(8);
        races |= accesses.iter().zip(&past).any(|((other, other_writes), before)| {
            let overlap = other.start < bytes.end && bytes.start < other.end;
            overlap && (write || *other_writes) && !before
        });
        let access = Access { ptr: memory.offset(start), bytes: bytes.len(), write, anew: false };
        assert_eq!(graph.node(node as u32, &after, &[access], || {}), node as u32);
        ancestors.push(past);
        accesses.push((bytes, write));
    }
    graph.launch(&rig, stream).unwrap();
    let outcome = rig.sync(stream);
    assert_eq!(outcome.is_err(), races, "seed {seed}: {outcome:?}");
    races
}
