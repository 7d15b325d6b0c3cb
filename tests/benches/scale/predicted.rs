//! What `predict` says of runs on several GPUs, beside the runs: on the GPUs themselves, of which it knows what they
//! share, and from the calibration of one alone, which knows nothing of that.

use std::time::{Duration, Instant};

use serde_json::json;
use thalweg::prelude::*;
use thalweg::sim::MachineModel;

use crate::aims::{Aim, Outcome};
use crate::measure::{quantile, random};
use crate::pipelines::{Step, stepped};
use crate::setting::Setting;
use crate::table::Figures;

const MEASURED: &str = "measured";
const ON_ALL: &str = "predicted on these GPUs";
const FROM_ONE: &str = "predicted from one, nothing shared";

/// 1 GiB each way for each GPU, with a light kernel.
pub fn predicted(setting: &Setting) -> thalweg::Result<Outcome> {
    let title = "ms of a run, 1 GiB each way for each GPU, page-locked, by GPUs";
    let mut figures = Figures::new(title, &setting.counts);
    let mut put = |name, count, time: Duration| figures.put(name, count, time.as_secs_f64() * 1e3);
    let model = setting.devices[0].calibration().clone();
    for &count in &setting.counts {
        let (devices, len) = (&setting.devices[..count], count * setting.items());
        let x = PinnedBuf::from_slice(&devices[0], &random(len as u64, len))?;
        let mut z = PinnedBuf::zeroed(&devices[0], len)?;
        let mut step = Step::new(devices)?;
        let mut seconds = Vec::new();
        for round in 0..setting.effort.warm_up + setting.effort.runs {
            z.fill(f32::NAN);
            let start = Instant::now();
            let report = step.run(1, &x, &mut z)?;
            let time = if report.simulated { report.time } else { start.elapsed() };
            check(&x, &z);
            seconds.extend((round >= setting.effort.warm_up).then_some(time.as_secs_f64()));
        }
        put(MEASURED, count, Duration::from_secs_f64(quantile(seconds, 0.5)));
        put(ON_ALL, count, step.predict(1, &x, &mut z)?.time());

        let like_it = Device::simulated_machine(MachineModel::from(vec![model.clone(); count]));
        // Nobody touches this memory.
        let x = PinnedBuf::zeroed(&like_it[0], len)?;
        let mut z = PinnedBuf::zeroed(&like_it[0], len)?;
        put(FROM_ONE, count, Step::new(&like_it)?.predict(1, &x, &mut z)?.time());
    }
    figures.print(2);
    let aims = vec![
        Aim {
            name: "predicted on all / measured",
            wanted: "0.9 to 1.1",
            found: figures.ratios(ON_ALL, MEASURED),
        },
        Aim {
            name: "predicted from one / measured",
            wanted: "0.9 to 1.1",
            found: figures.ratios(FROM_ONE, MEASURED),
        },
    ];
    Ok(Outcome { json: json!({ "figures": figures.to_json() }), aims })
}

fn check(x: &[f32], z: &[f32]) {
    use rayon::prelude::*;
    let wrong = x.par_iter().zip(z).filter(|(x, z)| z.to_bits() != stepped(**x, 1).to_bits()).count();
    assert_eq!(wrong, 0, "wrong elements");
}
