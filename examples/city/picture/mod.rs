//! Pictures: the city and its agents as PNG, as SVG, and as a page that plays them.
//!
//! A [`Scene`] says what there is to see, in the order in which it is painted; a [`Canvas`] paints it.

mod canvas;
mod page;
mod pixels;
mod scene;
mod sea;
mod vector;

pub(crate) use page::page;
pub(crate) use scene::Scene;

use std::path::Path;

use super::error::CityError;

/// Draws the scene as PNG.
pub(crate) fn png(scene: &Scene<'_>, path: &Path) -> Result<(), CityError> {
    let mut pixels = pixels::Pixels::new(scene.frame())?;
    scene.paint(&mut pixels);
    write(path, &pixels.encode()?)
}

/// Draws the scene as SVG.
pub(crate) fn svg(scene: &Scene<'_>, path: &Path) -> Result<(), CityError> {
    let mut vector = vector::Vector::new(scene.frame());
    scene.paint(&mut vector);
    write(path, vector.finish().as_bytes())
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), CityError> {
    std::fs::write(path, bytes).map_err(|source| CityError::File {
        path: path.into(),
        source,
    })
}
