//! The generators that come with the crate.

mod disc;
mod each;
mod grid;
mod lines;
mod points_file;
mod poisson_disc;

pub use disc::Disc;
pub use each::Each;
pub use grid::Grid;
pub use lines::AlongLines;
pub use points_file::PointsFile;
pub use poisson_disc::PoissonDisc;

use crate::template::spawner::SpawnError;

/// Whether numbers are ones.
fn finite(generator: &'static str, what: &str, numbers: &[f32]) -> Result<(), SpawnError> {
    match numbers.iter().find(|number| !number.is_finite()) {
        None => Ok(()),
        Some(number) => Err(SpawnError::generator(
            generator,
            format!("{what} is {number}, which is not a finite number"),
        )),
    }
}

/// Whether positions as far from zero as that tell points apart that have this distance.
fn told_apart(generator: &'static str, distance: f32, far: f32) -> Result<(), SpawnError> {
    // Positions have 24 bits.
    if f64::from(distance) >= f64::from(far) / f64::from(1 << 22) {
        return Ok(());
    }
    Err(SpawnError::generator(
        generator,
        format!("a distance of {distance} is too small for positions up to {far}"),
    ))
}

/// Whether a number is positive.
fn positive(generator: &'static str, what: &str, number: f32) -> Result<(), SpawnError> {
    if number.is_finite() && number > 0.0 {
        return Ok(());
    }
    Err(SpawnError::generator(
        generator,
        format!("{what} is {number}, which is not a positive finite number"),
    ))
}
