//! Where the source tree is: `check` builds and runs what is there.

use std::path::{Path, PathBuf};

use crate::cli::CliError;
use crate::cli::output::shown_path;

/// The source tree: `given`, or the one that `cargo run` was called for, or the one that the
/// current directory lies in.
pub(super) fn root(given: Option<&Path>) -> Result<PathBuf, CliError> {
    if let Some(given) = given {
        return if is_root(given) {
            Ok(given.to_owned())
        } else {
            Err(CliError::BadArgument {
                argument: "--source".to_owned(),
                reason: format!(
                    "{} is no source tree of megachunk: there is no loom-tests/Cargo.toml",
                    shown_path(given)
                ),
            })
        };
    }
    let by_cargo = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = std::env::current_dir().ok();
    let around_here = here.iter().flat_map(|here| here.ancestors());
    by_cargo
        .iter()
        .map(PathBuf::as_path)
        .chain(around_here)
        .find(|folder| is_root(folder))
        .map(Path::to_owned)
        .ok_or_else(|| {
            CliError::Failed(
                "check builds and runs the models from the source tree, and there is none here: \
                 run it in a clone of megachunk, or say where one is with --source"
                    .to_owned(),
            )
        })
}

fn is_root(folder: &Path) -> bool {
    folder.join("Cargo.toml").is_file() && folder.join("loom-tests/Cargo.toml").is_file()
}
