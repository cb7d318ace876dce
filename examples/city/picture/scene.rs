//! `Scene`: what there is to see.

use megachunk::prelude::*;

use super::super::agent::{Car, Exhaust, Far, Hidden, Near, Person, Position};
use super::super::error::CityError;
use super::super::frame::{Camera, FAR, NEAR};
use super::super::map::{Class, Cover, Map};
use super::canvas::{Canvas, Frame, Paint};
use super::sea::sea;

/// A city at a moment.
#[derive(Debug)]
pub(crate) struct Scene<'m> {
    map: &'m Map,
    frame: Frame,
    camera: [f32; 2],
    layers: Vec<Layer>,
}

/// Agents that look the same.
#[derive(Debug)]
struct Layer {
    places: Vec<[f32; 2]>,
    size: f32,
    paint: Paint,
}

pub(super) const LAND: Paint = [246, 243, 237, 255];
const GREEN: Paint = [205, 225, 190, 255];
const WATER: Paint = [176, 208, 232, 255];
const BUILDING: Paint = [226, 219, 208, 255];
const CASING: Paint = [190, 182, 170, 255];

impl<'m> Scene<'m> {
    /// The moment that a world shows. The map is not in the world meanwhile.
    pub(crate) fn of(world: &mut World, map: &'m Map) -> Result<Self, CityError> {
        let camera = world.resources().get::<Camera>();
        let camera = camera.map_or([0.0; 2], |camera| camera.at);
        let layers = vec![
            layer::<With<Exhaust>>(world, 1.2, [120, 120, 120, 60])?,
            layer::<(With<Person>, With<Hidden>)>(world, 1.0, [70, 110, 190, 70])?,
            layer::<(With<Person>, With<Far>)>(world, 1.4, [45, 90, 190, 140])?,
            layer::<(With<Person>, With<Near>)>(world, 1.8, [20, 60, 200, 220])?,
            layer::<(With<Car>, With<Hidden>)>(world, 2.0, [225, 120, 40, 170])?,
            layer::<(With<Car>, With<Far>)>(world, 2.2, [225, 90, 20, 220])?,
            layer::<(With<Car>, With<Near>)>(world, 2.6, [205, 30, 20, 255])?,
        ];
        Ok(Self {
            map,
            frame: Frame::of(map.bounds),
            camera,
            layers,
        })
    }

    pub(super) fn frame(&self) -> Frame {
        self.frame
    }

    pub(super) fn paint(&self, canvas: &mut impl Canvas) {
        self.paint_ground(canvas);
        for layer in &self.layers {
            canvas.dots(&self.frame.places(&layer.places), layer.size, layer.paint);
        }
        let camera = self.frame.place(self.camera);
        for (metres, width) in [(NEAR, 2.0), (FAR, 1.0)] {
            canvas.circle(camera, metres * self.frame.scale, width, [200, 30, 90, 200]);
        }
    }

    /// Land, sea, buildings and streets.
    pub(super) fn paint_ground(&self, canvas: &mut impl Canvas) {
        let [width, height] = self.frame.size.map(|pixels| pixels as f32);
        let corners = [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]];
        canvas.area(&corners, LAND);
        if let Some(rim) = sea(self.map, &self.frame) {
            canvas.area(&rim, WATER);
        }
        for area in &self.map.areas {
            let rim = self.frame.places(&area.points);
            match area.cover {
                Cover::Green => canvas.area(&rim, GREEN),
                Cover::Water => canvas.area(&rim, WATER),
                Cover::Building => canvas.area(&rim, BUILDING),
                Cover::Coast => canvas.line(&rim, 1.5, [120, 160, 190, 255]),
            }
        }
        let width = |class: Class| (class.width(1) * self.frame.scale).max(0.8);
        for street in &self.map.streets {
            if street.class > Class::Path {
                let line = self.frame.places(&street.points);
                canvas.line(&line, width(street.class) + 1.0, CASING);
            }
        }
        for street in &self.map.streets {
            let paint = match street.class {
                Class::Steps | Class::Path => [214, 204, 192, 255],
                Class::Service | Class::Street => [255, 255, 255, 255],
                Class::Main => [255, 240, 190, 255],
                Class::Major => [250, 215, 150, 255],
            };
            canvas.line(
                &self.frame.places(&street.points),
                width(street.class),
                paint,
            );
        }
    }
}

fn layer<F: megachunk::query::QueryFilter>(
    world: &mut World,
    size: f32,
    paint: Paint,
) -> Result<Layer, CityError> {
    let mut query = Query::<&Position, F>::new(world).map_err(CityError::of)?;
    let places = query.on(world).iter().map(|position| position.0).collect();
    Ok(Layer {
        places,
        size,
        paint,
    })
}
