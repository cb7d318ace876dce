//! `megachunk map`: Draw where an allocator places what it gives out.

use super::CliError;

/// Draw where an allocator places what it gives out.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

/// Runs the subcommand.
///
/// # Errors
/// [`CliError`] with what went wrong.
pub fn run(_args: &Args) -> Result<(), CliError> {
    Err(CliError::Failed("map is not part of this build".into()))
}
