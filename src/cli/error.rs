//! What ends a subcommand early, as one type, and with which code the program ends then.

use std::path::PathBuf;
use std::process::ExitCode;

use super::output::{shown_path, tell};

/// Why a subcommand failed. Its message goes to standard error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// An argument has a value that means nothing here.
    #[error("{argument}: {reason}")]
    BadArgument {
        /// The argument as it is written, `--filter`.
        argument: String,
        /// What is wrong with its value.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{}{}: {source}", prefix(argument), shown_path(path))]
    File {
        /// The argument that names it, `--json`.
        argument: Option<String>,
        /// The file.
        path: PathBuf,
        /// What the system said. (Raw: it is shown, and is not to be told again as what lies behind.)
        r#source: std::io::Error,
    },
    /// The system has no memory, or no addresses, for an allocator.
    #[error("there is no room for {allocator}")]
    NoRoom {
        /// The allocator's name in tables.
        allocator: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system has no threads.
    #[error("{}the system refused {threads} threads: {reason}", asked_for(*asked))]
    NoThreads {
        /// How many there were to be.
        threads: usize,
        /// Whether the user has asked for so many, by `--threads`.
        asked: bool,
        /// What the system said.
        reason: String,
    },
    /// Somebody has ended the run before its end.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// What was to be shown does not hold.
    #[error("{0}")]
    Failed(String),
}

/// What comes before an error of an argument that may not have been given.
fn asked_for(asked: bool) -> &'static str {
    if asked { "--threads: " } else { "" }
}

fn prefix(argument: &Option<String>) -> String {
    argument
        .as_ref()
        .map_or_else(String::new, |argument| format!("{argument}: "))
}

/// How a process ends that was interrupted: what shells say of SIGINT.
pub(super) const INTERRUPTED: u8 = 130;

impl CliError {
    /// With which code the program ends: 2 for an argument, as where the arguments cannot be understood at all; 130 for
    /// an interrupted run; 1 for all else.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::BadArgument { .. } | Self::NoThreads { asked: true, .. } => 2,
            Self::Interrupted(_) => INTERRUPTED,
            _ => 1,
        }
    }

    /// The last error of `results`, each of which there is whatever became of the others; those before it are told.
    ///
    /// # Errors
    /// That one.
    pub fn last_of(
        results: impl IntoIterator<Item = Result<(), CliError>>,
    ) -> Result<(), CliError> {
        let mut errors = results.into_iter().filter_map(Result::err).peekable();
        while let Some(error) = errors.next() {
            if errors.peek().is_none() {
                return Err(error);
            }
            tell(&error.told());
        }
        Ok(())
    }

    /// The lines that are told of it.
    fn told(&self) -> String {
        let mut text = format!("error: {self}\n");
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text += &format!("  caused by: {error}\n");
            cause = error.source();
        }
        text
    }
}

/// Tells what went wrong, if something did: the code with which the program ends.
pub fn ended(result: Result<(), CliError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&error.told());
            error.exit_code().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_is_left_to_whoever_asked() {
        // (That those before it are told is seen from outside, in `tests/programs/bench.rs`.)
        let failed = Err(CliError::Failed("one".into()));
        let last = CliError::last_of([Ok(()), failed, Ok(())]);
        assert_eq!(last.unwrap_err().to_string(), "one");
        assert!(CliError::last_of([Ok(()), Ok(())]).is_ok());
    }

    #[test]
    fn an_error_of_a_file_names_argument_file_and_cause_once() {
        let error = CliError::File {
            argument: Some("--json".into()),
            path: "out.json".into(),
            source: std::io::Error::other("no"),
        };
        assert_eq!(error.told(), "error: --json: out.json: no\n");
        assert_eq!(error.exit_code(), 1);
        let error = CliError::File {
            argument: None,
            path: "\u{1b}[2J\u{202e}out\n".into(),
            source: std::io::Error::other("no"),
        };
        assert_eq!(error.told(), "error: \\u{1b}[2J\\u{202e}out\\n: no\n");
    }
}
