//! `CityError`: why there is no city.

use std::path::PathBuf;

use megachunk::cli::{CliError, shown_path};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CityError {
    #[error("{}: {source}", shown_path(path))]
    File {
        path: PathBuf,
        // Raw: it is shown, and is not to be told again as what lies behind.
        r#source: std::io::Error,
    },
    #[error(
        "{}: the file is empty; an OpenStreetMap extract (.osm.pbf) was expected",
        shown_path(path)
    )]
    EmptyMap { path: PathBuf },
    #[error(
        "{}: not an OpenStreetMap extract (.osm.pbf), or a damaged one: {reason}",
        shown_path(path)
    )]
    DamagedMap { path: PathBuf, reason: String },
    #[error("{}: no streets for cars and people in this extract", shown_path(path))]
    NoStreets { path: PathBuf },
    #[error("{flag}: {reason}")]
    BadArgument { flag: &'static str, reason: String },
    #[error("no picture of {width} × {height} pixels can be made")]
    TooLarge { width: u32, height: u32 },
    #[error("there is no address space for the ids and chunks of a city: {source}")]
    NoRoom { r#source: std::io::Error },
    #[error("interrupted: {left_out} frames were not run")]
    Interrupted { left_out: u64 },
    #[error("the world is damaged: integrity errors: {errors}")]
    Broken { errors: u64 },
    /// What the program says, whose part this is.
    #[error("{0}")]
    Program(CliError),
    /// What the library says.
    #[error("{0}")]
    Library(Box<dyn std::error::Error + Send + Sync>),
}

impl From<CliError> for CityError {
    fn from(error: CliError) -> Self {
        Self::Program(error)
    }
}

impl From<CityError> for CliError {
    fn from(error: CityError) -> Self {
        match error {
            CityError::Program(error) => error,
            CityError::BadArgument { flag, reason } => Self::BadArgument {
                argument: flag.to_owned(),
                reason,
            },
            CityError::Interrupted { left_out } => {
                Self::Interrupted(format!("{left_out} frames were not run"))
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

impl CityError {
    /// What the library says.
    pub(crate) fn of(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Library(Box::new(error))
    }
}
