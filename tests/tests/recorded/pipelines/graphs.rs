//! The calls of graph mode.

use cudarc::driver::sys;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::streams::Stream;

use super::{PerSlot, STUBS, Saxpy};
use thalweg_tests::stubs::Stubs;

fn recorded(test: &str, variables: &[(&str, &str)], body: fn(&Device)) -> Option<String> {
    super::recorded(&format!("graphs::{test}"), variables, body)
}

stream_pipeline! {
    /// Copies, fills of one word and of several, and a kernel with a parameter.
    pipeline Filled {
        param value: f32;
        output floats: [f32];
        output pairs: [[u16; 3]];
        device d_floats: [f32];
        device d_pairs: [[u16; 3]];
        chunk c = 100;
        stage all {
            fill d_floats = value;
            fill d_pairs = [1, 2, value as u16];
            copy d_floats -> floats;
            copy d_pairs -> pairs;
        }
    }
}

/// The lines about graphs, and the lines between them.
fn launches(record: &str) -> Vec<&str> {
    let from_graphs = record.lines().skip_while(|line| !line.starts_with("cuGraph"));
    from_graphs.take_while(|line| !line.starts_with("cuMemFreeHost")).collect()
}

#[test]
fn a_run_in_graph_mode_is_one_call_when_it_is_repeated() {
    let record = recorded("a_run_in_graph_mode_is_one_call_when_it_is_repeated", &[], |device| {
        let mut saxpy = Saxpy::options(device).graph().build().expect("the pipeline");
        let x = PinnedBuf::from_slice(device, &[1.0; 2500]).expect("pinned memory");
        let mut y = PinnedBuf::from_slice(device, &[2.0; 2500]).expect("pinned memory");
        let mut other = PinnedBuf::from_slice(device, &[5.0; 2500]).expect("pinned memory");
        saxpy.run(3.0, &x, &mut y).expect("a run");
        saxpy.run(3.0, &x, &mut y).expect("the same again");
        // Another parameter changes the kernels, other memory changes the copies.
        saxpy.run(4.0, &x, &mut y).expect("a run");
        saxpy.run(4.0, &x, &mut other).expect("a run");
        // The stub's kernels do nothing: the data come back unchanged.
        assert!(y.iter().all(|y| *y == 2.0) && other.iter().all(|y| *y == 5.0));
    });
    let Some(record) = record else { return };
    // n3 comes after n2, and so after n1; n5, in the other slot, after nothing but the stream's n2. n9 and
    // n10 take the slots of what n3 has read and n4 has copied.
    assert_eq!(
        launches(&record),
        [
            "cuGraphCreate g1",
            "cuGraphAddKernelNode g1 n1 thalweg_copy d1 h1 4000",
            "cuGraphAddKernelNode g1 n2 thalweg_copy d2 h2 4000 after n1",
            "cuGraphAddKernelNode g1 n3 saxpy <<<(4, 1, 1), (256, 1, 1), 64>>> after n2",
            "cuGraphAddKernelNode g1 n4 thalweg_copy h2 d2 4000 after n3",
            "cuGraphAddKernelNode g1 n5 thalweg_copy d1+4096 h1+4000 4000 after n2",
            "cuGraphAddKernelNode g1 n6 thalweg_copy d2+4096 h2+4000 4000 after n5",
            "cuGraphAddKernelNode g1 n7 saxpy <<<(4, 1, 1), (256, 1, 1), 64>>> after n3 n6",
            "cuGraphAddKernelNode g1 n8 thalweg_copy h2+4000 d2+4096 4000 after n4 n7",
            "cuGraphAddKernelNode g1 n9 thalweg_copy d1 h1+8000 2000 after n6 n3",
            "cuGraphAddKernelNode g1 n10 thalweg_copy d2 h2+8000 2000 after n9 n4",
            "cuGraphAddKernelNode g1 n11 saxpy <<<(2, 1, 1), (256, 1, 1), 64>>> after n7 n10",
            "cuGraphAddKernelNode g1 n12 thalweg_copy h2+8000 d2 2000 after n8 n11",
            "cuGraphInstantiateWithFlags x1 g1",
            "cuGraphLaunch x1 s4",
            "cuStreamSynchronize s4",
            "cuGraphLaunch x1 s4",
            "cuStreamSynchronize s4",
            "cuGraphExecKernelNodeSetParams x1 n3 saxpy <<<(4, 1, 1), (256, 1, 1), 64>>>",
            "cuGraphExecKernelNodeSetParams x1 n7 saxpy <<<(4, 1, 1), (256, 1, 1), 64>>>",
            "cuGraphExecKernelNodeSetParams x1 n11 saxpy <<<(2, 1, 1), (256, 1, 1), 64>>>",
            "cuGraphLaunch x1 s4",
            "cuStreamSynchronize s4",
            "cuGraphExecKernelNodeSetParams x1 n2 thalweg_copy d2 h3 4000",
            "cuGraphExecKernelNodeSetParams x1 n4 thalweg_copy h3 d2 4000",
            "cuGraphExecKernelNodeSetParams x1 n6 thalweg_copy d2+4096 h3+4000 4000",
            "cuGraphExecKernelNodeSetParams x1 n8 thalweg_copy h3+4000 d2+4096 4000",
            "cuGraphExecKernelNodeSetParams x1 n10 thalweg_copy d2 h3+8000 2000",
            "cuGraphExecKernelNodeSetParams x1 n12 thalweg_copy h3+8000 d2 2000",
            "cuGraphLaunch x1 s4",
            "cuStreamSynchronize s4",
        ]
    );
    assert!(record.contains("cuGraphExecDestroy x1\ncuGraphDestroy g1\n"), "{record}");
}

