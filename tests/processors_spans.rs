//! Spans of a schedule. A program of its own: whether anybody listens is kept for the whole program, so tests without a
//! listener beside this one would change what it sees.

#![cfg(feature = "world")]

use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

/// Collects the spans that begin on a thread.
struct Spans(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Spans {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.is_span()
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        struct Name(String);
        impl tracing::field::Visit for Name {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0.push_str(&format!(" {value:?}"));
            }
        }
        let mut name = Name(span.metadata().name().into());
        span.record(&mut name);
        self.0.lock().expect("nobody panicked").push(name.0);
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn phases_processors_and_flushes_are_spans_of_tracing() {
    let spans = Arc::new(Mutex::new(Vec::new()));
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Alone);
    schedule
        .add(processor("one", || {}))
        .add(exclusive_processor("two", |_: &mut World| {}));
    let mut world = World::new();
    schedule.solve(&mut world).expect("it is right");
    tracing::subscriber::with_default(Spans(Arc::clone(&spans)), || {
        let report = schedule.run_phase(&mut world, Phase::PrePhysics);
        report.expect("it runs");
    });
    let spans = spans.lock().expect("nobody panicked");
    let of = |kind: &str| spans.iter().filter(|span| span.starts_with(kind)).count();
    assert_eq!(
        (
            of("phase \"PrePhysics\""),
            of("processor \"one\""),
            of("processor \"two\"")
        ),
        (1, 1, 1)
    );
    assert_eq!(
        of("flush"),
        3,
        "at the begin, before `two`, at the end of the phase: {spans:?}"
    );
}
