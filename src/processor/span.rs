//! Spans of `tracing`, which cost next to nothing while nobody listens.

use tracing::Span;
use tracing::level_filters::LevelFilter;

/// Whether anybody may listen to what is as fine as that. Asked first, and not left to the spans: dropping one that nobody
/// hears takes longer than some processors.
#[inline(always)]
fn may_be_heard() -> bool {
    LevelFilter::current() >= LevelFilter::DEBUG
}

/// Whether anybody hears phases and processors.
#[inline(always)]
pub(super) fn is_heard() -> bool {
    may_be_heard()
}

/// Whether anybody hears flushes.
#[inline(always)]
pub(super) fn is_flush_heard() -> bool {
    may_be_heard()
}

/// Goes through a phase, in whose span `run` is, which it is given, if anybody listens.
pub(super) fn phase<R>(name: &str, run: impl FnOnce(Option<Span>) -> R) -> R {
    if !is_heard() {
        return run(None);
    }
    let span = tracing::debug_span!(target: "megachunk::schedule", "phase", name);
    span.in_scope(|| run(Some(span.clone())))
}

/// Runs a processor, in a span of its own if that is heard, in that of its phase: which is not that of its thread, where
/// that waits for a parallel loop of another processor.
pub(super) fn processor<R>(
    is_heard: bool,
    phase: Option<&Span>,
    name: &str,
    run: impl FnOnce() -> R,
) -> R {
    if !is_heard {
        return run();
    }
    let span = match phase.filter(|phase| !phase.is_disabled()) {
        Some(phase) => {
            tracing::debug_span!(target: "megachunk::schedule", parent: phase, "processor", name)
        }
        None => tracing::debug_span!(target: "megachunk::schedule", "processor", name),
    };
    span.in_scope(run)
}

/// Flushes.
pub(super) fn flush<R>(run: impl FnOnce() -> R) -> R {
    if !is_flush_heard() {
        return run();
    }
    tracing::debug_span!(target: "megachunk::flush", "flush").in_scope(run)
}
