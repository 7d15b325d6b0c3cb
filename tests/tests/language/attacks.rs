//! Odd programs of the whole language: each computes what its operations compute one after another, or is
//! refused.

use thalweg::prelude::*;
use thalweg_tests::kernels::{add_to, axpy_each, plus_one, weigh};
use thalweg_tests::{numbers, pinned};

/// Devices in the order of time, and in orders that only the events restrain.
fn devices() -> impl Iterator<Item = Device> {
    let specs = (0..20).map(|seed| Simulation::default().adversarial(seed));
    specs.chain([Simulation::default()]).map(Device::simulated)
}

/// An inner condition is one condition, whatever operators are in it.
#[test]
fn an_inner_condition_with_or() {
    stream_pipeline! {
        pipeline Inner {
            param outer: bool;
            param other: bool;
            input x: [f32];
            inout y: [f32];
            chunk c = 4;
            stage load { copy y -> dy; }
            stage add {
                if outer {
                    copy x -> dx;
                    if c.index > 100 || other { axpy_each<<<1, 32>>>(c.len as u32, 1.0, &dx, &mut dy); }
                }
            }
            stage store { copy dy -> y; }
        }
    }
    for device in devices() {
        for (outer, other) in [(false, false), (false, true), (true, false), (true, true)] {
            let (x, mut y) = (vec![1.0; 10], vec![0.0; 10]);
            Inner::new(&device).unwrap().run(outer, other, &x, &mut y).unwrap();
            assert_eq!(y, [f32::from(u8::from(outer && other)); 10], "{outer} {other}");
        }
    }
}

/// Each launch goes to the stream that it names, also under one condition.
#[test]
fn launches_of_one_kernel_under_one_condition() {
    stream_pipeline! {
        pipeline Both {
            inout x: [f32];
            inout y: [f32];
            chunk c = 4;
            stream a;
            stream b;
            stage load_x on a { copy x -> dx; }
            stage load_y on b { copy y -> dy; }
            stage add on a {
                if c.len > 0 {
                    add_to<<<1, 32, 0, a>>>(c.len as u32, 1.0, &mut dx);
                    add_to<<<1, 32, 0, b>>>(c.len as u32, 2.0, &mut dy);
                }
            }
            stage store_x on a { copy dx -> x; }
            stage store_y on b { copy dy -> y; }
        }
    }
    for device in devices() {
        let mut both = Both::new(&device).unwrap();
        let (mut x, mut y) = (pinned(&device, &[0.0; 30]), pinned(&device, &[0.0; 30]));
        both.run(&mut x, &mut y).unwrap();
        assert_eq!((&x[..], &y[..]), (&[1.0; 30][..], &[2.0; 30][..]));
    }
}

/// Each copy has its staging slot, also under one condition.
#[test]
fn copies_of_one_buffer_under_one_condition() {
    stream_pipeline! {
        pipeline Twice {
            param both: bool;
            inout x: [f32];
            output y: [f32];
            chunk c = 4;
            stage work {
                if both {
                    copy x -> a;
                    add_to<<<1, 32>>>(c.len as u32, 1.0, &mut a);
                    copy a -> x;
                    add_to<<<1, 32>>>(c.len as u32, 1.0, &mut a);
                    copy a -> y;
                }
            }
        }
    }
    for device in devices() {
        for graph in [false, true] {
            let options = Twice::options(&device);
            let mut twice = if graph { options.graph() } else { options }.build().unwrap();
            let (mut x, mut y) = (numbers(30), vec![0.0; 30]);
            twice.run(true, &mut x, &mut y).unwrap();
            assert!(x.iter().zip(numbers(30)).all(|(x, n)| *x == n + 1.0), "{x:?}");
            assert!(y.iter().zip(numbers(30)).all(|(y, n)| *y == n + 2.0), "{y:?}");
        }
    }
}

