//! What a pipeline's `PLAN` shows: the texts that the book includes. `BLESS=1` writes them anew.
//!
//! After the Graphviz form has changed: `dot -Tsvg book/src/saxpy-plan.dot -o book/src/saxpy-plan.svg`.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::book::recorded;

stream_pipeline! {
    /// `y <- a * x + y`, chunk by chunk: the README's program.
    pub pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];

        chunk c = auto;
        depth = 3;

        stream up: high;
        stream math;
        stream down: low;

        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

#[test]
fn mermaid() {
    recorded("saxpy-plan.mmd", &Saxpy::PLAN.mermaid());
}

#[test]
fn graphviz() {
    recorded("saxpy-plan.dot", &Saxpy::PLAN.graphviz());
}

/// The rendered picture is of this plan: each label is in it, and each arrow.
#[test]
fn rendered() {
    let svg = include_str!("../../../book/src/saxpy-plan.svg");
    let svg = svg.replace("&#45;", "-").replace("&gt;", ">").replace("&lt;", "<");
    let dot = Saxpy::PLAN.graphviz();
    let labels: Vec<&str> =
        dot.split("label=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    assert_eq!(labels.len(), 3 + 4 + 4, "streams, operations, waits");
    for line in labels.iter().flat_map(|label| label.split("\\n")) {
        assert!(svg.contains(&format!(">{line}</text>")), "no `{line}` in the picture");
    }
    let arrows = dot
        .lines()
        .filter_map(|line| line.trim().split([' ', ';']).collect::<Vec<_>>().get(..3)?.join(" ").into());
    let arrows: Vec<String> =
        arrows.filter(|arrow: &String| arrow.contains("->") && !arrow.contains('[')).collect();
    assert_eq!(arrows.len(), 1 + 4, "stream order and waits");
    for arrow in arrows {
        assert!(
            svg.contains(&format!("<title>{}</title>", arrow.replace(' ', ""))),
            "no {arrow} in the picture"
        );
    }
    assert_eq!(svg.matches("class=\"edge\"").count(), 5);
}

#[test]
fn explained() {
    recorded("saxpy-plan.txt", &Saxpy::PLAN.explain());
}
