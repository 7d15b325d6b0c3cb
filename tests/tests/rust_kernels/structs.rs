//! Structs in kernels: on the simulated device, and as C++ on the host, which has to compute the same bits.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::kernels::{Weighted, heavier};
use thalweg_tests::on_each_device;
use thalweg_tests::on_host::Argument;

use crate::both::{assert_same, cpp, run, slice};

// ANCHOR: particles
#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Particle {
    position: [f32; 3],
    velocity: [f32; 3],
    mass: f32,
}

#[device]
fn energy(of: Particle) -> f32 {
    let [x, y, z] = of.velocity;
    0.5 * of.mass * (x * x + y * y + z * z)
}

/// Moves each particle on.
#[kernel]
fn advance(i: Index, dt: f32, particles: &mut Own<[Particle]>, energies: &mut Out<[f32]>) {
    let Some(p) = particles.get_mut(i) else { return };
    let Some(e) = energies.get_mut(i) else { return };
    for axis in 0..3 {
        p.position[axis] += dt * p.velocity[axis];
    }
    *e = energy(*p);
}

stream_pipeline! {
    pipeline Advance {
        param dt: f32;
        inout particles: [Particle];
        output energies: [f32];
        device p: [Particle];
        device e: [f32];
        chunk c = 1000;
        stage all {
            copy particles -> p;
            advance<<<blocks(c.len, 256), 256>>>(dt, &mut p, out e);
            copy p -> particles;
            copy e -> energies;
        }
    }
}
// ANCHOR_END: particles

/// Structs of another module, which kernels name by their paths or import.
mod shapes {
    use thalweg::prelude::*;

    pub const SIDES: usize = 2;

    #[device]
    #[repr(C)]
    #[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
    #[bytemuck(crate = "thalweg::bytemuck")]
    pub struct Side {
        pub ends: [[i16; 2]; SIDES],
        pub length: f64,
    }

    /// With structs in it, and with fields whose names are C++'s or none of C++.
    #[device]
    #[repr(C, align(16))]
    #[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
    #[bytemuck(crate = "thalweg::bytemuck")]
    pub struct Shape {
        pub sides: [Side; Shape::SIDES],
        pub best: Side,
        pub r#type: u8,
        pub int: i8,
        pub int_: u16,
        pub größe: f32,
        pub _unused: [u8; 8],
    }

    impl Shape {
        pub const SIDES: usize = SIDES + 1;
        pub const LIMIT: f32 = 6.5;
    }

    #[device]
    #[repr(transparent)]
    #[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
    #[bytemuck(crate = "thalweg::bytemuck")]
    pub struct Metres(pub f32);

    /// Names of CUDA, and a field of the type's own name.
    #[device]
    #[repr(C)]
    #[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
    #[bytemuck(crate = "thalweg::bytemuck")]
    #[allow(non_camel_case_types, non_snake_case, reason = "CUDA's names are not Rust's")]
    pub struct float3 {
        pub float3: [f32; 2],
        pub threadIdx: f32,
        pub default: u32,
    }

    pub const UNIT: Side = Side { ends: [[0, 1], [-1, i16::MIN]], length: 1.0 };

    #[device]
    pub fn grown(side: &mut Side, by: f64) {
        side.length = side.length.mul_add(by, 1.0).min(1e6);
        side.ends[0][1] += 1;
    }

    #[device]
    pub fn turned(side: &Side) -> Side {
        let Side { ends: [[a, b], [c, d]], length } = *side;
        Side { length, ends: [[c, d], [a, b]] }
    }
}

type Real = f32;

/// Most of what a kernel does with structs.
#[kernel]
fn shaped(
    i: Index,
    start: shapes::Shape,
    by: shapes::Metres,
    x: &[shapes::Shape],
    y: &mut Own<[shapes::Shape]>,
    out: &mut Out<[shapes::float3]>,
) {
    use shapes::{Metres, Shape as S, Side, float3};
    let Some(y) = y.get_mut(i) else { return };
    let Some(out) = out.get_mut(i) else { return };
    let at = i.get() % x.len();
    let read = x[at];
    let whole = &x[x.len() - 1 - at];
    // Literals have the fields' types.
    let mut made = S {
        int: -128,
        int_: 65_535,
        r#type: match whole.r#type {
            0 => 7,
            1..=9 => 8,
            _ => 250,
        },
        größe: 0.1,
        ..read
    };
    made.größe *= 3.0;
    made.int += (whole.int & 3) + 1;
    if made.größe > S::LIMIT || -made.größe < 0.25 {
        made.int_ -= 1 + (made.r#type as u16);
    }
    // Parts of parts, by reference and by value.
    shapes::grown(&mut made.best, 1.5);
    let side = &mut made.sides[at % 3];
    side.length = side.length.sqrt() + 2.0;
    side.ends[1] = [4, -5];
    made.sides[2] = shapes::turned(&whole.best);
    made.best = if at & 1 == 0 { Side { length: 0.5, ..made.best } } else { shapes::UNIT };
    let mut sum = 0.0;
    let mut counts = [0; 2];
    for side in &read.sides {
        sum += side.length;
        for ends in side.ends {
            counts[0] += ends[0];
            counts[1] ^= ends[1];
        }
    }
    made.sides[0].ends[0] = counts;
    made.sides[0].length = sum;
    let Metres(metres) = by;
    let half: Real = 0.5;
    let scaled = |m: Metres| Metres(m.0 * half + metres);
    let n = out_count(whole.r#type as u32);
    for turn in 0..whole.r#type {
        sum += turn as f64;
    }
    *out = float3 { default: n, threadIdx: scaled(by).0, float3: [sum as f32, start.größe] };
    out.float3[1] -= made.größe;
    *y = S { int: made.int, ..made };
}

