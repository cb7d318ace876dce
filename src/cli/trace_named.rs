//! Traces that arguments name: by a file, by `-` for standard input, or by the name of one that the program carries.

use std::path::{Path, PathBuf};

use super::CliError;
use super::destination::is_standard_stream;
use super::output::shown_path;
use crate::trace::Trace;

/// The traces that `paths`, all of them values of `argument`, name; `None` is an argument without a name.
///
/// # Errors
/// As [`trace_named`]; that several are to come from standard input.
pub(super) fn traces_named(
    argument: Option<&str>,
    paths: &[PathBuf],
) -> Result<Vec<Trace>, CliError> {
    let from_input = paths.iter().filter(|path| is_standard_stream(path));
    if from_input.count() > 1 {
        return Err(CliError::BadArgument {
            argument: argument.unwrap_or("-").to_owned(),
            reason: "standard input can be read only once".to_owned(),
        });
    }
    paths
        .iter()
        .map(|path| trace_named(argument, path))
        .collect()
}

/// The trace that `path`, a value of `argument`, names. A file comes before a shipped trace of its name, which may be
/// `trace:name` too, as the benchmarks call it.
///
/// # Errors
/// [`CliError`] that says what there is, or what is wrong with the file.
pub(super) fn trace_named(argument: Option<&str>, path: &Path) -> Result<Trace, CliError> {
    let failed = |error| CliError::Failed(format!("{error}"));
    if is_standard_stream(path) {
        return Trace::from_reader("standard input", std::io::stdin().lock()).map_err(failed);
    }
    let name = path.to_str().filter(|_| !path.exists());
    let name = name.map(|name| name.strip_prefix("trace:").unwrap_or(name));
    if let Some(shipped) = name.and_then(Trace::shipped) {
        return Ok(shipped);
    }
    // What looks like a file's name is answered as one.
    match name {
        Some(name) if !name.contains(['.', '/', '\\']) => {
            let names: Vec<_> = Trace::shipped_names().collect();
            let names = names.join(", ");
            Err(match argument {
                Some(argument) => CliError::BadArgument {
                    argument: argument.to_owned(),
                    reason: format!("{} is neither a file nor one of {names}", shown_path(name)),
                },
                None => CliError::BadArgument {
                    argument: shown_path(name),
                    reason: format!("neither a file nor one of {names}"),
                },
            })
        }
        _ => Trace::load(path).map_err(failed),
    }
}

/// `traces`, each under a name of its own that none of `taken` is: its own, or with a number, `gcc-2`.
pub(super) fn told_apart(traces: Vec<Trace>, mut taken: Vec<String>) -> Vec<Trace> {
    let named = traces.into_iter().map(|trace| {
        let name = unlike(&taken, trace.name());
        taken.push(name.clone());
        trace.named(name)
    });
    named.collect()
}

/// `name`, or, if it is one of `names`, the first of `name-2`, `name-3` … that is not: rows are known by it.
fn unlike(names: &[String], name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut all = core::iter::once(name.to_owned()).chain(numbered);
    let free = all.find(|name| !names.contains(name));
    free.unwrap_or_else(|| unreachable!("there are more numbers than names"))
}
