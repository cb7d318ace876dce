//! `Vector`: a canvas that writes SVG.

use std::fmt::Write;

use super::canvas::{Canvas, Frame, Paint};

/// What there is to see, for who cannot see it.
const SHOWS: &str = "Streets, buildings and water from above; blue dots are people, red and orange ones cars and buses, \
                     grey ones exhaust; two rings lie round the camera.";

#[derive(Debug)]
pub(super) struct Vector {
    text: String,
}

impl Vector {
    pub(super) fn new(frame: Frame) -> Self {
        let [width, height] = frame.size;
        Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>A crowd on the streets of a city</title>\n<desc>{SHOWS} Map data © OpenStreetMap contributors, ODbL 1.0</desc>\n"
            ),
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.text += "</svg>\n";
        self.text
    }
}

/// A line as the `d` of a path, in tenths of a pixel from point to point.
pub(super) fn path(points: &[[f32; 2]]) -> String {
    let mut text = String::new();
    let mut last = [0_i32; 2];
    for (number, point) in points.iter().enumerate() {
        let [x, y] = point.map(|pixels| (pixels * 10.0).round() as i32);
        // Writing to a string does not fail.
        let _ = if number == 0 {
            write!(text, "M{} {}", tenths(x), tenths(y))
        } else {
            write!(text, "l{} {}", tenths(x - last[0]), tenths(y - last[1]))
        };
        last = [x, y];
    }
    text
}

fn tenths(number: i32) -> String {
    if number % 10 == 0 {
        return (number / 10).to_string();
    }
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}.{}", number.abs() / 10, number.abs() % 10)
}

fn color([red, green, blue, cover]: Paint) -> (String, f32) {
    (
        format!("#{red:02x}{green:02x}{blue:02x}"),
        f32::from(cover) / 255.0,
    )
}

impl Canvas for Vector {
    fn area(&mut self, rim: &[[f32; 2]], paint: Paint) {
        let (color, cover) = color(paint);
        let path = path(rim);
        let _ = writeln!(
            self.text,
            "<path d=\"{path}z\" fill=\"{color}\" fill-opacity=\"{cover:.2}\"/>"
        );
    }

    fn line(&mut self, points: &[[f32; 2]], width: f32, paint: Paint) {
        let (color, cover) = color(paint);
        let path = path(points);
        let _ = writeln!(
            self.text,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-opacity=\"{cover:.2}\" stroke-width=\"{width:.1}\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>"
        );
    }

    fn dots(&mut self, places: &[[f32; 2]], size: f32, paint: Paint) {
        let (color, cover) = color(paint);
        let _ = write!(
            self.text,
            "<path fill=\"none\" stroke=\"{color}\" stroke-opacity=\"{cover:.2}\" stroke-width=\"{size:.1}\" stroke-linecap=\"round\" d=\""
        );
        for place in places {
            let _ = write!(self.text, "M{:.1} {:.1}h0", place[0], place[1]);
        }
        self.text += "\"/>\n";
    }

    fn circle(&mut self, [x, y]: [f32; 2], radius: f32, width: f32, paint: Paint) {
        let (color, cover) = color(paint);
        let _ = writeln!(
            self.text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"none\" stroke=\"{color}\" stroke-opacity=\"{cover:.2}\" stroke-width=\"{width:.1}\"/>"
        );
    }
}
