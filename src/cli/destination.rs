//! `Destination`: where a subcommand's results go, opened before anybody works for them.
//!
//! A file, or standard output where the path is `-`. What must hold: a file that is there keeps its
//! contents until the results are written; one that was not there is there only once they are, also if
//! the program is ended before.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use super::CliError;
use super::output::{show, tell};

/// Whether `path` means standard output.
pub(super) fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A file for results, or standard output.
#[derive(Debug)]
pub(super) struct Destination<'a> {
    path: &'a Path,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Output,
    /// A file that was there.
    Existing(File),
    /// There is no such file, and it could be made a moment ago.
    New,
}

impl<'a> Destination<'a> {
    /// Opens all that are wanted, or creates none.
    ///
    /// # Errors
    /// A file cannot be written, or two results would be mixed on standard output.
    pub(super) fn open_all<const N: usize>(
        paths: [Option<&'a Path>; N],
    ) -> Result<[Option<Self>; N], CliError> {
        let on_output = paths.iter().flatten();
        if on_output.filter(|path| is_standard_output(path)).count() > 1 {
            return Err(CliError::BadArgument {
                argument: "-".into(),
                reason: "only one result can go to standard output".into(),
            });
        }
        let mut opened = [const { None }; N];
        for (destination, path) in opened.iter_mut().zip(paths) {
            *destination = path.map(Self::open).transpose()?;
        }
        Ok(opened)
    }

    fn open(path: &'a Path) -> Result<Self, CliError> {
        let cannot_write = |source| CliError::File {
            path: path.into(),
            source,
        };
        let target = if is_standard_output(path) {
            Target::Output
        } else {
            match File::create_new(path) {
                Ok(file) => {
                    drop(file);
                    fs::remove_file(path).map_err(cannot_write)?;
                    Target::New
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    // `create`, because a link that leads nowhere exists too.
                    let mut options = OpenOptions::new();
                    let file = options.write(true).create(true).truncate(false).open(path);
                    Target::Existing(file.map_err(cannot_write)?)
                }
                Err(error) => return Err(cannot_write(error)),
            }
        };
        Ok(Self { path, target })
    }

    /// Replaces what is there with `text`.
    pub(super) fn write(self, text: &str) -> Result<(), CliError> {
        let written = match self.target {
            Target::Output => return show(text),
            Target::New => fs::write(self.path, text),
            Target::Existing(mut file) => {
                // A device or a pipe has no length to set.
                let emptied = file.metadata().and_then(|what| match what.is_file() {
                    true => file.set_len(0),
                    false => Ok(()),
                });
                emptied.and_then(|()| file.write_all(text.as_bytes()))
            }
        };
        written.map_err(|source| CliError::File {
            path: self.path.into(),
            source,
        })
    }
}

/// Where a person reads on: standard output, unless results for a program go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Screen {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Screen {
    /// The screen that leaves room for `results`.
    pub(super) fn beside<'a>(
        results: impl IntoIterator<Item = &'a Option<Destination<'a>>>,
    ) -> Self {
        let mut results = results.into_iter().flatten();
        if results.any(|result| matches!(result.target, Target::Output)) {
            Self::Error
        } else {
            Self::Output
        }
    }

    /// Shows `text`.
    pub(super) fn show(self, text: &str) -> Result<(), CliError> {
        match self {
            Self::Output => show(text),
            Self::Error => {
                tell(text);
                Ok(())
            }
        }
    }
}
