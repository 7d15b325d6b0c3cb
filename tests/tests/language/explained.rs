//! `Plan::explain` of plans with all odd cases: the texts in `explained/`. `BLESS=1` writes them anew: read
//! them before you keep them.

use std::path::Path;

use thalweg::prelude::*;
use thalweg_tests::kernels::{add_to, double_all};

stream_pipeline! {
    /// What is repeated counts as one operation.
    pipeline Repeated {
        inout y: [f32];
        chunk c = 10;
        depth = 2;
        stream up;
        stream math;
        stream down;
        stage load on up { copy y -> dy; }
        stage work on math {
            repeat 3 { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy); double_all<<<1, 32>>>(c.len as u32, &mut dy); }
        }
        stage store on down { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Operations of the same text are told apart by where they are written.
    pipeline Equal {
        inout y: [f32];
        chunk c = 10;
        depth = 2;
        stream up;
        stream down;
        stage load on up { copy y -> dy; }
        stage add on down {
            add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy);
            add_to<<<1, 32>>>(c.len as u32, 2.0, &mut dy); add_to<<<1, 32>>>(c.len as u32, 3.0, &mut dy);
        }
        stage store on down { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Streams that the stages have not named.
    pipeline Placed {
        inout y: [f32];
        chunk c = 10;
        depth = 2;
        stage load { copy y -> dy; }
        stage add { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Waits by hand.
    pipeline ByHand {
        inout y: [f32];
        chunk c = 10;
        depth = 2;
        sync = manual;
        stream up;
        stream math;
        stage load on up { wait stored @ previous; copy y -> dy; record loaded; }
        stage add on math { wait loaded; add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy); copy dy -> y; record stored; }
    }
}

#[track_caller]
fn check(name: &str, plan: &Plan) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("explained").join(name);
    let text = plan.explain();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the text can be written");
    }
    let blessed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, blessed, "`BLESS=1` writes {} anew", path.display());
}

#[test]
fn what_is_repeated() {
    check("repeated.txt", &Repeated::PLAN);
}

#[test]
fn equal_operations() {
    check("equal.txt", &Equal::PLAN);
}

#[test]
fn streams_left_out() {
    check("placed.txt", &Placed::PLAN);
}

#[test]
fn waits_by_hand() {
    check("by-hand.txt", &ByHand::PLAN);
}
