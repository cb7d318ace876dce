//! Spans of `tracing`, which cost next to nothing while nobody listens.
//!
//! The crate's documentation has a table of them. Where a panic of who listens would come in the middle of a change it ends
//! here, as everywhere: see [`tell`].

use core::mem;
use core::ops::Deref;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;

use tracing::callsite::{DefaultCallsite, Identifier};
use tracing::dispatcher;
use tracing::field::{Empty, FieldSet};
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::metadata::Kind;
use tracing::{Level, Metadata, Span};

use crate::command::FlushReport;
use crate::panics::tell;
use crate::processor::{Simulation, Time};
use crate::world::{Seat, World};

/// Whether a span of this name, with these fields, may be wanted by who listens: unless every listener has said once and for
/// all that it is not. A load. Those that want some of them are asked by the span itself, and not here: who filters for
/// layers, as `tracing-subscriber` does, keeps what it has said until a span or an event follows, and takes the next one for
/// the one that it was asked for. (Not `span_enabled!`, which asks so, and for a span that is called otherwise: filters may
/// go by names.) The first time, listeners are told of this place in the code: if one panics, who wants what is not known,
/// and the span is left to ask.
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
        let mut is_wanted = true;
        tell(|| is_wanted = !CALLSITE.interest().is_never());
        is_wanted
    }};
}

/// Whether anybody may listen to what is as fine as that; never, where `tracing` is compiled without it. Asked first, and
/// not left to the spans: dropping one that nobody hears takes longer than some processors.
#[inline(always)]
fn may_be_heard() -> bool {
    LevelFilter::DEBUG <= STATIC_MAX_LEVEL && LevelFilter::current() >= LevelFilter::DEBUG
}

/// Whether anybody may hear runs, phases and processors. To be asked once for many of them: where somebody listens to other
/// things of that level, it is more than one load.
#[inline(always)]
pub(crate) fn is_heard() -> bool {
    may_be_heard() && are_runs_heard()
}

#[cold]
fn are_runs_heard() -> bool {
    is_wanted!("megachunk::schedule", "processor", "name")
        || is_wanted!("megachunk::schedule", "phase", "name", "world")
        || is_wanted!("megachunk::schedule", "run", "tick", "world")
        || is_wanted!("megachunk::schedule", "tick", "tick", "world")
        || is_wanted!("megachunk::schedule", "simulation", "name", "world")
}

/// Whether anybody hears flushes.
#[inline(always)]
pub(crate) fn is_flush_heard() -> bool {
    may_be_heard() && are_flushes_heard()
}

#[cold]
fn are_flushes_heard() -> bool {
    is_wanted!(
        "megachunk::flush",
        "flush",
        "world",
        "commands",
        "created",
        "destroyed",
        "refused"
    )
}

/// Whether anybody hears observers.
#[inline(always)]
pub(crate) fn is_observer_heard() -> bool {
    may_be_heard() && are_observers_heard()
}

#[cold]
fn are_observers_heard() -> bool {
    is_wanted!(
        "megachunk::observer",
        "observer",
        "world",
        "name",
        "entities"
    )
}

/// Whether anybody hears collections of signals.
#[inline(always)]
pub(crate) fn is_collect_heard() -> bool {
    may_be_heard() && are_collections_heard()
}

#[cold]
fn are_collections_heard() -> bool {
    is_wanted!("megachunk::signal", "collect", "world", "signals")
}

/// A span that is kept. It may end while a panic is under way, and one of who listens, that comes out of a `drop` then,
/// would end the program: it ends here.
pub(crate) struct Kept(pub(crate) Span);

impl Deref for Kept {
    type Target = Span;

    fn deref(&self) -> &Span {
        &self.0
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        tell(|| drop(mem::replace(&mut self.0, Span::none())));
    }
}