/// The device should begin before the host has recorded everything.
#[test]
fn a_long_run_is_a_short_graph_and_then_long_ones() {
    let record = recorded("a_long_run_is_a_short_graph_and_then_long_ones", &[], |device| {
        let mut saxpy = Saxpy::options(device).chunk(1).graph().build().expect("the pipeline");
        let x = PinnedBuf::from_slice(device, &[1.0; 6000]).expect("pinned memory");
        let mut y = PinnedBuf::from_slice(device, &[2.0; 6000]).expect("pinned memory");
        saxpy.run(3.0, &x, &mut y).expect("a run");
        // Each graph is kept in its place.
        saxpy.run(3.0, &x, &mut y).expect("the same again");
    });
    let Some(record) = record else { return };
    // A chunk has four operations.
    let mut nodes = [0; 5];
    for line in record.lines().filter(|line| line.starts_with("cuGraphAdd")) {
        let graph: usize = line
            .split(" g")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .map(|number| number.parse().expect("a number"))
            .expect("a graph");
        nodes[graph] += 1;
    }
    assert_eq!(nodes, [0, 1536, 20_000, 24_000 - 1536 - 20_000, 0]);
    let launches: Vec<_> = record.lines().filter(|line| line.starts_with("cuGraphLaunch")).collect();
    let expected = ["cuGraphLaunch x1 s4", "cuGraphLaunch x2 s4", "cuGraphLaunch x3 s4"];
    assert_eq!(launches, expected.repeat(2));
}

/// This is the case of a single stream to wait for.
#[test]
fn the_end_of_a_graph_is_seen_in_a_word() {
    const WRITES: Stubs = Stubs {
        module: module_path!(),
        folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-stubs-that-write"),
        flags: &["-DWRITE_VALUE"],
        ..STUBS
    };
    let record = WRITES.record("the_end_of_a_graph_is_seen_in_a_word", &[], |device| {
        let x = PinnedBuf::from_slice(device, &[1.0; 2500]).expect("pinned memory");
        let mut y = PinnedBuf::from_slice(device, &[2.0; 2500]).expect("pinned memory");
        let mut graph = Saxpy::options(device).graph().build().expect("the pipeline");
        graph.run(3.0, &x, &mut y).expect("a run");
        graph.run(3.0, &x, &mut y).expect("the same again");
        Saxpy::new(device).expect("the pipeline").run(3.0, &x, &mut y).expect("a run on three streams");
    });
    let Some(record) = record else { return };
    let ends = record.lines().filter(|line| {
        ["cuGraphLaunch", "cuStreamWriteValue32", "cuStreamSynchronize"]
            .iter()
            .any(|call| line.starts_with(call))
    });
    assert_eq!(
        ends.collect::<Vec<_>>(),
        [
            "cuGraphLaunch x1 s4",
            "cuStreamWriteValue32 s4 h3 1",
            "cuGraphLaunch x1 s4",
            "cuStreamWriteValue32 s4 h3 2",
            "cuStreamSynchronize s5",
            "cuStreamSynchronize s6",
            "cuStreamSynchronize s7",
        ]
    );
}

