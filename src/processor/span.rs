//! Spans of `tracing`, which cost next to nothing while nobody listens.

use tracing::Span;
use tracing::level_filters::LevelFilter;

/// Whether anybody may listen. Asked first, and not left to the spans: dropping one that nobody hears takes longer than
/// some processors.
#[inline(always)]
pub(super) fn is_heard() -> bool {
    LevelFilter::current() >= LevelFilter::DEBUG
}

/// Runs in a span, if anybody listens.
fn within<R>(span: impl FnOnce() -> Span, run: impl FnOnce() -> R) -> R {
    if is_heard() {
        span().in_scope(run)
    } else {
        run()
    }
}

/// Goes through a phase.
pub(super) fn phase<R>(name: &str, run: impl FnOnce() -> R) -> R {
    within(|| tracing::debug_span!("phase", name), run)
}

/// Runs a processor.
pub(super) fn processor<R>(name: &str, run: impl FnOnce() -> R) -> R {
    within(|| tracing::debug_span!("processor", name), run)
}

/// Flushes.
pub(super) fn flush<R>(run: impl FnOnce() -> R) -> R {
    within(|| tracing::debug_span!("flush"), run)
}
