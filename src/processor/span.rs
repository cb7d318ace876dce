//! Spans of `tracing`, which cost next to nothing while nobody listens.

use tracing::callsite::{DefaultCallsite, Identifier};
use tracing::field::FieldSet;
use tracing::level_filters::LevelFilter;
use tracing::metadata::Kind;
use tracing::{Level, Metadata, Span, dispatcher};

/// Whether a span of this name, with these fields, is wanted by who listens. Where every listener has said once and for all
/// that it is not, that is a load. (Not `span_enabled!`, which asks for a span that is called otherwise: filters may go by
/// names.)
macro_rules! is_wanted {
    ($target:literal, $name:literal $(, $field:literal)*) => {{
        static METADATA: Metadata<'static> = Metadata::new(
            $name,
            $target,
            Level::DEBUG,
            Some(file!()),
            Some(line!()),
            Some(module_path!()),
            FieldSet::new(&[$($field),*], Identifier(&CALLSITE)),
            Kind::SPAN.hint(),
        );
        static CALLSITE: DefaultCallsite = DefaultCallsite::new(&METADATA);
        let interest = CALLSITE.interest();
        interest.is_always()
            || (!interest.is_never() && dispatcher::get_default(|listener| listener.enabled(&METADATA)))
    }};
}

/// Whether anybody may listen to what is as fine as that. Asked first, and not left to the spans: dropping one that nobody
/// hears takes longer than some processors.
#[inline(always)]
fn may_be_heard() -> bool {
    LevelFilter::current() >= LevelFilter::DEBUG
}

/// Whether anybody hears phases and processors. To be asked once for many of them: where somebody listens to other things
/// of that level, it is more than a load.
#[inline(always)]
pub(super) fn is_heard() -> bool {
    may_be_heard() && are_runs_heard()
}

#[cold]
fn are_runs_heard() -> bool {
    is_wanted!("megachunk::schedule", "processor", "name")
        || is_wanted!("megachunk::schedule", "phase", "name")
}

/// Whether anybody hears flushes.
#[inline(always)]
pub(super) fn is_flush_heard() -> bool {
    may_be_heard() && are_flushes_heard()
}

#[cold]
fn are_flushes_heard() -> bool {
    is_wanted!("megachunk::flush", "flush")
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

#[cfg(test)]
mod tests {
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Subscriber, subscriber};

    use super::*;

    /// Hears what is so.
    struct Hears(fn(&Metadata<'_>) -> bool);

    impl Subscriber for Hears {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            self.0(metadata)
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    fn heard(hears: fn(&Metadata<'_>) -> bool) -> (bool, bool, bool) {
        subscriber::with_default(Hears(hears), || {
            (may_be_heard(), is_heard(), is_flush_heard())
        })
    }

    #[test]
    fn who_listens_to_others_hears_no_spans() {
        let others = heard(|metadata| metadata.target().starts_with("mygame"));
        assert_eq!(others, (true, false, false));
        let all = heard(|metadata| metadata.target().starts_with("megachunk"));
        assert_eq!(all, (true, true, true));
        let flushes = heard(|metadata| metadata.target() == "megachunk::flush");
        assert_eq!(flushes, (true, false, true));
        // As filters with a span's name, and one of its fields, in brackets.
        let named = heard(|metadata| {
            metadata.is_span()
                && metadata.name() == "processor"
                && metadata.fields().field("name").is_some()
        });
        assert_eq!(named, (true, true, false));
    }
}
