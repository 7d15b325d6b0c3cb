//! Arguments that the CPU, as a device, uses where they lie; and those that it copies, because something would see
//! the difference.

use thalweg::prelude::*;

/// `y <- a * x + y`.
#[kernel]
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

/// `y[i] = w[0] * x[i]`, which fails where `x` is negative.
#[kernel]
fn scale(i: Index, w: &[f32], x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    assert!(x[i] >= 0.0, "negative");
    *y = w[0] * x[i];
}

stream_pipeline! {
    pipeline InOut {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 100;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 32), 32>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline Scaled {
        input x: [f32];
        output y: [f32];
        resident w: [f32];
        device dy: [f32];
        chunk c = 100;
        stage scale { copy x -> dx; scale<<<blocks(c.len, 32), 32>>>(&w, &dx, out dy); copy dy -> y; }
    }
}

stream_pipeline! {
    /// The kernel writes what the input was copied to.
    pipeline Overwritten {
        param a: f32;
        input x: [f32];
        output y: [f32];
        chunk c = 100;
        stage all {
            copy x -> d;
            copy x -> dx;
            saxpy<<<blocks(c.len, 32), 32>>>(a, &dx, &mut d);
            copy d -> y;
        }
    }
}

stream_pipeline! {
    /// Two results of one buffer, the second of which is not the first.
    pipeline Twice {
        param a: f32;
        input x: [f32];
        output first: [f32];
        output second: [f32];
        resident w: [f32];
        device d: [f32];
        chunk c = 100;
        stage all {
            copy x -> dx;
            scale<<<blocks(c.len, 32), 32>>>(&w, &dx, out d);
            copy d -> first;
            saxpy<<<blocks(c.len, 32), 32>>>(a, &dx, &mut d);
            copy d -> second;
        }
    }
}

/// `y[i]` from `x[i]` and three neighbours on each side.
#[kernel]
fn around(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let i = i.get();
    *y = x[i] - 2.0 * x[i + 2] + 3.0 * x[i + 3] - 4.0 * x[i + 6];
}

macro_rules! with_neighbours {
    ($($name:ident: $edge:ident),* $(,)?) => {$(
        stream_pipeline! {
            pipeline $name {
                input x: [f32] halo 3 = $edge;
                output y: [f32];
                device dy: [f32];
                chunk c = 100;
                stage all { copy x -> dx; around<<<blocks(c.len, 32), 32>>>(&dx, out dy); copy dy -> y; }
            }
        }
    )*};
}
with_neighbours!(Clamped: clamp, Zeroed: zero, Wrapped: wrap);

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 91) as f32 * 0.37).collect()
}

/// Lengths around a chunk.
const LENGTHS: [usize; 5] = [0, 1, 100, 101, 1234];

#[test]
fn what_nothing_else_sees_is_not_copied() -> thalweg::Result<()> {
    let (cpu, sim) = (Device::cpu()?, Device::simulated(Simulation::default()));
    for len in LENGTHS {
        let x = numbers(len);
        let [mut on_cpu, mut on_sim] = [numbers(len), numbers(len)];
        let report = InOut::new(&cpu)?.run(0.3, &x, &mut on_cpu)?;
        InOut::new(&sim)?.run(0.3, &x, &mut on_sim)?;
        assert_eq!(on_cpu, on_sim);
        assert_eq!((report.bytes_to_device, report.bytes_to_host, report.bytes_staged), (0, 0, 0));
        assert_eq!((report.device_memory, report.pinned_memory), (0, 0));

        let (w, [mut on_cpu, mut on_sim]) = ([0.7], [vec![0.0; len], vec![0.0; len]]);
        let report = Scaled::new(&cpu)?.run(&x, &mut on_cpu, &w)?;
        Scaled::new(&sim)?.run(&x, &mut on_sim, &w)?;
        assert_eq!(on_cpu, on_sim);
        assert_eq!((report.bytes_to_device, report.bytes_to_host, report.device_memory), (0, 0, 0));
    }
    Ok(())
}

#[test]
fn page_locked_arguments_are_used_where_they_lie_too() -> thalweg::Result<()> {
    let cpu = Device::cpu()?;
    let x = PinnedBuf::from_slice(&cpu, &numbers(777))?;
    let mut y = PinnedBuf::from_slice(&cpu, &numbers(777))?;
    let report = InOut::new(&cpu)?.run(2.0, &x, &mut y)?;
    let expected: Vec<f32> = numbers(777).iter().map(|x| x + 2.0 * x).collect();
    assert_eq!(y[..], expected);
    assert_eq!((report.bytes_to_device, report.device_memory), (0, 0));
    Ok(())
}

