//! `Pixels`: a canvas that makes a PNG.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Path, PathBuilder, Pixmap, Rect, Stroke, Transform,
};

use super::super::error::CityError;
use super::canvas::{Canvas, Frame, Paint};

pub(super) struct Pixels {
    map: Pixmap,
}

impl Pixels {
    pub(super) fn new(frame: Frame) -> Result<Self, CityError> {
        let [width, height] = frame.size;
        let map = Pixmap::new(width, height).ok_or(CityError::TooLarge { width, height })?;
        Ok(Self { map })
    }

    pub(super) fn encode(self) -> Result<Vec<u8>, CityError> {
        self.map.encode_png().map_err(CityError::of)
    }
}

fn paint([red, green, blue, cover]: Paint) -> tiny_skia::Paint<'static> {
    let mut paint = tiny_skia::Paint::default();
    paint.set_color(Color::from_rgba8(red, green, blue, cover));
    paint.anti_alias = true;
    paint
}

fn path(points: &[[f32; 2]], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (at, &[x, y]) in points.iter().enumerate() {
        if at == 0 {
            builder.move_to(x, y);
        } else {
            builder.line_to(x, y);
        }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn stroke(width: f32) -> Stroke {
    Stroke {
        width,
        line_cap: LineCap::Round,
        line_join: LineJoin::Round,
        ..Stroke::default()
    }
}

impl Canvas for Pixels {
    fn area(&mut self, rim: &[[f32; 2]], color: Paint) {
        // A rim of one point covers nothing.
        if let Some(path) = path(rim, true) {
            let turn = Transform::identity();
            self.map
                .fill_path(&path, &paint(color), FillRule::EvenOdd, turn, None);
        }
    }

    fn line(&mut self, points: &[[f32; 2]], width: f32, color: Paint) {
        if let Some(path) = path(points, false) {
            let turn = Transform::identity();
            self.map
                .stroke_path(&path, &paint(color), &stroke(width), turn, None);
        }
    }

    fn dots(&mut self, places: &[[f32; 2]], size: f32, color: Paint) {
        let paint = paint(color);
        for &[x, y] in places {
            let half = size / 2.0;
            if let Some(rect) = Rect::from_xywh(x - half, y - half, size, size) {
                self.map
                    .fill_rect(rect, &paint, Transform::identity(), None);
            }
        }
    }

    fn circle(&mut self, [x, y]: [f32; 2], radius: f32, width: f32, color: Paint) {
        if let Some(path) = PathBuilder::from_circle(x, y, radius) {
            let turn = Transform::identity();
            self.map
                .stroke_path(&path, &paint(color), &stroke(width), turn, None);
        }
    }
}
