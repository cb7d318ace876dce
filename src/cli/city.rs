//! The subcommand `city`: the program whose source is `examples/city`.

#[expect(
    clippy::allow_attributes,
    reason = "`plain!` is a macro of this very crate, and may be used where unsafe code is denied"
)]
#[path = "../../examples/city/mod.rs"]
mod source;

use super::CliError;
pub(crate) use source::Args;

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    source::main(args).map_err(|error| CliError::Failed(error.to_string()))
}
