use super::*;
use crate::driver::command::recording::Recording;

/// ```text
///        .- [ fill y ] -.
/// [ up ]                 [ body: x += y ] -> [ down ]
///        '- (nothing) --'
/// ```
#[test]
fn a_graph_is_its_nodes_in_order_each_time() {
    let rig = Rig::new();
    let (stream, from, to) = (rig.stream(), rig.pinned(4), rig.pinned(4));
    let [x, y] = [(); 2].map(|()| rig.device(4));
    let mut nodes = Recording::default();
    let mut push = |after: &[u32], command: Command<'_>| {
        // SAFETY: there are no parameters.
        unsafe { nodes.push(tag(after.len() as u32, 0), after, &command) }.unwrap()
    };
    let up = push(&[], Command::CopyToDevice { to: x, from: from.ptr.as_ptr(), bytes: 4 });
    let fill = push(&[up], Command::Fill { to: y, pattern: &[1], count: 4 });
    let nothing = push(&[up], Command::CopyOnDevice { to: y, from: x, bytes: 0 });
    let launch = RawLaunch {
        function: RawFunction::plain(0, 1, 0),
        grid: [1; 3],
        block: [1; 3],
        shared: 0,
        params: &[],
        sizes: &[],
        accesses: &[access(x, 4, true), access(y, 4, false)],
        bodies: HostBodies::OfGraph,
    };
    let body = push(&[fill, nothing], Command::Launch(&launch));
    push(&[body], Command::CopyToHost { to: to.ptr.as_ptr(), from: x, bytes: 4 });
    // SAFETY: see `Rig`.
    let graph = unsafe { rig.cpu.build_graph(&nodes, false) }.unwrap();
    let launched = |body: HostBody| {
        let command = Command::Graph { graph: &graph, nodes: &nodes, bodies: vec![body] };
        rig.enqueue(stream, tag(9, 9), command)
    };
    for value in [5, 20] {
        rig.put(from, value);
        let add = move || {
            let [x, y] = [x, y].map(|ptr| std::ptr::with_exposed_provenance_mut::<u8>(ptr.0 as usize));
            // SAFETY: the launch names both ranges, and the graph orders what conflicts.
            (0..4).for_each(|i| unsafe { *x.add(i) += *y.add(i) });
        };
        launched(Box::new(add)).unwrap();
        rig.sync(stream).unwrap();
        assert_eq!(rig.get(to), [value + 1; 4]);
    }
    launched(Box::new(|| panic!("in a graph"))).unwrap();
    let error = rig.sync(stream).unwrap_err();
    assert_eq!((host_body(&error), error.tag), (Some("in a graph"), Some((2, 0))));
    // SAFETY: see `Rig`.
    assert!(unsafe { rig.cpu.update_graph(&graph, &nodes, &[0]) }.unwrap());
    rig.free(y).unwrap();
    assert_eq!(launched(Box::new(|| {})).unwrap_err().tag, Some((1, 0)), "a node's memory is gone");
    assert!(rig.is_through(stream).unwrap(), "nothing of it is enqueued");
    // SAFETY: see `Rig`.
    unsafe { rig.cpu.destroy_graph(&graph) }.unwrap();
    assert_eq!(launched(Box::new(|| {})).unwrap_err().code, 400);
}
