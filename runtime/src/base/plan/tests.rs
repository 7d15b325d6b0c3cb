//! The pictures of a small plan, and of a plan with everything that is unusual.

use super::*;

const fn stream(name: &'static str) -> StreamPlan {
    StreamPlan { name, priority: Priority::Default, per_slot: false, null: false, placed: false }
}

const fn operation(stage: usize, stream: usize, text: &'static str) -> OperationPlan {
    OperationPlan {
        stage,
        stream,
        text,
        kind: OperationKind::Launch { kernel: "k" },
        conditional: false,
        repeat: None,
        accesses: &[],
        line: 1,
        column: 1,
    }
}

const EMPTY: Plan = Plan {
    pipeline: "Small",
    file: "small.rs",
    line: 1,
    column: 1,
    streams: &[],
    stages: &[],
    hosts: &[],
    buffers: &[],
    operations: &[],
    events: &[],
    waits: &[],
};

const SMALL: Plan = Plan {
    streams: &[StreamPlan { priority: Priority::High, ..stream("up") }, stream("math")],
    stages: &["load", "work"],
    operations: &[
        operation(0, 0, "copy x -> dx"),
        operation(0, 0, "copy y -> dy"),
        operation(1, 1, "axpy<<<..>>>"),
    ],
    events: &[EventPlan { name: "load_done", operation: 1 }, EventPlan { name: "work_done", operation: 2 }],
    waits: &[
        WaitPlan {
            operation: 2,
            event: 0,
            distance: Distance::Same,
            hazards: &[
                HazardPlan { buffer: "dy", hazard: Hazard::ReadAfterWrite },
                HazardPlan { buffer: "dy", hazard: Hazard::WriteAfterWrite },
            ],
        },
        WaitPlan {
            operation: 0,
            event: 1,
            distance: Distance::Reuse,
            hazards: &[HazardPlan { buffer: "dx", hazard: Hazard::WriteAfterRead }],
        },
    ],
    ..EMPTY
};

/// Each kind of stream and wait, and text with characters that both languages treat specially.
const ODD: Plan = Plan {
    pipeline: "r#Odd",
    streams: &[
        StreamPlan { per_slot: true, priority: Priority::Low, ..stream("r#type") },
        StreamPlan { per_slot: true, placed: true, ..stream("_work_") },
        StreamPlan { null: true, ..stream("end") },
        StreamPlan { priority: Priority::Level(-3), ..stream("unused") },
    ],
    stages: &["r#match", "style"],
    operations: &[
        operation(0, 0, "k::<{ [\"a\\n\", '#'] }; &b | c>\n*<<<..>>>\t`~"),
        OperationPlan { conditional: true, ..operation(1, 1, "style::f#x") },
        operation(1, 2, "call größe"),
        operation(1, 1, "then"),
    ],
    events: &[EventPlan { name: "r#match_done", operation: 0 }, EventPlan { name: "_own", operation: 3 }],
    waits: &[
        WaitPlan { operation: 0, event: 0, distance: Distance::Previous, hazards: &[] },
        WaitPlan {
            operation: 1,
            event: 1,
            distance: Distance::Reuse,
            hazards: &[
                HazardPlan { buffer: "r#in", hazard: Hazard::ReadAfterWrite },
                HazardPlan { buffer: "d", hazard: Hazard::WriteAfterRead },
            ],
        },
    ],
    ..EMPTY
};

#[test]
fn mermaid_of_a_small_plan() {
    assert_eq!(
        SMALL.mermaid(),
        r##"flowchart TB
    subgraph s0["stream up: high"];
        o0["load: copy x -#gt; dx"];
        o1["load: copy y -#gt; dy"];
    end
    subgraph s1["stream math"];
        o2["work: axpy#lt;#lt;#lt;..#gt;#gt;#gt;"];
    end
    o0 --> o1;
    o1 -. "load_done of this chunk<br>dy: read after write, write after write" .-> o2;
    o2 -. "work_done of the chunk that last used the slot<br>dx: write after read" .-> o0;
"##
    );
}

#[test]
fn mermaid_of_all_that_is_odd() {
    assert_eq!(
        ODD.mermaid(),
        r##"flowchart TB
    subgraph s0["stream r#35;type per slot: low"];
        o0["r#35;match: k::#lt;#123; #91;#quot;a#92;n#quot;, #39;#35;#39;#93; #125;#59; #amp;b #124; c#gt;<br>#42;#lt;#lt;#lt;..#gt;#gt;#gt;�#96;#126;"];
    end
    subgraph s1["stream #95;work#95;, or one per slot"];
        o1["style: style::f#35;x<br>if its condition holds"];
        o3["style: then"];
    end
    subgraph s2["stream end = null"];
        o2["style: call größe"];
    end
    subgraph s3["stream unused: -3"];
    end
    o1 --> o3;
    o0 -. "r#35;match_done of the chunk before" .-> o0;
    o3 -. "#95;own of the chunk that last used the slot<br>r#35;in: read after write<br>d: write after read" .-> o1;
"##
    );
}

#[test]
fn graphviz_of_a_small_plan() {
    assert_eq!(
        SMALL.graphviz(),
        r##"digraph "Small" {
    node [shape=box];
    subgraph cluster_0 {
        label="stream up: high";
        o0 [label="load: copy x -> dx"];
        o1 [label="load: copy y -> dy"];
    }
    subgraph cluster_1 {
        label="stream math";
        o2 [label="work: axpy<<<..>>>"];
    }
    o0 -> o1;
    o1 -> o2 [style=dashed, label="load_done of this chunk\ndy: read after write, write after write"];
    o2 -> o0 [style=dashed, constraint=false, label="work_done of the chunk that last used the slot\ndx: write after read"];
}
"##
    );
}

#[test]
fn graphviz_of_all_that_is_odd() {
    assert_eq!(
        ODD.graphviz(),
        r##"digraph "r#Odd" {
    node [shape=box];
    subgraph cluster_0 {
        label="stream r#type per slot: low";
        o0 [label="r#match: k::<{ [\"a\\n\", '#'] }; &amp;b | c>\n*<<<..>>>�`~"];
    }
    subgraph cluster_1 {
        label="stream _work_, or one per slot";
        o1 [label="style: style::f#x\nif its condition holds"];
        o3 [label="style: then"];
    }
    subgraph cluster_2 {
        label="stream end = null";
        o2 [label="style: call größe"];
    }
    subgraph cluster_3 {
        label="stream unused: -3";
    }
    o1 -> o3;
    o0 -> o0 [style=dashed, constraint=false, label="r#match_done of the chunk before"];
    o3 -> o1 [style=dashed, constraint=false, label="_own of the chunk that last used the slot\nr#in: read after write\nd: write after read"];
}
"##
    );
}