/// The bytes of the chunks that see items beyond the ends, with all that they see.
fn bytes_at_ends(len: usize) -> u64 {
    let chunks = (0..len).step_by(100).map(|start| (start, (start + 100).min(len)));
    let ends = chunks.filter(|&(start, end)| start < 3 || end + 3 > len);
    ends.map(|(start, end)| 4 * (end - start + 6) as u64).sum()
}

#[test]
fn what_a_chunk_sees_within_the_data_is_not_copied() -> thalweg::Result<()> {
    let (cpu, sim) = (Device::cpu()?, Device::simulated(Simulation::default()));
    // In the last one the chunk before the last sees items beyond the end.
    for len in [0, 1, 5, 100, 101, 300, 1234, 1202] {
        let x = numbers(len);
        macro_rules! compare {
            ($($pipeline:ident)*) => {$(
                let mut on_sim = vec![0.0; len];
                $pipeline::new(&sim)?.run(&x, &mut on_sim)?;
                let (pinned, mut pipeline) = (PinnedBuf::from_slice(&cpu, &x)?, $pipeline::new(&cpu)?);
                for is_pinned in [false, true] {
                    let mut on_cpu = vec![0.0; len];
                    let copied = match is_pinned {
                        false => pipeline.run(&x, &mut on_cpu)?,
                        true => pipeline.run(&pinned, &mut on_cpu)?,
                    };
                    assert_eq!(on_cpu, on_sim);
                    assert_eq!((copied.bytes_to_device, copied.bytes_to_host), (bytes_at_ends(len), 0));
                }
            )*};
        }
        compare!(Clamped Zeroed Wrapped);
    }
    Ok(())
}

#[test]
fn what_something_would_see_is_copied() -> thalweg::Result<()> {
    let (cpu, sim) = (Device::cpu()?, Device::simulated(Simulation::default()));
    for len in LENGTHS {
        let x = numbers(len);
        let [mut on_cpu, mut on_sim] = [vec![0.0; len], vec![0.0; len]];
        let report = Overwritten::new(&cpu)?.run(0.3, &x, &mut on_cpu)?;
        Overwritten::new(&sim)?.run(0.3, &x, &mut on_sim)?;
        assert_eq!((&on_cpu, &x), (&on_sim, &numbers(len)), "the input is as it was");
        // `dx` is the input, and `d` is not.
        assert_eq!(report.bytes_to_device, 4 * len as u64);

        let w = [0.7];
        let [mut first, mut second, mut other] = [(); 3].map(|()| vec![0.0; len]);
        Twice::new(&cpu)?.run(0.3, &x, &mut first, &mut second, &w)?;
        Twice::new(&sim)?.run(0.3, &x, &mut on_sim, &mut other, &w)?;
        assert_eq!((first, second), (on_sim, other));
    }
    Ok(())
}

#[test]
fn a_failed_run_gives_the_memory_back() -> thalweg::Result<()> {
    let cpu = Device::cpu()?;
    let mut pipeline = Scaled::new(&cpu)?;
    let mut x = numbers(450);
    x[333] = -1.0;
    let mut y = vec![0.0; 450];
    let error = pipeline.run(&x, &mut y, &[1.0]).expect_err("a thread fails");
    assert!(error.to_string().contains("negative"), "{error}");
    // Neither slice is the device's any more, and other memory is used next.
    drop((x, y));
    let (x, mut y) = (numbers(450), vec![0.0; 450]);
    pipeline.run(&x, &mut y, &[1.0])?;
    assert_eq!(x, y);
    Ok(())
}

#[test]
fn the_plan_says_which_copies_are_left_out() {
    let text = InOut::PLAN.explain();
    let expected = "\nLeft out on a CPU, where a buffer can be the argument itself:\n    `copy x -> dx`: dx is x\n    \
                    `copy y -> dy`: dy is y\n    `copy dy -> y`: dy is y\n";
    assert!(text.ends_with(expected), "{text}");
    let text = Clamped::PLAN.explain();
    let expected = "itself:\n    `copy x -> dx`: dx is x, but for the chunks at the ends\n    \
                    `copy dy -> y`: dy is y\n";
    assert!(text.ends_with(expected), "{text}");
    let text = Overwritten::PLAN.explain();
    assert!(text.ends_with("itself:\n    `copy x -> dx`: dx is x\n"), "{text}");
    let text = Twice::PLAN.explain();
    assert!(
        text.ends_with("itself:\n    `copy x -> dx`: dx is x\n    `copy d -> second`: d is second\n"),
        "{text}"
    );
}