/// In a `repeat` too a condition is evaluated once a turn, so that exactly one of its branches is taken.
#[test]
fn one_of_two_branches_in_a_repeat() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    fn ask() -> bool {
        ASKED.fetch_add(1, Ordering::Relaxed) % 2 == 1
    }
    stream_pipeline! {
        pipeline Either {
            input x: [f32];
            output y: [f32];
            device t: [f32];
            chunk c = 4;
            stage load { copy x -> dx; }
            stage work {
                repeat 2 {
                    if ask() { copy dx -> t; } else { plus_one<<<1, 32>>>(c.len as u32, &dx, out t); }
                }
            }
            stage store { copy t -> y; }
        }
    }
    for device in devices() {
        let mut y = [0.0; 3];
        Either::new(&device).unwrap().run(&[1.0, 2.0, 3.0], &mut y).unwrap();
        assert_ne!(y, [0.0; 3]);
    }
    // One chunk, two turns, 21 devices.
    assert_eq!(ASKED.load(Ordering::Relaxed), 42);
}

/// These are names that generated locals might have.
#[test]
fn names_of_generated_locals() {
    fn scaled(x: &[f32], factor: f32, offset: f32, y: &mut [f32]) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x * factor + offset);
    }
    stream_pipeline! {
        pipeline Names {
            param run: f32;
            param taken: bool;
            param call: f32;
            input pipeline: [f32];
            output otherwise: [f32];
            host value_0: [f32];
            host value_1: [f32];
            chunk c = 4;
            stage operation { copy pipeline -> launch_add_to; copy launch_add_to -> value_0; }
            stage stream { host scaled(&value_0, run, call, out value_1); copy value_1 -> then; }
            stage event { if !taken { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut then); } }
            stage store { copy then -> otherwise; }
        }
    }
    for device in devices() {
        let mut y = [0.0; 3];
        Names::new(&device).unwrap().run(2.0, false, 5.0, &[1.0, 2.0, 3.0], &mut y).unwrap();
        assert_eq!(y, [8.0, 10.0, 12.0]);
    }
}

/// A carry goes from chunk to chunk, even past a chunk that does nothing.
#[test]
fn a_carry_past_idle_chunks() {
    stream_pipeline! {
        pipeline Past {
            param every: usize;
            input x: [f32];
            carry total: [f32; 4];
            chunk c = 4;
            stage work {
                if c.index % every == 0 {
                    copy x -> dx;
                    axpy_each<<<1, 32>>>(c.len as u32, 1.0, &dx, &mut total);
                }
            }
        }
    }
    for device in devices() {
        for (graph, depth, every) in [(false, 3, 2), (true, 3, 2), (true, 4, 3), (true, 2, 2), (true, 7, 5)] {
            let options = Past::options(&device).depth(depth);
            let mut past = if graph { options.graph() } else { options }.build().unwrap();
            let (x, mut total) = (vec![1.0; 80], [0.0; 4]);
            past.run(every, &x, &mut total).unwrap();
            assert_eq!(
                total,
                [20_usize.div_ceil(every) as f32; 4],
                "graph {graph} depth {depth} every {every}"
            );
        }
    }
}

/// The data of the second of two copies to one argument stay, even in pageable memory and if a later chunk
/// leaves the first copy out.
#[test]
fn the_second_copy_to_an_argument_stays() {
    stream_pipeline! {
        pipeline Overwritten {
            param every: usize;
            input x: [f32];
            output y: [f32];
            chunk c = 1;
            stage load { copy x -> dx; copy x -> t; add_to<<<1, 32>>>(c.len as u32, 1.0, &mut t); }
            stage first { if c.index % every == 0 { copy dx -> y; } }
            stage second { copy t -> y; }
        }
    }
    for device in devices() {
        for (graph, depth) in [(false, 1), (true, 1), (false, 3), (true, 3), (true, 20)] {
            let options = Overwritten::options(&device).depth(depth);
            let mut overwritten = if graph { options.graph() } else { options }.build().unwrap();
            for every in [5, 1, 2] {
                let (x, mut y) = (numbers(11), [0.0; 11]);
                overwritten.run(every, &x, &mut y).unwrap();
                assert!(y.iter().zip(x).all(|(y, x)| *y == x + 1.0), "{every} {depth} {graph}: {y:?}");
            }
        }
    }
}

