//! The colours of the pictures of a timeline.

use super::scene::Paint;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rgb(pub(super) [u8; 3]);

pub(super) struct Colours {
    pub(super) page: Rgb,
    ink: Rgb,
    quiet: Rgb,
    grid: Rgb,
    band: Rgb,
}

/// The palette of Okabe and Ito, whose colours people with any colour vision can tell apart ("Color Universal
/// Design", 2008), and a grey.
const STAGES: [Rgb; 8] = [
    Rgb([0x56, 0xb4, 0xe9]),
    Rgb([0xe6, 0x9f, 0x00]),
    Rgb([0x00, 0x9e, 0x73]),
    Rgb([0xcc, 0x79, 0xa7]),
    Rgb([0x00, 0x72, 0xb2]),
    Rgb([0xd5, 0x5e, 0x00]),
    Rgb([0xf0, 0xe4, 0x42]),
    Rgb([0x99, 0x99, 0x99]),
];

impl Colours {
    pub(super) const LIGHT: Self = Self {
        page: Rgb([0xff, 0xff, 0xff]),
        ink: Rgb([0x22, 0x26, 0x2b]),
        quiet: Rgb([0x5c, 0x63, 0x6b]),
        grid: Rgb([0xdd, 0xe0, 0xe4]),
        band: Rgb([0xf3, 0xf4, 0xf6]),
    };
    pub(super) const DARK: Self = Self {
        page: Rgb([0x15, 0x18, 0x1c]),
        ink: Rgb([0xe3, 0xe6, 0xea]),
        quiet: Rgb([0xa0, 0xa7, 0xaf]),
        grid: Rgb([0x34, 0x3a, 0x41]),
        band: Rgb([0x1f, 0x23, 0x28]),
    };

    pub(super) fn of(&self, paint: Paint) -> Rgb {
        match paint {
            Paint::Ink => self.ink,
            Paint::Quiet => self.quiet,
            Paint::Grid => self.grid,
            Paint::Band => self.band,
            Paint::Stage(stage) => stage_colour(stage),
            Paint::OnStage(stage) => {
                let (black, white) = (Rgb([0; 3]), Rgb([0xff; 3]));
                let colour = stage_colour(stage);
                if contrast(colour, black) >= contrast(colour, white) { black } else { white }
            }
        }
    }
}

/// After eight stages the same colours follow half as bright; then they begin again.
fn stage_colour(stage: usize) -> Rgb {
    let Rgb(colour) = STAGES[stage % STAGES.len()];
    let darker = stage / STAGES.len() % 2 == 1;
    Rgb(colour.map(|part| if darker { part / 2 } else { part }))
}

/// The ratio of two colours' luminances as WCAG 2 defines it: 1 to 21.
fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |Rgb(colour): Rgb| {
        let [red, green, blue] = colour.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for colours in [Colours::LIGHT, Colours::DARK] {
            for paint in [Paint::Ink, Paint::Quiet] {
                for behind in [colours.page, colours.band] {
                    assert!(contrast(colours.of(paint), behind) >= 4.5, "{paint:?}");
                }
            }
            for stage in 0..20 {
                let (on, behind) = (colours.of(Paint::OnStage(stage)), colours.of(Paint::Stage(stage)));
                assert!(contrast(on, behind) >= 4.5, "{stage}: {}", contrast(on, behind));
            }
        }
        assert_eq!(contrast(Rgb([0; 3]), Rgb([255; 3])), 21.0);
    }

    #[test]
    fn sixteen_stages_have_a_colour_each() {
        let colours: Vec<_> = (0..16).map(stage_colour).collect();
        for (index, colour) in colours.iter().enumerate() {
            assert!(!colours[..index].contains(colour));
        }
        assert_eq!(stage_colour(16), stage_colour(0));
    }
}
