//! The subcommand `city`: the program whose source is `examples/city`.

#[path = "../../examples/city/mod.rs"]
mod source;

use super::CliError;
pub(crate) use source::Args;

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    source::main(args).map_err(|error| CliError::Failed(error.to_string()))
}
