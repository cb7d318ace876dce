//! The `megachunk` program: `bench`, `ecs`, `replay`, `check`, `map`, `snapshot` and `city`. What is public here is so for
//! the benches and models of this repository, and [may change in any version](crate#what-stays).
//!
//! A subcommand is a module with `Args` and `run(&Args) -> Result<(), CliError>`. Results go to
//! standard output, progress and errors to standard error; the error that ends the program says
//! with which code ([`CliError::exit_code`]).

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

mod bar;
pub mod bench;
pub mod check;
mod city;
mod destination;
mod error;
mod help;
mod interrupt;
pub mod map;
pub mod measure;
mod output;
mod ready;
pub mod replay;
pub mod report;
mod snapshot;
mod trace_named;
mod warnings;
pub mod workload;

pub use bar::Bar;
pub use destination::{Destination, Screen};
pub use error::{CliError, ended};
pub use interrupt::Interrupt;
pub use output::shown_path;
pub use warnings::show_warnings;
use workload::Registry;

/// Measure, replay, check and draw the lock-free entity index and mega-chunk allocator.
///
/// Without a subcommand the benchmarks run.
#[derive(Debug, Parser)]
#[command(
    name = "megachunk",
    version,
    args_conflicts_with_subcommands = true,
    after_help = help::EXIT_CODES
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    bench: bench::Args,
}

#[derive(Debug, Subcommand)]
enum Command {
    // What it does is said where its arguments are.
    #[command(after_long_help = help::bench())]
    Bench(bench::Args),
    /// Measure the world and other entity component stores, side by side.
    ///
    /// The other stores are in the package of the benches: `cargo run --release -p
    /// megachunk-benches --features peers -- ecs`; without them the world is measured against
    /// hand-written loops. All do equal work in one process, in turn; each figure is the median of
    /// the repetitions. Ends in a table and a report.
    #[command(
        after_long_help = help::ecs(),
        mut_arg("quick", |arg| arg.help("Measure less often and for less long, and leave `iterate_10m` out unless --filter names it: minutes, with the other stores")),
        mut_arg("filter", |arg| arg.help("Only the rows whose name matches this regular expression, as `simple_iter` or `^despawn`")),
        mut_arg("contenders", |arg| arg.help("Only these contenders, as `megachunk,limit`")),
        mut_arg("trace", |arg| arg.hide(true)),
        mut_arg("html", |arg| arg.default_value("ecs-report.html"))
    )]
    Ecs(bench::Args),
    /// Replay recorded allocation traces on a chosen allocator.
    #[command(after_long_help = help::replay())]
    Replay(replay::Args),
    /// Run the models, whole-world schedules, the stall table, the mutation gate and the history check.
    ///
    /// Cargo compiles each of them in the source tree before it runs. A whole run takes a quarter of an hour on two cores,
    /// more where nothing is compiled yet. Fuzzing, only on request, takes as long as is said for each target, which takes
    /// minutes to compile.
    #[command(after_long_help = help::check())]
    Check(check::Args),
    /// Draw where an allocator places what it gives out, or how a world's chunks are filled.
    #[command(after_long_help = help::map())]
    Map(map::Args),
    /// Say what a snapshot of worlds holds, or in what two of them differ.
    #[command(after_long_help = help::snapshot())]
    Snapshot(snapshot::Args),
    /// Let a crowd loose on the streets of a real city.
    #[command(after_long_help = help::city())]
    City(city::Args),
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    main_with(&Registry::standard())
}

/// Runs the program on the process's arguments, with the contenders of `registry` in `bench` and
/// `ecs`.
pub fn main_with(registry: &Registry) -> ExitCode {
    main_and(registry, &[])
}

/// A subcommand that another package adds to the program.
#[derive(Clone, Debug)]
pub struct Added {
    /// Its name and arguments.
    pub command: clap::Command,
    /// What runs it.
    pub run: fn(&ArgMatches) -> Result<(), CliError>,
}

/// [`main_with`], and these subcommands beside the program's own.
pub fn main_and(registry: &Registry, added: &[Added]) -> ExitCode {
    let commands = added.iter().map(|one| one.command.clone());
    let matches = Cli::command().subcommands(commands).get_matches();
    show_warnings();
    let chosen = matches.subcommand().and_then(|(name, matches)| {
        let one = added.iter().find(|one| one.command.get_name() == name)?;
        Some((one.run)(matches))
    });
    ended(match chosen {
        Some(result) => result,
        None => Cli::from_arg_matches(&matches)
            .unwrap_or_else(|error| error.format(&mut Cli::command()).exit())
            .run(registry),
    })
}

impl Cli {
    fn run(&self, registry: &Registry) -> Result<(), CliError> {
        match &self.command {
            None => bench::run_with(&self.bench, registry),
            Some(Command::Bench(args)) => bench::run_with(args, registry),
            Some(Command::Ecs(args)) => bench::run_worlds(args, registry),
            Some(Command::Replay(args)) => replay::run(args),
            Some(Command::Check(args)) => check::run(args),
            Some(Command::Map(args)) => map::run(args),
            Some(Command::Snapshot(args)) => snapshot::run(args),
            Some(Command::City(args)) => city::run(args),
        }
    }
}
