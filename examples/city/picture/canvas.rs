//! `Canvas`: what a scene is painted on, and `Frame`: which part of the city fits on it.

/// Red, green, blue, and how much it covers, each up to 255.
pub(super) type Paint = [u8; 4];

/// What a scene is painted on. Places are in pixels, y down.
pub(super) trait Canvas {
    /// Covers an area.
    fn area(&mut self, rim: &[[f32; 2]], paint: Paint);
    /// Draws a line with round ends.
    fn line(&mut self, points: &[[f32; 2]], width: f32, paint: Paint);
    /// Draws dots of the same kind.
    fn dots(&mut self, places: &[[f32; 2]], size: f32, paint: Paint);
    /// Draws a circle.
    fn circle(&mut self, middle: [f32; 2], radius: f32, width: f32, paint: Paint);
}

/// Which part of the city a picture shows, and how large.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    low: [f32; 2],
    /// Pixels a metre.
    pub(super) scale: f32,
    /// In pixels.
    pub(super) size: [u32; 2],
}

/// The longer side of a picture, in pixels.
const SIDE: f32 = 1_600.0;
/// Round the streets, in pixels.
const MARGIN: f32 = 20.0;

impl Frame {
    /// The whole of a rectangle in metres.
    pub(super) fn of([low, high]: [[f32; 2]; 2]) -> Self {
        let size = [0, 1].map(|axis| (high[axis] - low[axis]).max(1.0));
        let scale = (SIDE - 2.0 * MARGIN) / size[0].max(size[1]);
        Self {
            low,
            scale,
            size: size.map(|metres| metres.mul_add(scale, 2.0 * MARGIN).ceil().max(400.0) as u32),
        }
    }

    /// Where a place is on the picture.
    pub(super) fn place(&self, at: [f32; 2]) -> [f32; 2] {
        let [x, y] = [0, 1].map(|axis| (at[axis] - self.low[axis]).mul_add(self.scale, MARGIN));
        [x, self.size[1] as f32 - y]
    }

    pub(super) fn places(&self, all: &[[f32; 2]]) -> Vec<[f32; 2]> {
        all.iter().map(|&at| self.place(at)).collect()
    }
}
