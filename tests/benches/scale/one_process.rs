//! One process on 1, 2, 4, … GPUs: how much goes over all links at once, and how fast all of them compute.

use serde_json::{Value, json};

use crate::aims::{Aim, Outcome};
use crate::bare::Bare;
use crate::measure::{Contender, Data, Output, Sample, Table, measure};
use crate::pipelines::Step;
use crate::python::KINDS;
use crate::setting::{Setting, cores};
use crate::table::Figures;

/// What people choose by hand.
pub const CHUNK: usize = 4 << 20;
pub const DEPTH: usize = 3;
/// Steps of the heavy kernel.
const HEAVY: u32 = 16_384;

const COPIES: &str = "bare copies, all at once";
const KERNEL: &str = "the kernel alone, on all at once";
const OURS: &str = "Thalweg, one pipeline";
const CPP: &str = "C++, a thread and a ring for each GPU";

/// 1 GiB each way for each GPU, with a light kernel: in page-locked memory, and in `Vec`s.
pub fn copies(setting: &Setting) -> thalweg::Result<Outcome> {
    let mut figures = ["page-locked memory", "`Vec`s"]
        .map(|memory| Figures::new(format!("GB/s each way in all, {memory}, by GPUs"), &setting.counts));
    let mut tables = Vec::new();
    for &count in &setting.counts {
        let of_count = [pinned(setting, count, 1)?, vecs(setting, count)?];
        for (figures, table) in figures.iter_mut().zip(&of_count) {
            for row in &table.rows {
                let bytes = (4 * count * setting.items()) as f64;
                figures.put(&row.name, count, bytes / row.median() / 1e9);
            }
        }
        tables.extend(of_count.iter().map(Table::to_json));
    }
    figures.iter().for_each(|figures| figures.print(1));
    let [pinned, vecs] = &figures;
    let aim = |name, figures: &Figures| Aim { name, wanted: ">= 0.95", found: figures.ratios(OURS, COPIES) };
    let aims = vec![
        aim("copies, page-locked / bare copies", pinned),
        aim("copies, `Vec`s / bare copies", vecs),
        Aim { name: "copies, page-locked / C++", wanted: ">= 1", found: pinned.ratios(OURS, CPP) },
    ];
    Ok(Outcome { json: json(&figures, tables), aims })
}

/// The same with a kernel that takes several times as long as the copies.
pub fn kernel(setting: &Setting) -> thalweg::Result<Outcome> {
    let title = "elements computed in a ns in all, page-locked memory, a heavy kernel, by GPUs";
    let mut figures = Figures::new(title, &setting.counts);
    let mut tables = Vec::new();
    let steps = if setting.is_quick { 64 } else { HEAVY };
    for &count in &setting.counts {
        let table = pinned(setting, count, steps)?;
        for row in &table.rows {
            figures.put(&row.name, count, (count * setting.items()) as f64 / row.median() / 1e9);
        }
        tables.push(table.to_json());
    }
    figures.print(3);
    let aims = vec![
        Aim { name: "heavy kernel / (N times one GPU)", wanted: ">= 0.98", found: figures.efficiency(OURS) },
        Aim { name: "heavy kernel / C++", wanted: ">= 1", found: figures.ratios(OURS, CPP) },
    ];
    Ok(Outcome { json: json(&[figures], tables), aims })
}

fn json(figures: &[Figures], tables: Vec<Value>) -> Value {
    json!({ "figures": figures.iter().map(Figures::to_json).collect::<Vec<_>>(), "tables": tables })
}

fn pinned(setting: &Setting, count: usize, steps: u32) -> thalweg::Result<Table> {
    let (devices, items) = (&setting.devices[..count], setting.items());
    let mut data = Data::new(&devices[0], count * items, false)?;
    let bare = setting.has_gpus().then(|| Bare::new(0..count, items));
    let mut contenders = Vec::new();
    if let Some(bare) = &bare {
        contenders.push(bare.copies(COPIES));
        contenders.extend((steps > 1).then(|| bare.kernel(KERNEL, steps)));
    }
    if let Some(cpp) = &setting.cpp {
        let rings = cpp.rings((&data.x, &mut data.z), (CHUNK, DEPTH, steps), (count, count));
        contenders
            .push(Contender::new(CPP, Output::Pinned, move |data| Ok(rings.run((&data.x, &mut data.z)))));
    }
    for kind in KINDS {
        // PyTorch has no kernel that is this heavy.
        if steps > 1 && !kind.has_kernels {
            continue;
        }
        let Some(mut worker) = setting.python.worker(kind.way, [count, items, CHUNK, steps as usize]) else {
            continue;
        };
        contenders.push(Contender::new(kind.name, Output::None, move |_| {
            Ok(Sample { wall: worker.turn(), enqueue: None })
        }));
    }
    let mut step = Step::new(devices)?;
    contenders
        .push(Contender::timed(OURS, Output::Pinned, move |data| step.run(steps, &data.x, &mut data.z)));
    let title = format!("{count} devices, page-locked, {steps} steps");
    let table = measure(title, count * items / CHUNK, setting.effort, &mut data, steps, contenders)?;
    Ok(table)
}

fn vecs(setting: &Setting, count: usize) -> thalweg::Result<Table> {
    let (devices, items) = (&setting.devices[..count], setting.items());
    let mut data = Data::new(&devices[0], count * items, true)?;
    let bare = setting.has_gpus().then(|| Bare::new(0..count, items));
    let mut contenders: Vec<Contender<'_>> = bare.iter().map(|bare| bare.copies(COPIES)).collect();
    if let Some(cpp) = &setting.cpp {
        // The copying threads of one GPU: as many as its share of the cores, and fewer.
        let share = (cores() / count).clamp(1, 16);
        for threads in [share, share.div_ceil(2)] {
            let name = format!("C++, staged by {} threads in all", threads * count);
            contenders.push(Contender::new(name, Output::Pageable, move |data| {
                Ok(cpp.staged((&data.pageable_x, &mut data.pageable_z), 1 << 18, threads, count))
            }));
        }
    }
    let mut step = Step::new(devices)?;
    contenders.push(Contender::timed(OURS, Output::Pageable, move |data| {
        step.run(1, &data.pageable_x, &mut data.pageable_z)
    }));
    measure(format!("{count} devices, `Vec`s"), 1, setting.effort, &mut data, 1, contenders)
}
