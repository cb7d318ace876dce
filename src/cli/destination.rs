//! `Destination`: where a subcommand's results go, opened before anybody works for them.
//!
//! A file, or standard output where the path is `-`. What must hold: a file that is there keeps its
//! contents until the results are written; one that was not there is gone again if they never are.

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
    /// `None` is standard output.
    file: Option<File>,
    /// The file was made here, and nothing was written to it yet.
    is_new: bool,
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
            // Where one fails, those before it are dropped, and so taken away.
            *destination = path.map(Self::open).transpose()?;
        }
        Ok(opened)
    }

    fn open(path: &'a Path) -> Result<Self, CliError> {
        if is_standard_output(path) {
            return Ok(Self {
                path,
                file: None,
                is_new: false,
            });
        }
        let mut options = OpenOptions::new();
        options.write(true);
        let (file, is_new) = match options.create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let there = options.create_new(false).create(true).truncate(false);
                (there.open(path), false)
            }
            made => (made, true),
        };
        match file {
            Ok(file) => Ok(Self {
                path,
                file: Some(file),
                is_new,
            }),
            Err(source) => Err(CliError::File {
                path: path.into(),
                source,
            }),
        }
    }

    /// Replaces what is there with `text`.
    pub(super) fn write(mut self, text: &str) -> Result<(), CliError> {
        self.is_new = false;
        let Some(file) = &mut self.file else {
            return show(text);
        };
        // A device or a pipe has no length to set.
        let emptied = file.metadata().and_then(|what| match what.is_file() {
            true => file.set_len(0),
            false => Ok(()),
        });
        let written = emptied.and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|source| CliError::File {
            path: self.path.into(),
            source,
        })
    }
}

impl Drop for Destination<'_> {
    fn drop(&mut self) {
        if self.is_new {
            // Who cannot be told of a failure here loses nothing but an empty file's absence.
            let _ = fs::remove_file(self.path);
        }
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
        if results.any(|result| result.file.is_none()) {
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
