//! The camera, and the traffic lights.

use megachunk::prelude::*;

use super::super::map::{Lights, Map};

/// Flies round the middle of the city.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Camera {
    pub(crate) at: [f32; 2],
    /// How far it goes from the middle to the east and to the north.
    reach: [f32; 2],
}

/// In metres a second.
const SPEED: f32 = 25.0;

impl Camera {
    pub(super) fn over(map: &Map) -> Self {
        let [east, north] = map.size();
        let mut camera = Self {
            at: [0.0; 2],
            reach: [east * 0.22, north * 0.22],
        };
        camera.fly(0.0);
        camera
    }

    fn fly(&mut self, seconds: f32) {
        let round = self.reach[0].max(self.reach[1]).max(1.0);
        let (sin, cos) = (seconds * SPEED / round).sin_cos();
        self.at = [self.reach[0] * cos, self.reach[1] * sin];
    }

    /// How far something is, in metres.
    #[inline]
    pub(crate) fn distance(&self, at: [f32; 2]) -> f32 {
        (at[0] - self.at[0]).hypot(at[1] - self.at[1])
    }
}

pub(super) fn camera() -> ProcessorBuilder {
    processor("camera", |camera: &mut Camera, time: &Time| {
        camera.fly(time.now.as_secs_f32());
    })
}

pub(super) fn lights() -> ProcessorBuilder {
    processor("lights", |lights: &mut Lights, map: &Map, time: &Time| {
        lights.set(&map.drive, time.now.as_secs_f32());
    })
}
