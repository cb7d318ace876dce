//! Spans of `tracing`, which cost next to nothing while nobody listens.

use tracing::Span;
use tracing::level_filters::LevelFilter;

/// Runs in a span, if anybody listens.
#[inline(always)]
fn within<R>(span: impl FnOnce() -> Span, run: impl FnOnce() -> R) -> R {
    // Asked first, and not left to the span: dropping one that nobody hears takes longer than some processors.
    if LevelFilter::current() >= LevelFilter::DEBUG {
        span().in_scope(run)
    } else {
        run()
    }
}

/// Goes through a phase.
#[inline(always)]
pub(super) fn phase<R>(name: &str, run: impl FnOnce() -> R) -> R {
    within(|| tracing::debug_span!("phase", name), run)
}

/// Runs a processor.
#[inline(always)]
pub(super) fn processor<R>(name: &str, run: impl FnOnce() -> R) -> R {
    within(|| tracing::debug_span!("processor", name), run)
}

/// Flushes.
#[inline(always)]
pub(super) fn flush<R>(run: impl FnOnce() -> R) -> R {
    within(|| tracing::debug_span!("flush"), run)
}
