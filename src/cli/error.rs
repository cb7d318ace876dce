//! What ends a subcommand early, as one type.

use std::path::PathBuf;

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
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system has no memory, or no addresses, for an allocator.
    #[error("there is no room for {allocator}")]
    NoRoom {
        /// The allocator's name in tables.
        allocator: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// What was to be shown does not hold.
    #[error("{0}")]
    Failed(String),
}
