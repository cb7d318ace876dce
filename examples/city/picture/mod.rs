//! Pictures: the city and its agents as PNG, as SVG, and as a page that plays them.
//!
//! A [`Scene`] says what there is to see, in the order in which it is painted; a [`Canvas`](canvas::Canvas) paints it.

mod canvas;
mod page;
mod pixels;
mod scene;
mod sea;
mod vector;

pub(crate) use page::page;
pub(crate) use scene::Scene;

use super::error::CityError;

/// The scene as PNG.
pub(crate) fn png(scene: &Scene<'_>) -> Result<Vec<u8>, CityError> {
    let mut pixels = pixels::Pixels::new(scene.frame())?;
    scene.paint(&mut pixels);
    pixels.encode()
}

/// The scene as SVG.
pub(crate) fn svg(scene: &Scene<'_>) -> String {
    let mut vector = vector::Vector::new(scene.frame());
    scene.paint(&mut vector);
    vector.finish()
}