/// Conditions, numbers and callbacks of every form that Rust has.
mod expressions {
    use std::sync::{Arc, Mutex};

    use thalweg::plan::Chunk;

    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    struct Config {
        on: bool,
        turns: u32,
    }

    fn increase<T: Copy + std::ops::AddAssign>(by: T, x: &mut [T]) {
        x.iter_mut().for_each(|x| *x += by);
    }

    stream_pipeline! {
        #[derive(Debug)]
        pipeline Expressions {
            param text: String;
            param list: Vec<u32>;
            param config: Config;
            param told: Arc<Mutex<Vec<String>>>;
            input x: [f32];
            output y: [f32];
            host h: [f32];
            chunk c = auto;
            stage load { copy x -> dx; copy dx -> h; host increase::<f32>(config.turns as f32, &mut h); copy h -> dx; }
            stage turn {
                if config == (Config { on: true, turns: 1 }) { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dx); }
                if 'turn: { if config.on { break 'turn true; } false } { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dx); }
                if { c.index } % 3 != 0 { add_to<<<1, 32>>>(c.len as u32, 100.0, &mut dx); }
                if list.iter().any(|&i| i as usize == c.index + 6) { add_to<<<1, 32>>>(c.len as u32, 100.0, &mut dx); }
                if match c.index { 0 => config.on, 1 => config.turns > 1, _ => false } { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dx); }
                repeat list.len() {
                    repeat { let n = i64::from(config.turns); n + 1 } { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dx); }
                }
            }
            stage store {
                copy dx -> y;
                then |c| -> () { if c.index == 1 { return; } told.lock().unwrap().push(format!("{text} {}", c.len)); };
                then |Chunk { start, .. }: Chunk| if start > 100 { Err(text.clone()) } else { Ok(()) };
            }
        }
    }

    #[test]
    fn of_every_form() {
        for device in devices() {
            let (told, mut y) = (Arc::default(), [0.0; 10]);
            let mut expressions = Expressions::options(&device).chunk(5).build().unwrap();
            let config = Config { on: true, turns: 1 };
            expressions
                .run("chunk of".to_owned(), vec![1, 2], config, Arc::clone(&told), &[0.0; 10], &mut y)
                .unwrap();
            assert_eq!((&y[..5], &y[5..]), (&[8.0; 5][..], &[107.0; 5][..]));
            assert_eq!(*told.lock().unwrap(), ["chunk of 5"]);
        }
    }

    const CONFIG: Config = Config { on: true, turns: 1 };

    macro_rules! pipeline {
        ($name:ident, $halo:expr, $condition:expr, $times:expr, $then:expr) => {
            stream_pipeline! {
                pipeline $name {
                    param radius: usize;
                    input x: [f32] halo radius + $halo * 2 = clamp;
                    output y: [f32];
                    device dy: [f32];
                    chunk c = 5;
                    stage work {
                        copy x -> dx;
                        weigh<<<1, 32>>>(c.len as u32, (radius + 2 * $halo) as u32, &dx, out dy);
                        if $condition { repeat $times { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy); } }
                        repeat 2 { if $condition { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy); } }
                        copy dy -> y;
                        then $then;
                    }
                }
            }
        };
    }
    pipeline!(Literal, 3 - 2, CONFIG == Config { on: true, turns: 1 }, 1 + 1, |_| ());
    pipeline!(Field, 1, Config { on: true, turns: 1 }.on, 2_usize, |c| assert!(c.len > 0));

    #[test]
    fn of_other_macros() {
        let device = Device::simulated(Simulation::default());
        for radius in [0, 1] {
            let (mut y, mut z) = ([0.0; 7], [0.0; 7]);
            Literal::new(&device).unwrap().run(radius, &[1.0; 7], &mut y).unwrap();
            Field::new(&device).unwrap().run(radius, &[1.0; 7], &mut z).unwrap();
            let weights = 2 * (radius + 2) + 1;
            assert_eq!((y, z), ([(weights * (weights + 1) / 2 + 4) as f32; 7], y));
        }
    }
}

