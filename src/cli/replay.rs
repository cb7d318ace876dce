//! `megachunk replay`: Replay recorded allocation traces on a chosen allocator.

use super::CliError;

/// Replay recorded allocation traces on a chosen allocator.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

/// Runs the subcommand.
///
/// # Errors
/// [`CliError`] with what went wrong.
pub fn run(_args: &Args) -> Result<(), CliError> {
    Err(CliError::Failed("replay is not part of this build".into()))
}