/// A graph knows the allocations of its copies. If one of them is freed, another at its address is not the
/// same.
#[test]
fn a_graph_of_memory_that_was_freed_is_not_launched_again() {
    let record = recorded("a_graph_of_memory_that_was_freed_is_not_launched_again", &[], |device| {
        let mut saxpy = Saxpy::options(device).graph().build().expect("the pipeline");
        let mut y = PinnedBuf::from_slice(device, &[2.0; 900]).expect("pinned memory");
        for _ in 0..2 {
            // Memory that no graph uses may come and go.
            drop(PinnedBuf::from_slice(device, &[1.0; 900]).expect("pinned memory"));
            saxpy.run(3.0, &y.to_vec(), &mut y).expect("a run");
        }
        let x = PinnedBuf::from_slice(device, &[1.0; 900]).expect("pinned memory");
        saxpy.run(3.0, &x, &mut y).expect("a run");
        drop(x);
        let x = PinnedBuf::from_slice(device, &[1.0; 900]).expect("pinned memory");
        saxpy.run(3.0, &x, &mut y).expect("a run");
        saxpy.run(3.0, &x, &mut y).expect("a run");
    });
    let Some(record) = record else { return };
    let calls = ["cuGraphInstantiate", "cuGraphExec", "cuGraphLaunch"];
    let graphs = record.lines().filter(|line| calls.iter().any(|call| line.starts_with(call)));
    let graphs: Vec<_> = graphs.map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        graphs,
        [
            // The data are staged, and again; then from page-locked memory, anew when that was freed, and
            // again.
            "cuGraphInstantiateWithFlags x1",
            "cuGraphLaunch x1",
            "cuGraphLaunch x1",
            "cuGraphExecKernelNodeSetParams x1",
            "cuGraphLaunch x1",
            "cuGraphInstantiateWithFlags x2",
            "cuGraphLaunch x2",
            "cuGraphExecDestroy x1",
            "cuGraphLaunch x2",
            "cuGraphExecDestroy x2",
        ]
    );
}

