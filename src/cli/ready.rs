//! A trace made ready to be replayed, on the threads that `--threads` asks for.

use super::CliError;
use super::measure::available_memory;
use crate::trace::replay::Replay;
use crate::trace::{MAX_THREADS, Trace};

/// `trace`, ready for so many threads; `None` means as many as were recorded.
///
/// # Errors
/// [`CliError`] where it cannot be played on so many, or needs more memory than there is.
pub(super) fn ready(trace: &Trace, threads: Option<u16>) -> Result<Replay, CliError> {
    let threads = threads.map_or(0, usize::from);
    let needed = Replay::memory(trace, threads);
    if let Some(available) = available_memory().filter(|&available| available < needed) {
        let (name, needed, available) = (trace.name(), needed >> 20, available >> 20);
        return Err(CliError::Failed(format!(
            "{name} needs {needed} MiB of memory to be replayed; {available} are free"
        )));
    }
    Replay::new(trace, threads).ok_or_else(|| {
        let recorded = trace.threads();
        let reason = format!(
            "{} has {recorded} threads: play it on 1 to {recorded}, or on a multiple up to {MAX_THREADS}",
            trace.name()
        );
        CliError::BadArgument {
            argument: "--threads".to_owned(),
            reason,
        }
    })
}
