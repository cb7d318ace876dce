//! Flushes of a run, and collections of signals: with spans and places in the trace, if anybody listens.

use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};
use std::time::Instant;

use crate::command::FlushReport;
use crate::panics::{note, resume};
use crate::processor::Trace;
use crate::processor::report::Progress;
use crate::processor::trace::Kind;
use crate::signal;
use crate::span;
use crate::world::World;

/// Collects signals, if any were sent, with a place in the trace.
#[inline]
pub(super) fn collect_signals(world: &mut World, trace: &mut Option<Trace>) {
    if !signal::is_collected(world) {
        collect_now(world, trace);
    }
}

#[inline]
pub(super) fn collect_now(world: &mut World, trace: &mut Option<Trace>) {
    match trace {
        None => world.collect_signals(),
        Some(trace) => collect_noting(world, trace),
    }
}

#[cold]
fn collect_noting(world: &mut World, trace: &mut Trace) {
    let began = Instant::now();
    let mut panicked = None;
    note(&mut panicked, || world.collect_signals());
    trace.note(Kind::Collect, began, None);
    resume(panicked);
}

/// Flushes, in a span of its own, and with a place in the trace, if that can do anything or anybody listens.
#[inline]
pub(super) fn flush(world: &mut World, progress: &mut Progress, trace: &mut Option<Trace>) {
    if span::is_flush_heard() || !world.is_flushed() {
        flush_now(world, progress, trace);
    }
}

#[inline(never)]
pub(super) fn flush_now(world: &mut World, progress: &mut Progress, trace: &mut Option<Trace>) {
    let flushed = if trace.is_some() {
        flush_noting(world, trace)
    } else {
        flush_in_span(world, trace)
    };
    progress.note_flush(flushed);
}

#[inline(always)]
fn flush_in_span(world: &mut World, trace: &mut Option<Trace>) -> FlushReport {
    span::flush(world, |world| {
        let flushed = world.flush();
        // What closures and observers have sent comes before what processors send that run later;
        // and nobody knows these by their places.
        collect_signals(world, trace);
        flushed.tell_of_refused(world, "processors, or what runs beside them");
        flushed
    })
}

#[cold]
fn flush_noting(world: &mut World, trace: &mut Option<Trace>) -> FlushReport {
    let began = Instant::now();
    let flushed = catch_unwind(AssertUnwindSafe(|| flush_in_span(world, trace)));
    if let Some(trace) = trace {
        // How much it was nobody knows, if it panicked.
        let flushed = flushed.as_ref().ok();
        let amount = flushed.map(|flushed| (flushed.commands + flushed.created) as u64);
        trace.note(Kind::Flush, began, amount);
    }
    flushed.unwrap_or_else(|panic| resume_unwind(panic))
}