#[test]
fn staged_chunks_are_graphs_of_their_slots() {
    let record = recorded("staged_chunks_are_graphs_of_their_slots", &[], |device| {
        let mut pipeline = PerSlot::options(device).graph().build().expect("the pipeline");
        let (x, mut y) = (vec![1.0; 2500], vec![2.0; 2500]);
        pipeline.run(3.0, &x, &mut y).expect("a run");
        assert_eq!(y, [2.0; 2500]);
    });
    let Some(record) = record else { return };
    let chunk = |first: usize, graph: &str, room: &str, host: [&str; 3]| {
        let [a, b, c] = host;
        vec![
            format!("cuGraphCreate {graph}"),
            format!("cuGraphAddKernelNode {graph} n{first} thalweg_copy d1{room} {a} 4000"),
            format!(
                "cuGraphAddKernelNode {graph} n{} thalweg_copy d2{room} {b} 4000 after n{first}",
                first + 1
            ),
            format!(
                "cuGraphAddKernelNode {graph} n{} saxpy <<<(4, 1, 1), (256, 1, 1), 0>>> after n{}",
                first + 2,
                first + 1
            ),
            format!(
                "cuGraphAddKernelNode {graph} n{} thalweg_copy {c} d2{room} 4000 after n{}",
                first + 3,
                first + 2
            ),
        ]
    };
    // h1 and h2, h3 and h4, h5 and h6 are the two slots of each staged copy; s3 and s4 the streams of the
    // graphs. The third chunk waits for the first one, whose graph it takes.
    let mut expected = chunk(1, "g1", "", ["h1", "h3", "h5"]);
    expected.extend(
        ["cuGraphInstantiateWithFlags x1 g1", "cuGraphLaunch x1 s3", "cuEventRecord e1 s3"]
            .map(str::to_owned),
    );
    expected.extend(chunk(5, "g2", "+4096", ["h2", "h4", "h6"]));
    expected.extend(
        [
            "cuGraphInstantiateWithFlags x2 g2",
            "cuGraphLaunch x2 s4",
            "cuEventRecord e2 s4",
            "cuEventSynchronize e1",
            "cuGraphExecKernelNodeSetParams x1 n1 thalweg_copy d1 h1 2000",
            "cuGraphExecKernelNodeSetParams x1 n2 thalweg_copy d2 h3 2000",
            "cuGraphExecKernelNodeSetParams x1 n3 saxpy <<<(2, 1, 1), (256, 1, 1), 0>>>",
            "cuGraphExecKernelNodeSetParams x1 n4 thalweg_copy h5 d2 2000",
            "cuGraphLaunch x1 s3",
            "cuEventRecord e1 s3",
            "cuStreamSynchronize s3",
            "cuStreamSynchronize s4",
        ]
        .map(str::to_owned),
    );
    // The slots' own events are made and not used; the graphs' events have other numbers.
    let events: Vec<_> = record.lines().filter(|line| line.starts_with("cuEventRecord")).collect();
    let [first, second] = [events[0], events[1]].map(|line| line.split(' ').nth(1).expect("an event"));
    let lines: Vec<_> = launches(&record).into_iter().take(expected.len()).map(str::to_owned).collect();
    let expected: Vec<_> = expected
        .into_iter()
        .map(|line| line.replace(" e1", &format!(" {first}")).replace(" e2", &format!(" {second}")))
        .collect();
    assert_eq!(lines, expected);
}

stream_pipeline! {
    /// An item is a KiB.
    pipeline There {
        input x: [u8; 1024];
        output y: [u8; 1024];
        chunk c = 512;
        stage all { copy x -> dx; copy dx -> y; }
    }
}

/// The driver's copies and those by a kernel, new and changed, of each run in turn.
fn copies_of(test: &str, variables: &[(&str, &str)], runs: fn(&Device)) -> Option<Vec<String>> {
    let record = recorded(test, variables, runs)?;
    let calls = ["cuGraphAdd", "cuGraphExecKernel", "cuGraphExecMemcpy", "cuGraphInst", "cuGraphLaunch"];
    let lines = record.lines().filter(|line| calls.iter().any(|call| line.starts_with(call)));
    let kind = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    Some(lines.map(kind).collect())
}

/// Runs of so many KiB of page-locked memory, each in one chunk.
fn runs_of(device: &Device, lengths: &[usize]) {
    let mut there = There::options(device).graph().build().expect("the pipeline");
    let data: Vec<_> = (0..512 * 1024).map(|i| (i / 1000) as u8).collect();
    // All of it stays until the end: graphs of memory that was freed are made anew.
    let pinned = |data: &[u8]| PinnedBuf::from_slice(device, data).expect("pinned memory");
    let mut buffers: Vec<_> = lengths
        .iter()
        .map(|length| (pinned(&data[..1024 * length]), pinned(&vec![0; 1024 * length])))
        .collect();
    for (x, y) in &mut buffers {
        there.run(&*x, &mut *y).expect("a run");
        assert!(x[..] == y[..], "{} bytes", x.len());
    }
}

