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