#[device]
fn out_count(n: u32) -> u32 {
    n + 1
}

/// A struct and a function of another crate.
#[kernel]
fn weighed(i: Index, x: &[Weighted], y: &mut Out<[Weighted]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut best = Weighted { value: 0.0, weight: f64::MIN };
    for found in x {
        best = heavier(*found, best);
    }
    *y = Weighted { value: best.value * 2.0, ..best };
}

/// Structs among what the threads of a block share.
#[kernel]
fn centres(block: Block, x: &[shapes::float3], y: &mut Out<[shapes::float3]>) {
    let start = shapes::float3 { float3: [0.0; 2], threadIdx: 0.0, default: 0 };
    let mut own = block.private(start);
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            own[t].default += x[i].default;
            own[t].float3[0] += x[i].float3[1] * 2.0;
        }
    });
    let sum = block.reduce(
        |t| own[t],
        |a, b| shapes::float3 {
            float3: [a.float3[0] + b.float3[0], a.float3[1].max(b.float3[1])],
            default: a.default.wrapping_add(b.default),
            ..a
        },
    );
    y.put(block.index(), sum);
}

/// Structs in shared memory, and constants of the body.
#[kernel]
fn scattered(block: Block, x: &[shapes::float3], y: &mut Out<[shapes::float3]>) {
    use shapes::float3 as Point;
    const FAR: Point = Point { float3: [0.1; 2], threadIdx: 9.5, default: 7 };
    const TWICE: f32 = FAR.threadIdx * 2.0;
    const STARTS: [Point; 2] = [FAR, Point { default: 8, ..FAR }];
    let mut points = block.shared::<[Point; 40]>();
    let mut pairs = block.shared_padded::<[[Point; 3]; 2], 1>();
    block.fill(&mut points, |i| if i < x.len() { x[i] } else { STARTS[i % 2] });
    block.fill(&mut pairs, |[r, c]| Point { default: points[r * 3 + c].default + r as u32, ..points[c] });
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = points[t.rank()];
            y.threadIdx += TWICE;
            y.default += pairs[t.rank() % 2][1].default;
        }
    });
}

fn particles(n: usize) -> Vec<Particle> {
    let value = |at: usize| (at * 37 % 101) as f32 / 7.0 - 5.0;
    let particle = |i| Particle {
        position: [value(i), value(i + 1), value(i + 2)],
        velocity: [value(3 * i), 0.1, value(5 * i)],
        mass: value(7 * i).abs(),
    };
    (0..n).map(particle).collect()
}

on_each_device! {
    particles_move_on_both_sides;
    fields_parts_and_values_are_those_of_rust;
    structs_and_functions_of_another_crate_are_found;
    blocks_reduce_structs;
    structs_are_in_shared_memory_and_in_constants;
}

fn particles_move_on_both_sides(device: &Device) {
    let before = particles(70);
    let (mut native, mut energies) = (before.clone(), vec![0.0; 70]);
    Advance::new(device).unwrap().run(0.25, &mut native, &mut energies).unwrap();
    assert_eq!(native[3].position[1].to_bits(), (before[3].position[1] + 0.25 * 0.1).to_bits());
    let (mut in_cpp, mut energies_in_cpp) = (before, vec![0.0; 70]);
    let [a, b] = slice(&mut in_cpp);
    let [c, d] = slice(&mut energies_in_cpp);
    run::<advance>(70, &[Argument::value(&0.25_f32), a, b, c, d]);
    assert_same(&native, &in_cpp);
    assert_same(&energies, &energies_in_cpp);
}

fn shape(i: usize) -> shapes::Shape {
    let side = |at: usize| shapes::Side {
        ends: [[at as i16 * 7, -3], [(at * at) as i16, 11]],
        length: at as f64 * 1.25,
    };
    shapes::Shape {
        sides: [side(i), side(i + 1), side(3 * i)],
        best: side(i * i),
        r#type: i as u8 * 5,
        int: 3 - i as i8,
        int_: i as u16 * 400,
        größe: i as f32 * 1.7,
        _unused: [i as u8; 8],
    }
}