/// Runs in a span, which it is given; a panic of who listens ends here.
fn within<R>(make: impl FnOnce() -> Span, run: impl FnOnce(&Span) -> R) -> R {
    let mut span = Span::none();
    tell(|| span = make());
    let mut entered = None;
    tell(|| entered = Some(span.enter()));
    let done = catch_unwind(AssertUnwindSafe(|| run(&span)));
    tell(|| drop(entered));
    tell(|| drop(span));
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The span that a thread is in, as far as who listens knows it.
pub(crate) struct Around {
    span: Kept,
    /// Else `span` is none, which says nothing.
    is_known: bool,
}

/// The span that this thread is in, for [`simulation`]s, if those are heard.
#[inline]
pub(crate) fn around() -> Option<Around> {
    let mut around = None;
    if is_heard() {
        tell(|| {
            around = Some(Around {
                span: Kept(Span::current()),
                is_known: dispatcher::get_default(|listener| listener.current_span().is_known()),
            });
        });
    }
    around
}

/// Advances a simulation of an app, in the span in which that was asked for: which is not that of its thread, where that
/// waits for a loop of another simulation's processor. (Who does not know which span that was takes its thread's.)
pub(crate) fn simulation<R>(
    around: Option<&Around>,
    name: &str,
    simulation: &mut Simulation,
    run: impl FnOnce(&mut Simulation) -> R,
) -> R {
    let Some(around) = around else {
        return run(simulation);
    };
    let of = Arc::clone(&simulation.world().seat);
    let span = || match around.is_known {
        true => {
            let parent = around.span.id();
            tracing::debug_span!(
                target: "megachunk::schedule",
                parent: parent,
                "simulation",
                name,
                world = %of
            )
        }
        false => {
            tracing::debug_span!(target: "megachunk::schedule", "simulation", name, world = %of)
        }
    };
    within(span, |_| run(simulation))
}

/// Goes through a tick of a simulation.
pub(crate) fn tick<R>(
    tick: u64,
    simulation: &mut Simulation,
    run: impl FnOnce(&mut Simulation) -> R,
) -> R {
    if !is_heard() {
        return run(simulation);
    }
    let of = Arc::clone(&simulation.world().seat);
    let span = || tracing::debug_span!(target: "megachunk::schedule", "tick", tick, world = %of);
    within(span, |_| run(simulation))
}

/// Runs a schedule, in the tick that the world tells of, if it does.
pub(crate) fn run<R>(world: &mut World, run: impl FnOnce(&mut World) -> R) -> R {
    if !is_heard() {
        return run(world);
    }
    let of = Arc::clone(&world.seat);
    let tick = world.resources().get::<Time>().map(|time| time.tick);
    let span = || tracing::debug_span!(target: "megachunk::schedule", "run", tick, world = %of);
    within(span, |_| run(world))
}

/// Solves a schedule, `anew` or for the archetypes that have come, which are so many.
pub(crate) fn solve<R>(anew: bool, archetypes: usize, of: &Seat, run: impl FnOnce() -> R) -> R {
    if !may_be_heard() {
        return run();
    }
    let span = || tracing::debug_span!(target: "megachunk::schedule", "solve", anew, archetypes, world = %of);
    within(span, |_| run())
}

/// Goes through a phase, in whose span `run` is, which it is given, if anybody listens.
pub(crate) fn phase<R>(
    name: &str,
    world: &mut World,
    run: impl FnOnce(&mut World, Option<&Span>) -> R,
) -> R {
    if !is_heard() {
        return run(world, None);
    }
    let of = Arc::clone(&world.seat);
    let span = || tracing::debug_span!(target: "megachunk::schedule", "phase", name, world = %of);
    within(span, |span| run(world, Some(span)))
}

/// Runs a processor, in a span of its own if that is heard, in that of its phase: which is not that of its thread, where
/// that waits for a parallel loop of another processor.
pub(crate) fn processor<R>(
    is_heard: bool,
    phase: Option<&Span>,
    name: &str,
    run: impl FnOnce() -> R,
) -> R {
    if !is_heard {
        return run();
    }
    let span = || match phase.filter(|phase| !phase.is_disabled()) {
        Some(phase) => {
            tracing::debug_span!(target: "megachunk::schedule", parent: phase, "processor", name)
        }
        None => tracing::debug_span!(target: "megachunk::schedule", "processor", name),
    };
    within(span, |_| run())
}

/// Flushes.
pub(crate) fn flush(world: &mut World, run: impl FnOnce(&mut World) -> FlushReport) -> FlushReport {
    if !is_flush_heard() {
        return run(world);
    }
    let of = Arc::clone(&world.seat);
    let span = || {
        tracing::debug_span!(
            target: "megachunk::flush",
            "flush",
            world = %of,
            commands = Empty,
            created = Empty,
            destroyed = Empty,
            refused = Empty
        )
    };
    within(span, |span| {
        let flushed = run(world);
        tell(|| {
            span.record("commands", flushed.commands);
            span.record("created", flushed.created);
            span.record("destroyed", flushed.destroyed);
            span.record("refused", flushed.refused.len());
        });
        flushed
    })
}

/// Calls an observer, which is called so, with so many entities.
#[cold]
pub(crate) fn observer(
    of: &Seat,
    name: impl FnOnce() -> String,
    entities: usize,
    run: impl FnOnce(),
) {
    let span = || {
        let name = name();
        tracing::debug_span!(target: "megachunk::observer", "observer", world = %of, name, entities)
    };
    within(span, |_| run());
}

/// Collects signals; `run` says how many.
#[cold]
pub(crate) fn collect<R>(world: &mut World, run: impl FnOnce(&mut World) -> (R, u64)) -> R {
    let of = Arc::clone(&world.seat);
    let span = || tracing::debug_span!(target: "megachunk::signal", "collect", world = %of, signals = Empty);
    within(span, |span| {
        let (done, signals) = run(world);
        tell(|| _ = span.record("signals", signals));
        done
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tracing::span::{Attributes, Id, Record};
    use tracing::subscriber::{self, Interest};
    use tracing::{Event, Subscriber};

    use super::*;

    /// What listeners want is kept for all threads together: one test at a time listens to the library.
    static ONE: Mutex<()> = Mutex::new(());

    /// Hears what is so, and panics when a span ends.
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
        fn try_close(&self, _: Id) -> bool {
            resume_unwind(Box::new("closes"))
        }
    }

    /// Wants to be asked each time, and must not be.
    struct Filters;

    impl Subscriber for Filters {
        fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
            Interest::sometimes()
        }
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            panic!("{metadata:?}: no span follows");
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

    #[test]
    fn who_filters_is_asked_by_spans_alone() {
        let _one = ONE.lock();
        subscriber::with_default(Filters, || {
            assert!(is_heard() && is_flush_heard());
            assert!(is_observer_heard() && is_collect_heard());
        });
    }

    #[test]
    fn a_span_that_is_kept_may_end_while_something_panics() {
        let hears = |metadata: &Metadata<'_>| metadata.target() == module_path!();
        let kept = subscriber::with_default(Hears(hears), || Kept(tracing::info_span!("own")));
        assert!(!kept.is_disabled());
        let ends = || {
            let _kept = kept;
            resume_unwind(Box::new("bad"))
        };
        let panic: Box<_> = catch_unwind(AssertUnwindSafe(ends)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"bad"));
    }

    fn heard(hears: fn(&Metadata<'_>) -> bool) -> (bool, bool, bool) {
        subscriber::with_default(Hears(hears), || {
            (may_be_heard(), is_heard(), is_flush_heard())
        })
    }

    #[test]
    fn who_listens_to_others_hears_no_spans() {
        let _one = ONE.lock();
        if STATIC_MAX_LEVEL < LevelFilter::DEBUG {
            // They are compiled out.
            assert_eq!(heard(|_| true), (false, false, false));
            return;
        }
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
