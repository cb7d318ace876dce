//! A trace made ready to be replayed, on the threads that `--threads` asks for.

use super::CliError;
use super::measure::available_memory;
use crate::trace::replay::{Replay, ReplayLimit};
use crate::trace::{MAX_THREADS, Trace};

/// Whether `trace` can be played on so many threads, as far as that can be told before it is made ready; `None` means as
/// many as were recorded.
///
/// # Errors
/// [`CliError`] where it cannot be played on so many, or needs more memory than there is.
pub(super) fn can_be_ready(trace: &Trace, threads: Option<u16>) -> Result<(), CliError> {
    let threads = threads.map_or(0, usize::from);
    let recorded = trace.threads();
    let is_multiple = threads.is_multiple_of(recorded) && threads <= MAX_THREADS as usize;
    if threads > recorded && !is_multiple {
        return Err(bad_threads(trace));
    }
    let needed = Replay::memory(trace, threads);
    if let Some(available) = available_memory().filter(|&available| available < needed) {
        let (name, needed, available) = (trace.name(), needed >> 20, available >> 20);
        return Err(CliError::Failed(format!(
            "{name} needs {needed} MiB of memory to be replayed; {available} are free"
        )));
    }
    Ok(())
}

/// `trace`, ready for so many threads; `None` means as many as were recorded.
///
/// # Errors
/// As [`can_be_ready`].
pub(super) fn ready(trace: &Trace, threads: Option<u16>) -> Result<Replay, CliError> {
    can_be_ready(trace, threads)?;
    let threads = threads.map_or(0, usize::from);
    Replay::new(trace, threads).map_err(|limit| match limit {
        ReplayLimit::NoMultiple { .. } | ReplayLimit::Threads { .. } => bad_threads(trace),
        limit => CliError::Failed(format!("{}: {limit}", trace.name())),
    })
}

fn bad_threads(trace: &Trace) -> CliError {
    let recorded = trace.threads();
    let reason = format!(
        "{} has {recorded} threads: play it on 1 to {recorded}, or on a multiple up to {MAX_THREADS}",
        trace.name()
    );
    CliError::BadArgument {
        argument: "--threads".to_owned(),
        reason,
    }
}
