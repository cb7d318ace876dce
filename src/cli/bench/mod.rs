//! `megachunk bench`: measures every allocator on every workload, side by side.

use super::CliError;

/// Measure every allocator on every workload, side by side.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

/// Runs the subcommand.
///
/// # Errors
/// [`CliError`] with what went wrong.
pub fn run(_args: &Args) -> Result<(), CliError> {
    Err(CliError::Failed("bench is not part of this build".into()))
}
