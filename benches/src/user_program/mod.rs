//! `program`: writes a program as users of a store have it, and measures what it costs to compile and how large it is.
//!
//! The same program for each store ([`Plan`]), written as the store's documentation does it, as a package of its own with
//! the versions of this repository's `Cargo.lock`. What must hold: the same plan gives the same text, and the programs of
//! all stores print the same, which is asked before they are measured.

use std::path::PathBuf;

use clap::{Args as _, Command, FromArgMatches};
use megachunk::cli::measure::Machine;
use megachunk::cli::{Added, CliError, Destination, Screen};
use serde_json::json;

mod build;
mod instances;
mod package;
mod plan;
mod report;
mod store;
mod text;

use instances::Instances;
use package::Package;
use plan::{Plan, PlanError};
use store::Store;

const AFTER_HELP: &str = "\
Examples:
  megachunk-benches program --store megachunk --out target/programs
  megachunk-benches program --out target/programs --measure --json programs.json
  megachunk-benches program --store megachunk --out target/programs --instances

--measure and --instances need cargo, which downloads what is not there, and take minutes. Each is compiled in a \
folder of its own in DIR/target; remove these first, if what the stores' packages take is to be measured again. Seconds are those of all processors \
together, where the system counts them (Linux), and by the clock elsewhere.

Exit codes: 0, all is well; 1, something failed, and standard error says what; 2, an argument is wrong.";

/// Write a program as users of a store have it; on request say what it costs to compile, and how large it is.
///
/// The program has fragments, kinds of entities, queries and systems, which run for three frames on one thread each; it does
/// the same for each store, and is a package of its own with the versions of this repository's Cargo.lock. hecs has no
/// systems: there they are functions, called in turn.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
struct Args {
    /// For which stores
    #[arg(
        long,
        value_enum,
        value_name = "STORE",
        value_delimiter = ',',
        default_values_t = Store::ALL
    )]
    store: Vec<Store>,

    /// The folder in which each program gets a folder of its store's name; what an earlier call wrote there is replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// How many types of fragments there are; a quarter of them are tags
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u16).range(8..=1000))]
    fragments: u16,

    /// How many queries all systems have together, each one at least and eight at most
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=8000))]
    queries: u16,

    /// How many systems there are
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=1000))]
    systems: u16,

    /// Compile the programs, run them, and say what that took and how large they are
    #[arg(long, conflicts_with = "instances")]
    measure: bool,

    /// How often each program is compiled, in turn with the others: the medians are told
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        requires = "measure",
        value_parser = clap::value_parser!(u16).range(1..=100)
    )]
    repetitions: u16,

    /// Write the figures to a file as JSON (`-`: standard output)
    #[arg(long, value_name = "FILE", requires = "measure")]
    json: Option<PathBuf>,

    /// Count the functions that the compiler makes for each program, without optimisations, and their lines; name those
    /// that have the most
    #[arg(long)]
    instances: bool,

    /// Fail if a program's functions have more lines together
    #[arg(long, value_name = "LINES", requires = "instances")]
    at_most: Option<usize>,
}

/// The subcommand, to be added to the program.
#[must_use]
pub fn subcommand() -> Added {
    Added {
        command: Args::augment_args(Command::new("program")),
        run: |matches| run(&Args::from_arg_matches(matches).unwrap_or_else(|error| error.exit())),
    }
}

fn run(args: &Args) -> Result<(), CliError> {
    let counts = [args.fragments, args.queries, args.systems].map(usize::from);
    let [fragments, queries, systems] = counts;
    let plan = Plan::new(fragments, queries, systems).map_err(refused)?;
    let files = Destination::open_all([("--json", args.json.as_deref())], &[])?;
    let screen = Screen::beside(&files);
    let packages = args.store.iter();
    let packages: Vec<Package> = packages
        .map(|&store| Package::write(&plan, store, &args.out))
        .collect::<Result<_, _>>()?;
    if args.instances {
        return count(&packages, args.at_most, screen);
    }
    if !args.measure {
        return packages
            .iter()
            .try_for_each(|package| screen.show(&package.told()));
    }
    let tell = &mut |text: &str| eprintln!("{text}");
    let subjects = build::measure(packages, args.repetitions.into(), tell)?;
    let shown = screen.show(&report::table(&subjects));
    let [json] = files;
    let arguments = json!({
        "fragments": fragments,
        "queries": queries,
        "systems": systems,
        "machine": Machine::here(),
    });
    let told = format!("{:#}\n", report::json(&arguments, &subjects));
    let written = json.map_or(Ok(()), |file| file.write(&told));
    CliError::last_of([shown, written])
}

fn refused(error: PlanError) -> CliError {
    CliError::BadArgument {
        argument: "--queries".into(),
        reason: error.to_string(),
    }
}

fn count(packages: &[Package], at_most: Option<usize>, screen: Screen) -> Result<(), CliError> {
    for package in packages {
        let instances = Instances::of(package)?;
        screen.show(&report::counted(package, &instances))?;
        let lines = instances.total().lines;
        if let Some(most) = at_most.filter(|&most| lines > most) {
            return Err(CliError::Failed(format!(
                "the program of {} has {lines} lines, more than {most}: what it makes of generic functions has grown",
                package.store.name()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
