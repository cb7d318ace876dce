//! `megachunk check`: Run the models, the stall table, the mutation gate and the history check.

use super::CliError;

/// Run the models, the stall table, the mutation gate and the history check.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {}

/// Runs the subcommand.
///
/// # Errors
/// [`CliError`] with what went wrong.
pub fn run(_args: &Args) -> Result<(), CliError> {
    Err(CliError::Failed("check is not part of this build".into()))
}
