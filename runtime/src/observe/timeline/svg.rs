//! A timeline as SVG.

use std::fmt::Write;

use super::Timeline;
use super::colours::{Colours, Rgb};
use super::scene::{Anchor, Paint, Scene, Shape, WIDTH};

impl Timeline {
    /// The run as an SVG image: a row for each stream, a colour for each stage, over time.
    ///
    /// The image is self-contained. It has a light and a dark form, between which the viewer chooses, and
    /// shows details of the operation below the pointer. Spans narrower than a pixel are drawn together.
    pub fn svg(&self) -> String {
        svg(&Scene::new(&[self]))
    }

    /// Draws both timelines, one above the other on the same axis: for example a prediction and a
    /// measurement.
    pub fn svg_with(&self, below: &Self) -> String {
        svg(&Scene::new(&[self, below]))
    }
}

fn svg(scene: &Scene) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, scene);
    out
}

fn write(out: &mut String, scene: &Scene) -> std::fmt::Result {
    let height = scene.height.ceil();
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="11.7" role="img">"#,
    )?;
    writeln!(out, "<title>{}</title>", escaped(&scene.title))?;
    let style = |out: &mut String, colours: &Colours| {
        let mut paints = vec![Paint::Ink, Paint::Quiet, Paint::Grid, Paint::Band];
        let stages = scene.shapes.iter().filter_map(|shape| match shape {
            Shape::Rectangle { paint: Paint::Stage(stage), .. } => Some(stage + 1),
            _ => None,
        });
        let stages = stages.max().unwrap_or(0);
        paints.extend((0..stages).flat_map(|stage| [Paint::Stage(stage), Paint::OnStage(stage)]));
        let mut rules = format!(".page{{fill:{}}}", hex(colours.page));
        for paint in paints {
            let _ = write!(rules, ".{}{{fill:{}}}", class(paint), hex(colours.of(paint)));
        }
        out.push_str(&rules);
    };
    out.push_str("<style>");
    style(out, &Colours::LIGHT);
    out.push_str("@media(prefers-color-scheme:dark){");
    style(out, &Colours::DARK);
    out.push_str("}</style>\n");
    writeln!(out, r#"<rect class="page" width="{WIDTH}" height="{height}"/>"#)?;
    for shape in &scene.shapes {
        match shape {
            Shape::Rectangle { x, y, width, height, paint, opacity, tip } => {
                let (x, y, width, height) = (Number(*x), Number(*y), Number(*width), Number(*height));
                let class = class(*paint);
                write!(out, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}""#)?;
                if *opacity < 1.0 {
                    write!(out, r#" opacity="{}""#, Number(*opacity))?;
                }
                match tip {
                    Some(tip) => writeln!(out, "><title>{}</title></rect>", escaped(tip))?,
                    None => writeln!(out, "/>")?,
                }
            }
            Shape::Text { x, y, anchor, paint, text } => {
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => r#" text-anchor="middle""#,
                    Anchor::End => r#" text-anchor="end""#,
                };
                // Text on a bar must not keep the pointer from it.
                let on_a_bar = matches!(paint, Paint::OnStage(_));
                let events = if on_a_bar { r#" pointer-events="none""# } else { "" };
                let (x, y, class, text) = (Number(*x), Number(*y), class(*paint), escaped(text));
                writeln!(out, r#"<text class="{class}" x="{x}" y="{y}"{anchor}{events}>{text}</text>"#)?;
            }
        }
    }
    writeln!(out, "</svg>")
}

fn class(paint: Paint) -> String {
    match paint {
        Paint::Ink => "ink".to_owned(),
        Paint::Quiet => "quiet".to_owned(),
        Paint::Grid => "grid".to_owned(),
        Paint::Band => "band".to_owned(),
        Paint::Stage(stage) => format!("s{stage}"),
        Paint::OnStage(stage) => format!("t{stage}"),
    }
}

fn hex(Rgb([red, green, blue]): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A number with at most two decimals.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", (self.0 * 100.0).round() / 100.0)
    }
}

/// Text escaped for XML: markup becomes entities, and characters that no XML document may contain are
/// replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            c => out.push(c),
        }
    }
    out
}
