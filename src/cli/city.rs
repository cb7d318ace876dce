//! The subcommand `city`: the program whose source is `examples/city`.

use std::path::Path;

#[path = "../../examples/city/mod.rs"]
mod source;

use super::CliError;
use crate::world::World;
pub(crate) use source::Args;

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    source::main(args)
}

/// What `look` sees in the world of a city, which begins with so many agents, after so many seconds.
pub(super) fn after<R>(
    seconds: f64,
    agents: usize,
    streets: &Path,
    look: impl FnOnce(&World) -> R,
) -> Result<R, CliError> {
    // Else as the program does it if it is told no more.
    let args = Args {
        map: streets.to_owned(),
        agents,
        seconds,
        threads: None,
        seed: 1,
        configs: None,
        check: false,
        json: None,
        png: None,
        svg: None,
        html: None,
        trace: None,
    };
    let city = source::run::run(&args)?;
    city.report.verdict()?;
    Ok(look(city.simulation.world()))
}
