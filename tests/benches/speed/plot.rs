//! A picture of throughput by chunk size.

use std::path::Path;

use plotters::prelude::*;

/// One contender: of each chunk size in bytes the bytes a second, each way.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Draws the series to an SVG file.
///
/// # Errors
/// The file cannot be written.
pub fn draw(path: &Path, series: &[Series]) -> Result<(), Box<dyn std::error::Error>> {
    let chunks = series.iter().flat_map(|one| one.points.iter().map(|(chunk, _)| *chunk));
    let (least, most) = chunks.fold((f64::MAX, 0.0_f64), |(least, most), c| (least.min(c), most.max(c)));
    let fastest = series.iter().flat_map(|one| one.points.iter().map(|(_, rate)| *rate)).fold(0.0, f64::max);
    let area = SVGBackend::new(path, (860, 520)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .caption("256 MiB in and out, pinned: GB/s each way by chunk size", ("sans-serif", 18))
        .x_label_area_size(44)
        .y_label_area_size(52)
        .build_cartesian_2d((least..most).log_scale().base(2.0), 0.0..fastest / 1e9 * 1.05)?;
    chart
        .configure_mesh()
        .x_desc("bytes of a chunk")
        .y_desc("GB/s")
        .x_label_formatter(&|bytes| label(*bytes))
        .light_line_style(WHITE)
        .draw()?;
    for (index, one) in series.iter().enumerate() {
        // Ours are drawn thicker: there are many lines.
        let style = Palette99::pick(index).stroke_width(if one.name.starts_with("Thalweg") { 3 } else { 1 });
        let points = one.points.iter().map(|(chunk, rate)| (*chunk, rate / 1e9));
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(&one.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .legend_area_size(30)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}

fn label(bytes: f64) -> String {
    let kib = bytes / 1024.0;
    if kib < 1024.0 { format!("{kib:.0} KiB") } else { format!("{:.0} MiB", kib / 1024.0) }
}
