//! `model`: one claim about a protocol, walked through every interleaving that the bound allows.
//!
//! Called by every model in `tests/models`. What must always hold: a model that was cut short (by
//! loom's own environment variables) says so in its line, so that no partial run passes for a
//! whole one.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Instant;

/// How many times an execution may take the processor from a thread that could go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Any number of times: every interleaving is walked.
    Exhaustive,
    /// At most so many times.
    Preemptions(usize),
    /// At most so many times, which takes long: one less where `MEGACHUNK_LOOM_QUICK` is set, as CI sets it.
    Costly(usize),
    /// Any number of times, which takes long: at most so many where `MEGACHUNK_LOOM_QUICK` is set.
    ExhaustiveUnlessQuick(usize),
}

impl Bound {
    /// How many preemptions that is here, if not any number: as many as it says and `MEGACHUNK_LOOM_DEEPER` more, or
    /// the higher number that `MEGACHUNK_LOOM_BOUND` asks for (a number, or `exhaustive`).
    fn preemptions(self) -> Option<usize> {
        let is_quick = || std::env::var_os("MEGACHUNK_LOOM_QUICK").is_some();
        let bound = match self {
            Self::Exhaustive => return None,
            Self::Preemptions(bound) => bound,
            Self::Costly(bound) => bound - usize::from(is_quick()),
            Self::ExhaustiveUnlessQuick(bound) if is_quick() => bound,
            Self::ExhaustiveUnlessQuick(_) => return None,
        };
        let deeper = std::env::var("MEGACHUNK_LOOM_DEEPER").map_or(0, |deeper| {
            deeper.parse().unwrap_or_else(|_| {
                panic!("MEGACHUNK_LOOM_DEEPER is a number of preemptions, not `{deeper}`")
            })
        });
        let bound = bound + deeper;
        match std::env::var("MEGACHUNK_LOOM_BOUND").as_deref() {
            Err(_) => Some(bound),
            Ok("exhaustive") => None,
            Ok(wanted) => {
                let wanted = wanted.parse().unwrap_or_else(|_| {
                    panic!("MEGACHUNK_LOOM_BOUND is a number or `exhaustive`, not `{wanted}`")
                });
                Some(bound.max(wanted))
            }
        }
    }
}

/// Walks through every execution of `body` within `bound`, and prints
/// `model <name> executions=<n> seconds=<s> bound=<b>` past the test harness' capture.
///
/// # Panics
/// As `body` does in some execution; also on a deadlock, a data race on a cell, a leaked `Arc`. And if what it calls lets such
/// a panic go: one that is part of a model is begun by [`resume_unwind`](std::panic::resume_unwind).
pub fn model(name: &str, bound: Bound, body: impl Fn() + Send + Sync + 'static) {
    check(name, bound, Box::new(body));
}

/// Loom is large: compiled once for all models, not for each.
fn check(name: &str, bound: Bound, body: Box<dyn Fn() + Send + Sync>) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bound.preemptions();
    builder.max_branches = builder.max_branches.max(20_000);
    let cut_short = builder.max_duration.is_some() || builder.max_permutations.is_some();

    let executions = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&executions);
    let start = Instant::now();
    let panics = panics_here();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        body();
    });
    assert_eq!(panics_here(), panics, "{name}: a panic went nowhere");
    let bound = match bound.preemptions() {
        None => "exhaustive".to_owned(),
        Some(bound) => bound.to_string(),
    };
    let note = if cut_short { " CUT-SHORT" } else { "" };
    crate::say(&format!(
        "model {name} executions={} seconds={:.2} bound={bound}{note}",
        executions.load(Ordering::Relaxed),
        start.elapsed().as_secs_f64(),
    ));
}

/// How many panics have begun on this thread of the system, which all threads of a model run on: since the first call.
fn panics_here() -> u64 {
    thread_local! {
        static PANICS: Cell<u64> = const { Cell::new(0) };
    }
    static COUNTS: Once = Once::new();
    COUNTS.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.set(PANICS.get() + 1);
            tell(panic);
        }));
    });
    PANICS.get()
}
