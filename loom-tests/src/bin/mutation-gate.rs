//! The mutation gate: puts each listed fault into the protocols and shows which model finds it.
//!
//! `cargo mutation-gate [MUTANT…]` builds the models once (the faults are chosen at run time, see
//! `sync::mutant`), then runs them against each mutant, the model that is expected to find it first,
//! until one fails. Prints `mutant <name> killed by <module>::<model> (<what it said>)` or
//! `mutant <name> SURVIVED (<what it breaks>)`, and exits with an error if one survived.
//!
//! What must always hold: a model counts as the killer only if it passes without the mutant, and a
//! model that runs out of time kills nothing. (`--models-hold` says that all of them have just passed without:
//! `megachunk check` says so after it has run them.)

#[cfg(not(loom))]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match megachunk_loom_tests::gate::run(&arguments) {
        Ok(0) => std::process::ExitCode::SUCCESS,
        Ok(survivors) => {
            eprintln!("mutation gate: {survivors} survived");
            std::process::ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("mutation gate: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// Under the model checker there is no gate; the target is built there all the same.
#[cfg(loom)]
fn main() {}