#[test]
fn small_copies_of_a_graph_are_kernels_and_large_ones_the_drivers() {
    const ADD: [&str; 2] = ["cuGraphAddKernelNode", "cuGraphExecKernelNodeSetParams"];
    const DRIVERS: [&str; 2] = ["cuGraphAddMemcpyNode", "cuGraphExecMemcpyNodeSetParams"];
    let test = "small_copies_of_a_graph_are_kernels_and_large_ones_the_drivers";
    let calls = copies_of(test, &[], |device| runs_of(device, &[64, 256, 1, 257, 1, 300]));
    let Some(calls) = calls else { return };
    let made = |[node, _]: [&'static str; 2]| [node, node, "cuGraphInstantiateWithFlags", "cuGraphLaunch"];
    let changed = |[_, set]: [&'static str; 2]| [set, set, "cuGraphLaunch"];
    // A kernel stays for somewhat larger copies. Once a copy is the driver's, it stays so.
    let mut expected = Vec::from(made(ADD));
    expected.extend([changed(ADD), changed(ADD)].concat());
    expected.extend(made(DRIVERS));
    expected.extend([changed(DRIVERS), changed(DRIVERS)].concat());
    assert_eq!(calls, expected);
}

/// If the kernel is refused, or if registered memory has other addresses on the device.
#[test]
fn without_its_kernel_a_graph_has_the_drivers_copies() {
    let test = "without_its_kernel_a_graph_has_the_drivers_copies";
    let why = [[("THALWEG_FAIL", "cuModuleLoadDataEx:218:1+")], [("THALWEG_OTHER_ADDRESSES", "1")]];
    for variables in &why {
        let Some(calls) = copies_of(test, variables, |device| runs_of(device, &[1, 2])) else { return };
        let [add, set] = ["cuGraphAddMemcpyNode", "cuGraphExecMemcpyNodeSetParams"];
        let launch = "cuGraphLaunch";
        assert_eq!(
            calls,
            [add, add, "cuGraphInstantiateWithFlags", launch, set, set, launch],
            "{variables:?}"
        );
    }
}

/// A load waits until the device has nothing to do, which may be waiting for the host.
#[test]
fn the_kernel_for_small_copies_is_loaded_when_a_pipeline_is_built() {
    let test = "the_kernel_for_small_copies_is_loaded_when_a_pipeline_is_built";
    let record = recorded(test, &[], |device| {
        let of_streams = There::new(device).expect("the pipeline");
        let mut of_graphs = There::options(device).graph().build().expect("the pipeline");
        for _ in 0..2 {
            let again = There::options(device).graph().build().expect("the pipeline");
            drop(again);
        }
        of_graphs.run(&[1; 4096], &mut vec![0; 4096]).expect("a run");
        drop(of_streams);
    });
    let Some(record) = record else { return };
    let lines: Vec<_> = record.lines().collect();
    let at = |call: &str| -> Vec<usize> {
        (0..lines.len()).filter(|&line| lines[line].starts_with(call)).collect()
    };
    let (loads, streams) = (at("cuModuleLoadDataEx"), at("cuStreamCreate"));
    assert_eq!(loads.len(), 1, "{record}");
    // It is the second pipeline's, and comes before the third is built.
    assert!(streams[1] < loads[0] && loads[0] < streams[2], "{record}");
}

/// What is captured stays what was enqueued.
#[test]
fn captured_graphs_have_the_drivers_copies() {
    let test = "captured_graphs_have_the_drivers_copies";
    let calls = copies_of(test, &[], |device| {
        drop(There::options(device).graph().build().expect("the pipeline"));
        let stream = Stream::new(device).expect("a stream");
        let x = PinnedBuf::from_slice(device, &[1_u8; 100]).expect("pinned memory");
        let mut dx = DeviceBuf::<u8>::zeroed(device, 100).expect("memory");
        let graph = stream.capture(|stream| stream.upload(&x, &mut dx)).expect("a graph");
        graph.launch_with(&stream, &x).expect("a launch");
        stream.synchronize().expect("the end");
    });
    let Some(calls) = calls else { return };
    assert_eq!(calls, ["cuGraphAddMemcpyNode", "cuGraphInstantiateWithFlags", "cuGraphLaunch"]);
}

#[test]
fn fills_in_a_graph() {
    let record = recorded("fills_in_a_graph", &[], |device| {
        let mut pipeline = Filled::options(device).graph().build().expect("the pipeline");
        let mut floats = PinnedBuf::from_slice(device, &[0.0; 10]).expect("pinned memory");
        let mut pairs = PinnedBuf::from_slice(device, &[[0; 3]; 10]).expect("pinned memory");
        for value in [1.5, 1.5, 4.0] {
            pipeline.run(value, &mut floats, &mut pairs).expect("a run");
            assert!(floats.iter().all(|float| *float == value));
            assert!(pairs.iter().all(|pair| *pair == [1, 2, value as u16]));
        }
    });
    let Some(record) = record else { return };
    let graphs: Vec<_> = record.lines().filter(|line| line.starts_with("cuGraph")).collect();
    let build = |graph: usize, node: usize, float: &str, pair: usize| {
        let n = |offset: usize| node + offset;
        vec![
            format!("cuGraphCreate g{graph}"),
            format!("cuGraphAddMemsetNode g{graph} n{} d1 {float} of 4, 10 x 1 every 0", n(0)),
            format!("cuGraphAddMemsetNode g{graph} n{} d2 1 of 2, 1 x 10 every 6 after n{}", n(1), n(0)),
            format!("cuGraphAddMemsetNode g{graph} n{} d2+2 2 of 2, 1 x 10 every 6 after n{}", n(2), n(0)),
            format!(
                "cuGraphAddMemsetNode g{graph} n{} d2+4 {pair} of 2, 1 x 10 every 6 after n{}",
                n(3),
                n(0)
            ),
            format!("cuGraphAddEmptyNode g{graph} n{} after n{} n{} n{}", n(4), n(1), n(2), n(3)),
            format!("cuGraphAddKernelNode g{graph} n{} thalweg_copy h1 d1 40 after n{}", n(5), n(4)),
            format!("cuGraphAddKernelNode g{graph} n{} thalweg_copy h2 d2 60 after n{}", n(6), n(5)),
            format!("cuGraphInstantiateWithFlags x{graph} g{graph}"),
        ]
    };
    let mut expected = build(1, 1, "3fc00000", 1);
    expected.extend(["cuGraphLaunch x1 s2", "cuGraphLaunch x1 s2"].map(str::to_owned));
    // A fill of several words cannot be changed: the graph is built anew.
    expected.extend(build(2, 8, "40800000", 4));
    expected.push("cuGraphLaunch x2 s2".to_owned());
    expected.extend(["cuGraphExecDestroy x1", "cuGraphDestroy g1"].map(str::to_owned));
    expected.extend(["cuGraphExecDestroy x2", "cuGraphDestroy g2"].map(str::to_owned));
    assert_eq!(graphs, expected);
}

#[test]
fn a_node_that_cannot_be_changed_makes_another_graph() {
    let record = recorded(
        "a_node_that_cannot_be_changed_makes_another_graph",
        &[("THALWEG_FAIL", "cuGraphExecKernelNodeSetParams:1:2")],
        |device| {
            let mut saxpy = Saxpy::options(device).graph().build().expect("the pipeline");
            let x = PinnedBuf::from_slice(device, &[1.0; 2500]).expect("pinned memory");
            let mut y = PinnedBuf::from_slice(device, &[2.0; 2500]).expect("pinned memory");
            for a in [3.0, 4.0, 5.0] {
                saxpy.run(a, &x, &mut y).expect("a run");
            }
        },
    );
    let Some(record) = record else { return };
    let calls: Vec<_> = launches(&record)
        .into_iter()
        .filter(|line| !line.starts_with("cuGraphAdd") && !line.starts_with("cuStream"))
        .map(|line| line.split_once(" saxpy").map_or(line, |(before, _)| before))
        .collect();
    // The half-changed graph is destroyed once nothing is under way.
    assert_eq!(
        calls[..14],
        [
            "cuGraphCreate g1",
            "cuGraphInstantiateWithFlags x1 g1",
            "cuGraphLaunch x1 s4",
            "cuGraphExecKernelNodeSetParams x1 n3",
            "cuGraphExecKernelNodeSetParams x1 n7 -> 1",
            "cuGraphCreate g2",
            "cuGraphInstantiateWithFlags x2 g2",
            "cuGraphLaunch x2 s4",
            "cuGraphExecDestroy x1",
            "cuGraphDestroy g1",
            "cuGraphExecKernelNodeSetParams x2 n15",
            "cuGraphExecKernelNodeSetParams x2 n19",
            "cuGraphExecKernelNodeSetParams x2 n23",
            "cuGraphLaunch x2 s4",
        ]
    );
}

#[test]
fn a_node_that_is_refused_names_its_operation_and_chunk() {
    let record = recorded(
        "a_node_that_is_refused_names_its_operation_and_chunk",
        &[("THALWEG_FAIL", "cuGraphAddKernelNode:2:7,cuGraphInstantiateWithFlags:2:1")],
        |device| {
            let mut saxpy = Saxpy::options(device).graph().build().expect("the pipeline");
            let x = PinnedBuf::from_slice(device, &[1.0; 2500]).expect("pinned memory");
            let mut y = PinnedBuf::from_slice(device, &[2.0; 2500]).expect("pinned memory");
            let error = saxpy.run(3.0, &x, &mut y).expect_err("a refused node");
            assert_eq!((error.place().stage, error.place().chunk), (Some("axpy"), Some(1)), "{error}");
            let error = saxpy.run(3.0, &x, &mut y).expect_err("a refused graph");
            assert_eq!((error.place().pipeline, error.place().stage), (Some("Saxpy"), None), "{error}");
            assert!(
                matches!(error.detail(), Detail::Driver(error) if error.call == "cuGraphInstantiateWithFlags"),
                "{error}"
            );
            saxpy.run(3.0, &x, &mut y).expect("the next run works");
        },
    );
    let Some(record) = record else { return };
    for graph in ["g1", "g2", "g3"] {
        assert!(record.contains(&format!("cuGraphDestroy {graph}\n")), "{record}");
    }
    assert!(record.trim_end().ends_with("cuDevicePrimaryCtxRelease 0"), "{record}");
}

/// If each operation is waited for, a graph would hide which one failed.
#[test]
fn thalweg_sync_does_without_graphs() {
    let variables = [("THALWEG_SYNC", "1"), ("THALWEG_FAIL", "cuStreamSynchronize:700:4+")];
    let record = recorded("thalweg_sync_does_without_graphs", &variables, |device| {
        let mut pipeline = PerSlot::options(device).graph().build().expect("the pipeline");
        let x = PinnedBuf::from_slice(device, &[1.0; 2500]).expect("pinned memory");
        let mut y = PinnedBuf::from_slice(device, &[2.0; 2500]).expect("pinned memory");
        let error = pipeline.run(3.0, &x, &mut y).expect_err("a fault on the device");
        assert_eq!(
            (error.place().operation, error.place().chunk),
            (Some("copy dy -> y"), Some(0)),
            "{error}"
        );
    });
    let Some(record) = record else { return };
    assert!(!record.contains("cuGraph"), "{record}");
}

/// Adds nothing by itself.
fn clears(queue: &Enqueue<'_>, total: DeviceSliceMut<'_, f32>) -> thalweg::Result<()> {
    let stream = queue.cuda_stream().expect("the stub's device");
    // SAFETY: the range is the slice's, and the run's until the stream has got past this.
    let code = unsafe { sys::cuMemsetD8Async(total.address(), 0, 4 * total.len(), stream.cast()) };
    assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
    Ok(())
}

stream_pipeline! {
    #[allow(deprecated, reason = "the input is for the number of chunks")]
    pipeline Clears {
        input x: [f32];
        carry total: [f32; 4];
        chunk c = 10;
        depth = 2;
        stage clear { call clears(&mut total); }
        stage load { copy x -> _dx; }
    }
}

/// In graph mode a routine enqueues on its slot's stream, which has to wait for the chunk before first.
#[test]
fn a_routine_comes_after_the_chunk_before_in_graph_mode() {
    let record = recorded("a_routine_comes_after_the_chunk_before_in_graph_mode", &[], |device| {
        let mut pipeline = Clears::options(device).graph().build().expect("the pipeline");
        pipeline.run(&[1.0; 20], &mut [1.0; 4]).expect("a run");
    });
    let Some(record) = record else { return };
    let lines: Vec<_> = record
        .lines()
        .filter(|line| ["cuMemsetD8", "cuStreamWaitEvent"].iter().any(|call| line.starts_with(call)))
        .map(|line| line.split(' ').next().unwrap_or(line))
        .collect();
    assert_eq!(lines, ["cuMemsetD8Async", "cuStreamWaitEvent", "cuMemsetD8Async"], "{record}");
}
