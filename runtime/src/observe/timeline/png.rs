//! A timeline as PNG: the same picture as the SVG, drawn by this crate.
//!
//! Rectangles are drawn with the share of each pixel that they cover, as a browser does, and text by
//! embedded-graphics, which contains its fonts, so that every machine draws the same.

use std::convert::Infallible;

use embedded_graphics::Pixel;
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::iso_8859_1::FONT_7X13;
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::{DrawTarget, Drawable, OriginDimensions, Point, RgbColor, Size};
use embedded_graphics::text::{Alignment, Text};

use super::Timeline;
use super::colours::{Colours, Rgb};
use super::scene::{Anchor, Scene, Shape, WIDTH};

impl Timeline {
    /// Draws the picture of [`svg`](Self::svg), in its light form, as a PNG file, 1000 pixels wide. Needs the
    /// feature `png`.
    ///
    /// Letters beyond ISO 8859-1 become question marks; a shortened name ends in `~`.
    pub fn png(&self) -> Vec<u8> {
        png(&Scene::new(&[self]))
    }

    /// Draws the picture of [`svg_with`](Self::svg_with) as a PNG file.
    pub fn png_with(&self, below: &Self) -> Vec<u8> {
        png(&Scene::new(&[self, below]))
    }
}

fn png(scene: &Scene) -> Vec<u8> {
    let mut canvas = Canvas::new(WIDTH as usize, scene.height.ceil() as usize);
    for shape in &scene.shapes {
        match shape {
            Shape::Rectangle { x, y, width, height, paint, opacity, .. } => {
                canvas.fill([*x, *y], [x + width, y + height], Colours::LIGHT.of(*paint), *opacity);
            }
            Shape::Text { x, y, anchor, paint, text } => {
                canvas.write([*x, *y], *anchor, Colours::LIGHT.of(*paint), text);
            }
        }
    }
    canvas.encoded().expect("an image of at least one pixel can be encoded to memory")
}

struct Canvas {
    width: usize,
    height: usize,
    /// Row by row.
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        let Rgb(page) = Colours::LIGHT.page;
        Self { width, height, pixels: vec![page; width * height] }
    }

    fn fill(&mut self, [left, top]: [f64; 2], [right, bottom]: [f64; 2], Rgb(colour): Rgb, opacity: f64) {
        // Negative numbers become 0.
        let pixels = |from: f64, to: f64, most: usize| from as usize..(to.ceil() as usize).min(most);
        let covered = |pixel: usize, from: f64, to: f64| {
            let pixel = pixel as f64;
            (to.min(pixel + 1.0) - from.max(pixel)).clamp(0.0, 1.0)
        };
        for y in pixels(top, bottom, self.height) {
            for x in pixels(left, right, self.width) {
                let share = opacity * covered(x, left, right) * covered(y, top, bottom);
                for (part, over) in self.pixels[y * self.width + x].iter_mut().zip(colour) {
                    *part = (f64::from(*part) * (1.0 - share) + f64::from(over) * share).round() as u8;
                }
            }
        }
    }

    fn write(&mut self, [x, y]: [f64; 2], anchor: Anchor, Rgb([red, green, blue]): Rgb, text: &str) {
        let alignment = match anchor {
            Anchor::Start => Alignment::Left,
            Anchor::Middle => Alignment::Center,
            Anchor::End => Alignment::Right,
        };
        let style = MonoTextStyle::new(&FONT_7X13, Rgb888::new(red, green, blue));
        let at = Point::new(x.round() as i32, y.round() as i32);
        // The font has no ellipsis.
        let text = text.replace('…', "~");
        let Ok(_) = Text::with_alignment(&text, at, style, alignment).draw(self);
    }

    fn encoded(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut out = Vec::new();
        let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(&mut out, side(self.width), side(self.height));
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(out)
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        // The width is that of the scene; a picture of more than 2^32 rows would not fit into memory.
        Size::new(self.width as u32, self.height as u32)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(at, colour) in pixels {
            let (Ok(x), Ok(y)) = (usize::try_from(at.x), usize::try_from(at.y)) else { continue };
            if x < self.width && y < self.height {
                self.pixels[y * self.width + x] = [colour.r(), colour.g(), colour.b()];
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{per_slot, saxpy, span, steady};
    use super::super::scene::Paint;
    use super::*;

    /// The pixels of a PNG file, row by row, and the number of pixels in a row.
    fn decoded(png: &[u8]) -> (usize, Vec<[u8; 3]>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().expect("a header");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut bytes).expect("an image");
        assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
        let pixels = bytes.chunks_exact(3).map(|part| [part[0], part[1], part[2]]).collect();
        (info.width as usize, pixels)
    }

    #[test]
    fn the_bars_are_where_the_svg_has_them() {
        let timeline = steady(3);
        let (width, pixels) = decoded(&timeline.png());
        assert_eq!(width, 1000);
        let Scene { shapes, height, .. } = Scene::new(&[&timeline]);
        assert_eq!(pixels.len(), width * height.ceil() as usize);
        let mut bars = 0;
        for shape in shapes {
            let Shape::Rectangle { x, y, width: w, height: h, paint: Paint::Stage(stage), .. } = shape else {
                continue;
            };
            // A little inside of the corners, where there is no text.
            for (x, y) in [(x + 2.0, y + 2.0), (x + w - 2.0, y + h - 2.0)] {
                let Rgb(colour) = Colours::LIGHT.of(Paint::Stage(stage));
                assert_eq!(pixels[y as usize * width + x as usize], colour);
            }
            bars += 1;
        }
        assert_eq!(bars, 12 + 3);
        // Text: black on the first bar.
        assert!(pixels.contains(&[0, 0, 0]));
    }

    #[test]
    fn pixels_that_are_covered_in_part_are_mixed() {
        let mut canvas = Canvas::new(4, 2);
        canvas.fill([0.5, 0.0], [2.25, 1.0], Rgb([0, 100, 255]), 1.0);
        let row = |y: usize| canvas.pixels[4 * y..4 * y + 4].to_vec();
        assert_eq!(row(0), [[128, 178, 255], [0, 100, 255], [191, 216, 255], [255; 3]]);
        assert_eq!(row(1), [[255; 3]; 4]);
        let mut canvas = Canvas::new(2, 1);
        // Nothing is drawn beyond the edges.
        canvas.fill([-3.0, -3.0], [1.0, 9.0], Rgb([55; 3]), 0.5);
        assert_eq!(canvas.pixels, [[155; 3], [255; 3]]);
        canvas.write([-50.0, 0.0], Anchor::Middle, Rgb([0; 3]), "größe, 日本");
    }

    #[test]
    fn next_to_nothing_and_much() {
        for timeline in [saxpy(0, vec![]), saxpy(9, vec![span(0, 0, 0, 9..9)]), per_slot(25_000, 64)] {
            assert_eq!(decoded(&timeline.png()).0, 1000);
        }
        let one = decoded(&steady(3).png()).1.len();
        assert!(decoded(&steady(3).png_with(&steady(4))).1.len() > one);
    }
}