fn fields_parts_and_values_are_those_of_rust(device: &Device) {
    const N: usize = 40;
    let stream = Stream::new(device).unwrap();
    let (mut x, mut y): (Vec<_>, Vec<_>) =
        ((0..7).map(shape).collect(), (0..N).map(|i| shape(i % 5)).collect());
    let mut out: Vec<shapes::float3> = vec![Zeroable::zeroed(); N];
    let (start, by) = (shape(3), shapes::Metres(1.5));
    let dx = DeviceBuf::from_slice(device, &x).unwrap();
    let mut dy = DeviceBuf::from_slice(device, &y).unwrap();
    let mut dout = DeviceBuf::from_slice(device, &out).unwrap();
    let kernel = shaped::load(device).unwrap();
    kernel.launch(stream.config(2, 32, 0), start, by, &dx, &mut dy, &mut dout).unwrap();
    let (native, native_out) = (dy.to_vec().unwrap(), dout.to_vec().unwrap());
    assert_eq!(native[0].größe, 0.1 * 3.0);
    assert_eq!((native[1].int, native[0].r#type), (-128 + ((3 - 5) & 3) + 1, 250));
    assert_eq!(native_out[0].default, 31);

    let mut arguments = vec![Argument::value(&start), Argument::value(&by)];
    arguments.extend(slice(&mut x));
    arguments.extend(slice(&mut y));
    arguments.extend(slice(&mut out));
    run::<shaped>(N, &arguments);
    assert_same(&native, &y);
    assert_same(&native_out, &out);
}

fn structs_and_functions_of_another_crate_are_found(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let mut x: Vec<_> =
        (0..9).map(|i| Weighted { value: f64::from(i), weight: f64::from(i * 5 % 9) }).collect();
    let mut y = vec![Weighted { value: 0.0, weight: 0.0 }; 2];
    let dx = DeviceBuf::from_slice(device, &x).unwrap();
    let mut dy = DeviceBuf::from_slice(device, &y).unwrap();
    weighed::load(device).unwrap().launch(stream.config(1, 32, 0), &dx, &mut dy).unwrap();
    let native = dy.to_vec().unwrap();
    assert_eq!(native[0], Weighted { value: 14.0, weight: 8.0 });
    let [a, b] = slice(&mut x);
    let [c, d] = slice(&mut y);
    run::<weighed>(2, &[a, b, c, d]);
    assert_same(&native, &y);
}

fn blocks_reduce_structs(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let value =
        |i: usize| shapes::float3 { float3: [0.0, i as f32 * 0.3], threadIdx: 0.0, default: i as u32 };
    let mut x: Vec<_> = (0..100).map(value).collect();
    let mut y: Vec<shapes::float3> = vec![Zeroable::zeroed(); 2];
    let dx = DeviceBuf::from_slice(device, &x).unwrap();
    let mut dy = DeviceBuf::from_slice(device, &y).unwrap();
    centres::load(device).unwrap().launch(stream.config(2, 32, 0), &dx, &mut dy).unwrap();
    let native = dy.to_vec().unwrap();
    assert_eq!(native[0].default + native[1].default, 99 * 50);
    let [a, b] = slice(&mut x);
    let [c, d] = slice(&mut y);
    run::<centres>(64, &[a, b, c, d]);
    assert_same(&native, &y);
}

fn structs_are_in_shared_memory_and_in_constants(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let value = |i: usize| shapes::float3 { float3: [0.5, i as f32], threadIdx: 1.0, default: i as u32 };
    let mut x: Vec<_> = (0..30).map(value).collect();
    let mut y: Vec<shapes::float3> = vec![Zeroable::zeroed(); 60];
    let dx = DeviceBuf::from_slice(device, &x).unwrap();
    let mut dy = DeviceBuf::from_slice(device, &y).unwrap();
    scattered::load(device).unwrap().launch(stream.config(2, 32, 0), &dx, &mut dy).unwrap();
    let native = dy.to_vec().unwrap();
    let told = |at: usize| (native[at].float3, native[at].threadIdx, native[at].default);
    assert_eq!(told(7), ([0.5, 7.0], 20.0, 7 + 4 + 1));
    assert_eq!(told(31), ([0.1, 0.1], 28.5, 8 + 4 + 1));
    let [a, b] = slice(&mut x);
    let [c, d] = slice(&mut y);
    run::<scattered>(60, &[a, b, c, d]);
    assert_same(&native, &y);
}

#[test]
fn a_layout_is_compared_by_the_compiler() {
    let text = cpp::<shaped>();
    for line in [
        "struct alignas(16) Shape {",
        "static_assert(sizeof(Shape) == 80 && alignof(Shape) == 16, \"`Shape` is as in Rust\");",
        "static_assert(TW_OFFSET(Shape, tw_int) == 65, \"`tw_int` is where Rust has it\");",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