/// A type parameter may have a default, and a kernel the name of a generated field.
#[test]
fn parameters_with_defaults() {
    use thalweg_tests::kernels::add_to as elements;

    stream_pipeline! {
        pipeline Defaults<S: Into<f32> + Copy = f32> {
            param by: S;
            inout y: [f32];
            stage all { copy y -> dy; elements<<<1, 32>>>(dy_len(c.len), by.into(), &mut dy); copy dy -> y; }
            chunk c = auto;
        }
    }
    fn dy_len(len: usize) -> u32 {
        u32::try_from(len).unwrap()
    }
    let (device, mut y) = (Device::simulated(Simulation::default()), [1.0; 7]);
    let mut defaults: Defaults = Defaults::new(&device).unwrap();
    defaults.run(2.0, &mut y).unwrap();
    Defaults::<u8>::new(&device).unwrap().run(3, &mut y).unwrap();
    assert_eq!(y, [6.0; 7]);
}

/// What a pipeline expands to, without the spaces between tokens.
fn expansion(pipeline: &str) -> String {
    let tokens = pipeline.parse().expect("the pipeline lexes");
    thalweg_compiler::stream_pipeline(tokens).to_string().split_whitespace().collect()
}

/// `256_i32 as u8` turns are no turns, so nothing is known to be written in them.
#[test]
fn a_cast_changes_a_number_of_turns() {
    let repeated = |times: &str| {
        expansion(&format!(
            "pipeline Turns {{
                input x: [f32];
                output y: [f32];
                device t: [f32];
                stage work {{ copy x -> dx; repeat {times} {{ copy dx -> t; }} copy t -> y; }}
            }}"
        ))
    };
    for none in ["256_i32 as u8", "128_i32 as i8", "0.5 as u8", "2 as Turns", "4294967296_u64 as usize"] {
        assert!(repeated(none).contains("TW0202"), "{none}");
    }
    for some in ["255_i32 as u8", "127 as i8", "2 as u128", "3 as usize"] {
        assert!(!repeated(some).contains("TW0202"), "{some}");
    }
}

/// A `break` that a macro hides would leave a `repeat` in the middle of a turn. It does not leave a labelled
/// block.
#[test]
fn no_turn_can_be_left() {
    let expansion = expansion(
        "pipeline Turns {
            inout x: [f32];
            stage work { copy x -> dx; repeat 2 { add_to<<<1, leave!()>>>(1, 1.0, &mut dx); } copy dx -> x; }
        }",
    );
    assert!(expansion.contains("__private::times(2){'turn:{add_to.launch("), "{expansion}");
}

/// A number of streams that no machine has is not an overflow.
#[test]
fn more_streams_than_can_be_counted() {
    let depth = u128::MAX;
    let expansion = expansion(&format!(
        "pipeline Deep {{
            inout x: [f32];
            depth = {depth};
            stream up per slot;
            stream down per slot;
            stage load on up {{ copy x -> dx; }}
            stage store on down {{ copy dx -> x; }}
        }}"
    ));
    assert!(expansion.contains("TW0713"), "{expansion}");
}

/// A callback that waits for an event by hand is called after the recorded operation.
#[test]
fn a_callback_behind_a_wait() {
    let told = |wait: &str| {
        expansion(&format!(
            "pipeline Told {{
                input x: [f32];
                output y: [f32];
                sync = manual;
                stream work;
                stream tell;
                stage work on work {{ copy x -> dx; copy dx -> y; record done; }}
                stage tell on tell {{ {wait} then |c| tell(c.index); }}
            }}"
        ))
    };
    assert!(told("").contains("TW0212"));
    assert!(!told("wait done;").contains("TW0212"));
}
